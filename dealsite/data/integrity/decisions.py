"""What an admin decides on quarantined items: delete one, correct an attribute, leave it as it is; undo that.

Each is one transaction with its entry of the audit log, and holds only while item and entry are as they were seen.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import table
from dealsite.data.editing import audit
from dealsite.data.integrity import quarantine
from dealsite.data.integrity.declared import problems_of, sentences_of
from dealsite.data.integrity.problem import as_seen, key_of, repair_write
from dealsite.data.integrity.quarantine_record import (
    HIDDEN,
    Decision,
    Quarantined,
    fingerprint_of,
    hides,
    keep_write,
)
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, VersionConflict
from dealsite.data.table.writes import Delete, Put, Update, Write, absent, exists

Kind = Literal["text", "number", "yes", "no", "absent"]
KEYS = {"PK", "SK"}
CHANGED = gettext_lazy("The item has changed since it was found. The next check looks at it anew.")


@access_pattern("delete a quarantined item", "2 gets + 1 transaction")
def delete(entry_id: str, *, by: str, now: datetime) -> None:
    """Delete the item; its copy is kept for 30 days. NotFound, Conflict."""
    entry, item = _to_decide(entry_id, "delete", now)
    unchanged = (exists(), *as_seen(item, item.keys() - KEYS))
    gone = Delete(key=entry.key, when=unchanged, otherwise=VersionConflict(CHANGED))
    _decide(entry, "deleted", "removed an item", [gone], by=by, now=now)


@access_pattern("correct a quarantined item", "2 gets + 1 transaction")
def correct(entry_id: str, path: str, kind: Kind, text: str, *, by: str, now: datetime) -> None:
    """Give an attribute, named by its path (`card.amount`), another value; what was there is kept for 30 days.

    NotFound, Conflict; Invalid where the item would be wrong in a way that it is not now.
    """
    entry, item = _to_decide(entry_id, "correct", now)
    better = corrected(item, path, kind, text)
    if entry.what in {problem.what for problem in problems_of(item)} and sentences_of(item) == sentences_of(
        better
    ):
        raise Invalid(value=_("It would still be wrong."))
    wanted = {
        name: better.get(name) for name in item.keys() | better.keys() if item.get(name) != better.get(name)
    }
    unchanged = (exists(), *as_seen(item, item.keys() - KEYS))
    update = replace(repair_write(item, wanted), when=unchanged, otherwise=VersionConflict(CHANGED))
    changed = {name: {"before": item.get(name), "after": value} for name, value in wanted.items()}
    before, after = _said(item, path), _said(better, path)
    _decide(
        replace(entry, changed=changed),
        "corrected",
        "corrected an item",
        [update],
        by=by,
        now=now,
        before={path: before},
        after={path: after},
    )


@access_pattern("leave a quarantined item as it is", "1 get + 1 transaction")
def leave(entry_id: str, *, by: str, now: datetime) -> None:
    """Leave the item as it is: it is not asked about again while it and the sentence are the same.

    NotFound, Conflict.
    """
    entry = _open(entry_id, "leave", now)
    _decide(entry, "left", "left an item as it is", [], by=by, now=now)


@access_pattern("undo a decision", "1 get + 1 transaction")
def undo(entry_id: str, *, by: str, now: datetime) -> None:
    """Put back what was there before a decision; NotFound, Conflict where the item is not as the decision left it."""
    entry = _open(entry_id, "undo", now)
    writes: list[Write] = []
    if entry.decision == "deleted":
        taken = AlreadyExists(gettext_lazy("There is an item under this key again."))
        was = table.current(dict(entry.copy or {}))  # a later build may know another shape
        writes = [Put(key=entry.key, item=was, when=(absent(),), otherwise=taken)]
    elif entry.decision == "corrected":
        changed, item = entry.changed or {}, table.get(entry.key)
        if item is None or any(item.get(name) != one.get("after") for name, one in changed.items()):
            raise VersionConflict(gettext_lazy("The item has changed since the decision."))
        writes = [_put_back(item, changed)]
    opened = replace(entry, state="open", decision="", by="", at=None, changed=None)
    note = _audit(entry, "undone", by=by, now=now)
    table.transact([*writes, keep_write(opened), note])


def _put_back(item: Item, changed: Mapping[str, Mapping[str, Any]]) -> Update:
    before = {name: one.get("before") for name, one in changed.items()}
    conflict = VersionConflict(gettext_lazy("The item has changed since the decision."))
    return replace(repair_write(item, before), otherwise=conflict)


@access_pattern("whether a quarantined item is as it was", "1 get")
def state_of_item(entry: Quarantined) -> Literal["same", "changed", "missing"]:
    """Tell whether an item is as it was found, or was to be left by a decision."""
    item = table.get(entry.key)
    if item is None:
        return "missing"
    return "same" if fingerprint_of(item) == entry.fingerprint else "changed"


def corrected(item: Item, path: str, kind: Kind, text: str) -> Item:
    """Return an item with another value at a path, and what follows from it; Invalid."""
    names = path.strip().split(".")
    if names[0] in KEYS or not all(names) or len(path) > 200:
        raise Invalid(path=_("Name an attribute that is not part of the key."))
    better: Item = _with(item, names, _value(kind, text))
    for repair in [repair for problem in problems_of(better) for repair in problem.repairs]:
        if isinstance(repair, Update) and repair.key == key_of(item):  # index rows and copies follow
            better = {n: v for n, v in (better | dict(repair.set)).items() if n not in repair.remove}
    if new := sentences_of(better) - sentences_of(item):
        raise Invalid(value=" ".join(sorted(new))[:500])
    if better == item:
        raise Invalid(value=_("This is the value that it has."))
    return better


def _with(value: Any, names: list[str], new: Any) -> Any:
    """Return a map or list with another value at a path, None taking it away."""
    name, rest = names[0], names[1:]
    if isinstance(value, list):
        if not name.isdecimal() or int(name) >= len(value):
            raise Invalid(path=_("The item has no such attribute."))
        place = int(name)
        inner = [_with(value[place], rest, new)] if rest else [] if new is None else [new]
        return [*value[:place], *inner, *value[place + 1 :]]
    if not isinstance(value, Mapping) or (rest and name not in value):
        raise Invalid(path=_("The item has no such attribute."))
    if rest:
        return {**value, name: _with(value[name], rest, new)}
    return {n: v for n, v in ({**value, name: new}).items() if v is not None or n != name}


def _value(kind: Kind, text: str) -> Any:
    if kind == "number":
        try:
            number = Decimal(text.strip())
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or len(number.as_tuple().digits) > 38 or abs(number.adjusted()) > 100:
            raise Invalid(value=_("This is not a number."))
        return int(number) if number == number.to_integral_value() else number
    return {"text": text, "yes": True, "no": False, "absent": None}[kind]


def _said(item: Item, path: str) -> str:
    value: Any = item
    for name in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        else:
            value = value[int(name)] if isinstance(value, list) and int(name) < len(value) else None
    return (
        HIDDEN
        if hides(str(item.get("type")), tuple(path.split(".")), path)
        else ""
        if value is None
        else str(value)[: audit.LONGEST_TEXT]
    )


def _open(entry_id: str, what: str, now: datetime) -> Quarantined:
    """Return an entry on which something can be decided, or taken back; NotFound, Conflict."""
    entry = quarantine.get(entry_id, now=now)
    if what not in entry.may:
        raise Conflict(gettext_lazy("This was decided meanwhile."))
    return entry


def _to_decide(entry_id: str, what: str, now: datetime) -> tuple[Quarantined, Item]:
    entry = _open(entry_id, what, now)
    item = table.get(entry.key)
    if item is None or fingerprint_of(item) != entry.fingerprint:
        raise VersionConflict(CHANGED)
    return entry, item


def _decide(
    entry: Quarantined,
    decision: Decision,
    what: str,
    writes: list[Write],
    *,
    by: str,
    now: datetime,
    **more: Any,
) -> None:
    decided = replace(entry, state="decided", decision=decision, by=by, at=now)
    table.transact([*writes, keep_write(decided), _audit(entry, what, by=by, now=now, **more)])


def _audit(entry: Quarantined, what: str, *, by: str, now: datetime, **more: Any) -> Put:
    note = f"{entry.kind} {entry.key[0]} / {entry.key[1]}: {entry.what}"[: audit.LONGEST_TEXT]
    return audit.entry_write(
        by=by, kind="quarantine", subject=entry.id, what=what, note=note, now=now, **more
    )
