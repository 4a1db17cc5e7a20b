import contextlib
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealsite.engine.programs import EngineError
from dealsite.processes import launcher
from dealsite.processes.data_folder import LaunchError


class Command(BaseCommand):
    help = "Runs the web server alone: a table, and at least one worker, run elsewhere."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: loopback only)"
        )
        parser.add_argument("--workers", type=int, default=launcher.WORKERS, help="web processes")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = launcher.LaunchPlan(port=options["port"], host=options["host"], workers=options["workers"])
        try:
            launcher.serve(plan, self._say)
        except (LaunchError, EngineError) as error:
            raise CommandError(str(error)) from error

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a full disk under the output ends no site
            self.stdout.write(text)
            self.stdout.flush()
