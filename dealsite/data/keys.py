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
from dataclasses import dataclass
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


def prices(deal_id: str) -> str:
    """All prices that a deal has had, in the order of time."""
    return f"PRICES#{ulid_part(deal_id)}"


def price(deal_id: str, since: datetime, entry_id: str) -> Key:
    return prices(deal_id), f"{iso(since)}#{ulid_part(entry_id)}"


def draft(draft_id: str) -> Key:
    return f"DRAFT#{ulid_part(draft_id)}", f"DRAFT#{draft_id}"


PRESENT = "PRESENCE#"


def presence(kind: str, thing_id: str, username: str) -> Key:
    """Who has a deal's or a draft's form open (kind deal or draft), beside it: both are read at once."""
    return thing(kind, thing_id)[0], f"{PRESENT}{part(username)}"


def thing(kind: str, thing_id: str) -> Key:
    """A deal or a draft, by what it is called in addresses."""
    return {"deal": deal, "draft": draft}[kind](thing_id)


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


# Versions


def versions(history_id: str) -> str:
    """All versions that are kept of a deal or draft, in the order in which they were made."""
    return f"VERSIONS#{ulid_part(history_id)}"


def version(history_id: str, number: int) -> Key:
    return versions(history_id), f"{number:08d}"


def changes(history_id: str) -> Key:
    """What a deal is to become and shoppers do not see yet, after all its versions."""
    return versions(history_id), "CHANGES"


CHANGES = "DEALCHANGES"


def changes_rows(history_id: str, updated_at: datetime) -> Row:
    """Put unpublished changes among those of all deals (GSI1), in the order of their last edit."""
    return {"GSI1PK": CHANGES, "GSI1SK": f"{iso(updated_at)}#{ulid_part(history_id)}"}


# Trash


TRASH = "TRASH"
TRASHED = ("deal", "draft")  # the kinds of things that go to the trash


def trash(kind: str, thing_id: str) -> Key:
    """What was deleted stands where it stood, until the trash is emptied."""
    if kind not in TRASHED:
        raise ValueError(f"A {kind[:80]!r} does not go to the trash.")
    return f"{kind.upper()}#{ulid_part(thing_id)}", TRASH


def trash_position(at: datetime, kind: str, thing_id: str) -> str:
    return f"{iso(at)}#{part(kind)}#{ulid_part(thing_id)}"


def trash_row(kind: str, thing_id: str, at: datetime) -> Row:
    """Put a deleted thing into the list of the trash (GSI1), in the order of deletion."""
    return {"GSI1PK": TRASH, "GSI1SK": trash_position(at, kind, thing_id)}


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


def featured_versions(page_id: str) -> str:
    """The earlier featured lists of a page, by the version that they had."""
    return f"FEATURED#{part(page_id)}"


def featured_version(page_id: str, version: int) -> Key:
    return featured_versions(page_id), f"VERSION#{version:09d}"


FEATURED_PLANS = "FEATUREDPLANS"  # the featured lists that are planned for a time
FEATURED_PLAN = "PLAN#"


def featured_plan(plan_id: str) -> Key:
    return FEATURED_PLANS, f"{FEATURED_PLAN}{ulid_part(plan_id)}"


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


def two_factor(username: str) -> Key:
    """What a user's second factor at sign-in is checked with."""
    return f"USER#{part(username)}", f"TWOFACTOR#{username}"


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


def exports(audience: str) -> str:
    """GSI2: the files that were asked for, by those who may have them."""
    return f"EXPORTS#{part(audience)}" if audience else "EXPORTS"


def export_row(job_id: str, audience: str) -> Row:
    """Put a job that writes a file among all that do for an audience, '' for the back office (GSI2)."""
    return {"GSI2PK": exports(audience), "GSI2SK": f"JOB#{ulid_part(job_id)}"}


IMPORTS = "IMPORTS"


def deal_import(import_id: str) -> Key:
    """A file of deals that an editor brought."""
    return f"IMPORT#{ulid_part(import_id)}", f"IMPORT#{import_id}"


def import_row(import_id: str) -> Row:
    """Put an import among all of them (GSI2)."""
    return {"GSI2PK": IMPORTS, "GSI2SK": f"IMPORT#{ulid_part(import_id)}"}


def import_layout(fingerprint: str) -> Key:
    """How files with the same first line are read."""
    key = f"IMPORTLAYOUT#{part(fingerprint)}"
    return key, key


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


# Bulk changes


