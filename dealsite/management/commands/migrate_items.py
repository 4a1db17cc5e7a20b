from django.core.management.base import CommandError, CommandParser

from dealsite.data import SCHEMAS
from dealsite.data.integrity import migrations
from dealsite.data.integrity.migrations import CONTENDED, CURRENT, MIGRATED, NEWER, Migration
from dealsite.data.integrity.problem import Pace
from dealsite.data.table import schema
from dealsite.data.table.errors import VersionConflict
from dealsite.management.command import Progress, SiteCommand


class Command(SiteCommand):
    help = (
        "Store every item of an older schema in the shape that this version of the site writes (docs/upgrading.md). "
        "Safe while the site runs. Ended at any point, it goes on where it was."
    )

    failures = (ValueError,)
    is_patient = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
        parser.add_argument(
            "--only", default="", choices=sorted(SCHEMAS), metavar="TYPE", help="items of this type alone"
        )
        parser.add_argument("--name", help='what it goes on with later; the type, or "all"')
        rate = f"items a second at most; {migrations.RATE:g} if not said"
        parser.add_argument("--rate", type=float, default=migrations.RATE, help=rate)

    def work(self, dry_run: bool, only: str, name: str, rate: float) -> str:
        if rate <= 0:
            raise CommandError("The rate is a number of items a second, above 0.")
        name = name or only or "all"
        try:
            begun = migrations.begin(name, only=only)
            if dry_run:
                begun = Migration(name, begun.aim)
            with Progress("Items", schema.count(), self.stderr) as progress:
                progress.advance(begun.seen)

                def advance(now: Migration) -> None:
                    progress.advance(now.seen - progress.done, made=now.total(MIGRATED) - progress.made)

                done = migrations.run(begun, only=only, dry_run=dry_run, pace=Pace(rate), advance=advance)
        except VersionConflict:
            raise CommandError(f"Another process goes on with the migration {name}.") from None
        return self._told(done, dry_run=dry_run)

    def _told(self, done: Migration, *, dry_run: bool) -> str:
        verb = "to migrate" if dry_run else "migrated"
        said = {MIGRATED: verb, NEWER: "newer than this version of the site", CONTENDED: "changed too often"}
        for outcome, what in said.items():
            for kind, number in sorted(migrations.by_type(done, outcome).items()):
                self.stdout.write(f"{kind}: {number:,} {what}")
        numbers = f"{done.total(MIGRATED):,} {verb}, {done.total(CURRENT):,} current"
        if done.total(NEWER):
            numbers += f", {done.total(NEWER):,} newer and left alone"
        if done.total(CONTENDED):
            raise CommandError(f"{numbers}; {done.total(CONTENDED):,} changed too often: run it again.")
        return self.style.SUCCESS(f"{done.seen:,} items: {numbers}.")
