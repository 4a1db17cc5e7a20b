import platform
from typing import Any

import django
from django.core.management.base import BaseCommand

from dealsite import __version__


class Command(BaseCommand):
    help = "Prints the versions of Dealsite, Django and Python."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(
            f"Dealsite {__version__} (Django {django.__version__}, Python {platform.python_version()})"
        )
