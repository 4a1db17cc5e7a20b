"""The key chart: every key of the table, for reads and writes alike.

A key function returns (PK, SK). An index function returns the attributes that put an item into
an index, named for the question that the index answers. `#` separates the parts of a key and can
stand in no part: parts are ULIDs, slugs, user names, hashes and times, and `part` refuses all else.

    GSI1  by day, month or id        GSI2  by brand or user        GSI3  by category or open work
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from dealsite.data.ids import epoch_seconds, is_ulid, iso, shard, time_of

Key = tuple[str, str]
Row = dict[str, str]

GSI1, GSI2, GSI3, USER_INDEX = "GSI1", "GSI2", "GSI3", "UserIndex"
USER_COUNT_SHARDS = 4
UNFIT = re.compile("[#\x00-\x1f\ud800-\udfff]")
TOP = "\U0010ffff"  # sorts after every character: the end of a prefix range


def part(text: str) -> str:
    """Return a key part unchanged, or raise ValueError: empty, or a `#` or control character in it."""
    if not text or len(text) > 512 or UNFIT.search(text):
        raise ValueError(f"{text[:80]!r} cannot be part of a key.")
    return text


def ulid_part(ulid: str) -> str:
    """Return a ULID unchanged, or raise ValueError."""
    if not is_ulid(ulid):
        raise ValueError(f"{ulid[:80]!r} is not a ULID.")
    return ulid


def prefix(text: str) -> tuple[str, str]:
    """Return the lowest and highest sort key that start with a prefix, for BETWEEN."""
    return text, text + TOP


# Deals


def deal(deal_id: str) -> Key:
    return f"DEAL#{ulid_part(deal_id)}", f"DEAL#{deal_id}"


def offer(deal_id: str) -> Key:
    return f"DEAL#{ulid_part(deal_id)}", "OFFER"


def draft(draft_id: str) -> Key:
    return f"DRAFT#{ulid_part(draft_id)}", f"DRAFT#{draft_id}"


def deals_of_day(day: date) -> str:
    """GSI1: all deals published on a day (UTC)."""
    return f"DEALS#{day.isoformat()}"


def deals_of_brand(brand: str, year: int) -> str:
    """GSI2: the deals of a brand in a year."""
    return f"BRAND#{part(brand)}#{year:04d}"


def deals_of_category(category: str, month: str) -> str:
    """GSI3: the deals of a category in a month, `yyyy-mm`."""
    return f"CATEGORY#{part(category)}#{part(month)}"


def month_of(moment: date) -> str:
    return f"{moment.year:04d}-{moment.month:02d}"


def feed_rows(deal_id: str, brand: str, category: str) -> Row:
    """Put a deal into the feeds of its day, its brand and its category, in the order of publication."""
    live_at = time_of(deal_id)
    sort = feed_position(deal_id)
    return {
        "GSI1PK": deals_of_day(live_at.date()),
        "GSI1SK": sort,
        "GSI2PK": deals_of_brand(brand, live_at.year),
        "GSI2SK": sort,
        "GSI3PK": deals_of_category(category, month_of(live_at)),
        "GSI3SK": sort,
    }


def feed_position(deal_id: str) -> str:
    return f"DEAL#{ulid_part(deal_id)}"


def expiring(month: str) -> str:
    """GSI1: offers by the month in which they expire."""
    return f"EXPIRES#{part(month)}"


def expiring_of_brand(brand: str, month: str) -> str:
    """GSI2: a brand's offers by the month in which they expire."""
    return f"EXPIRES#BRAND#{part(brand)}#{part(month)}"


def expiring_of_category(category: str, month: str) -> str:
    """GSI3: a category's offers by the month in which they expire."""
    return f"EXPIRES#CATEGORY#{part(category)}#{part(month)}"