def bulk_change(job_id: str) -> str:
    """What a job that changes many deals is to change, and what became of it."""
    return f"BULK#{ulid_part(job_id)}"


def bulk_chunk(job_id: str, number: int) -> Key:
    """Some of the deals that it is to change, in the order in which they were collected."""
    return bulk_change(job_id), f"CHUNK#{number:06d}"


CHANGED, REFUSED = "CHANGED", "REFUSED"


def bulk_row(job_id: str, outcome: str, subject: str) -> Key:
    """What became of one deal: CHANGED or REFUSED, by its id."""
    return bulk_change(job_id), f"{part(outcome)}#{ulid_part(subject)}"


# Saved questions


QUESTIONS = "QUESTIONS"
QUESTION = "QUESTION#"


def question(question_id: str) -> Key:
    """All saved questions stand in one partition, in the order in which they were saved."""
    return QUESTIONS, f"{QUESTION}{ulid_part(question_id)}"


# Saved views of the list of deals


def saved_views(owner: str) -> Key:
    """An editor's views, or the team's."""
    key = f"VIEWS#{part(owner)}"
    return key, key


# Carts


@dataclass(frozen=True, slots=True)
class CartOwner:
    """Whose cart: a user's, or that of a visitor, who is known by the hash of his cookie only."""

    username: str = ""
    visitor: str = ""

    @property
    def partition(self) -> str:
        return f"CART#{part(self.username)}" if self.username else f"CARTANON#{part(self.visitor)}"


def user_cart(username: str) -> CartOwner:
    return CartOwner(username=part(username))


def visitor_cart(cart_key: str) -> CartOwner:
    """A visitor's cart is kept under the hash of what his cookie holds."""
    return CartOwner(visitor=hash_of(cart_key))


def cart_head(owner: CartOwner) -> Key:
    return owner.partition, "HEAD"


def cart_line(owner: CartOwner, status: str, at: datetime, line_id: str) -> Key:
    """A line of a cart, or of an order once it is bought, in the order in which it came to its status."""
    return owner.partition, f"{part(status)}#{iso(at)}#{ulid_part(line_id)}"


def cart_lines(status: str, at: datetime | None = None) -> tuple[str, str]:
    """Return the lowest and highest sort key of a status, or of one moment in it."""
    return prefix(f"{part(status)}#{iso(at)}#" if at else f"{part(status)}#")


def sku(deal_id: str) -> str:
    """GSI2: who has a deal in the cart, by status and time."""
    return f"SKU#{ulid_part(deal_id)}"


def sku_row(deal_id: str, owner: CartOwner, status: str, at: datetime, line_id: str) -> Row:
    """Put a user's line among those of its deal (GSI2); visitors' lines are in no index."""
    if not owner.username:
        return {}
    sort = f"{part(status)}#{iso(at)}#{owner.username}#{ulid_part(line_id)}"
    return {"GSI2PK": sku(deal_id), "GSI2SK": sort}


# Orders


ORDER_SHARDS = 4


def order(username: str, order_id: str) -> Key:
    return f"USER#{part(username)}", f"ORDER#{ulid_part(order_id)}"


def order_group(order_id: str) -> str:
    """GSI1: an order and its lines."""
    return f"ORDER#{ulid_part(order_id)}"


def order_line_row(order_id: str, line_id: str) -> Row:
    """Put a bought line to its order (GSI1)."""
    return {"GSI1PK": order_group(order_id), "GSI1SK": f"ITEM#{ulid_part(line_id)}"}


WAITING = {"PLACED": "OPENORDERS", "SHIPPED": "SHIPPEDORDERS"}  # the lists of what has to be done


def waiting_orders(status: str, shard_number: int) -> str:
    """GSI3: the orders of all users that wait to be shipped (PLACED) or to arrive (SHIPPED)."""
    return f"{WAITING[status]}#{shard_number}"


def waiting_position(placed_at: datetime, order_id: str) -> str:
    return f"{iso(placed_at)}#{ulid_part(order_id)}"


def order_rows(order_id: str, username: str, status: str, placed_at: datetime) -> Row:
    """Put an order to its lines (GSI1), among its user's of its status (GSI2), and into what waits (GSI3)."""
    group = order_group(order_id)
    rows = {
        "GSI1PK": group,
        "GSI1SK": group,
        "GSI2PK": of_user(username),
        "GSI2SK": f"{part(status)}#{order_id}",
    }
    if status in WAITING:
        rows |= {
            "GSI3PK": waiting_orders(status, shard(order_id, ORDER_SHARDS)),
            "GSI3SK": waiting_position(placed_at, order_id),
        }
    return rows


