"""Changing a cart: adding deals, how many of each, for later or now, not at all.

A deal has one line, and what is added again adds to it. After a conflict each change is tried again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dealsite.data import keys, table
from dealsite.data.catalogue.deals import Deal, deal_from_items
from dealsite.data.commerce.cart.cart_record import (
    CartChanged,
    CartFull,
    CartOwner,
    Head,
    Line,
    find_line,
    head_from_item,
    read,
)
from dealsite.data.commerce.cart.cart_writes import CartWrites
from dealsite.data.commerce.cart.view import view
from dealsite.data.entities.attributes import CENT
from dealsite.data.entities.commerce import ACTIVE, MAX_QUANTITY, SAVED
from dealsite.data.entities.deals import MAX_PRICE
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.ids import is_ulid

NOT_OFFERED = gettext_lazy("This deal is not offered any more.")


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


@access_pattern("add to a cart", "1 batch get + 1 transaction")
def add(owner: CartOwner, wanted: CartAddition, *, now: datetime) -> Deal:
    """Add a deal to a cart; CannotAdd says why not, Invalid what no form sends.

    A deal that was saved for later comes back from there, with the pieces that were saved.
    """
    added = add_many(owner, [wanted], now=now)
    if added.refused:
        raise CannotAdd(added.refused[wanted.deal])
    return added.deals[wanted.deal]


@access_pattern("add several deals", "1 batch get + 1 transaction")
def add_many(owner: CartOwner, wanted: Sequence[CartAddition], *, now: datetime) -> AddResult:
    """Add several deals, those that can be bought; all of them or, if the cart changes, none yet."""
    for one in wanted:
        refuse_quantity(one.quantity)
        if not (is_ulid(one.deal) and is_ulid(one.line_id) and is_price(one.seen)):
            raise Invalid(gettext_lazy("This form is damaged. Load the page again."))
    if len({one.deal for one in wanted}) < len(wanted):
        raise Invalid(gettext_lazy("The same deal is in this form twice."))
    return table.retrying(lambda: _add(owner, wanted, now), on=CartChanged)


def _add(owner: CartOwner, wanted: Sequence[CartAddition], now: datetime) -> AddResult:
    deal_keys = [key for one in wanted for key in (keys.deal(one.deal), keys.offer(one.deal))]
    items = table.batch_get([owner.head, *deal_keys])
    head = head_from_item(items.get(owner.head), now=now)
    changes, added = CartWrites(owner, head, now=now), AddResult()
    for one in wanted:
        try:
            deal = buyable(one.deal, items, now=now)
            _add_one(changes, head, one, deal, items[keys.offer(one.deal)])
        except (CannotAdd, CartFull) as reason:
            added.refused[one.deal] = str(reason)
        else:
            added.deals[one.deal] = deal
    changes.write()
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
    price, card = deal.content.price if wanted.seen is None else wanted.seen, deal.card
    line = Line(
        id=entry.line if entry else wanted.line_id,
        deal=card.id,
        status=ACTIVE,
        at=changes.now,
        quantity=quantity,
        price=price or Decimal("0.00"),
        counted="stock" in offer,
        username=changes.owner.username,
        **{name: getattr(card, name) for name in ("title", "brand", "brand_name", "category", "picture")},
    )
    if entry:
        changes.move(line, ACTIVE, token=wanted.token)
    else:
        changes.add(line, token=wanted.token)


@access_pattern("change a quantity", "1 batch get + 1 transaction")
def change_quantity(owner: CartOwner, deal_id: str, quantity: int, *, now: datetime) -> None:
    """Have so many pieces of a deal; CannotAdd if there are not as many, NotFound if the cart has no such line."""
    no_line = NotFound(gettext_lazy("This deal is not in your cart any more."))
    refuse_quantity(quantity)
    if not is_ulid(deal_id):
        raise no_line

    def attempt() -> None:
        head_key, offer_key = owner.head, keys.offer(deal_id)
        items = table.batch_get([head_key, offer_key])
        head = head_from_item(items.get(head_key), now=now)
        entry = head.lines.get(deal_id)
        if entry is None:
            raise no_line
        if entry.quantity == quantity:
            return
        if quantity > entry.quantity:  # fewer is always possible
            offer = items.get(offer_key)
            if offer is None:
                raise CannotAdd(NOT_OFFERED)
            refuse_more_than_stock(quantity, offer.get("stock"))
        changes = CartWrites(owner, head, now=now)
        changes.amend(deal_id, quantity=quantity)
        changes.write()

    table.retrying(attempt, on=CartChanged)


@access_pattern("save a line for later", "1 batch get + 1 transaction")
def move(owner: CartOwner, ref: str, status: str, *, now: datetime) -> Line | None:
    """Save a line for later (SAVED), or take it back into the cart (ACTIVE), as the newest there.

    `ref` is the line as the form showed it; None if it stands there no more, CartFull if none fits.
    Invalid for what no form says.
    """
    if status not in (ACTIVE, SAVED):
        raise Invalid(gettext_lazy("This form is damaged. Load your cart again."))

    def attempt() -> Line | None:
        head, line = find_line(owner, ref, now=now)
        if line is None or line.status == status:
            return line
        changes = CartWrites(owner, head, now=now)
        moved = changes.move(line, status)
        changes.write()
        return moved

    return table.retrying(attempt, on=CartChanged)


@access_pattern("remove a line from a cart", "1 batch get + 1 transaction")
def remove(owner: CartOwner, ref: str, *, now: datetime) -> Line | None:
    """Take a line from a cart and return it, so that it can be put back; None if it stands there no more."""

    def attempt() -> Line | None:
        head, line = find_line(owner, ref, now=now)
        if line is not None:
            changes = CartWrites(owner, head, now=now)
            changes.remove(line.deal)
            changes.write()
        return line

    return table.retrying(attempt, on=CartChanged)


@access_pattern("accept what changed about a cart's deals", "2 queries + 1 batch get + 1 transaction")
def accept(owner: CartOwner, *, seen: str, now: datetime) -> None:
    """Make the active lines what they have become: prices, fewer pieces; what cannot be bought is saved for later.

    `seen` is the digest of the changes that the shopper was shown; CartChanged if there are others now,
    CartFull if what cannot be bought has no room.
    """
    look = view(read(owner, now=now), now=now)
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
    changes.write()


def buyable(deal_id: str, items: Mapping[keys.Key, Item], *, now: datetime) -> Deal:
    """Return a deal that can be bought now; CannotAdd says why it cannot."""
    item, offer = items.get(keys.deal(deal_id)), items.get(keys.offer(deal_id))
    deal = deal_from_items(item, offer) if item and offer else None
    if deal is None or offer is None or not deal.card.is_visible(now):
        raise CannotAdd(NOT_OFFERED)
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
