import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.data import table
from dealsite.data.commerce.payment.payment_loads import Source
from dealsite.data.table.errors import DataError
from dealsite.imports.csv_files import BadFile
from dealsite.loads.files import FileSource
from dealsite.loads.payments import GeneratedSource, load
from dealsite.management.progress import Progress


class Command(BaseCommand):
    help = (
        "Load scheduled payments from a file of JSON lines or CSV (account, due_at, amount, data), or made-up ones. "
        "Each is inserted only if it is not there; run again after an interruption, it goes on where it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("file", nargs="?", type=Path, help="JSON lines, or CSV if it is named so")
        what.add_argument("--generate", type=int, metavar="N", help="make up N payments instead")
        parser.add_argument("--size", type=int, default=1024, help="bytes of data of each made-up payment")
        parser.add_argument("--days", type=int, default=30, help="days within which made-up ones are due")
        parser.add_argument(
            "--processes", type=int, default=os.cpu_count() or 1, help="how many write at once"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if min(options["processes"], options["days"]) < 1 or not 0 <= options["size"] <= 8192:
            raise CommandError("--processes and --days are at least 1, --size is at most 8192.")
        table.be_patient()
        try:
            source = _source(options)
            with Progress("Loading payments", source.total, self.stderr) as progress:

                def advance(payments: int, units: int) -> None:
                    progress.advance(units, made=payments)

                outcome = load(source, processes=options["processes"], now=timezone.now(), advance=advance)
        except (DataError, BadFile, OSError, ValueError) as error:
            raise CommandError(f"{error} Run this again to go on.") from None
        self.stdout.write(
            f"{source.name}: {outcome.inserted:,} payments loaded, {outcome.repeated:,} were there already. "
            f"{progress.rate:,.0f} a second."
        )


def _source(options: dict[str, Any]) -> Source:
    if options["file"] is not None:
        return FileSource(options["file"])
    if options["generate"] < 1:
        raise CommandError("--generate takes a number of payments.")
    first = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return GeneratedSource(
        options["generate"], first=first, days=options["days"], size=options["size"], method="test:approve"
    )
