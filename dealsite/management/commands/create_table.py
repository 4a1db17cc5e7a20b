from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealsite.data import table
from dealsite.data.table import schema
from dealsite.data.table.errors import DataError


class Command(BaseCommand):
    help = "Creates the table and waits until it is active; reports how an existing one differs from its definition."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--wait", type=float, default=120, metavar="SECONDS", help="until it is active")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = schema.create_table(wait=options["wait"])
            differences = schema.drift()
        except DataError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"The table {table.name()} {'is created' if made else 'is there already'} and active."
        )
        for difference in differences:
            self.stderr.write(difference)
        if differences:
            raise CommandError("The table differs from its definition.")
