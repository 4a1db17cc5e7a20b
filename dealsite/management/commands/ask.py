import sys
from typing import TextIO, cast

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.console import Console, JustifyMethod
from rich.table import Table

from dealsite.ask import runs
from dealsite.ask.lake import open_lake
from dealsite.ask.runs import Answer
from dealsite.data.table.ids import new_ulid
from dealsite.home import COMMAND
from dealsite.lake import snapshots
from dealsite.lake.entities import ADMIN
from dealsite.management.command import SiteCommand
from dealsite.web.log_lines import printable

WIDTH = 200  # of a table that is written into a file


class Command(SiteCommand):
    help = "Asks the newest snapshot of the table: one SELECT, as in the CMS under Ask."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sql", nargs="?", help="the SELECT, or - to read it from standard input")
        names = ", ".join(runs.ready_questions())
        parser.add_argument("--ready", metavar="NAME", help=f"a ready question: {names}")
        parser.add_argument("--csv", action="store_true", help="write the answer as CSV")
        parser.add_argument("--rows", type=int, default=100_000, help="at most so many rows (100,000)")
        parser.add_argument("--seconds", type=int, default=120, help="at most so long (120)")

    def work(self, sql: str, ready: str, csv: bool, rows: int, seconds: int) -> None:
        answer = self._ask(self._sql(sql, ready), rows, seconds)
        if csv:
            for line in runs.as_csv(answer):
                self.stdout.write(line, ending="")
            return
        table = Table()
        for column in answer.columns:
            justify: JustifyMethod = "right" if column.is_number else "left"
            table.add_column(printable(column.name), justify=justify, overflow="fold")
        for row in answer.rows:
            table.add_row(*["" if value is None else printable(str(value)) for value in row])
        terminal = self.stdout.isatty() if hasattr(self.stdout, "isatty") else False
        console = Console(
            file=cast(TextIO, self.stdout), width=None if terminal else WIDTH, markup=False, highlight=False
        )
        console.print(table)
        more = ", and more: --rows says how many are shown" if answer.more else ""
        self.stdout.write(f"{len(answer.rows):,} rows in {answer.milliseconds:,} ms{more}")

    def _sql(self, sql: str, name: str) -> str:
        if name:
            found = runs.ready_questions().get(name)
            if found is None:
                raise CommandError(f"There is no ready question {name!r}.")
            return found.sql
        if not sql:
            raise CommandError('Ask something, such as "SELECT count(*) FROM orders".')
        return sys.stdin.read() if sql == "-" else sql

    def _ask(self, sql: str, rows: int, seconds: int) -> Answer:
        if settings.DEALSITE_LAKE:
            snapshots.fetch()
        lake = open_lake({ADMIN})
        if lake is None:
            raise CommandError(f"There is no snapshot yet: make one with {COMMAND} snapshot.")
        limits = runs.Limits(rows=rows, size=400_000_000, memory=1_000_000_000, seconds=seconds)
        run_id, patience = new_ulid(timezone.now()), seconds + 10
        run = runs.start(sql, run_id=run_id, by=" command", lake=lake, limits=limits, patience=patience)
        try:
            if run.state != "answered":
                raise CommandError(run.why)
            return run.answer()
        finally:
            runs.forget(run)
