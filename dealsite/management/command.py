"""What the site's commands share: how they end, patience with the table, a note of how they went, a progress bar."""

import shutil
import time
from argparse import SUPPRESS
from contextlib import suppress
from datetime import datetime
from inspect import signature
from typing import Any, Self

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.utils import timezone

from dealsite.data import table
from dealsite.data.jobs import command_runs
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.data.table.errors import DataError

WIDTH = 30
SECONDS = 0.1  # between two drawings
QUIET_STEPS = 4  # lines where the output is no terminal


class BadArguments(CommandError):
    """The arguments do not say what to do: nothing was begun, so nothing is noted."""


class SiteCommand(BaseCommand):
    """A command whose `work` gets the arguments that it names, and returns what to say when it is done.

    A DataError ends it with its sentence, and so does one of its `failures`. With a `kind`, the page of operations
    shows how it went, unless who called it notes that; `found` is what a check of the table found.
    """

    failures: tuple[type[Exception], ...] = ()
    kind = ""
    is_patient = False
    found: CheckResult | None = None

    def work(self, *args: Any, **options: Any) -> str | None:
        raise NotImplementedError

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.add_argument("--unnoted", action="store_true", help=SUPPRESS)  # a worker notes it itself
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        if self.is_patient:
            table.be_patient()
        began, kind = timezone.now(), "" if options.get("unnoted") else self.kind
        try:
            said = self._result(options)
        except BadArguments:
            raise
        except CommandError as error:
            self._note(kind, began, ok=False, said=str(error))
            raise
        self._note(kind, began, ok=True, said=said)
        if said:
            self.tell(said)

    def tell(self, said: str) -> None:
        """Show what the work has returned."""
        self.stdout.write(said)

    def say(self, text: str) -> None:
        """Write a line at once; a full disk under the output ends no site."""
        with suppress(OSError):
            self.stdout.write(text)
            self.stdout.flush()

    def _result(self, options: dict[str, Any]) -> str:
        failures: tuple[type[Exception], ...] = (DataError, *self.failures)
        try:
            return self.work(**{name: options[name] for name in signature(self.work).parameters}) or ""
        except failures as error:
            raise CommandError(str(error)) from error

    def _note(self, kind: str, began: datetime, *, ok: bool, said: str) -> None:
        if kind:
            with suppress(DataError):  # where the table cannot be reached, nobody does
                now = timezone.now()
                command_runs.note(
                    kind, by="command", began=began, now=now, ok=ok, said=said, check=self.found
                )


class Progress:
    """Shows how much of `total` is done: one line that is drawn again, or a few lines in a log file.

    `made` counts what a load has written, of which a terminal sees the rate.
    """

    def __init__(self, label: str, total: int, stream: OutputWrapper) -> None:
        self.label, self.total, self.stream = label, total, stream
        self.done = self.made = 0
        self._live = stream.isatty()
        self._drawn_at = float("-inf")
        self._started = time.monotonic()
        self._drawn = ""

    def __enter__(self) -> Self:
        self._draw()
        return self

    def __exit__(self, *_error: object) -> None:
        self._draw(last=True)
        if self._live:
            self._write("\n")

    @property
    def rate(self) -> float:
        """How much was made a second."""
        return self.made / max(time.monotonic() - self._started, 0.001)

    def advance(self, steps: int = 1, *, made: int = 0) -> None:
        """Count some more as done."""
        self.done += steps
        self.made += made
        if not self._live or time.monotonic() - self._drawn_at >= SECONDS:
            self._draw()

    def _draw(self, *, last: bool = False) -> None:
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        if self._live:
            self._drawn_at = time.monotonic()
            seconds = self._drawn_at - self._started
            left = f", {seconds / share - seconds:.0f} s left" if 0.02 < share < 1 and not last else ""
            rate = f", {self.rate:,.0f} a second" if self.made else ""
            bar = "█" * int(share * WIDTH) + "░" * (WIDTH - int(share * WIDTH))
            line = f"{self.label}{rate} {bar} {self.done:,} of {self.total:,}{left}"
            self._write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        else:
            line = f"{self.label}: {int(share * QUIET_STEPS) * 100 // QUIET_STEPS} %\n"
            if line != self._drawn:
                self._write(line)
                self._drawn = line

    def _write(self, text: str) -> None:
        self.stream.write(text, str, ending="")  # by itself Django adds a line end, and the style of errors
        self.stream.flush()
