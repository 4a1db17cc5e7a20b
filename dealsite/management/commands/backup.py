import sqlite3
from argparse import SUPPRESS
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.backups import folder
from dealsite.backups.archive import ArchiveError
from dealsite.backups.backing_up import back_up
from dealsite.data import table
from dealsite.data.jobs.command_runs import BACKUP
from dealsite.data.table.errors import DataError
from dealsite.engine.programs import EngineError
from dealsite.management.noted import run_noted


class Command(BaseCommand):
    help = (
        "Write everything that the site stores into an archive, and read it again to be sure. "
        "Safe while the site runs."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            nargs="?",
            help="the archive to write; if not said, a new one in DEALSITE_BACKUPS",
        )
        parser.add_argument(
            "--keep",
            type=int,
            default=0,
            metavar="N",
            help="then remove all but the newest N of those in DEALSITE_BACKUPS that this command named",
        )
        parser.add_argument("--unnoted", action="store_true", help=SUPPRESS)  # a worker notes it itself

    def handle(self, *args: Any, unnoted: bool = False, **options: Any) -> None:
        table.be_patient()
        said = run_noted(BACKUP, lambda: self._back_up(options["file"], options["keep"]), unnoted=unnoted)
        self.stdout.write(said)

    def _back_up(self, file: Path | None, keep: int) -> str:
        now = timezone.now()
        path = file or folder.new(now)
        try:
            contents = back_up(path, now=now)
            if keep > 0:
                folder.remove_all_but(keep)
        except (ArchiveError, EngineError, DataError, OSError, sqlite3.DatabaseError) as error:
            raise CommandError(str(error)) from error
        if contents.missing:
            self.stderr.write(
                f"{len(contents.missing):,} pictures that items name are missing on the site: "
                + ", ".join(contents.missing[:5])
            )
        files = len(contents.manifest.files)
        return (
            f"Backed up {contents.manifest.total:,} items and {files:,} files to {path}, and read it again."
        )
