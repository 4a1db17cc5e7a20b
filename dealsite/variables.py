"""Reads the variables of the environment that settings.py declares, each by its kind, which says what it should be."""

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")
FILE = "_FILE"  # ends the name of a variable that names the file of a secret
# Settings of earlier releases with which the site would not be what they say, and what to do.
GONE = {
    "DEALSITE_HISTORY_TABLE": "Closed payments stand in the one table: docs/upgrading.md says how to move them.",
    "DEALSITE_PROJECTIONS": "Every worker feeds the search index: take it out.",
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable: how its text is read, and its value where it is not set or empty. A secret is never shown."""

    name: str
    kind: Callable[[str], Any]  # of a text without white space around it; ValueError says what it should be
    default: Any
    is_secret: bool

    def value(self) -> Any:
        """Return what it says, or its default; ImproperlyConfigured says what it should be."""
        if not (given := self._given()):
            return self.default
        try:
            return self.kind(given)
        except ValueError as wanted:
            shown = "something else" if self.is_secret else repr(given)
            raise ImproperlyConfigured(f"{self.name} should be {wanted}, and is {shown}.") from None

    def _given(self) -> str:
        """Return its text, or what stands in the file that NAME_FILE names; '' for neither."""
        given, name = os.environ.get(self.name, "").strip(), self.name + FILE
        if not (file := os.environ.get(name, "") if self.is_secret else ""):
            return given
        if given:
            raise ImproperlyConfigured(f"{self.name} and {name} are both set. Keep one of them.")
        try:
            given = Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{name} cannot be read: {error}") from None
        if not given:
            raise ImproperlyConfigured(f"{name} names an empty file: {file}")
        return given


VARIABLES: dict[str, Variable] = {}
_misfits: list[str] = []


def env(name: str, kind: Callable[[str], T], default: T | None = None, *, is_secret: bool = False) -> T:
    """Declare a variable and return its value, by default what its kind makes of "".

    One that cannot be has its default, too, until refuse_misfits says so.
    """
    usual = kind("") if default is None else default
    VARIABLES[name] = variable = Variable(name, kind, usual, is_secret)
    try:
        found: T = variable.value()
    except ImproperlyConfigured as misfit:
        _misfits.append(str(misfit))
        return usual
    return found


def refuse_misfits() -> None:
    """Raise ImproperlyConfigured with a line for each variable that cannot be: all of them at once."""
    gone = [f"{name} is no setting any more. {todo}" for name, todo in GONE.items() if os.environ.get(name)]
    found = [*_misfits, *gone]
    _misfits.clear()  # Django reads settings again after an error
    if found:
        raise ImproperlyConfigured("\n".join(found))


def unknown(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each variable that looks like a setting and is none, with the name nearest to it, or ''."""
    known = [*VARIABLES, *(f"{one.name}{FILE}" for one in VARIABLES.values() if one.is_secret)]
    for name in sorted(environ):
        if name.startswith("DEALSITE_") and name not in known:  # nobody else's begin so
            yield name, next(iter(difflib.get_close_matches(name, known, 1)), "")


# The kinds, besides `str` and `str.split`


def folder(given: str) -> Path:
    """A folder, there or not."""
    return Path(given).resolve()


def flag(given: str) -> bool:
    """Yes or no, in one of the usual words."""
    if (word := given.lower()) in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("yes or no")


def whole(wanted: str, least: int = 0, most: int = 999_999_999) -> Callable[[str], int]:
    """Return the kind of a whole number from `least` to `most`."""

    def read(given: str) -> int:
        if given.isascii() and given.isdigit() and len(given) < 10 and least <= int(given) <= most:
            return int(given)
        raise ValueError(wanted)

    return read


number = whole("a whole number")
positive = whole("a whole number of 1 or more", 1)
port = whole("a whole number from 1 to 65535", 1, 65_535)


def one_of(*choices: str) -> Callable[[str], str]:
    """Return the kind of one of some words, however they are written."""

    def read(given: str) -> str:
        for choice in choices:
            if choice.lower() == given.lower():
                return choice
        raise ValueError(f"one of {', '.join(choices)}")

    return read


def like(pattern: str, wanted: str) -> Callable[[str], str]:
    """Return the kind of a text that looks like a pattern."""

    def read(given: str) -> str:
        if not re.fullmatch(pattern, given):
            raise ValueError(wanted)
        return given

    return read


def each_like(pattern: str, wanted: str) -> Callable[[str], list[str]]:
    """Return the kind of words that each look like a pattern."""
    return lambda given: [like(pattern, f"{wanted}, separated by spaces")(word) for word in given.split()]


MAIL = r"[^@\s<>,;]+@[^@\s<>,;]+"
mails = each_like(MAIL, "e-mail addresses")
sender = like(rf"{MAIL}|[^<>\r\n]+<{MAIL}>", "an address like Deals <noreply@deals.example>")
contact = like(r"(?:mailto:|https://)[!-~]+", "a mailto: or https: address")
host = like(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?", "the name of a host, such as media.deals.example")
# As Django's ALLOWED_HOSTS takes them.
hosts = each_like(r"\*|\.?[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]", "names of hosts without ports")


def bucket_place(given: str) -> str:
    """A place in S3, such as s3://deals/lake."""
    return like(r"s3://[^\s/?]+(/[^?]*)?", "a place like s3://deals/lake")(given.rstrip("/"))


def url(given: str) -> str:
    """An http or https address without a path."""
    wanted = "an address like https://deals.example"
    found = like(r"https?://[^\s\\/?#@]+", wanted)(given.rstrip("/"))
    try:
        if (parts := urlsplit(found)).hostname and parts.port != 0:
            return found
    except ValueError:
        pass
    raise ValueError(wanted)


def endpoint(given: str) -> str:
    """An http or https address, or a socket of this machine."""
    return given if given.startswith("unix:") else url(given)


def time_zone(given: str) -> str:
    """A time zone by its name in the IANA database."""
    try:
        return ZoneInfo(given).key
    except (ValueError, OSError, LookupError):
        raise ValueError("a time zone like Europe/Berlin") from None


def currency(given: str) -> str:
    """A currency that people pay with now, by its ISO 4217 code, with two decimal places as the prices have."""
    from babel import core, numbers  # which read a file, and sites with the default need not

    code, territories = given.upper(), core.get_global("territory_currencies")
    used = {one for territory in territories for one in numbers.get_territory_currencies(territory)}
    if code not in used or numbers.get_currency_precision(code) != 2:
        raise ValueError("the code of a currency with two decimal places, like EUR")
    return code
