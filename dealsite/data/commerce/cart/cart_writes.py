"""What is to become of a cart: changes of its lines are collected and written with its head, in one transaction."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import table
from dealsite.data.commerce.cart.cart_record import (
    VISITOR_CART_LIFETIME,
    CartChanged,
    CartEntry,
    CartFull,
    CartOwner,
    Head,
    Line,
    head_item,
    line_item,
    saved_limit,
)
from dealsite.data.entities.commerce import ACTIVE, MAX_ACTIVE, SAVED
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import epoch_seconds
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
                raise Invalid(gettext_lazy("This form is damaged. Load the page again."))
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
