import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealsite.data import table
from dealsite.data.table.errors import DataError
from dealsite.imports.csv_files import BadFile
from dealsite.loads import placing
from dealsite.management.progress import Progress


class Command(BaseCommand):
    help = (
        "Load orders that were placed elsewhere from a file of JSON lines, which may be compressed with gzip: deals "
        "are published, users made (nobody can sign in as them), and each order goes through cart and checkout, at the "
        "time of then. Run again after an interruption, it goes on where it was; several may run at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--processes", type=int, default=os.cpu_count() or 1, help="how many place orders at once"
        )
        parser.add_argument(
            "--yes", action="store_true", help="load into a table that this project did not start itself"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["processes"] < 1:
            raise CommandError("--processes is at least 1.")
        if not settings.DEALSITE_EMBEDDED and not options["yes"]:
            where = settings.DYNAMODB_ENDPOINT_URL or f"Amazon DynamoDB in {settings.DEALSITE_REGION}"
            raise CommandError(
                f"The table {settings.DEALSITE_TABLE} at {where} is not of the embedded engine. To load users, deals "
                "and orders of trial there all the same: load_orders --yes"
            )
        table.be_patient()
        try:
            self._load(options["file"], options["processes"])
        except (DataError, BadFile, placing.CannotLoad, OSError) as error:
            raise CommandError(f"{error} Run this again to go on.") from None
        except KeyboardInterrupt:
            raise CommandError("Interrupted. Run the same command again to load the rest.") from None

    def _load(self, path: Path, processes: int) -> None:
        contents = placing.survey(path)
        self.stdout.write(
            f"{contents.orders:,} orders of {len(contents.users):,} users and {len(contents.products):,} products at "
            f"their prices. {contents.split:,} orders hold more than 25 products, or 999 pieces of one: they are "
            f"split, so {contents.parts:,} orders will be there."
        )
        placing.publish_products(contents)
        with Progress("Placing orders", contents.parts, self.stderr) as progress:

            def advance(step: placing.Step) -> None:
                progress.advance(step.placed + step.there, made=step.placed)

            placing.load(path, contents, processes=processes, advance=advance)
        placed, there = progress.made, progress.done - progress.made
        self.stdout.write(
            f"{placed:,} orders placed, {there:,} were there already. {progress.rate:,.0f} a second."
        )
