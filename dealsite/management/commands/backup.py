import sqlite3
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealsite.engine.database import back_up
from dealsite.engine.programs import EngineError


class Command(BaseCommand):
    help = "Copies the data folder into a tar archive, safely while the site runs. Unpacked, it is a data folder."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the archive to write, such as dealsite.tar")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            back_up(settings.VAR, options["file"])
        except (EngineError, OSError, sqlite3.DatabaseError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Backed up {settings.VAR} to {options['file']}.")
