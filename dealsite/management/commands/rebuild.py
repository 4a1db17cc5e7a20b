from datetime import UTC, datetime

from dealsite.management.command import SiteCommand
from dealsite.search.site_index import search_index
from dealsite.stream import rebuilding
from dealsite.stream.projection import Damaged
from dealsite.stream.rebuilding import TurnLost


class Command(SiteCommand):
    help = (
        "Make the search index afresh from a scan of the table, and put it in the place of the old one, which is fed "
        "and read meanwhile; on all machines. Safe while the site runs."
    )

    failures = rebuilding.Busy, TurnLost, Damaged
    is_patient = True

    def work(self) -> str:
        items = rebuilding.rebuild(search_index(), now=datetime.now(UTC))
        return self.style.SUCCESS(f"The search index is made anew from the table's {items:,} items.")
