"""What a variable of the environment may hold: each kind reads its text, and says in words what it should be."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

Kind = Callable[[str], Any]  # of a text without white space around it; ValueError says what it should be
MAIL = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: how its text is read, what it means, and its value where it is not set or empty.

    `otherwise` says in words what that value is, where it depends on other things. A secret is never shown.
    """

    name: str
    kind: Kind
    meaning: str
    default: Any = ""
    otherwise: str = ""
    is_secret: bool = False


def text(given: str) -> str:
    """Any text."""
    return given


def words(given: str) -> list[str]:
    """Words between white space."""
    return given.split()


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


def number(given: str) -> int:
    """A whole number of zero or more."""
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise ValueError("a whole number")
    return int(given)


def positive(given: str) -> int:
    """A whole number of one or more."""
    try:
        if found := number(given):
            return found
    except ValueError:
        pass
    raise ValueError("a whole number of 1 or more")


def port(given: str) -> int:
    """A port of TCP."""
    if given.isascii() and given.isdigit() and 0 < int(given) < 65_536:
        return int(given)
    raise ValueError("a whole number from 1 to 65535")


def one_of(*choices: str) -> Kind:
    """Return the kind of one of some words, however they are written."""
    by_lower_case = {choice.lower(): choice for choice in choices}

    def read(given: str) -> str:
        if (found := by_lower_case.get(given.lower())) is None:
            raise ValueError(f"one of {', '.join(choices)}")
        return found

    return read


def some_of(*choices: str) -> Kind:
    """Return the kind of some of some words, each once, in the order of the choices."""

    def read(given: str) -> list[str]:
        if not set(given.split()) <= set(choices):
            raise ValueError(f"some of {' '.join(choices)}")
        return [choice for choice in choices if choice in given.split()]

    return read


def url(given: str) -> str:
    """An http or https address without a path."""
    found, fault = given.rstrip("/"), "an address like https://deals.example"
    try:
        parts = urlsplit(found)
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(fault) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_port:
        raise ValueError(fault)
    if parts.path or parts.query or parts.fragment or parts.username or re.search(r"[\s\\]", found):
        raise ValueError(fault)
    return found


def endpoint(given: str) -> str:
    """An http or https address, or a socket of this machine."""
    if given.startswith("unix:"):
        return given
    return url(given)


def contact(given: str) -> str:
    """An address such as mailto:security@deals.example, or of a page."""
    if not re.fullmatch(r"(?:mailto:|https://)[!-~]+", given):
        raise ValueError("a mailto: or https: address")
    return given


def bucket_place(given: str) -> str:
    """A place in S3, such as s3://deals/lake."""
    found = given.rstrip("/")
    parts = urlsplit(found)
    if parts.scheme != "s3" or not parts.hostname or parts.query:
        raise ValueError("a place like s3://deals/lake")
    return found


def host(given: str) -> str:
    """The name of a host, with a port or without."""
    if not re.fullmatch(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?", given):
        raise ValueError("the name of a host, such as media.deals.example")
    return given


def hosts(given: str) -> list[str]:
    """Names of hosts, as Django's ALLOWED_HOSTS takes them."""
    found = given.split()
    if not all(re.fullmatch(r"\*|\.?[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]", one) for one in found):
        raise ValueError("names of hosts without ports, separated by spaces")
    return found


def mail_addresses(given: str) -> list[str]:
    """E-mail addresses."""
    found = given.split()
    if not all(MAIL.fullmatch(one) for one in found):
        raise ValueError("e-mail addresses, separated by spaces")
    return found


def sender(given: str) -> str:
    """An e-mail address, alone or with a name before it."""
    if not (MAIL.fullmatch(given) or re.fullmatch(rf"[^<>\r\n]+<{MAIL.pattern}>", given)):
        raise ValueError("an address like Deals <noreply@deals.example>")
    return given


def time_zone(given: str) -> str:
    """A time zone by its name in the IANA database."""
    try:
        return ZoneInfo(given).key
    except (ValueError, OSError, LookupError):
        raise ValueError("a time zone like Europe/Berlin") from None


def currency(given: str) -> str:
    """A currency that people pay with now, by its ISO 4217 code, with two decimal places as the prices have."""
    from babel.core import get_global  # reads a file, which sites with the default need not

    code = given.upper()
    decimals = get_global("currency_fractions").get(code, get_global("currency_fractions")["DEFAULT"])[0]
    used = {
        one
        for of_territory in get_global("territory_currencies").values()
        for one, _begin, end, is_tender in of_territory
        if is_tender and end is None
    }
    if code not in used or decimals != 2:
        raise ValueError("the code of a currency with two decimal places, like EUR")
    return code
