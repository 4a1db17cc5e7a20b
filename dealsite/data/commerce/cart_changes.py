"""Changing a cart: adding deals, how many of each, for later or now, not at all; and how a cart ends.

A deal has one line, and what is added again adds to it. Changes of lines are collected and written with the head, in
one transaction; after a conflict each change is tried again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy, ngettext

from dealsite.data import keys, table
from dealsite.data.catalogue.deals import Deal, deal_from_items
from dealsite.data.commerce.carts import (
    VISITOR_CART_LIFETIME,
    CartChanged,
    CartEntry,
    CartFull,
    CartOwner,
    Head,
    Line,
    find_line,
    head_from_item,
    head_item,
    line_item,
    of_rows,
    read,
    read_head,
    saved_limit,
    user_cart,
    view,
)
from dealsite.data.entities.attributes import CENT, ZERO
from dealsite.data.entities.commerce import ACTIVE, MAX_ACTIVE, MAX_QUANTITY, MAX_SAVED, SAVED
from dealsite.data.entities.deals import MAX_PRICE
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.ids import epoch_seconds, is_ulid, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import (
    Delete,
    Path,
    Put,
    Update,
    Write,
    absent,
    at_most,
    at_version,
    either,
    exists,
)

NOT_OFFERED = gettext_lazy("This deal is not offered any more.")


class CartWrites:
    """Collects what happens to a cart's lines; `head` is what the cart will hold then.

    The head is written at the version it was read with, so what was read still holds when it is written.
    """

    def __init__(self, owner: CartOwner, head: Head, *, now: datetime) -> None:
        self.owner, self.was, self.now = owner, head, now
        is_new = owner.visitor and not head.version
        ends_at = now + VISITOR_CART_LIFETIME if is_new else head.ends_at
        self.head = replace(head, version=head.version + 1, lines=dict(head.lines), ends_at=ends_at)
        self._writes: list[Write] = []
        self._touched: set[str] = set()

    def add(self, line: Line, token: str = "") -> None:
        """Put a new line into the cart; CartFull if none of its status fits any more, Invalid if its id is taken."""
        self._set(line.deal, CartEntry(line.id, line.status, line.at, line.quantity, token))
        self._writes.append(self._put(line))

    def amend(self, deal: str, *, token: str = "", **changes: Any) -> None:
        """Change a line where it stands: its `quantity`, `price` or whether its stock is `counted`."""
        entry = self.head.lines[deal]
        entry = replace(entry, quantity=changes.get("quantity", entry.quantity), token=token or entry.token)
        self._set(deal, entry)
        paths: dict[Path, Any] = {n if n == "counted" else ("card", n): value for n, value in changes.items()}
        key = self.owner.line(entry.status, entry.at, entry.line)
        self._writes.append(Update(key=key, set=paths, when=(exists(),), otherwise=CartChanged()))

    def move(self, line: Line, status: str, *, token: str = "") -> Line:
        """Take a line from where the head has it to another status, as the newest there; CartFull."""
        moved = replace(line, status=status, at=self.now)
        self._set(line.deal, CartEntry(moved.id, status, moved.at, moved.quantity, token))
        self._delete(self.was.lines[line.deal])
        self._writes.append(self._put(moved))
        return moved

    def remove(self, deal: str) -> None:
        """Take a line from the cart."""
        self._delete(self.head.lines[deal])
        self._set(deal, None)

    def writes(self) -> list[Write]:
        """Return the writes of all changes, the head's first: CartChanged if the cart is not as it was read."""
        return [self._head_write(), *self._writes]

    def write(self) -> None:
        """Write all changes, if there are any. 1 transaction."""
        if self._writes:
            table.transact(self.writes())

    def _put(self, line: Line) -> Put:
        key = self.owner.line(line.status, line.at, line.id)
        item = line_item(line, self.owner, self.head.ends_at)
        return Put(key=key, item=item, when=(absent(),), otherwise=CartChanged())

    def _delete(self, entry: CartEntry) -> None:
        key = self.owner.line(entry.status, entry.at, entry.line)
        self._writes.append(Delete(key=key, when=(exists(),), otherwise=CartChanged()))

    def holds(self, line_id: str, *, besides: str = "") -> bool:
        """Tell whether another deal's line has this id."""
        return any(entry.line == line_id for deal, entry in self.head.lines.items() if deal != besides)

    def _set(self, deal: str, entry: CartEntry | None) -> None:
        """Have the head say what becomes of a deal's line; raises before anything is changed."""
        lines = dict(self.head.lines)
        old = lines.pop(deal, None)
        if entry:
            if self.holds(entry.line, besides=deal):  # bought together, both would stand in one place
                raise Invalid(DAMAGED_FORM)
            lines[deal] = entry
        active = self.head.active + _is(entry, ACTIVE) - _is(old, ACTIVE)
        saved = self.head.saved + _is(entry, SAVED) - _is(old, SAVED)
        refuse_full(self.owner, active if _is(entry, ACTIVE) else 0, saved if _is(entry, SAVED) else 0)
        self.head = replace(self.head, lines=lines, active=active, saved=saved)
        self._touched.add(deal)

    def _head_write(self) -> Write:
        key, head = self.owner.head, self.head
        if not self.was.version:  # none there yet, or a visitor's that has ended
            new = either(absent(), at_most("ttl", epoch_seconds(self.now)))
            return Put(key=key, item=head_item(self.owner, head), when=(new,), otherwise=CartChanged())
        sets: dict[Path, Any] = {"version": head.version, "active": head.active, "saved": head.saved}
        gone: list[Path] = []
        for deal in sorted(self._touched):
            if deal in head.lines:
                sets["lines", deal] = head.lines[deal].as_item()
            elif deal in self.was.lines:
                gone.append(("lines", deal))
        as_read = at_version(self.was.version)
        return Update(key=key, set=sets, remove=gone, when=as_read, otherwise=CartChanged())


