import sqlite3
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.backups.archive import ArchiveError
from dealsite.backups.backing_up import back_up
from dealsite.data import table
from dealsite.data.table.errors import DataError
from dealsite.engine.programs import EngineError


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

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        path = options["file"] or settings.DEALSITE_BACKUPS / f"dealsite-{now:%Y%m%d-%H%M%S}.tar"
        table.be_patient()
        try:
            contents = back_up(path, now=now)
        except (ArchiveError, EngineError, DataError, OSError, sqlite3.DatabaseError) as error:
            raise CommandError(str(error)) from error
        files = len(contents.manifest.files)
        self.stdout.write(
            f"Backed up {contents.manifest.total:,} items and {files:,} files to {path}, and read it again."
        )
        if contents.missing:
            self.stderr.write(
                f"{len(contents.missing):,} pictures that items name are missing on the site: "
                + ", ".join(contents.missing[:5])
            )
