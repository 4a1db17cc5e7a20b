"""How a command that somebody runs went, noted for the page of operations."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from django.core.management.base import CommandError
from django.utils import timezone

from dealsite.data.jobs import command_runs
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.data.table.errors import DataError


def run_noted(
    kind: str,
    work: Callable[[], str],
    *,
    unnoted: bool = False,
    check: Callable[[], CheckResult | None] = lambda: None,
) -> str:
    """Do a command's work, note how it went, and return what it says of it.

    `unnoted`: whoever called the command notes it; `check` returns what a check of the table found. Where the table
    cannot be reached, nobody does.
    """
    began = timezone.now()
    try:
        said = work()
    except CommandError as error:
        if not unnoted:
            _note(kind, began, ok=False, said=str(error), check=check())
        raise
    if not unnoted:
        _note(kind, began, ok=True, said=said, check=check())
    return said


def _note(kind: str, began: datetime, *, ok: bool, said: str, check: CheckResult | None) -> None:
    with suppress(DataError):
        command_runs.note(kind, by="command", began=began, now=timezone.now(), ok=ok, said=said, check=check)
