from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

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

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="set right what can be derived")

    def handle(self, *args: Any, repair: bool = False, **options: Any) -> None:
        items = 0

        def count() -> None:
            nonlocal items
            items += 1
            if items % STEP == 0 and self.stderr.isatty():
                self.stderr.write(f"\r{items:,} items seen", ending="")

        try:
            repaired, left = checks.repair_all(count) if repair else ([], checks.find(count))
        except DataError as error:
            raise CommandError(str(error)) from error
        finally:
            if items >= STEP and self.stderr.isatty():
                self.stderr.write("")
        for problem in repaired:
            self.stdout.write(f"Repaired: {printable(str(problem))}")
        for problem in left:
            hint = "" if problem.repairs else " (nothing to derive it from)"
            self.stdout.write(f"{printable(str(problem))}{hint}")
        if left:
            hint = "" if repair or not any(problem.repairs for problem in left) else " Run it with --repair."
            raise CommandError(f"The table {table.name()} has {_problems(len(left))}.{hint}")
        also = f", {_problems(len(repaired))} repaired" if repaired else ""
        self.stdout.write(self.style.SUCCESS(f"The table {table.name()} is whole{also}."))


def _problems(number: int) -> str:
    return f"{number:,} problem{'' if number == 1 else 's'}"
