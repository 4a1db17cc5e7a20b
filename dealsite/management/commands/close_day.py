import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.data import table
from dealsite.data.commerce.payment import day_closing
from dealsite.data.jobs.command_runs import CLOSE_DAY
from dealsite.data.table.errors import DataError
from dealsite.management.noted import run_noted
from dealsite.management.progress import Progress

THREADS = 4


class Command(BaseCommand):
    help = (
        "Move the payments processed until the end of a day (UTC) to the history. "
        "Run again after an interruption, it goes on where it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("date", nargs="?", help="such as 2026-11-21; yesterday if left out")

    def handle(self, *args: Any, **options: Any) -> None:
        today = timezone.now().astimezone(UTC).date()
        day = _day(options["date"]) if options["date"] else today - timedelta(days=1)
        if day >= today:
            raise CommandError(f"{day} is not over yet (UTC).")
        table.be_patient()
        began, moved, lock = datetime.now(UTC), 0, threading.Lock()

        def count(number: int) -> None:
            nonlocal moved
            with lock:
                moved += number

        def close() -> str:
            try:
                with (
                    Progress(f"Closing {day}, part", day_closing.SHARDS, self.stderr) as progress,
                    ThreadPoolExecutor(THREADS, "close") as threads,
                ):
                    shards = range(day_closing.SHARDS)
                    for _ in threads.map(
                        lambda shard: day_closing.close_shard(day, shard, advance=count), shards
                    ):
                        progress.advance()
            except DataError as error:
                said = f"{error} {moved:,} payments were moved; run this again to go on."
                raise CommandError(said) from None
            return day_closing.in_words(moved)

        said = run_noted(CLOSE_DAY, close)
        seconds = max((datetime.now(UTC) - began).total_seconds(), 0.001)
        self.stdout.write(f"{said} {moved / seconds:,.0f} a second.")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{text!r} is no date such as 2026-11-21.") from None
