import errno
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from dealsite import environment
from dealsite.engine.programs import EngineError
from dealsite.install.packages import AssetError
from dealsite.install.system import InstallError
from dealsite.management.command import SiteCommand
from dealsite.processes import launcher
from dealsite.processes.launcher import LaunchError


class Command(SiteCommand):
    help = "Runs the site with its engine, worker and web server; Ctrl-C stops all of it."
    requires_system_checks: list[str] = []
    failures = LaunchError, EngineError, AssetError, InstallError

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: loopback only)"
        )
        parser.add_argument("--dev", action="store_true", help="reload on changes, compile CSS, show errors")

    def work(self, port: int, host: str, dev: bool) -> None:
        try:
            launcher.run(launcher.LaunchPlan(port=port, host=host, dev=dev), self.say)
        except OSError as error:
            if error.errno != errno.ENOSPC and settings.VAR not in Path(error.filename or "").parents:
                raise
            raise CommandError(environment.why_unusable(settings.VAR, error)) from error
