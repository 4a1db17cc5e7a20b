from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.backups import restoring
from dealsite.backups.archive import ArchiveError
from dealsite.data import table
from dealsite.data.jobs import site_switch
from dealsite.data.table.errors import DataError
from dealsite.engine.programs import EngineError
from dealsite.management.progress import Progress, printable


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty data folder; or, with --table, into the table and buckets of the settings, "
        "where the table is missing or empty. A backup of either kind restores into either. It is a copy that rests "
        "until `switch_site open`."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path)
        where = parser.add_mutually_exclusive_group()
        where.add_argument(
            "--folder", type=Path, default=settings.VAR, help="an empty data folder; DEALSITE_VAR if not said"
        )
        where.add_argument("--table", action="store_true", help="into the table of the settings")
        parser.add_argument(
            "--resume", action="store_true", help="with --table: go on with a restore that did not end"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path, now = options["archive"], timezone.now()
        table.be_patient()
        try:
            with Progress("Restoring", 1, self.stderr) as progress:

                def advance(items: int, total: int) -> None:
                    progress.total = total
                    progress.advance(items, made=items)

                if options["table"]:
                    contents = restoring.into_table(path, now=now, advance=advance, resume=options["resume"])
                else:
                    contents = restoring.into_folder(path, options["folder"], now=now, advance=advance)
        except (ArchiveError, EngineError, DataError, OSError) as error:
            raise CommandError(printable(str(error))) from error
        self.stdout.write(
            f"Restored {contents.manifest.total:,} items and {len(contents.manifest.files):,} files,"
            f" backed up at {contents.manifest.made_at} by release {printable(contents.manifest.release)}."
        )
        if options["table"] and "secret_key" in contents.manifest.files:
            self.stdout.write(
                "The site needs the key of then, too: set DEALSITE_SECRET_KEY to what"
                f" `tar -xOf {path} secret_key` prints."
            )
        self.stdout.write(site_switch.COPY_RESTS)
