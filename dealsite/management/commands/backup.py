import sqlite3
from pathlib import Path

from django.core.management.base import CommandParser
from django.utils import timezone

from dealsite.backups import archive
from dealsite.backups.archive import ArchiveError
from dealsite.backups.backing_up import back_up
from dealsite.data.jobs.command_runs import BACKUP
from dealsite.engine.programs import EngineError
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = (
        "Write everything that the site stores into an archive, and read it again to be sure. "
        "Safe while the site runs."
    )
    requires_system_checks: list[str] = []
    failures = ArchiveError, EngineError, OSError, sqlite3.DatabaseError
    kind = BACKUP
    is_patient = True

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

    def work(self, file: Path | None, keep: int) -> str:
        now = timezone.now()
        path = file or archive.new_archive(now)
        contents = back_up(path, now=now)
        if keep > 0:
            archive.remove_all_archives_but(keep)
        if contents.missing:
            self.stderr.write(
                f"{len(contents.missing):,} pictures that items name are missing on the site: "
                + ", ".join(contents.missing[:5])
            )
        files = len(contents.manifest.files)
        return (
            f"Backed up {contents.manifest.total:,} items and {files:,} files to {path}, and read it again."
        )
