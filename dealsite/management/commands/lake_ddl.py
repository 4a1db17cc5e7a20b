import re

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from dealsite.lake.snapshots import athena_ddl
from dealsite.management.command import SiteCommand

FORMS = {
    "location": re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w.=-]+)*"),
    "database": re.compile(r"[a-z][a-z0-9_]{0,127}"),
}


class Command(SiteCommand):
    help = "Print the statements that let Amazon Athena read the snapshots in a bucket: run them one by one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--location", default=settings.DEALSITE_LAKE, help="s3://bucket/prefix")
        parser.add_argument("--database", default="dealsite")

    def work(self, location: str, database: str) -> None:
        for what, value in (("location", location), ("database", database)):
            if not FORMS[what].fullmatch(value):
                raise CommandError(f"{value!r} cannot be the {what}. Name one with --{what}.")
        for statement in athena_ddl(location, database):
            self.stdout.write(f"{statement};\n\n")