def expiry_rows(deal_id: str, brand: str, category: str, expires_at: datetime | None) -> Row:
    """Put an offer into the lists of what expires when; nothing if it never does."""
    if expires_at is None:
        return {}
    month, sort = month_of(expires_at), expiry_position(expires_at, deal_id)
    return {
        "GSI1PK": expiring(month),
        "GSI1SK": sort,
        "GSI2PK": expiring_of_brand(brand, month),
        "GSI2SK": sort,
        "GSI3PK": expiring_of_category(category, month),
        "GSI3SK": sort,
    }


def expiry_position(expires_at: datetime, deal_id: str) -> str:
    return f"{iso(expires_at)}#{ulid_part(deal_id)}"


DRAFTS = "DRAFTS"


def drafts_of_brand(brand: str) -> str:
    """GSI2: the drafts of a brand."""
    return f"DRAFTS#BRAND#{part(brand)}"


def drafts_of_category(category: str) -> str:
    """GSI3: the drafts of a category."""
    return f"DRAFTS#CATEGORY#{part(category)}"


def draft_rows(draft_id: str, brand: str, category: str) -> Row:
    """Put a draft into the lists of drafts: all, its brand's, its category's (where it has them)."""
    sort = f"DRAFT#{ulid_part(draft_id)}"
    rows = {"GSI1PK": DRAFTS, "GSI1SK": sort}
    if brand:
        rows |= {"GSI2PK": drafts_of_brand(brand), "GSI2SK": sort}
    if category:
        rows |= {"GSI3PK": drafts_of_category(category), "GSI3SK": sort}
    return rows


# Brands, categories and pages


def brand(slug: str) -> Key:
    return f"BRAND#{part(slug)}", f"BRAND#{slug}"


def brand_counts(slug: str) -> Key:
    return f"BRAND#{part(slug)}", "COUNTS"


BRANDS = "BRANDS"


def brand_letter(letter: str) -> Key:
    return BRANDS, f"LETTER#{part(letter)}"


def category(slug: str) -> Key:
    return f"CATEGORY#{part(slug)}", f"CATEGORY#{slug}"


def category_counts(slug: str) -> Key:
    return f"CATEGORY#{part(slug)}", "COUNTS"


FRONT_PAGE: Key = ("FRONTPAGE", "FRONTPAGE")
EDITORS_CHOICE_PAGE: Key = ("EDITORSCHOICEPAGE", "EDITORSCHOICEPAGE")


def days(year: int) -> Key:
    """The days of a year that hold deals."""
    return "FRONTPAGE", f"DAYS#{year:04d}"


YEARS: Key = ("FRONTPAGE", "YEARS")  # the years that have a list of days


def day_count(day: date) -> Key:
    """The number of deals of one day."""
    return "FRONTPAGE", f"DAY#{day.isoformat()}"


# Likes and watches


def brand_like(slug: str, username: str) -> Key:
    key = f"BRANDLIKE#{part(slug)}#{part(username)}"
    return key, key


def category_like(slug: str, username: str) -> Key:
    key = f"CATEGORYLIKE#{part(slug)}#{part(username)}"
    return key, key


def brand_watchers(slug: str) -> str:
    """All who watch a brand, in one partition: no user name in it."""
    return f"BRANDWATCH#{part(slug)}"


def brand_watch(slug: str, username: str) -> Key:
    return brand_watchers(slug), f"USER#{part(username)}"


def category_watchers(slug: str) -> str:
    """All who watch a category, in one partition."""
    return f"CATEGORYWATCH#{part(slug)}"


def category_watch(slug: str, username: str) -> Key:
    return category_watchers(slug), f"USER#{part(username)}"


WATCHER_PARTS = ("0", "d", "k", "r")  # where the parts begin in which all watchers are read side by side


def watchers_between(part_number: int, after: str = "") -> tuple[str, str]:
    """Return the lowest and highest sort key of one part of a watch partition, after a user name.

    `!` sorts before every character that a user name can go on with.
    """
    start = WATCHER_PARTS[part_number]
    last = part_number + 1 == len(WATCHER_PARTS)
    end = TOP if last else chr(ord(WATCHER_PARTS[part_number + 1]) - 1) + TOP
    return f"USER#{after}!" if after else f"USER#{start}", f"USER#{end}"


