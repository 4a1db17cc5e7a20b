"""Every key and index row, recomputed from an item's own attributes."""

from collections.abc import Callable
from datetime import date
from functools import partial

from dealsite.data import keys
from dealsite.data.catalogue import cards
from dealsite.data.catalogue.relations import RELATIONS, Relation
from dealsite.data.commerce.cart.cart_record import CartOwner
from dealsite.data.commerce.payment.payment_record import index_rows, payment_from_item
from dealsite.data.integrity.problem import Problem, differences, differing, key_of
from dealsite.data.jobs.jobs import listed_rows
from dealsite.data.people.users import is_muted
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, time_of

INDEX_KEYS = ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "UserIndex")
Rows = dict[str, str]


def cart_owner(item: Item) -> CartOwner:
    """Return whose cart a head or line belongs to."""
    if item.get("username"):
        return CartOwner(username=item["username"])
    return CartOwner(visitor=item["visitor"])


def _cart_line_key(item: Item) -> keys.Key:
    return cart_owner(item).line(item["status"], from_iso(item["at"]), item["id"])


def _audit_key(item: Item) -> keys.Key:
    return keys.audit(from_iso(item["card"]["at"]), item["id"])


def _user_count_key(item: Item) -> keys.Key:
    return keys.user_count.given(int(item["PK"].removeprefix("USERCOUNT#")) % keys.USER_COUNT_SHARDS)


# The key of every type of item: a new entity adds its line. What is in no line is reported as unknown.
PLACES: dict[str, Callable[[Item], keys.Key | None]] = {
    "Deal": lambda item: keys.deal(item["id"]),
    "Offer": lambda item: keys.offer(item["id"]),
    "Price": lambda item: keys.price(item["deal"], from_iso(item["since"]), item["id"]),
    "Draft": lambda item: keys.draft(item["id"]),
    "Trash": lambda item: keys.trash(item["kind"], item["id"]),
    "Version": lambda item: keys.version(item["of"], item["version"]),
    "DealChanges": lambda item: keys.changes(item["of"]),
    "Brand": lambda item: keys.brand(item["slug"]),
    "BrandCounts": lambda item: keys.brand_counts(item["slug"]),
    "BrandLetter": lambda item: keys.brand_letter(item["SK"].removeprefix("LETTER#")),
    "Category": lambda item: keys.category(item["slug"]),
    "CategoryCounts": lambda item: keys.category_counts(item["slug"]),
    "FrontPage": lambda item: cards.page_key(cards.FRONT),
    "EditorsChoicePage": lambda item: cards.page_key(cards.EDITORS_CHOICE),
    "FeaturedVersion": lambda item: keys.featured_version(item["page"], int(item["version"])),
    "FeaturedPlan": lambda item: keys.featured_plan(item["id"]),
    "Years": lambda item: keys.years(),
    "Days": lambda item: keys.days(int(item["SK"].removeprefix("DAYS#"))),
    "DayCount": lambda item: keys.day_count(from_iso(item["SK"].removeprefix("DAY#")).date()),
    "User": lambda item: keys.user(item["username"]),
    "Profile": lambda item: keys.profile(item["username"]),
    "TwoFactor": lambda item: keys.two_factor(item["username"]),
    "FactorOwner": lambda item: keys.factor_owner(item["id"]),
    "UsedChallenge": lambda item: None,  # as a throttle's subject
    "EmailGuard": lambda item: keys.email_guard(item["email"]),
    "UserCount": _user_count_key,
    "Session": lambda item: keys.session.given(item["username"], item["SK"].removeprefix("SESSION#")),
    "Presence": lambda item: keys.presence(item["kind"], item["of"], item["username"]),
    "Throttle": lambda item: None,  # its subject stands in the key as a hash only
    "Job": lambda item: keys.job(item["id"]),
    "Import": lambda item: keys.deal_import(item["id"]),
    "ImportLayout": lambda item: keys.import_layout(item["fingerprint"]),
    "JobSegment": lambda item: keys.job_segment(item["job"], item["name"]),
    "BulkChunk": lambda item: keys.bulk_chunk(item["job"], item["number"]),
    "BulkRow": lambda item: keys.bulk_row(item["job"], item["outcome"], item["subject"]),
    "Message": lambda item: keys.message(item["username"], item["id"]),
    "SavedQuestion": lambda item: keys.question(item["id"]),
    "SavedViews": lambda item: keys.saved_views(item["owner"]),
    "CartHead": lambda item: cart_owner(item).head,
    "CartLine": _cart_line_key,
    "Order": lambda item: keys.order(item["username"], item["id"]),
    "AuditEntry": _audit_key,
    "SecurityEvent": lambda item: keys.security_event(from_iso(item["card"]["at"]), item["id"]),
    "FailureCount": lambda item: keys.failure_count(from_iso(item["SK"])),
    "Heartbeat": lambda item: keys.heartbeat(item["part"]),
    "CheckRun": lambda item: keys.check_run(item["id"]),
    "Quarantined": lambda item: keys.quarantined(item["id"]),
    "Payment": lambda item: payment_from_item(item).key,
    "PaymentTotals": lambda item: keys.payment_totals(date.fromisoformat(item["day"]), int(item["shard"])),
    "PaymentLoad": lambda item: keys.payment_load(item["id"]),
    "PaymentLoadSegment": lambda item: keys.payment_load_segment(item["load"], item["number"]),
    "TransactionGuard": lambda item: keys.transaction(item["transaction_id"]),
    "TestCharge": lambda item: keys.test_charge(item["id"]),
}


