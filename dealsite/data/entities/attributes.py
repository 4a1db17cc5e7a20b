"""What an attribute may hold: the kinds of stored values, each with its range.

    price=Money(most=MAX_PRICE)                     title=Text(most=300, optional=True)
    brand=Slug(refers="Brand")                      picture=Map(PICTURE, optional=True)

A kind says in one sentence what is wrong with a stored value, how Python reads it (`reading`, an expression of x), and
of what kind its column in the lake is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from dealsite.data.names import EMAIL_PATTERN, SLUG_CHARACTERS, is_slug, is_username, is_web_link
from dealsite.data.table.ids import from_iso, is_ulid

CENT = Decimal("0.01")
ZERO = Decimal("0.00")
YEARS = range(2000, 2101)  # in UTC, as every time is stored
WRONG_YEAR = format_lazy(
    gettext_lazy("The year should be from {first} to {last}."), first=YEARS[0], last=YEARS[-1]
)
FIRST_SECOND, LAST_SECOND = 946_684_800, 4_133_980_799  # of those years
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def money(value: Any) -> Decimal | None:
    """Return a stored number as an amount with cents: DynamoDB keeps 12.50 as 12.5."""
    return None if value is None else Decimal(value).quantize(CENT)


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """Anything that is stored; `optional`: it may be absent, which reads as `nothing`.

    `secret` could let somebody in: no page, export, log or question shows it. `personal` tells who somebody is.
    `refers` names the type of an item that must be there; `copy_of` what it repeats (`Brand.name`), `counts` what it
    counts, and `unit` of what it is a number.
    """

    optional: bool = False
    secret: bool = False
    personal: bool = False
    refers: str = ""
    copy_of: str = ""
    counts: str = ""
    unit: str = ""
    about: str = ""

    nothing: ClassVar[Any] = None
    reading: ClassVar[str] = "x"
    column: ClassVar[str] = "json"

    def problem(self, value: Any) -> str:
        """Return what is wrong with a stored value, as a sentence that begins with its name goes on."""
        return ""

    def range(self) -> str:
        """Return what it may hold, for the docs."""
        return ""


def is_not(value: Any, what: str) -> str:
    """Return that a value is none of a kind, as a sentence goes on."""
    return f"is {str(value)[:60]!r}, which is not {what}"


@dataclass(frozen=True, kw_only=True)
class Time(Attribute):
    """A moment: UTC ISO text with milliseconds, which sorts as time does."""

    reading = "from_iso(x)"
    column = "time"

    def problem(self, value: Any) -> str:
        if type(value) is str and TIME.fullmatch(value):
            try:
                if from_iso(value).year in YEARS:
                    return ""
            except ValueError:
                pass
        return is_not(value, f"a time of {YEARS[0]} to {YEARS[-1]}")


@dataclass(frozen=True, kw_only=True)
class Day(Attribute):
    """A day: ISO text."""

    reading = "date.fromisoformat(x)"
    column = "date"

    def problem(self, value: Any) -> str:
        if type(value) is str and DAY.fullmatch(value):
            try:
                date.fromisoformat(value)
            except ValueError:
                return is_not(value, "a day")
            return ""
        return is_not(value, "a day")


@dataclass(frozen=True, kw_only=True)
class Whole(Attribute):
    """A whole number of a range."""

    least: int = 0
    most: int = 10**12

    column = "integer"

    def problem(self, value: Any) -> str:
        if type(value) is int and self.least <= value <= self.most:
            return ""
        return is_not(value, f"a whole number from {self.least:,} to {self.most:,}")

    def range(self) -> str:
        return f"{self.least:,} to {self.most:,}" if self.most < 10**12 else f"from {self.least:,}"


@dataclass(frozen=True, kw_only=True)
class Expiry(Whole):
    """When DynamoDB may remove the item: seconds since 1970."""

    least: int = FIRST_SECOND
    most: int = LAST_SECOND
    unit: str = "seconds since 1970"


@dataclass(frozen=True, kw_only=True)
class Money(Attribute):
    """An amount of the site's currency, with cents; may not be less than `least`."""

    least: Decimal = Decimal(0)
    most: Decimal = Decimal("9999999999.99")

    reading = "Decimal(x).quantize(CENT)"
    column = "money"

    def problem(self, value: Any) -> str:
        fits = type(value) in (int, Decimal) and self.least <= value <= self.most
        if fits and (type(value) is int or value == value.quantize(CENT)):
            return ""
        return is_not(value, f"an amount from {self.least:,} to {self.most:,} with two decimals")

    def range(self) -> str:
        return f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True, kw_only=True)
