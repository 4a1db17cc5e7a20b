"""Changing what is in a cart: how many, for later or now, not at all."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.cart import view
from dealsite.data.commerce.cart.adding import CannotAdd, refuse_more_than_stock, refuse_quantity
from dealsite.data.commerce.cart.cart_record import ACTIVE, SAVED, CartChanged, Line, head_from_item
from dealsite.data.commerce.cart.cart_writes import CartWrites, until_settled
from dealsite.data.commerce.cart.owners import CartOwner
from dealsite.data.commerce.cart.reading import find_line, read
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.data.table.ids import is_ulid


@access_pattern(
    "change a quantity", "CART#u; DEAL#id / HEAD, ACTIVE#at#line; OFFER", "1 batch get + 1 transaction"
)
def change_quantity(owner: CartOwner, deal_id: str, quantity: int, *, now: datetime) -> None:
    """Have so many pieces of a deal; CannotAdd if there are not as many, NotFound if the cart has no such line.

    1 batch get + 1 transaction; both again after a conflict.
    """
    refuse_quantity(quantity)
    if not is_ulid(deal_id):
        raise _no_line()

    def attempt() -> None:
        head_key, offer_key = owner.head, keys.offer(deal_id)
        items = table.batch_get([head_key, offer_key])
        head = head_from_item(items.get(head_key), now=now)
        entry = head.lines.get(deal_id)
        if entry is None:
            raise _no_line()
        if entry.quantity == quantity:
            return
        if quantity > entry.quantity:  # fewer is always possible
            offer = items.get(offer_key)
            if offer is None:
                raise CannotAdd(gettext_lazy("This deal is not offered any more."))
            refuse_more_than_stock(quantity, offer.get("stock"))
        changes = CartWrites(owner, head, now=now)
        changes.amend(deal_id, quantity=quantity)
        table.transact(changes.writes())

    until_settled(attempt)


@access_pattern("save a line for later", "CART#u / HEAD, STATUS#at#line", "1 batch get + 1 transaction")
def move(owner: CartOwner, ref: str, status: str, *, now: datetime) -> Line | None:
    """Save a line for later (SAVED), or take it back into the cart (ACTIVE), as the newest there.

    `ref` is the line as the form showed it; None if it stands there no more, CartFull if none fits.
    Invalid for what no form says. 1 batch get + 1 transaction; both again after a conflict.
    """
    if status not in (ACTIVE, SAVED):
        raise Invalid(gettext_lazy("This form is damaged. Load your cart again."))

    def attempt() -> Line | None:
        head, line = find_line(owner, ref, now=now)
        if line is None or line.status == status:
            return line
        changes = CartWrites(owner, head, now=now)
        moved = changes.move(line, status)
        table.transact(changes.writes())
        return moved

    return until_settled(attempt)


@access_pattern("remove a line from a cart", "CART#u / HEAD, STATUS#at#line", "1 batch get + 1 transaction")
def remove(owner: CartOwner, ref: str, *, now: datetime) -> Line | None:
    """Take a line from a cart and return it, so that it can be put back; None if it stands there no more.

    1 batch get + 1 transaction; both again after a conflict.
    """

    def attempt() -> Line | None:
        head, line = find_line(owner, ref, now=now)
        if line is not None:
            changes = CartWrites(owner, head, now=now)
            changes.remove(line.deal)
            table.transact(changes.writes())
        return line

    return until_settled(attempt)


@access_pattern(
    "accept what changed about a cart's deals",
    "CART#u; DEAL#id / HEAD, STATUS#at#line; OFFER",
    "2 queries + 1 batch get + 1 transaction",
)
def accept(owner: CartOwner, *, seen: str, now: datetime) -> None:
    """Make the active lines what they have become: prices, fewer pieces; what cannot be bought is saved for later.

    `seen` is the digest of the changes that the shopper was shown; CartChanged if there are others now,
    CartFull if what cannot be bought has no room. 2 queries + 1 batch get + 1 transaction.
    """
    look = view.view(read(owner, now=now), now=now)
    if look.digest != seen:
        raise CartChanged(gettext_lazy("Your cart changed again meanwhile. This is how it is now."))
    changes = CartWrites(owner, look.cart.head, now=now)
    for shown in look.active:
        if not shown.problems:
            continue
        if shown.gone:
            changes.remove(shown.line.deal)
        elif shown.unavailable:
            changes.move(shown.line, SAVED)
        else:
            changes.amend(shown.line.deal, price=shown.price, quantity=shown.quantity, counted=shown.counted)
    writes = changes.writes()
    if len(writes) > 1:
        table.transact(writes)


def _no_line() -> NotFound:
    return NotFound(gettext_lazy("This deal is not in your cart any more."))
