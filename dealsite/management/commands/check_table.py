"""manage.py check_table: whether everything derived in the table is right, and with --repair make it so."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dealsite.data import table
from dealsite.data.integrity import checks
from dealsite.data.table.errors import DataError
from dealsite.management.progress import printable

STEP = 1000


class Command(BaseCommand):
    help = (
        "Recompute keys, index rows, counters, days, brand names, featured cards, e-mail guards and the number of "
        "users from the items, and report what differs. Ends with 1 if anything does. Safe while the site runs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--repair", action="store_true", help="set right what can be derived")

    def handle(self, *args: Any, repair: bool = False, **options: Any) -> None:
        progress = _Progress(self.stderr if self.stderr.isatty() else None)
        try:
            repaired, left = checks.repair_all(progress.seen) if repair else ([], checks.find(progress.seen))
        except DataError as error:
            raise CommandError(str(error)) from error
        finally:
            progress.end()
        for problem in repaired:
            self.stdout.write(f"Repaired: {printable(str(problem))}")
        for problem in left:
            hint = "" if problem.repairs else " (nothing to derive it from)"
            self.stdout.write(f"{printable(str(problem))}{hint}")
        if left:
            hint = "" if repair or not any(problem.repairs for problem in left) else " Run it with --repair."
            raise CommandError(f"The table {table.name()} has {_number(len(left), 'problem')}.{hint}")
        also = f", {_number(len(repaired), 'problem')} repaired" if repaired else ""
        self.stdout.write(self.style.SUCCESS(f"The table {table.name()} is whole{also}."))


class _Progress:
    """Shows on a terminal how many items were seen."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self.items = 0

    def seen(self) -> None:
        self.items += 1
        if self.out and self.items % STEP == 0:
            self.out.write(f"\r{self.items:,} items seen", ending="")

    def end(self) -> None:
        if self.out and self.items >= STEP:
            self.out.write("")


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
