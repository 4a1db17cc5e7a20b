"""Reading a cart: its head alone, with the active lines, with all lines, or with the line that a form means."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.cart.cart_record import (
    ACTIVE,
    MAX_ACTIVE,
    MAX_SAVED,
    SAVED,
    Cart,
    Head,
    Line,
    head_from_item,
    line_from_item,
)
from dealsite.data.commerce.cart.owners import CartOwner
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import from_iso, is_ulid, iso


@access_pattern("a cart's lines by status, newest first", "CART#u / HEAD, STATUS#at#line", "2 queries")
def read(owner: CartOwner, *, now: datetime) -> Cart:
    """Return a cart, empty if there is none. 2 consistent queries."""
    head, active = read_active(owner, now=now)
    low, high = keys.cart_line.between(SAVED)
    rows = table.query(
        owner.partition, low=low, high=high, newest_first=True, limit=MAX_SAVED, consistent=True
    )
    return Cart(owner, head, active, _in_head(head, rows))


@access_pattern("the lines of a cart that checkout buys", "CART#u / HEAD, ACTIVE#at#line", "1 query")
def read_active(owner: CartOwner, *, now: datetime) -> tuple[Head, list[Line]]:
    """Return a cart's head and its active lines, newest first. 1 consistent query."""
    low, _ = keys.cart_line.between(ACTIVE)
    head_sort = owner.head[1]
    rows = table.query(
        owner.partition, low=low, high=head_sort, newest_first=True, limit=MAX_ACTIVE + 1, consistent=True
    )
    heads = [row for row in rows if row["SK"] == head_sort]
    head = head_from_item(heads[0] if heads else None, now=now)
    return head, _in_head(head, [row for row in rows if row["SK"] != head_sort])


@access_pattern("how many deals are in a cart", "CART#u / HEAD", "1 get")
def read_head(owner: CartOwner, *, now: datetime) -> Head:
    """Return what a cart holds, without the lines. 1 get."""
    return head_from_item(table.get(owner.head), now=now)


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
    head_key, line_key = owner.head, owner.line(status, at, line_id)
    items = table.batch_get([head_key, line_key])
    head = head_from_item(items.get(head_key), now=now)
    found = _in_head(head, [items[line_key]] if line_key in items else [])
    return head, found[0] if found else None


def _in_head(head: Head, rows: list[Item]) -> list[Line]:
    """Return the lines that the head knows: what is left of a visitor's ended cart is nobody's."""
    lines = [line_from_item(row) for row in rows]
    return [line for line in lines if (e := head.lines.get(line.deal)) and e.line == line.id]
