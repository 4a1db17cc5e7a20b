"""A cart as it is stored: a head that says which deals are in it, and a line for each.

The head is what makes one line of a deal: it maps deals to lines, over ACTIVE and SAVED, and counts
both. Every change renews its version, so what a shopper was shown can be told from what is there now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.cards import DealCard, Picture, money
from dealsite.data.convert import Item
from dealsite.data.errors import Conflict, Invalid, Text
from dealsite.data.ids import EPOCH, epoch_seconds, from_iso, is_ulid, iso, slugify
from dealsite.data.keys import CartOwner

ACTIVE, SAVED, PURCHASED, RETURNED = "ACTIVE", "SAVED", "PURCHASED", "RETURNED"
MAX_ACTIVE = 25  # what one transaction can buy
MAX_SAVED = 50
MAX_SAVED_OF_VISITOR = 10  # a visitor's whole cart must be merged in one transaction
MAX_QUANTITY = 999
VISITOR_CART_LIFETIME = timedelta(days=30)
TRIES = 8


class CartChanged(Conflict):
    """The cart is no longer as it was shown."""

    def __init__(
        self, message: Text = gettext_lazy("Your cart changed meanwhile. This is how it is now.")
    ) -> None:
        super().__init__(message)


class CartFull(Conflict):
    """No further line fits."""


def saved_limit(owner: CartOwner) -> int:
    """Return how many lines a cart can hold for later."""
    return MAX_SAVED if owner.username else MAX_SAVED_OF_VISITOR


@dataclass(frozen=True)
class Line:
    """So many pieces of a deal in a cart or an order; `price` is what the shopper was last shown for one piece.

    `at` is when it came to its status. `counted`: the deal's stock was limited when the price was shown.
    """

    id: str
    deal: str
    status: str
    at: datetime
    quantity: int
    title: str
    brand: str
    brand_name: str
    category: str
    price: Decimal
    picture: Picture | None = None
    counted: bool = False
    username: str = ""
    order: str = ""

    @property
    def total(self) -> Decimal:
        return self.price * self.quantity

    @cached_property
    def slug(self) -> str:
        return slugify(self.title) or "deal"

    @property
    def ref(self) -> str:
        """What a form says to mean this line as it stands here."""
        return f"{self.status}.{iso(self.at)}.{self.id}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the head says of a deal's line; `token` is that of the form that added to it last."""

    line: str
    status: str
    at: datetime
    quantity: int
    token: str = ""

    def as_item(self) -> Item:
        return {
            "line": self.line,
            "status": self.status,
            "at": iso(self.at),
            "quantity": self.quantity,
            "token": self.token,
        }


@dataclass(frozen=True, slots=True)
class Head:
    """What a cart holds; version 0 is a cart that is not there yet. `ends_at` is when a visitor's is forgotten."""

    version: int = 0
    active: int = 0
    saved: int = 0
    lines: Mapping[str, Entry] = field(default_factory=dict)
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Cart:
    """A cart's lines, newest first."""

    owner: CartOwner
    head: Head
    active: list[Line]
    saved: list[Line]

    @property
    def version(self) -> int:
        return self.head.version

    @property
    def pieces(self) -> int:
        return sum(line.quantity for line in self.active)


def read(owner: CartOwner, *, now: datetime) -> Cart:
    """Return a cart, empty if there is none. 2 consistent queries."""
    head, active = read_active(owner, now=now)
    low, high = keys.cart_lines(SAVED)
    rows = table.query(
        owner.partition, low=low, high=high, newest_first=True, limit=MAX_SAVED, consistent=True
    )
    return Cart(owner, head, active, _in_head(head, rows))


def read_active(owner: CartOwner, *, now: datetime) -> tuple[Head, list[Line]]:
    """Return a cart's head and its active lines, newest first. 1 consistent query."""
    low, _ = keys.cart_lines(ACTIVE)
    head_sort = keys.cart_head(owner)[1]
    rows = table.query(
        owner.partition, low=low, high=head_sort, newest_first=True, limit=MAX_ACTIVE + 1, consistent=True
    )
    heads = [row for row in rows if row["SK"] == head_sort]
    head = head_from_item(heads[0] if heads else None, now=now)
    return head, _in_head(head, [row for row in rows if row["SK"] != head_sort])


def read_head(owner: CartOwner, *, now: datetime) -> Head:
    """Return what a cart holds, without the lines. 1 get."""
    return head_from_item(table.get(keys.cart_head(owner)), now=now)