def _is(entry: CartEntry | None, status: str) -> int:
    return int(entry is not None and entry.status == status)


def refuse_full(owner: CartOwner, active: int, saved: int) -> None:
    """Raise CartFull if a cart cannot hold as many lines."""
    if active > MAX_ACTIVE:
        full = _("A cart holds up to %(most)s deals. Order these first, or save some for later.")
        raise CartFull(full % {"most": MAX_ACTIVE})
    if saved > saved_limit(owner):
        full = _("Up to %(owner)s deals can be saved for later. Remove some first.")
        raise CartFull(full % {"owner": saved_limit(owner)})


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
            raise Invalid(DAMAGED_FORM)
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
        price=price or ZERO,
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
    if "elsewhere" in offer:
        raise CannotAdd(
            _("“%(title)s” is sold at %(shop)s.") % {"title": deal.card.title, "shop": deal.card.shop}
        )
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


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What came over from the visitor's cart, what was saved for later for lack of room, and what found none."""

    lines: list[Line] = field(default_factory=list)
    saved: list[Line] = field(default_factory=list)
    left_out: list[Line] = field(default_factory=list)


@access_pattern("merge a visitor's cart", "1 query + 1 get + 1 transaction")
def merge(visitor: CartOwner, username: str, *, now: datetime) -> MergeResult:
    """Move a visitor's lines into a user's cart: pieces of one deal add up, what was saved stays saved.

    The visitor's head goes in the same transaction, so it happens once; all again after a conflict.
    """
    return table.retrying(lambda: _merge(visitor, user_cart(username), now), on=CartChanged)


def _merge(visitor: CartOwner, user: CartOwner, now: datetime) -> MergeResult:
    head, lines = of_rows(table.query(visitor.partition, limit=100, consistent=True), now=now)
    merged = MergeResult()
    if not head.version:
        return merged
    changes = CartWrites(user, read_head(user, now=now), now=now)
    for line in sorted(lines, key=lambda line: (line.status, line.at, line.id)):
        _merge_line(changes, replace(line, username=user.username, at=now), merged)
    table.transact([*_visitor_goes(visitor, head.version, lines), *changes.writes()])
    return merged


def _merge_line(changes: CartWrites, line: Line, merged: MergeResult) -> None:
    """Add a visitor's line; where the cart is full it is saved for later, and if that is full, too, left out."""
    entry = changes.head.lines.get(line.deal)
    if entry is not None:
        quantity = min(entry.quantity + line.quantity, MAX_QUANTITY)
        if entry.status == SAVED and line.status == ACTIVE and _fits(changes, ACTIVE):
            changes.move(replace(line, id=entry.line, quantity=quantity), ACTIVE)
        else:
            changes.amend(line.deal, quantity=quantity)
        merged.lines.append(line)
        return
    if changes.holds(line.id):
        line = replace(line, id=new_ulid(changes.now))
    if _fits(changes, line.status):
        changes.add(line)
        merged.lines.append(line)
    elif line.status == ACTIVE and _fits(changes, SAVED):
        changes.add(replace(line, status=SAVED))
        merged.saved.append(line)
    else:
        merged.left_out.append(line)


def _fits(changes: CartWrites, status: str) -> bool:
    if status == ACTIVE:
        return changes.head.active < MAX_ACTIVE
    return changes.head.saved < saved_limit(changes.owner)


def _visitor_goes(visitor: CartOwner, version: int, lines: list[Line]) -> list[Write]:
    places = [visitor.line(line.status, line.at, line.id) for line in lines]
    return [
        Delete(key=visitor.head, when=at_version(version), otherwise=CartChanged()),
        *(Delete(key=place, when=(exists(),), otherwise=CartChanged()) for place in places),
    ]


@access_pattern("delete a cart: its head and each line", "2 queries + 4 deletes")
def clear(username: str) -> None:
    """Delete a user's cart, its saved lines too; what they bought stays with their orders. Harmless to repeat."""
    owner = user_cart(username)
    for low, high, limit in (
        (keys.cart_line.between(ACTIVE)[0], owner.head[1], MAX_ACTIVE + 1),
        (*keys.cart_line.between(SAVED), MAX_SAVED),
    ):
        for row in table.query(owner.partition, low=low, high=high, limit=limit, consistent=True):
            table.write(Delete(key=(row["PK"], row["SK"])))
