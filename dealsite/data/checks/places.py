"""Every key and index row, recomputed from an item's own attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from dealsite.data import featured_cards, keys
from dealsite.data.checks.problem import Problem, differences, key_of, mend
from dealsite.data.convert import Item
from dealsite.data.ids import from_iso, time_of
from dealsite.data.jobs import listed_rows
from dealsite.data.payments.stored import index_rows, payment_from_item
from dealsite.data.relations import RELATIONS, Relation

INDEX_KEYS = ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "UserIndex")


@dataclass(frozen=True)
class Place:
    """Where an item should stand: its key (None where it cannot be recomputed) and its index rows."""

    key: keys.Key | None
    rows: dict[str, str] = field(default_factory=dict)


def _deal(item: Item) -> Place:
    card = item["card"]
    return Place(keys.deal(item["id"]), keys.feed_rows(item["id"], card["brand"], card["category"]))


def _offer(item: Item) -> Place:
    expires_at = from_iso(item["expires_at"]) if "expires_at" in item else None
    rows = keys.expiry_rows(item["id"], item["brand"], item["category"], expires_at)
    return Place(keys.offer(item["id"]), rows)


def _draft(item: Item) -> Place:
    if item.get("published_as"):
        return Place(keys.draft(item["id"]))
    card = item["card"]
    return Place(
        keys.draft(item["id"]), keys.draft_rows(item["id"], card.get("brand", ""), card.get("category", ""))
    )


def _trash(item: Item) -> Place:
    kind, thing_id = item["kind"], item["id"]
    rows = keys.trash_row(kind, thing_id, from_iso(item["card"]["deleted_at"]))
    return Place(keys.trash(kind, thing_id), rows)


def _changes(item: Item) -> Place:
    rows = keys.changes_rows(item["of"], from_iso(item["updated_at"])) if "discarded_at" not in item else {}
    return Place(keys.changes(item["of"]), rows)


def _job(item: Item) -> Place:
    listed = listed_rows(item["kind"], item["id"])
    if item["state"] != "open":
        return Place(keys.job(item["id"]), keys.job_rows(item["id"], None) | listed)
    rows = keys.job_rows(item["id"], time_of(item["id"])) | listed
    due, _, job_id = str(item.get("GSI3SK", "")).partition("#")
    if due and job_id == item["id"]:  # when it is due stands nowhere else
        rows["GSI3SK"] = item["GSI3SK"]
    return Place(keys.job(item["id"]), rows)


def _relation(relation: Relation, item: Item) -> Place:
    slug, username = item["slug"], item["username"]
    rows = keys.relation_row(username, relation.verb, relation.target.upper(), slug)
    return Place(relation.key(slug, username), rows)


def _message(item: Item) -> Place:
    username, message_id = item["username"], item["id"]
    unread = "GSI1PK" in item or "GSI1SK" in item
    rows = keys.unread_row(username, message_id) if unread else {}
    return Place(keys.message(username, message_id), rows)


def _user(item: Item) -> Place:
    username = item["username"]
    rows = {} if "deleted_at" in item else keys.user_index(username, muted=keys.is_muted(item))
    return Place(keys.user(username), rows)


def _letter(item: Item) -> Place:
    return Place(keys.brand_letter(str(item["SK"]).removeprefix("LETTER#")))


def _days(item: Item) -> Place:
    return Place(keys.days(int(str(item["SK"]).removeprefix("DAYS#"))))


def _day_count(item: Item) -> Place:
    return Place(keys.day_count(from_iso(str(item["SK"]).removeprefix("DAY#")).date()))


def _user_count(item: Item) -> Place:
    return Place(
        keys.user_count_shard(int(str(item["PK"]).removeprefix("USERCOUNT#")) % keys.USER_COUNT_SHARDS)
    )


def _session(item: Item) -> Place:
    return Place(keys.session_of_hash(item["username"], str(item["SK"]).removeprefix("SESSION#")))


def cart_owner(item: Item) -> keys.CartOwner:
    """Return whose cart a head or line belongs to."""
    if item.get("username"):
        return keys.CartOwner(username=item["username"])
    return keys.CartOwner(visitor=item["visitor"])


def _cart_line(item: Item) -> Place:
    owner, line_id, status, at = cart_owner(item), item["id"], item["status"], from_iso(item["at"])
    rows = keys.sku_row(item["deal"], owner, status, at, line_id)
    if "order" in item:
        rows |= keys.order_line_row(item["order"], line_id)
    return Place(keys.cart_line(owner, status, at, line_id), rows)


def _order(item: Item) -> Place:
    placed_at = from_iso(item["placed_at"])
    rows = keys.order_rows(item["id"], item["username"], item["status"], placed_at)
    return Place(keys.order(item["username"], item["id"]), rows)


def _audit_entry(item: Item) -> Place:
    card, entry_id = item["card"], item["id"]
    at = from_iso(card["at"])
    rows = keys.audit_rows(at, entry_id, by=card["by"], kind=card["kind"], subject=card["subject"])
    return Place(keys.audit(at, entry_id), rows)


def _payment(item: Item) -> Place:
    payment = payment_from_item(item)
    return Place(payment.key, index_rows(payment))


# Every type of item: a new entity adds its line. What is in no line is reported as unknown.
PLACES: dict[str, Callable[[Item], Place]] = {
    "Deal": _deal,
    "Offer": _offer,
    "Price": lambda item: Place(keys.price(item["deal"], from_iso(item["since"]), item["id"])),
    "Draft": _draft,
    "Trash": _trash,
    "Version": lambda item: Place(keys.version(item["of"], item["version"])),
    "DealChanges": _changes,
    "Brand": lambda item: Place(keys.brand(item["slug"])),
    "BrandCounts": lambda item: Place(keys.brand_counts(item["slug"])),
    "BrandLetter": _letter,
    "Category": lambda item: Place(keys.category(item["slug"])),
    "CategoryCounts": lambda item: Place(keys.category_counts(item["slug"])),
    "FrontPage": lambda item: Place(featured_cards.page_key(featured_cards.FRONT)),
    "EditorsChoicePage": lambda item: Place(featured_cards.page_key(featured_cards.EDITORS_CHOICE)),
    "FeaturedVersion": lambda item: Place(keys.featured_version(item["page"], int(item["version"]))),
    "FeaturedPlan": lambda item: Place(keys.featured_plan(item["id"])),
    "Years": lambda item: Place(keys.YEARS),
    "Days": _days,
    "DayCount": _day_count,
    "User": _user,
    "Profile": lambda item: Place(keys.profile(item["username"])),
    "TwoFactor": lambda item: Place(keys.two_factor(item["username"])),
    "EmailGuard": lambda item: Place(keys.email_guard(item["email"])),
    "UserCount": _user_count,
    "Session": _session,
    "Presence": lambda item: Place(keys.presence(item["kind"], item["of"], item["username"])),
    "Throttle": lambda item: Place(None),  # its subject stands in the key as a hash only
    "Job": _job,
    "Import": lambda item: Place(keys.deal_import(item["id"]), keys.import_row(item["id"])),
    "ImportLayout": lambda item: Place(keys.import_layout(item["fingerprint"])),
    "JobSegment": lambda item: Place(keys.job_segment(item["job"], item["name"])),
    "BulkChunk": lambda item: Place(keys.bulk_chunk(item["job"], item["number"])),
    "BulkRow": lambda item: Place(keys.bulk_row(item["job"], item["outcome"], item["subject"])),
    "Message": _message,
    "SavedQuestion": lambda item: Place(keys.question(item["id"])),
    "SavedViews": lambda item: Place(keys.saved_views(item["owner"])),
    "CartHead": lambda item: Place(keys.cart_head(cart_owner(item))),
    "CartLine": _cart_line,
    "Order": _order,
    "AuditEntry": _audit_entry,
    "Payment": _payment,
    "PaymentTotals": lambda item: Place(
        keys.payment_totals(date.fromisoformat(item["day"]), int(item["shard"]))
    ),
    "PaymentLoad": lambda item: Place(keys.payment_load(item["id"])),
    "PaymentLoadSegment": lambda item: Place(keys.payment_load_segment(item["load"], item["number"])),
    "TransactionGuard": lambda item: Place(keys.transaction(item["transaction_id"])),
    "TestCharge": lambda item: Place(keys.test_charge(item["id"])),
    **{relation.type: partial(_relation, relation) for relation in RELATIONS},
}


class Places:
    """Sees each item where it should stand."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def is_sound(self, item: Item) -> bool:
        """Tell whether an item is of a known type and stands under its own key; other checks see only those."""
        kind = item.get("type")
        if not isinstance(kind, str) or kind not in PLACES:
            self.found.append(Problem(key_of(item), f"Its type, {kind!r}, is not known."))
            return False
        try:
            place = PLACES[kind](item)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.found.append(
                Problem(key_of(item), f"This {kind} lacks what its key is made of ({error!r}).")
            )
            return False
        if place.key is not None and place.key != key_of(item):
            self.found.append(Problem(key_of(item), f"This {kind} belongs under {' / '.join(place.key)}."))
            return False
        wanted: dict[str, Any] = {name: place.rows.get(name) for name in INDEX_KEYS}
        if wrong := differences(item, wanted):
            texts = [f"{name} is {item.get(name)!r}, should be {value!r}" for name, value in wrong.items()]
            self.found.append(Problem(key_of(item), "; ".join(texts) + ".", (mend(item, wrong),)))
        return True