def find_line(owner: CartOwner, ref: str, *, now: datetime) -> tuple[Head, Line | None]:
    """Return a cart's head and the line that a form means, None if it is not there any more. 1 batch get.

    Invalid for what no form says.
    """
    status, _, rest = ref.partition(".")
    at_text, _, line_id = rest.rpartition(".")
    try:
        at = from_iso(at_text)
        genuine = status in (ACTIVE, SAVED) and is_ulid(line_id) and iso(at) == at_text
    except (ValueError, OverflowError):
        genuine = False
    if not genuine:
        raise Invalid(gettext_lazy("This form is damaged. Load your cart again."))
    head_key, line_key = keys.cart_head(owner), keys.cart_line(owner, status, at, line_id)
    items = table.batch_get([head_key, line_key])
    head = head_from_item(items.get(head_key), now=now)
    found = _in_head(head, [items[line_key]] if line_key in items else [])
    return head, found[0] if found else None


def new_line(
    card: DealCard,
    *,
    line_id: str,
    quantity: int,
    counted: bool,
    price: Decimal,
    username: str,
    now: datetime,
) -> Line:
    """Return a new active line of a deal."""
    return Line(
        id=line_id,
        deal=card.id,
        status=ACTIVE,
        at=now,
        quantity=quantity,
        title=card.title,
        brand=card.brand,
        brand_name=card.brand_name,
        category=card.category,
        price=price,
        picture=card.picture,
        counted=counted,
        username=username,
    )


def line_item(line: Line, owner: CartOwner, ends_at: datetime | None) -> Item:
    """Return a line as it is stored; a visitor's is forgotten with the cart."""
    card = {
        "deal": line.deal,
        "title": line.title,
        "brand": line.brand,
        "brand_name": line.brand_name,
        "category": line.category,
        "price": line.price,
        "quantity": line.quantity,
    }
    if line.picture:
        card["picture"] = line.picture.as_item()
    if line.username:
        card["username"] = line.username
    if line.order:
        card["order"] = line.order
    return {
        "type": "CartLine",
        "id": line.id,
        "deal": line.deal,
        "username": line.username or None,
        "visitor": owner.visitor or None,
        "status": line.status,
        "at": iso(line.at),
        "order": line.order or None,
        "counted": line.counted,
        "card": card,
        "ttl": epoch_seconds(ends_at) if ends_at else None,
        **keys.sku_row(line.deal, owner, line.status, line.at, line.id),
        **(keys.order_line_row(line.order, line.id) if line.order else {}),
    }


def line_from_item(item: Item) -> Line:
    """Return the line of its item, or of its row in an index."""
    card = item["card"]
    status, at, line_id = item["SK"].split("#")
    return Line(
        id=line_id,
        deal=card["deal"],
        status=status,
        at=from_iso(at),
        quantity=card["quantity"],
        title=card["title"],
        brand=card["brand"],
        brand_name=card["brand_name"],
        category=card["category"],
        price=money(card["price"]) or Decimal("0.00"),
        picture=Picture.from_item(card.get("picture")),
        counted=item.get("counted", False),
        username=card.get("username", ""),
        order=card.get("order", ""),
    )


def head_item(owner: CartOwner, head: Head) -> Item:
    """Return a head as it is stored."""
    return {
        "type": "CartHead",
        "username": owner.username or None,
        "visitor": owner.visitor or None,
        "version": head.version,
        "active": head.active,
        "saved": head.saved,
        "lines": {deal: entry.as_item() for deal, entry in head.lines.items()},
        "ttl": epoch_seconds(head.ends_at) if head.ends_at else None,
    }


def head_from_item(item: Item | None, *, now: datetime) -> Head:
    """Return the head of its item; one that is missing or has ended is that of an empty cart."""
    if item is None:
        return Head()
    ends_at = EPOCH + timedelta(seconds=item["ttl"]) if "ttl" in item else None
    if ends_at and ends_at <= now:
        return Head()
    return Head(
        version=item["version"],
        active=item["active"],
        saved=item["saved"],
        lines={
            deal: Entry(e["line"], e["status"], from_iso(e["at"]), e["quantity"], e["token"])
            for deal, e in item["lines"].items()
        },
        ends_at=ends_at,
    )


def _in_head(head: Head, rows: list[Item]) -> list[Line]:
    """Return the lines that the head knows: what is left of a visitor's ended cart is nobody's."""
    lines = [line_from_item(row) for row in rows]
    return [line for line in lines if (e := head.lines.get(line.deal)) and e.line == line.id]