# Payments


PAYMENT_SHARDS = 10


def payments(account: str) -> str:
    """An account's payments, by the time at which they are due."""
    return f"PAYMENTS#{part(account)}"


HISTORY = "PAYHIST#"  # partitions of payments of closed days, which may have a table of their own


def payment_history(account: str) -> str:
    """An account's payments of closed days, by the time at which they were due."""
    return f"{HISTORY}{part(account)}"


def payment(account: str, due_at: datetime, payment_id: str) -> Key:
    return payments(account), payment_position(due_at, payment_id)


def past_payment(account: str, due_at: datetime, payment_id: str) -> Key:
    """A payment keeps its sort key when its day is closed: whoever knows one key knows the other."""
    return payment_history(account), payment_position(due_at, payment_id)


def payment_position(at: datetime, payment_id: str) -> str:
    return f"{iso(at)}#{ulid_part(payment_id)}"


def payments_of_shard(shard_number: int) -> str:
    """GSI3: the payments of all accounts, by status and the time at which something is to be done."""
    return f"PAYMENTS#{shard_number:d}"


def payment_history_of_shard(shard_number: int) -> str:
    """GSI3: the payments of closed days of all accounts, by the time at which they were processed."""
    return f"{HISTORY}{shard_number:d}"


def payments_until(status: str, moment: datetime) -> tuple[str, str]:
    """Return the lowest and highest sort key (GSI3) of a status up to a moment, that millisecond included."""
    return f"{part(status)}#", f"{part(status)}#{iso(moment)}{TOP}"


def payment_row(payment_id: str, status: str, next_at: datetime) -> Row:
    """Put a payment among those of all accounts of its status (GSI3)."""
    return {
        "GSI3PK": payments_of_shard(shard(payment_id, PAYMENT_SHARDS)),
        "GSI3SK": f"{part(status)}#{payment_position(next_at, payment_id)}",
    }


def past_payment_row(payment_id: str, processed_at: datetime) -> Row:
    """Put a payment of a closed day among those of all accounts (GSI3)."""
    return {
        "GSI3PK": payment_history_of_shard(shard(payment_id, PAYMENT_SHARDS)),
        "GSI3SK": payment_position(processed_at, payment_id),
    }


def transaction(transaction_id: str) -> Key:
    """The guard that makes a gateway's transaction id one payment's own; the payment itself is in GSI1 beside it."""
    return f"TXN#{part(transaction_id)}", f"TXN#{transaction_id}"


def transaction_row(transaction_id: str) -> Row:
    """Put a payment under its transaction id (GSI1)."""
    pk, sk = transaction(transaction_id)
    return {"GSI1PK": pk, "GSI1SK": sk}


def payment_totals(day: date, shard_number: int) -> Key:
    """What the payments due on a day come to, by status, in one shard."""
    return f"PAYTOTALS#{day.isoformat()}#{shard_number}", "PAYTOTALS"


def payment_load(load_id: str) -> Key:
    """A load of payments from a file."""
    return f"LOAD#{ulid_part(load_id)}", f"LOAD#{load_id}"


def payment_load_segment(load_id: str, number: int) -> Key:
    """How far one part of a load has come."""
    return f"LOAD#{ulid_part(load_id)}", f"SEGMENT#{number:d}"


def test_charge(idempotency_key: str) -> Key:
    """What the built-in test gateway did under an idempotency key."""
    key = f"TESTCHARGE#{part(idempotency_key)}"
    return key, key


# Audit


def audit(at: datetime, entry_id: str) -> Key:
    """An entry of the audit log, by day."""
    return audit_of_day(at.date()), audit_position(at, entry_id)


def audit_of_day(day: date) -> str:
    return f"AUDIT#{day.isoformat()}"


def audit_position(at: datetime, entry_id: str) -> str:
    return f"{iso(at)}#{ulid_part(entry_id)}"


def audit_by(username: str) -> str:
    """GSI1: what somebody did."""
    return f"AUDIT#BY#{part(username)}"


def audit_of(kind: str, subject: str) -> str:
    """GSI2: what was done to a thing: its type and its id."""
    return f"AUDIT#OF#{part(kind)}#{part(subject)}"


def audit_rows(at: datetime, entry_id: str, *, by: str, kind: str, subject: str) -> Row:
    sort = audit_position(at, entry_id)
    return {"GSI1PK": audit_by(by), "GSI1SK": sort, "GSI2PK": audit_of(kind, subject), "GSI2SK": sort}
