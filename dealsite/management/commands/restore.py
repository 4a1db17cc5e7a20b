from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.backups import archive as backups, restoring
from dealsite.backups.archive import ArchiveError
from dealsite.data.integrity.problem import Problem
from dealsite.data.jobs import site_switch
from dealsite.data.table.errors import DataError
from dealsite.engine.programs import EngineError
from dealsite.management.command import Progress, SiteCommand
from dealsite.web.log_lines import printable

SHOWN = 20  # problems of a backup that is checked


class Command(SiteCommand):
    help = (
        "Restore a backup into an empty data folder; or, with --table, into the table and buckets of the settings, "
        "where the table is missing or empty. A backup of either kind restores into either. It is a copy that rests "
        "until `switch_site open`. With --check, restore it beside the site, check its whole table and remove it "
        "again: ends with 1 if anything is wrong, and is safe while the site runs."
    )
    requires_system_checks: list[str] = []
    is_patient = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "archive",
            type=Path,
            nargs="?",
            help="with --check, the newest one in DEALSITE_BACKUPS if not said",
        )
        where = parser.add_mutually_exclusive_group()
        where.add_argument(
            "--folder", type=Path, default=settings.VAR, help="an empty data folder; DEALSITE_VAR if not said"
        )
        where.add_argument("--table", action="store_true", help="into the table of the settings")
        where.add_argument("--check", action="store_true", help="only try whether it can be restored")
        parser.add_argument(
            "--resume", action="store_true", help="with --table: go on with a restore that did not end"
        )

    def work(self, archive: Path | None, folder: Path, table: bool, check: bool, resume: bool) -> str:
        now, problems = timezone.now(), list[Problem]()
        try:
            if not (path := archive or (backups.newest_archive() if check else None)):
                raise CommandError("Name the archive to restore.")
            with Progress("Restoring", 1, self.stderr) as progress:

                def advance(items: int, total: int) -> None:
                    progress.total = total
                    progress.advance(items, made=items)

                if check:
                    contents, problems = restoring.check(path, now=now, advance=advance)
                elif table:
                    contents = restoring.into_table(path, now=now, advance=advance, resume=resume)
                else:
                    contents = restoring.into_folder(path, folder, now=now, advance=advance)
        except (ArchiveError, EngineError, DataError, OSError) as error:
            raise CommandError(printable(str(error))) from error
        for problem in problems[:SHOWN]:
            self.stderr.write(printable(str(problem)))
        if problems:
            raise CommandError(f"{path} was restored, and its table has {len(problems):,} problems.")
        self.stdout.write(
            f"{path}: restored {contents.manifest.total:,} items and {len(contents.manifest.files):,} files,"
            f" backed up at {contents.manifest.made_at} by release {printable(contents.manifest.release)}."
        )
        if contents.missing:
            self.stdout.write(f"{len(contents.missing):,} pictures that items name are missing.")
        if check:
            return "Its table is whole. What was restored is removed again."
        if table and "secret_key" in contents.manifest.files:
            self.stdout.write(
                "The site needs the key of then, too: set DEALSITE_SECRET_KEY to what"
                f" `tar -xOf {path} secret_key` prints."
            )
        return site_switch.COPY_RESTS
