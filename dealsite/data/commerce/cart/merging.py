"""How a cart ends: a visitor's is merged into their own when they sign in, once; a deleted user's is cleared."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.commerce.cart.cart_record import (
    CartChanged,
    CartOwner,
    Line,
    of_rows,
    read_head,
    saved_limit,
    user_cart,
)
from dealsite.data.commerce.cart.cart_writes import CartWrites
from dealsite.data.entities.commerce import ACTIVE, MAX_ACTIVE, MAX_QUANTITY, MAX_SAVED, SAVED
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Delete, Write, at_version, exists


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
