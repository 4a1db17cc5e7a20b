"""Every key and index row, recomputed from an item's own attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from dealsite.data import keys
from dealsite.data.catalogue import cards
from dealsite.data.catalogue.relations import RELATIONS, Relation
from dealsite.data.commerce.cart.owners import CartOwner
from dealsite.data.commerce.payment.payment_record import index_rows, payment_from_item
from dealsite.data.integrity.problem import Problem, differences, key_of, repair_write
from dealsite.data.jobs.jobs import listed_rows
from dealsite.data.people.users import is_muted
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, time_of

INDEX_KEYS = ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "UserIndex")


@dataclass(frozen=True)
class ItemType:
    """Where an item should stand: its key (None where it cannot be recomputed) and its index rows."""

    key: keys.Key | None
    rows: dict[str, str] = field(default_factory=dict)


def _deal(item: Item) -> ItemType:
    card = item["card"]
    return ItemType(keys.deal(item["id"]), keys.feed_rows(item["id"], card["brand"], card["category"]))


def _offer(item: Item) -> ItemType:
    expires_at = from_iso(item["expires_at"]) if "expires_at" in item else None
    rows = keys.expiry_rows(item["id"], item["brand"], item["category"], expires_at)
    return ItemType(keys.offer(item["id"]), rows)


def _draft(item: Item) -> ItemType:
    if item.get("published_as"):
        return ItemType(keys.draft(item["id"]))
    card = item["card"]
    return ItemType(
        keys.draft(item["id"]), keys.draft_rows(item["id"], card.get("brand", ""), card.get("category", ""))
    )


def _trash(item: Item) -> ItemType:
    kind, thing_id = item["kind"], item["id"]
    rows = keys.trashed(from_iso(item["card"]["deleted_at"]), kind, thing_id)
    return ItemType(keys.trash(kind, thing_id), rows)


def _changes(item: Item) -> ItemType:
    rows = keys.changed_deals(from_iso(item["updated_at"]), item["of"]) if "discarded_at" not in item else {}
    return ItemType(keys.changes(item["of"]), rows)


def _job(item: Item) -> ItemType:
    listed = listed_rows(item["kind"], item["id"])
    if item["state"] != "open":
        return ItemType(keys.job(item["id"]), keys.job_rows(item["id"], None) | listed)
    rows = keys.job_rows(item["id"], time_of(item["id"])) | listed
    due, _, job_id = str(item.get("GSI3SK", "")).partition("#")
    if due and job_id == item["id"]:  # when it is due stands nowhere else
        rows["GSI3SK"] = item["GSI3SK"]
    return ItemType(keys.job(item["id"]), rows)


def _relation(relation: Relation, item: Item) -> ItemType:
    slug, username = item["slug"], item["username"]
    rows = keys.relations_of_user(username, relation.verb, relation.target.upper(), slug)
    return ItemType(relation.key(slug, username), rows)


def _message(item: Item) -> ItemType:
    username, message_id = item["username"], item["id"]
    unread = "GSI1PK" in item or "GSI1SK" in item
    rows = keys.unread_messages(username, message_id) if unread else {}
    return ItemType(keys.message(username, message_id), rows)


def _user(item: Item) -> ItemType:
    username = item["username"]
    rows = {} if "deleted_at" in item else keys.user_index(username, muted=is_muted(item))
    return ItemType(keys.user(username), rows)


def _letter(item: Item) -> ItemType:
    return ItemType(keys.brand_letter(str(item["SK"]).removeprefix("LETTER#")))


def _days(item: Item) -> ItemType:
    return ItemType(keys.days(int(str(item["SK"]).removeprefix("DAYS#"))))


def _day_count(item: Item) -> ItemType:
    return ItemType(keys.day_count(from_iso(str(item["SK"]).removeprefix("DAY#")).date()))


def _user_count(item: Item) -> ItemType:
    return ItemType(
        keys.user_count.given(int(str(item["PK"]).removeprefix("USERCOUNT#")) % keys.USER_COUNT_SHARDS)
    )


def _session(item: Item) -> ItemType:
    return ItemType(keys.session.given(item["username"], str(item["SK"]).removeprefix("SESSION#")))


def cart_owner(item: Item) -> CartOwner:
    """Return whose cart a head or line belongs to."""
    if item.get("username"):
        return CartOwner(username=item["username"])
    return CartOwner(visitor=item["visitor"])


def _cart_line(item: Item) -> ItemType:
    owner, line_id, status, at = cart_owner(item), item["id"], item["status"], from_iso(item["at"])
    rows = keys.carts_with(item["deal"], status, at, owner.username, line_id)
    if "order" in item:
        rows |= keys.order_lines(item["order"], line_id)
    return ItemType(owner.line(status, at, line_id), rows)


def _order(item: Item) -> ItemType:
    placed_at = from_iso(item["placed_at"])
    rows = keys.order_rows(item["id"], item["username"], item["status"], placed_at)
    return ItemType(keys.order(item["username"], item["id"]), rows)


def _audit_entry(item: Item) -> ItemType:
    card, entry_id = item["card"], item["id"]
    at = from_iso(card["at"])
    rows = keys.audit_rows(at, entry_id, by=card["by"], kind=card["kind"], subject=card["subject"])
    return ItemType(keys.audit(at, entry_id), rows)


def _payment(item: Item) -> ItemType:
    payment = payment_from_item(item)
    return ItemType(payment.key, index_rows(payment))


# Every type of item: a new entity adds its line. What is in no line is reported as unknown.
PLACES: dict[str, Callable[[Item], ItemType]] = {
    "Deal": _deal,
    "Offer": _offer,
    "Price": lambda item: ItemType(keys.price(item["deal"], from_iso(item["since"]), item["id"])),
    "Draft": _draft,
    "Trash": _trash,
    "Version": lambda item: ItemType(keys.version(item["of"], item["version"])),
    "DealChanges": _changes,
    "Brand": lambda item: ItemType(keys.brand(item["slug"])),
    "BrandCounts": lambda item: ItemType(keys.brand_counts(item["slug"])),
    "BrandLetter": _letter,
    "Category": lambda item: ItemType(keys.category(item["slug"])),
    "CategoryCounts": lambda item: ItemType(keys.category_counts(item["slug"])),
    "FrontPage": lambda item: ItemType(cards.page_key(cards.FRONT)),
    "EditorsChoicePage": lambda item: ItemType(cards.page_key(cards.EDITORS_CHOICE)),
    "FeaturedVersion": lambda item: ItemType(keys.featured_version(item["page"], int(item["version"]))),
    "FeaturedPlan": lambda item: ItemType(keys.featured_plan(item["id"])),
    "Years": lambda item: ItemType(keys.years()),
    "Days": _days,
    "DayCount": _day_count,
    "User": _user,
    "Profile": lambda item: ItemType(keys.profile(item["username"])),
    "TwoFactor": lambda item: ItemType(keys.two_factor(item["username"])),
    "EmailGuard": lambda item: ItemType(keys.email_guard(item["email"])),
    "UserCount": _user_count,
    "Session": _session,
    "Presence": lambda item: ItemType(keys.presence(item["kind"], item["of"], item["username"])),
    "Throttle": lambda item: ItemType(None),  # its subject stands in the key as a hash only
    "Job": _job,
    "Import": lambda item: ItemType(keys.deal_import(item["id"]), keys.imports(item["id"])),
    "ImportLayout": lambda item: ItemType(keys.import_layout(item["fingerprint"])),
    "JobSegment": lambda item: ItemType(keys.job_segment(item["job"], item["name"])),
    "BulkChunk": lambda item: ItemType(keys.bulk_chunk(item["job"], item["number"])),
    "BulkRow": lambda item: ItemType(keys.bulk_row(item["job"], item["outcome"], item["subject"])),
    "Message": _message,
    "SavedQuestion": lambda item: ItemType(keys.question(item["id"])),
    "SavedViews": lambda item: ItemType(keys.saved_views(item["owner"])),
    "CartHead": lambda item: ItemType(cart_owner(item).head),
    "CartLine": _cart_line,
    "Order": _order,
    "AuditEntry": _audit_entry,
    "Payment": _payment,
    "PaymentTotals": lambda item: ItemType(
        keys.payment_totals(date.fromisoformat(item["day"]), int(item["shard"]))
    ),
    "PaymentLoad": lambda item: ItemType(keys.payment_load(item["id"])),
    "PaymentLoadSegment": lambda item: ItemType(keys.payment_load_segment(item["load"], item["number"])),
    "TransactionGuard": lambda item: ItemType(keys.transaction(item["transaction_id"])),
    "TestCharge": lambda item: ItemType(keys.test_charge(item["id"])),
    **{relation.type: partial(_relation, relation) for relation in RELATIONS},
}


class IndexRows:
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
            self.found.append(Problem(key_of(item), "; ".join(texts) + ".", (repair_write(item, wrong),)))
        return True
