"""What the site itself said once and keeps as it was said, in the words of the sources; shown in the reader's language.

The audit log, notes of orders and payments and errors of jobs are the same for all their readers, and outlive the
language of who caused them. What people typed there is shown as it is.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from django.utils.translation import gettext

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Text: TypeAlias = "str | _StrPromise"


WORDS = tuple(
    line
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    if line and not line.startswith("# ")
)


def shown(words: str) -> str:
    """Return what the site said in the language that is spoken now; words that it does not know as they are."""
    if words in WORDS:
        return gettext(words)
    for known, pattern in _patterns():
        if found := pattern.fullmatch(words):
            return gettext(known) % found.groupdict()
    return words


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return those with a value in them, and what finds it."""
    return tuple(
        (known, re.compile(re.sub(r"%\\\((\w+)\\\)s|%\((\w+)\)s", _group, re.escape(known)), re.DOTALL))
        for known in WORDS
        if "%(" in known
    )


def _group(value: re.Match[str]) -> str:
    return f"(?P<{value[1] or value[2]}>.+)"
