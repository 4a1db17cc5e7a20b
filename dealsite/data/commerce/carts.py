"""Carts: what shoppers mean to buy, now or later; as they are stored, and as shoppers are shown them.

Signed-in users and visitors have one: a head that says which deals are in it, and a line for each.

The head is what makes one line of a deal: it maps deals to lines, over ACTIVE and SAVED, and counts
both. Every change renews its version, so what a shopper was shown can be told from what is there now.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import Picture
from dealsite.data.entities.attributes import ZERO, money
from dealsite.data.entities.commerce import (
    ACTIVE,
    CART_ENTRY,
    CART_HEAD,
    CART_LINE,
    CART_LINE_CARD,
    IN_CART,
    MAX_ACTIVE,
    MAX_SAVED,
    MAX_SAVED_OF_VISITOR,
    SAVED,
)
from dealsite.data.entities.entity import reader, writer
from dealsite.data.names import slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import EPOCH, epoch_seconds, from_iso, hash_of, is_ulid, iso
from dealsite.data.table.meters import access_pattern
from dealsite.text.stored_words import Text

VISITOR_CART_LIFETIME = timedelta(days=30)
PRICE_UP, PRICE_DOWN, FEWER_LEFT = "price_up", "price_down", "fewer_left"
SOLD_OUT, EXPIRED, ELSEWHERE, GONE = "sold_out", "expired", "elsewhere", "gone"
UNAVAILABLE = {SOLD_OUT, EXPIRED, ELSEWHERE, GONE}


class CartChanged(Conflict):
    """The cart is no longer as it was shown."""

    def __init__(
        self, message: Text = gettext_lazy("Your cart changed meanwhile. This is how it is now.")
    ) -> None:
        super().__init__(message)


class CartFull(Conflict):
    """No further line fits."""


@dataclass(frozen=True, slots=True)
class CartOwner:
    """A user, or a visitor who is known by the hash of their cookie only; it knows where the cart is kept."""

    username: str = ""
    visitor: str = ""

    @property
    def partition(self) -> str:
        return self.head[0]

    @property
    def head(self) -> keys.Key:
        return keys.cart_head(self.username) if self.username else keys.visitor_cart_head(self.visitor)

    def line(self, status: str, at: datetime, line_id: str) -> keys.Key:
        """Return the key of a line of the cart, or of an order once it is bought."""
        if self.username:
            return keys.cart_line(self.username, status, at, line_id)
        return keys.visitor_cart_line(self.visitor, status, at, line_id)


def user_cart(username: str) -> CartOwner:
    """Return the owner of a user's cart; ValueError for what cannot be part of a key."""
    return CartOwner(username=keys.part(username))


def visitor_cart(cart_key: str) -> CartOwner:
    """Return the owner of the cart of a visitor whose cookie holds this."""
    return CartOwner(visitor=hash_of(cart_key))


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
        return _store_entry(self)


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


def line_item(line: Line, owner: CartOwner, ends_at: datetime | None) -> Item:
    """Return a line as it is stored; a visitor's is forgotten with the cart."""
    return CART_LINE.item(
        {
            "id": line.id,
            "deal": line.deal,
            **_whose(owner, ends_at),
            "status": line.status,
            "at": iso(line.at),
            "order": line.order or None,
            "counted": line.counted,
            "card": _store_line(line),
        }
    )


def line_from_item(item: Item) -> Line:
    """Return the line of its item, or of its row in an index."""
    status, at, line_id = item["SK"].split("#")
    counted = item.get("counted", False)
    return _read_line(item["card"], id=line_id, status=status, at=from_iso(at), counted=counted)


def head_item(owner: CartOwner, head: Head) -> Item:
    """Return a head as it is stored."""
    return CART_HEAD.item(_store_head(head) | _whose(owner, head.ends_at))


def head_from_item(item: Item | None, *, now: datetime) -> Head:
    """Return the head of its item; one that is missing or has ended is that of an empty cart."""
    if item is None:
        return Head()
    ends_at = EPOCH + timedelta(seconds=item["ttl"]) if "ttl" in item else None
    return Head() if ends_at and ends_at <= now else _read_head(item, ends_at=ends_at)


def _whose(owner: CartOwner, ends_at: datetime | None) -> Item:
    ttl = epoch_seconds(ends_at) if ends_at else None
    return {"username": owner.username or None, "visitor": owner.visitor or None, "ttl": ttl}


_read_line, _store_line = reader(CART_LINE_CARD, Line), writer(CART_LINE_CARD, Line)
_read_head, _store_head = reader(CART_HEAD.shape, Head), writer(CART_HEAD.shape, Head)
_store_entry = writer(CART_ENTRY, CartEntry)


@access_pattern("a cart's lines by status, newest first", "2 queries")
def read(owner: CartOwner, *, now: datetime) -> Cart:
    """Return a cart as it is in the table, empty if there is none."""
    head, active = read_active(owner, now=now)
    low, high = keys.cart_line.between(SAVED)
    rows = table.query(
        owner.partition, low=low, high=high, newest_first=True, limit=MAX_SAVED, consistent=True
    )
    return Cart(owner, head, active, lines_of(head, rows))


