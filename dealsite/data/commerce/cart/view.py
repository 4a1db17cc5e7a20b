"""What a shopper is shown of their cart: each line with what changed since they were last shown it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from dealsite.data import keys, table
from dealsite.data.commerce.cart.cart_record import Cart, Line
from dealsite.data.entities.attributes import money
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso

PRICE_UP, PRICE_DOWN, FEWER_LEFT = "price_up", "price_down", "fewer_left"
SOLD_OUT, EXPIRED, GONE = "sold_out", "expired", "gone"
UNAVAILABLE = {SOLD_OUT, EXPIRED, GONE}


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
        return Decimal("0.00") if self.unavailable else self.price * self.quantity


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
    def can_order(self) -> bool:
        return bool(self.active) and not self.changed


@access_pattern("what a cart's deals cost now, and how many there are", "1 batch get")
def view(cart: Cart, *, now: datetime) -> CartView:
    """Return a cart with what its deals cost and how many there are now. 1 batch get (none for an empty cart)."""
    lines = [*cart.active, *cart.saved]
    offers = table.batch_get(keys.offer(line.deal) for line in lines) if lines else {}
    active, saved = compare(cart.active, offers, now=now), compare(cart.saved, offers, now=now)
    total = sum((shown.total for shown in active), Decimal("0.00"))
    return CartView(cart, active, saved, total, _digest(active))


def compare(lines: Iterable[Line], offers: Mapping[keys.Key, Item], *, now: datetime) -> list[LineView]:
    """Return lines with what their deals' offers say now."""
    return [_shown(line, offers.get(keys.offer(line.deal)), now) for line in lines]


def _shown(line: Line, offer: Item | None, now: datetime) -> LineView:
    if offer is None:
        return LineView(line, (GONE,), line.price, line.quantity, line.counted)
    price = money(offer["price"]) or Decimal("0.00")
    left: int | None = offer.get("stock")
    expires_at = from_iso(offer["expires_at"]) if "expires_at" in offer else None
    quantity, problems = line.quantity, []
    if expires_at is not None and expires_at <= now:
        problems.append(EXPIRED)
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
