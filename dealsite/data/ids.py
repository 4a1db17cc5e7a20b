"""Ids, names and times as they stand in keys.

A deal's id is a ULID whose time is the publication time, so ids sort as deals do. Names are
normalised first and checked afterwards: NFKC turns look-alikes of `#` into `#` itself.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
import zlib
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext_lazy
from ulid import ULID

from dealsite.data.errors import Invalid

ULID_PATTERN = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
USERNAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_.-]{2,29}")
EMAIL_PATTERN = re.compile(r"[^@\s<>\"(),:;\\\[\]#]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z0-9-]{2,}")
SLUG_CHARACTERS = 60

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANDOM_BITS = 80


def new_ulid(now: datetime, randomness: int | None = None) -> str:
    """Return a ULID of 26 characters for a moment; `randomness` (80 bits) makes it repeatable."""
    if randomness is None:
        randomness = secrets.randbits(RANDOM_BITS)
    return _ulid(_milliseconds(now), randomness)


def time_of(ulid: str) -> datetime:
    """Return the moment, to the millisecond, that a ULID was made for."""
    return EPOCH + timedelta(milliseconds=int(ULID.from_str(ulid).milliseconds))


def is_ulid(text: str) -> bool:
    """Tell whether a text is a ULID in its one canonical spelling, of a moment up to the end of `LAST_YEAR`."""
    return ULID_PATTERN.fullmatch(text) is not None and text <= LAST_ULID


def last_ulid_until(moment: datetime) -> str:
    """Return the greatest ULID of a moment: nothing published by then sorts after it."""
    return _ulid(_milliseconds(moment), (1 << RANDOM_BITS) - 1)


def first_ulid_of(moment: datetime) -> str:
    """Return the smallest ULID of a moment."""
    return _ulid(_milliseconds(moment), 0)


def next_ulid(ulid: str) -> str:
    """Return the ULID right after one; that of the last is itself."""
    return min(str(ULID.from_int(int(ULID.from_str(ulid)) + 1)), LAST_ULID)


def previous_ulid(ulid: str) -> str:
    """Return the ULID right before one; that of the first is itself."""
    return str(ULID.from_int(max(int(ULID.from_str(ulid)) - 1, 0)))


def _milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def _ulid(milliseconds: int, randomness: int) -> str:
    return str(ULID.from_int((milliseconds << RANDOM_BITS) | randomness))


# A ULID could name moments up to the year 10,889, of which no date can be made. The calendar's own last year
# is left out, too: other zones and what is kept for a while after a moment would lead out of it.
LAST_YEAR = 9998
LAST_ULID = last_ulid_until(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1))


def iso(moment: datetime) -> str:
    """Return an aware time as UTC ISO text with milliseconds and Z, which sorts as time does."""
    if moment.tzinfo is None:
        raise ValueError("A time without a zone must never reach the table.")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def from_iso(text: str) -> datetime:
    """Return the aware UTC time that `iso` wrote."""
    return datetime.fromisoformat(text)


def epoch_seconds(moment: datetime) -> int:
    """Return whole seconds since 1970, as the `ttl` attribute holds them."""
    return (moment - EPOCH) // timedelta(seconds=1)


def shard(text: str, shards: int) -> int:
    """Return crc32(text) % shards: which shard an id belongs to, now and at every later repair."""
    return zlib.crc32(text.encode()) % shards


def normalise(text: str) -> str:
    """Return text in NFKC, without control, format and surrogate characters, its white space folded."""
    text = unicodedata.normalize("NFKC", text)
    kept = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in UNWANTED
    )
    return unicodedata.normalize("NFKC", " ".join(kept.split()))


UNWANTED = {"Cc", "Cf", "Cs", "Co", "Cn"}


def slugify(name: str) -> str:
    """Return the key part for a display name: case, accents, spacing and punctuation folded; '' if nothing is left.

    Letters and digits of every script stay, so brands of the whole world have a slug of their own.
    """
    text = unicodedata.normalize("NFKD", normalise(name).casefold())
    text = "".join(c for c in text if not "\u0300" <= c <= "\u036f")
    text = unicodedata.normalize("NFKC", text)
    words = "".join(
        c if c.isalnum() or unicodedata.category(c) in ("Mn", "Mc") else " " for c in text
    ).split()
    return "-".join(words)[:SLUG_CHARACTERS].rstrip("-")


def normalise_username(text: str) -> str:
    """Return the lower-case user name, or raise Invalid: 3 to 30 of a-z, 0-9, `_`, `.`, `-`."""
    username = unicodedata.normalize("NFKC", text).strip().casefold()
    if not USERNAME_PATTERN.fullmatch(username):
        raise Invalid(
            username=gettext_lazy(
                "A user name has 3 to 30 letters (a to z), digits, dots, dashes or underscores, "
                "and starts with a letter or digit."
            )
        )
    return username


def normalise_email(text: str) -> str:
    """Return the e-mail address in lower case, or raise Invalid."""
    email = unicodedata.normalize("NFKC", text).strip().casefold()
    if (
        len(email) > 254
        or not EMAIL_PATTERN.fullmatch(email)
        or any(unicodedata.category(c) in UNWANTED for c in email)
    ):
        raise Invalid(email=gettext_lazy("Enter an e-mail address such as name@example.org."))
    return email
