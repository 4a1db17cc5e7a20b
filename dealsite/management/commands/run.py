import contextlib
import errno
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealsite import environment
from dealsite.data.table.errors import DataError
from dealsite.engine.programs import EngineError
from dealsite.install.assets import AssetError
from dealsite.install.system import InstallError
from dealsite.processes import launcher
from dealsite.processes.data_folder import LaunchError


class Command(BaseCommand):
    help = "Runs the site with its engine, worker and web server; Ctrl-C stops all of it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: loopback only)"
        )
        parser.add_argument("--dev", action="store_true", help="reload on changes, compile CSS, show errors")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = launcher.LaunchPlan(port=options["port"], host=options["host"], dev=options["dev"])
        try:
            launcher.run(plan, self._say)
        except (LaunchError, EngineError, AssetError, InstallError, DataError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            if error.errno != errno.ENOSPC and settings.VAR not in Path(error.filename or "").parents:
                raise
            raise CommandError(environment.why_unusable(settings.VAR, error)) from error

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a full disk under the output ends no site
            self.stdout.write(text)
            self.stdout.flush()
