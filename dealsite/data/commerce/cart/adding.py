"""Adding deals to a cart: a deal has one line there, and what is added again adds to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import CENT
from dealsite.data.catalogue.content import MAX_PRICE
from dealsite.data.catalogue.deals import Deal, deal_from_items
from dealsite.data.commerce.cart.cart_record import (
    ACTIVE,
    MAX_QUANTITY,
    CartFull,
    Head,
    Line,
    head_from_item,
    new_line,
)
from dealsite.data.commerce.cart.cart_writes import CartWrites, until_settled
from dealsite.data.commerce.cart.owners import CartOwner
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import is_ulid


class CannotAdd(Conflict):
    """This deal, or so much of it, cannot be bought."""


@dataclass(frozen=True, slots=True)
class CartAddition:
    """What a form asks to add. `token` is minted with the form: sent twice, it adds once.

    `line_id` is the id of the line, if it becomes a new one; `seen` is the price that the form showed.
    """

    deal: str
    quantity: int
    line_id: str
    token: str = ""
    seen: Decimal | None = None


@dataclass(frozen=True, slots=True)
class AddResult:
    """The deals that are in the cart now, and why others are not: deal id -> a sentence."""

    deals: dict[str, Deal] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


@access_pattern(
    "add to a cart", "CART#u; DEAL#id / HEAD, ACTIVE#at#line; OFFER", "1 batch get + 1 transaction"
)
def add(owner: CartOwner, wanted: CartAddition, *, now: datetime) -> Deal:
    """Add a deal to a cart; CannotAdd says why not, Invalid what no form sends. 1 batch get + 1 transaction.

    A deal that was saved for later comes back from there, with the pieces that were saved.
    """
    added = add_many(owner, [wanted], now=now)
    if added.refused:
        raise CannotAdd(added.refused[wanted.deal])
    return added.deals[wanted.deal]


@access_pattern(
    "add several deals", "CART#u; DEAL#id / HEAD, ACTIVE#at#line; OFFER", "1 batch get + 1 transaction"
)
def add_many(owner: CartOwner, wanted: Sequence[CartAddition], *, now: datetime) -> AddResult:
    """Add several deals, those that can be bought; all of them or, if the cart changes, none yet.

    1 batch get + 1 transaction (none if there is nothing to change); both again after a conflict.
    """
    for one in wanted:
        refuse_quantity(one.quantity)
        if not (is_ulid(one.deal) and is_ulid(one.line_id) and is_price(one.seen)):
            raise Invalid(gettext_lazy("This form is damaged. Load the page again."))
    if len({one.deal for one in wanted}) < len(wanted):
        raise Invalid(gettext_lazy("The same deal is in this form twice."))
    return until_settled(lambda: _add(owner, wanted, now))


def _add(owner: CartOwner, wanted: Sequence[CartAddition], now: datetime) -> AddResult:
    head_key = owner.head
    asked = [key for one in wanted for key in (keys.deal(one.deal), keys.offer(one.deal))]
    items = table.batch_get([head_key, *asked])
    head = head_from_item(items.get(head_key), now=now)
    changes, added = CartWrites(owner, head, now=now), AddResult()
    for one in wanted:
        try:
            deal = buyable(one.deal, items, now=now)
            _add_one(changes, head, one, deal, items[keys.offer(one.deal)])
        except (CannotAdd, CartFull) as reason:
            added.refused[one.deal] = str(reason)
        else:
            added.deals[one.deal] = deal
    writes = changes.writes()
    if len(writes) > 1:
        table.transact(writes)
    return added


def _add_one(changes: CartWrites, head: Head, wanted: CartAddition, deal: Deal, offer: Item) -> None:
    entry = head.lines.get(deal.id)
    if entry and wanted.token and entry.token == wanted.token:
        return
    quantity = wanted.quantity + (entry.quantity if entry else 0)
    refuse_more_than_stock(quantity, offer.get("stock"), in_cart=entry.quantity if entry else 0)
    if entry and entry.status == ACTIVE:
        changes.amend(deal.id, quantity=quantity, token=wanted.token)
        return
    price = deal.content.price if wanted.seen is None else wanted.seen
    line: Line = new_line(
        deal.card,
        line_id=entry.line if entry else wanted.line_id,
        quantity=quantity,
        counted="stock" in offer,
        price=price or Decimal("0.00"),
        username=changes.owner.username,
        now=changes.now,
    )
    if entry:
        changes.move(line, ACTIVE, token=wanted.token)
    else:
        changes.add(line, token=wanted.token)


def buyable(deal_id: str, items: Mapping[keys.Key, Item], *, now: datetime) -> Deal:
    """Return a deal that can be bought now; CannotAdd says why it cannot."""
    item, offer = items.get(keys.deal(deal_id)), items.get(keys.offer(deal_id))
    if item is None or offer is None:
        raise CannotAdd(gettext_lazy("This deal is not offered any more."))
    deal = deal_from_items(item, offer)
    if not deal.card.is_visible(now):
        raise CannotAdd(gettext_lazy("This deal is not offered any more."))
    state = replace(deal.card, sold_out=offer.get("stock") == 0).state(now)
    if state == "expired":
        raise CannotAdd(_("The deal “%(title)s” has expired.") % {"title": deal.card.title})
    if state == "sold_out":
        raise CannotAdd(_("“%(title)s” is sold out.") % {"title": deal.card.title})
    return deal


def is_price(seen: Decimal | None) -> bool:
    """Tell whether a page can have shown this price, or none."""
    return seen is None or (seen.is_finite() and 0 <= seen <= MAX_PRICE and seen == seen.quantize(CENT))


def refuse_quantity(quantity: int) -> None:
    """Raise Invalid for a number of pieces that no cart takes."""
    if not 1 <= quantity <= MAX_QUANTITY:
        raise Invalid(quantity=_("Enter a whole number from 1 to %(most)s.") % {"most": MAX_QUANTITY})


def refuse_more_than_stock(quantity: int, stock: int | None, *, in_cart: int = 0) -> None:
    """Raise CannotAdd if there are not as many pieces, or a cart takes no more of one deal."""
    had = " " + _("You have %(count)d of them in your cart.") % {"count": in_cart} if in_cart else ""
    if stock is not None and quantity > stock:
        left = ngettext("Only %(count)d is left.", "Only %(count)d are left.", stock) % {"count": stock}
        raise CannotAdd(left + had)
    if quantity > MAX_QUANTITY:
        raise CannotAdd(
            _("You can order up to %(most)d pieces of a deal at once.") % {"most": MAX_QUANTITY} + had
        )
