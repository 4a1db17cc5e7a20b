from django.conf import settings
from django.core.management.base import CommandParser

from dealsite.engine.programs import EngineError
from dealsite.management.command import SiteCommand
from dealsite.processes import launcher
from dealsite.processes.launcher import LaunchError


class Command(SiteCommand):
    help = "Runs the web server alone: a table, and at least one worker, run elsewhere."
    requires_system_checks: list[str] = []
    failures = LaunchError, EngineError

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: loopback only)"
        )
        parser.add_argument("--workers", type=int, default=launcher.WORKERS, help="web processes")

    def work(self, port: int, host: str, workers: int) -> None:
        launcher.serve(launcher.LaunchPlan(port=port, host=host, workers=workers), self.say)