@access_pattern("the lines of a cart that checkout buys", "1 query")
def read_active(owner: CartOwner, *, now: datetime) -> tuple[Head, list[Line]]:
    """Return a cart's head and its active lines, newest first, as they are in the table."""
    partition, head_sort = owner.head
    low, _ = keys.cart_line.between(ACTIVE)
    rows = table.query(
        partition, low=low, high=head_sort, newest_first=True, limit=MAX_ACTIVE + 1, consistent=True
    )
    return of_rows(rows, now=now)


@access_pattern("how many deals are in a cart", "1 get")
def read_head(owner: CartOwner, *, now: datetime) -> Head:
    """Return what a cart holds, without the lines."""
    return head_from_item(table.get(owner.head), now=now)


def find_line(owner: CartOwner, ref: str, *, now: datetime) -> tuple[Head, Line | None]:
    """Return a cart's head and the line that a form means, None if it is gone; Invalid for what no form says."""
    status, _, rest = ref.partition(".")
    at_text, _, line_id = rest.rpartition(".")
    try:
        at = from_iso(at_text)
        genuine = status in IN_CART and is_ulid(line_id) and iso(at) == at_text
    except (ValueError, OverflowError):
        genuine = False
    if not genuine:
        raise Invalid(gettext_lazy("This form is damaged. Load your cart again."))
    head_key, line_key = owner.head, owner.line(status, at, line_id)
    items = table.batch_get([head_key, line_key])
    head = head_from_item(items.get(head_key), now=now)
    found = lines_of(head, [items[line_key]] if line_key in items else [])
    return head, found[0] if found else None


def of_rows(rows: Sequence[Item], *, now: datetime) -> tuple[Head, list[Line]]:
    """Return the head and the lines of a cart's rows."""
    head = head_from_item(next((row for row in rows if row["type"] == "CartHead"), None), now=now)
    return head, lines_of(head, [row for row in rows if row["type"] == "CartLine"])


def lines_of(head: Head, rows: Iterable[Item]) -> list[Line]:
    """Return the lines that the head knows: what is left of a visitor's ended cart is nobody's."""
    lines = [line_from_item(row) for row in rows]
    return [line for line in lines if (e := head.lines.get(line.deal)) and e.line == line.id]


@dataclass(frozen=True, slots=True)
class LineView:
    """A line with what changed since it was last shown: `price` and `quantity` are what can be bought now.

    `expires_at` is when the deal ends, `left` how many pieces there are, None where that is not limited.
    """

    line: Line
    problems: tuple[str, ...]
    price: Decimal
    quantity: int
    counted: bool
    left: int | None = None
    expires_at: datetime | None = None

    @property
    def unavailable(self) -> bool:
        """Nothing of it can be bought."""
        return not UNAVAILABLE.isdisjoint(self.problems)

    @property
    def gone(self) -> bool:
        return GONE in self.problems

    @property
    def total(self) -> Decimal:
        return ZERO if self.unavailable else self.price * self.quantity


@dataclass(frozen=True, slots=True)
class CartView:
    """A cart as it is shown; `total` is what its active lines come to now, `digest` stands for all that changed."""

    cart: Cart
    active: list[LineView]
    saved: list[LineView]
    total: Decimal
    digest: str

    @property
    def changed(self) -> list[LineView]:
        """The active lines that the shopper has to know of before they can order."""
        return [shown for shown in self.active if shown.problems]

    @property
    def available(self) -> list[LineView]:
        """The active lines of which something can be bought."""
        return [shown for shown in self.active if not shown.unavailable]

    @property
    def can_order(self) -> bool:
        return bool(self.active) and not self.changed


@access_pattern("what a cart's deals cost now, and how many there are", "1 batch get")
def view(cart: Cart, *, now: datetime) -> CartView:
    """Return a cart with what its deals cost and how many there are now. 1 batch get (none for an empty cart)."""
    lines = [*cart.active, *cart.saved]
    offers = table.batch_get(keys.offer(line.deal) for line in lines) if lines else {}
    active, saved = compare(cart.active, offers, now=now), compare(cart.saved, offers, now=now)
    total = sum((shown.total for shown in active), ZERO)
    return CartView(cart, active, saved, total, _digest(active))


def compare(lines: Iterable[Line], offers: Mapping[keys.Key, Item], *, now: datetime) -> list[LineView]:
    """Return lines with what their deals' offers say now."""
    return [_shown(line, offers.get(keys.offer(line.deal)), now) for line in lines]


def _shown(line: Line, offer: Item | None, now: datetime) -> LineView:
    if offer is None:
        return LineView(line, (GONE,), line.price, line.quantity, line.counted)
    known = money(offer.get("price"))
    price = line.price if known is None else known  # what has none is sold elsewhere
    left: int | None = offer.get("stock")
    expires_at = from_iso(offer["expires_at"]) if "expires_at" in offer else None
    quantity, problems = line.quantity, []
    if expires_at is not None and expires_at <= now:
        problems.append(EXPIRED)
    elif "elsewhere" in offer:
        problems.append(ELSEWHERE)
    elif left == 0:
        problems.append(SOLD_OUT)
    elif left is not None and left < line.quantity:
        problems.append(FEWER_LEFT)
        quantity = left
    if price != line.price:
        problems.append(PRICE_UP if price > line.price else PRICE_DOWN)
    return LineView(line, tuple(problems), price, quantity, left is not None, left, expires_at)


def _digest(active: Iterable[LineView]) -> str:
    changed = [shown for shown in active if shown.problems]
    told = [(s.line.deal, s.line.quantity, s.problems, str(s.price), s.quantity) for s in changed]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
