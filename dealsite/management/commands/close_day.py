import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.data.catalogue import activity
from dealsite.data.commerce import charging
from dealsite.data.jobs.command_runs import CLOSE_DAY
from dealsite.data.table.errors import DataError
from dealsite.management.command import BadArguments, Progress, SiteCommand

THREADS = 4


class Command(SiteCommand):
    help = (
        "Move the payments processed until the end of a day (UTC) to the history. "
        "Run again after an interruption, it goes on where it was."
    )

    kind = CLOSE_DAY
    is_patient = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "day", metavar="date", nargs="?", help="such as 2026-11-21; yesterday if left out"
        )

    def work(self, day: str) -> str:
        today = timezone.now().astimezone(UTC).date()
        try:
            last = date.fromisoformat(day) if day else today - timedelta(days=1)
        except ValueError:
            raise BadArguments(f"{day!r} is no date such as 2026-11-21.") from None
        if last >= today:
            raise BadArguments(f"{last} is not over yet (UTC).")
        began, moved, lock = datetime.now(UTC), 0, threading.Lock()

        def count(number: int) -> None:
            nonlocal moved
            with lock:
                moved += number

        try:
            with (
                Progress(f"Closing {last}, part", charging.SHARDS, self.stderr) as progress,
                ThreadPoolExecutor(THREADS, "close") as threads,
            ):
                shards = range(charging.SHARDS)
                for _ in threads.map(lambda shard: charging.close_shard(last, shard, advance=count), shards):
                    progress.advance()
                activity.close_day(last)
        except DataError as error:
            said = f"{error} {moved:,} payments were moved; run this again to go on."
            raise CommandError(said) from None
        self.rate = moved / max((datetime.now(UTC) - began).total_seconds(), 0.001)
        return charging.closing_in_words(moved)

    def tell(self, said: str) -> None:
        super().tell(f"{said} {self.rate:,.0f} a second.")
