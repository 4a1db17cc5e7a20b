import platform

import django

from dealsite import __version__
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = "Prints the versions of Dealsite, Django and Python."
    requires_system_checks: list[str] = []

    def work(self) -> None:
        self.stdout.write(
            f"Dealsite {__version__} (Django {django.__version__}, Python {platform.python_version()})"
        )