class Flag(Attribute):
    """Yes, or no."""

    nothing = False
    column = "flag"

    def problem(self, value: Any) -> str:
        return "" if type(value) is bool else is_not(value, "true or false")


@dataclass(frozen=True, kw_only=True)
class Bytes(Attribute):
    """Bytes of whatever it may be."""

    most: int = 8 * 1024

    nothing = b""

    def problem(self, value: Any) -> str:
        return (
            ""
            if type(value) is bytes and len(value) <= self.most
            else is_not(value, f"up to {self.most} bytes")
        )


@dataclass(frozen=True, kw_only=True)
class Plain(Attribute):
    """A map or list of what only its reader knows (the payload of a job): anything that can be stored."""

    nothing = ()

    def problem(self, value: Any) -> str:
        return "" if type(value) in (dict, list) else is_not(value, "a map or list")


Shape = Mapping[str, Attribute]  # the attributes of an item, or of a map in it


@dataclass(frozen=True)
class Map(Attribute):
    """A map with attributes of its own."""

    shape: Shape
    required: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "required", frozenset(n for n, one in self.shape.items() if not one.optional)
        )

    def problem(self, value: Any) -> str:
        return (
            "; ".join(problems(value, self.shape, self.required))
            if type(value) is dict
            else is_not(value, "a map")
        )


@dataclass(frozen=True)
class Each(Attribute):
    """Many of one kind, up to `most`."""

    of: Attribute
    least: int = field(default=0, kw_only=True)
    most: int = field(default=1000, kw_only=True)

    nothing: ClassVar[Any] = ()
    stored_as: ClassVar[type[list[Any]] | type[set[Any]]] = list

    def problem(self, value: Any) -> str:
        if type(value) is not self.stored_as:
            return is_not(value, f"a {self.stored_as.__name__}")
        if not self.least <= len(value) <= self.most:
            return f"has {len(value)} entries instead of {self.least} to {self.most}"
        return next((f"holds an entry that {said}" for one in value if (said := self.of.problem(one))), "")

    def range(self) -> str:
        return f"{self.least} to {self.most:,}: {self.of.range()}".rstrip(": ")


@dataclass(frozen=True)
class ListOf(Each):
    """A list, in order."""


@dataclass(frozen=True)
class SetOf(Each):
    """A set of texts; an empty one is not stored."""

    nothing = frozenset()
    stored_as = set
    reading = "frozenset(x)"


@dataclass(frozen=True)
class MapOf(Attribute):
    """A map whose names are data."""

    names: Attribute
    of: Attribute
    most: int = field(default=1000, kw_only=True)

    nothing = None

    def problem(self, value: Any) -> str:
        if type(value) is not dict:
            return is_not(value, "a map")
        if len(value) > self.most:
            return f"has {len(value)} entries instead of {self.most}"
        for name, inner in sorted(value.items()):
            if said := self.names.problem(name):
                return f"has a name that {said}"
            if said := self.of.problem(inner):
                return f"holds at {name} what {said}"
        return ""


def problems(
    value: Mapping[str, Any],
    shape: Shape,
    required: frozenset[str],
    other: Callable[[str, Any], str] | None = None,
) -> list[str]:
    """Return what is wrong with the attributes of a map or an item; `other` judges those that are not in its shape."""
    said = [f"{name} is missing" for name in required - value.keys()]
    for name, inner in value.items():
        kind = shape.get(name)
        wrong = (
            kind.problem(inner) if kind else other(name, inner) if other else "is not one of its attributes"
        )
        if wrong:
            said.append(f"{name} {wrong}")
    return sorted(said)  # engines give attributes back in any order


UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # controls, lone surrogates
PLAIN_LINK = re.compile(r"https?://[a-z0-9.-]+(/[!#-;=?-\[\]-~]*)?")  # as most are: no need to look closer
HASH = re.compile(r"[0-9a-f]{64}")
MOST_TEXT = 100_000
LINK_CHARACTERS = 2_000

_is_slug = lru_cache(10_000)(is_slug)  # the same few brands stand in many items


@dataclass(frozen=True, kw_only=True)
class Text(Attribute):
    """A text of some length; `one_of` names all that it may be, `pattern` matches all of it.

    With `least=0` it may be empty, also where it is an id, a user name or the like.
    """

    least: int = 1
    most: int = MOST_TEXT
    one_of: tuple[str, ...] = ()
    pattern: str = ""

    nothing = ""
    column = "text"

    def problem(self, value: Any) -> str:
        if type(value) is not str:
            return is_not(value, "a text")
        if not self.least <= len(value) <= self.most:
            return f"has {len(value)} characters instead of {self.least} to {self.most}"
        if not value:
            return ""
        if self.one_of and value not in self.one_of:
            return is_not(value, f"one of {', '.join(self.one_of)}")
        if UNSTORABLE.search(value):
            return "holds control characters"
        if self.pattern and not re.fullmatch(self.pattern, value):
            return is_not(value, "of its form")
        return self.odd(value)

    def odd(self, value: str) -> str:
        """Return what else is wrong with a text."""
        return ""

    def range(self) -> str:
        return ", ".join(self.one_of) or (f"{self.least} to {self.most:,}" if self.most < MOST_TEXT else "")


@dataclass(frozen=True, kw_only=True)
class ForeignText(Text):
    """A text that comes from elsewhere, whatever its characters: of a browser, or of an error."""

    def problem(self, value: Any) -> str:
        if type(value) is str and self.least <= len(value) <= self.most:
            return ""
        return is_not(value, f"a text of {self.least} to {self.most:,} characters")


@dataclass(frozen=True, kw_only=True)
class Ulid(Text):
    """The id of something, which says when it was made."""

    def problem(self, value: Any) -> str:
        fits = type(value) is str and (is_ulid(value) if value else not self.least)
        return "" if fits else is_not(value, "a ULID")


@dataclass(frozen=True, kw_only=True)
class Slug(Text):
    """The key part of a name."""

    most: int = SLUG_CHARACTERS

    def odd(self, value: str) -> str:
        return "" if _is_slug(value) else is_not(value, "the key part of a name")


@dataclass(frozen=True, kw_only=True)
class Username(Text):
    """A user's name in lower case; `also` names who acts without being a user."""

    most: int = 30
    also: tuple[str, ...] = ()

    def problem(self, value: Any) -> str:
        if value in self.also:
            return ""
        fits = type(value) is str and (is_username(value) if value else not self.least)
        return "" if fits else is_not(value, "a user name")


@dataclass(frozen=True, kw_only=True)
class Email(Text):
    """An e-mail address, its domain in lower case."""

    most: int = 254
    personal: bool = True

    def odd(self, value: str) -> str:
        return "" if EMAIL_PATTERN.fullmatch(value) or not value else is_not(value, "an e-mail address")


@dataclass(frozen=True, kw_only=True)
class Link(Text):
    """A web address, http or https."""

    most: int = LINK_CHARACTERS

    def odd(self, value: str) -> str:
        fits = not value or PLAIN_LINK.fullmatch(value) or is_web_link(value)
        return "" if fits else is_not(value, "a web address")


@dataclass(frozen=True, kw_only=True)
class Hash(Text):
    """SHA-256 of something, 64 hexadecimal digits."""

    def problem(self, value: Any) -> str:
        return "" if type(value) is str and HASH.fullmatch(value) else is_not(value, "a SHA-256")
