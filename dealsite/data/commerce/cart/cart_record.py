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

from dealsite.data import keys
from dealsite.data.catalogue.cards import DealCard, Picture, money
from dealsite.data.commerce.cart.owners import CartOwner
from dealsite.data.names import slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import EPOCH, epoch_seconds, from_iso, iso
from dealsite.text.lazy import Text

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
class CartEntry:
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
    lines: Mapping[str, CartEntry] = field(default_factory=dict)
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
        **keys.carts_with(line.deal, line.status, line.at, owner.username, line.id),
        **(keys.order_lines(line.order, line.id) if line.order else {}),
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
            deal: CartEntry(e["line"], e["status"], from_iso(e["at"]), e["quantity"], e["token"])
            for deal, e in item["lines"].items()
        },
        ends_at=ends_at,
    )
