from datetime import UTC, datetime

from django.core.management.base import CommandParser

from dealsite.management.command import SiteCommand
from dealsite.stream import rebuilding
from dealsite.stream.projection import Damaged
from dealsite.stream.rebuilding import LeaseLost
from dealsite.worker.loop import PROJECTIONS


class Command(SiteCommand):
    help = (
        "Make a projection of the table afresh from a scan, and put it in the place of the old one, which is fed and "
        "read meanwhile. Safe while the site runs."
    )

    failures = rebuilding.Busy, LeaseLost, Damaged
    is_patient = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("projection", choices=sorted(PROJECTIONS))

    def work(self, projection: str) -> str:
        items = rebuilding.rebuild(PROJECTIONS[projection](), now=datetime.now(UTC))
        return self.style.SUCCESS(f"The {projection} is made anew from the table's {items:,} items.")
