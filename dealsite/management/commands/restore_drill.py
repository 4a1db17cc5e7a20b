import time
from argparse import SUPPRESS
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.backups import drill, folder
from dealsite.backups.archive import ArchiveError
from dealsite.data import table
from dealsite.data.jobs.command_runs import RESTORE_DRILL
from dealsite.data.table.errors import DataError
from dealsite.engine.programs import EngineError
from dealsite.management.noted import run_noted
from dealsite.management.progress import Progress, printable

SHOWN = 20


class Command(BaseCommand):
    help = (
        "Restore the newest backup beside the site, check its whole table, and remove it again. Ends with 1 if "
        "anything is wrong. Safe while the site runs."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "archive", type=Path, nargs="?", help="if not said, the newest one in DEALSITE_BACKUPS"
        )
        parser.add_argument("--unnoted", action="store_true", help=SUPPRESS)  # a worker notes it itself

    def handle(self, *args: Any, unnoted: bool = False, **options: Any) -> None:
        table.be_patient()
        self.stdout.write(run_noted(RESTORE_DRILL, lambda: self._drill(options["archive"]), unnoted=unnoted))

    def _drill(self, archive: Path | None) -> str:
        began = time.monotonic()
        try:
            path = archive or folder.newest()
            with Progress("Restoring", 1, self.stderr) as progress:

                def advance(items: int, total: int) -> None:
                    progress.total = total
                    progress.advance(items, made=items)

                done = drill.run(path, now=timezone.now(), advance=advance)
        except (ArchiveError, EngineError, DataError, OSError) as error:
            raise CommandError(printable(str(error))) from error
        for problem in done.problems[:SHOWN]:
            self.stderr.write(printable(str(problem)))
        what = f"{done.path.name}, of {done.made_at:%Y-%m-%d %H:%M} UTC,"
        if done.problems:
            raise CommandError(f"{what} was restored, and its table has {len(done.problems):,} problems.")
        missing = f" {done.missing:,} pictures that items name are missing." if done.missing else ""
        return (
            f"{what} restores whole: {done.items:,} items and {done.files:,} files"
            f" in {time.monotonic() - began:,.0f} s.{missing}"
        )
