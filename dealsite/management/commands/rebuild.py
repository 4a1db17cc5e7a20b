from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealsite.data import table
from dealsite.data.table.errors import DataError
from dealsite.stream import rebuilding
from dealsite.stream.leases import LeaseLost
from dealsite.stream.projection import Damaged
from dealsite.worker.loop import PROJECTIONS


class Command(BaseCommand):
    help = (
        "Make a projection of the table afresh from a scan, and put it in the place of the old one, which is fed and "
        "read meanwhile. Safe while the site runs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("projection", choices=sorted(PROJECTIONS))

    def handle(self, *args: Any, projection: str, **options: Any) -> None:
        table.be_patient()
        try:
            items = rebuilding.rebuild(PROJECTIONS[projection](), now=datetime.now(UTC))
        except (DataError, rebuilding.Busy, LeaseLost, Damaged) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            self.style.SUCCESS(f"The {projection} is made anew from the table's {items:,} items.")
        )
