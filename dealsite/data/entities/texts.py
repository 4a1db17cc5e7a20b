"""The kinds of texts that an attribute may hold: ids, names, addresses, links, and any other text of some length."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dealsite.data.entities.attributes import Attribute, is_not
from dealsite.data.names import EMAIL_PATTERN, SLUG_CHARACTERS, is_slug, is_username, is_web_link
from dealsite.data.table.ids import is_ulid

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