def relation_row(username: str, relation: str, target: str, slug: str) -> Row:
    """Put a like or watch into its user's lists (GSI2); relation LIKE or WATCH, target BRAND or CATEGORY."""
    return {"GSI2PK": of_user(username), "GSI2SK": f"{relation}#{target}#{part(slug)}"}


def of_user(username: str) -> str:
    """GSI2: what a user likes and watches."""
    return f"USER#{part(username)}"


# Users


def user(username: str) -> Key:
    return f"USER#{part(username)}", f"USER#{username}"


MUTED = "MUTED#"


def user_index(username: str, *, muted: bool = False) -> Row:
    """UserIndex: all users; those who want no hot deals are told apart by their key alone."""
    return {"UserIndex": f"{MUTED if muted else 'USER#'}{part(username)}"}


def is_muted(row: Mapping[str, Any]) -> bool:
    """Tell whether a user, or a row of UserIndex, says that he wants no hot deals."""
    return str(row.get("UserIndex", "")).startswith(MUTED)


def profile(username: str) -> Key:
    return f"USER#{part(username)}", f"PROFILE#{username}"


def email_guard(email: str) -> Key:
    return f"USEREMAIL#{part(email)}", f"USEREMAIL#{email}"


def user_count(username: str) -> Key:
    return user_count_shard(shard(username, USER_COUNT_SHARDS))


def user_count_shard(number: int) -> Key:
    return f"USERCOUNT#{number}", f"USERCOUNT#{number}"


def sessions(username: str) -> str:
    return f"SESSIONS#{part(username)}"


def session(username: str, session_key: str) -> Key:
    """A session's key holds only the hash of what the cookie holds."""
    return sessions(username), f"SESSION#{hash_of(session_key)}"


def session_of_hash(username: str, key_hash: str) -> Key:
    return sessions(username), f"SESSION#{part(key_hash)}"


def throttle(kind: str, subject: str, window: datetime) -> Key:
    """A counter of tries; the subject (an address, a user name as typed) is hashed, since it can be anything."""
    return f"THROTTLE#{part(kind)}#{hash_of(subject)}", str(epoch_seconds(window))


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


# Messages


def messages(username: str) -> str:
    """A user's messages, by id; and in GSI1, those that he has not read."""
    return f"MESSAGES#{part(username)}"


def message(username: str, message_id: str) -> Key:
    return messages(username), f"MESSAGE#{ulid_part(message_id)}"


def unread_row(username: str, message_id: str) -> Row:
    """Put a message into its user's unread ones (GSI1), until it is read."""
    pk, sk = message(username, message_id)
    return {"GSI1PK": pk, "GSI1SK": sk}


# Jobs


def job(job_id: str) -> Key:
    return f"JOB#{ulid_part(job_id)}", f"JOB#{job_id}"


def job_segment(job_id: str, name: str) -> Key:
    """How far one part of a job has come."""
    return f"JOB#{ulid_part(job_id)}", f"SEGMENT#{part(name)}"


ANNOUNCEMENTS = "ANNOUNCEMENTS"


def announcement_row(job_id: str) -> Row:
    """Put a job that sends messages among all that do (GSI2)."""
    return {"GSI2PK": ANNOUNCEMENTS, "GSI2SK": f"JOB#{ulid_part(job_id)}"}


def jobs_of_month(month: str) -> str:
    """GSI1: the jobs of a month."""
    return f"JOBS#{part(month)}"


OPEN_JOBS = "JOBS#OPEN"


def job_rows(job_id: str, due: datetime | None) -> Row:
    """Put a job into its month's list and, with a due time, among the open ones (GSI3)."""
    rows = {"GSI1PK": jobs_of_month(month_of(time_of(job_id))), "GSI1SK": f"JOB#{ulid_part(job_id)}"}
    if due is not None:
        rows |= {"GSI3PK": OPEN_JOBS, "GSI3SK": f"{iso(due)}#{job_id}"}
    return rows