def _relation_key(relation: Relation, item: Item) -> keys.Key:
    return relation.key(item["slug"], item["username"])


def _relation_rows(relation: Relation, item: Item) -> Rows:
    return keys.relations_of_user(item["username"], relation.verb, relation.target.upper(), item["slug"])


def _deal_rows(item: Item) -> Rows:
    return keys.feed_rows(item["id"], item["card"]["brand"], item["card"]["category"])


def _offer_rows(item: Item) -> Rows:
    expires_at = from_iso(item["expires_at"]) if "expires_at" in item else None
    return keys.expiry_rows(item["id"], item["brand"], item["category"], expires_at)


def _draft_rows(item: Item) -> Rows:
    if item.get("published_as"):
        return {}
    return keys.draft_rows(item["id"], item["card"].get("brand", ""), item["card"].get("category", ""))


def _changes_rows(item: Item) -> Rows:
    return {} if "discarded_at" in item else keys.changed_deals(from_iso(item["updated_at"]), item["of"])


def _job_rows(item: Item) -> Rows:
    listed = listed_rows(item["kind"], item["id"])
    if item["state"] != "open":
        return keys.job_rows(item["id"], None) | listed
    rows = keys.job_rows(item["id"], time_of(item["id"])) | listed
    due, _, job_id = str(item.get("GSI3SK", "")).partition("#")
    if due and job_id == item["id"]:  # when it is due stands nowhere else
        rows["GSI3SK"] = item["GSI3SK"]
    return rows


def _message_rows(item: Item) -> Rows:
    unread = "GSI1PK" in item or "GSI1SK" in item
    return keys.unread_messages(item["username"], item["id"]) if unread else {}


def _user_rows(item: Item) -> Rows:
    return {} if "deleted_at" in item else keys.user_index(item["username"], muted=is_muted(item))


def _cart_line_rows(item: Item) -> Rows:
    username = cart_owner(item).username
    rows = keys.carts_with(item["deal"], item["status"], from_iso(item["at"]), username, item["id"])
    return rows | keys.order_lines(item["order"], item["id"]) if "order" in item else rows


def _order_rows(item: Item) -> Rows:
    return keys.order_rows(item["id"], item["username"], item["status"], from_iso(item["placed_at"]))


def _audit_rows(item: Item) -> Rows:
    card = item["card"]
    by, kind, subject = card["by"], card["kind"], card["subject"]
    return keys.audit_rows(from_iso(card["at"]), item["id"], by=by, kind=kind, subject=subject)


def _security_rows(item: Item) -> Rows:
    card = item["card"]
    of = {name: card[name] for name in ("username", "event", "network")}
    return keys.security_rows(from_iso(card["at"]), item["id"], **of)


def _quarantine_rows(item: Item) -> Rows:
    at = from_iso(item["at"]) if "at" in item else None
    return keys.quarantine_rows(item["id"], state=item["state"], group=item["group"], at=at)


# The index rows of those types that have some.
ROWS: dict[str, Callable[[Item], Rows]] = {
    "Deal": _deal_rows,
    "Offer": _offer_rows,
    "Draft": _draft_rows,
    "Trash": lambda item: keys.trashed(from_iso(item["card"]["deleted_at"]), item["kind"], item["id"]),
    "DealChanges": _changes_rows,
    "User": _user_rows,
    "Job": _job_rows,
    "Import": lambda item: keys.imports(item["id"]),
    "Message": _message_rows,
    "CartLine": _cart_line_rows,
    "Order": _order_rows,
    "AuditEntry": _audit_rows,
    "SecurityEvent": _security_rows,
    "Payment": lambda item: index_rows(payment_from_item(item)),
    "Quarantined": _quarantine_rows,
}
for _relation in RELATIONS:
    PLACES[_relation.type] = partial(_relation_key, _relation)
    ROWS[_relation.type] = partial(_relation_rows, _relation)


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
            key, rows = PLACES[kind](item), ROWS[kind](item) if kind in ROWS else {}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = f"This {kind} lacks what its key is made of ({error!r})."
            self.found.append(Problem(key_of(item), what))
            return False
        if key is not None and key != key_of(item):
            self.found.append(Problem(key_of(item), f"This {kind} belongs under {' / '.join(key)}."))
            return False
        if wrong := differences(item, {name: rows.get(name) for name in INDEX_KEYS}):
            self.found.append(differing("{} is {!r}, should be {!r}", item, wrong))
        return True
