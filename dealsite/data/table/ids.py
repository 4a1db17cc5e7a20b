"""Ids and times as they stand in keys: ULIDs sort as the moments do that they were made for."""

import hashlib
import re
import secrets
import unicodedata
import zlib
from datetime import UTC, date, datetime, timedelta

ULID_PATTERN = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")

# A ULID is a number: 48 bits of milliseconds and 80 of chance. Python counts up to V, and leaves no letter out.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
AS_BASE_32 = str.maketrans("JKMNPQRSTVWXYZ", "IJKLMNOPQRSTUV")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RANDOM_BITS = 80
FORM_HOLDS = timedelta(days=1)


def new_ulid(now: datetime, randomness: int | None = None) -> str:
    """Return a ULID of 26 characters for a moment; `randomness` (80 bits) makes it repeatable."""
    if randomness is None:
        randomness = secrets.randbits(RANDOM_BITS)
    return ulid_of((_milliseconds(now) << RANDOM_BITS) | randomness)


def time_of(ulid: str) -> datetime:
    """Return the moment, to the millisecond, that a ULID was made for."""
    return EPOCH + timedelta(milliseconds=int(ulid[:10].translate(AS_BASE_32), 32))


def is_ulid(text: str) -> bool:
    """Tell whether a text is a ULID in its one canonical spelling, of a moment up to the end of `LAST_YEAR`."""
    return ULID_PATTERN.fullmatch(text) is not None and text <= LAST_ULID


def is_new(text: str, now: datetime, *, within: timedelta = FORM_HOLDS) -> bool:
    """Tell whether a text that a form brought can become the id of something new: a ULID made within a day of now.

    What an id says of its time is believed for good, so every id that comes from outside is asked this.
    """
    return is_ulid(text) and abs(now - time_of(text)) <= within


def new_id(text: str, now: datetime) -> str:
    """Return the id that a form had ready for something new; another one where that is none, or too old."""
    return text if is_new(text, now) else new_ulid(now)


def last_ulid_until(moment: datetime) -> str:
    """Return the greatest ULID of a moment: nothing published by then sorts after it."""
    return first_ulid_of(moment)[:10] + "Z" * 16


def first_ulid_of(moment: datetime) -> str:
    """Return the smallest ULID of a moment."""
    return ulid_of(_milliseconds(moment) << RANDOM_BITS)


def next_ulid(ulid: str) -> str:
    """Return the ULID right after one; that of the last is itself."""
    return min(ulid_of(number_of(ulid) + 1), LAST_ULID)


def previous_ulid(ulid: str) -> str:
    """Return the ULID right before one; that of the first is itself."""
    return ulid_of(max(number_of(ulid) - 1, 0))


def _milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def number_of(ulid: str) -> int:
    """Return the number of 128 bits that a ULID is."""
    return int(ulid.translate(AS_BASE_32), 32)


def ulid_of(number: int) -> str:
    """Return the ULID of a number of 128 bits."""
    return "".join([ALPHABET[number >> shift & 31] for shift in range(125, -1, -5)])


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


def month_of(moment: date) -> str:
    """Return the month `yyyy-mm` of a day or a moment."""
    return moment.isoformat()[:7]


def folded(text: str) -> str:
    """Return a text as it is compared: look-alikes and letters of either case are one."""
    return unicodedata.normalize("NFKC", text).casefold()


def hash_of(text: str) -> str:
    """Return what stands in a key for a secret, or for what can be anything: its SHA-256."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def shard(text: str, shards: int) -> int:
    """Return crc32(text) % shards: which shard an id belongs to, now and at every later repair."""
    return zlib.crc32(text.encode()) % shards
