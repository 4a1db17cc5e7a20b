"""The audit log: what was done stands there in order, and is never written over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.table import errors
from dealsite.data.table.writes import Put
from tests.builders import DAY, NOW, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


def note(what: str, *, now=NOW, **more) -> Put:
    entry = audit.entry_write(
        **({"by": "bob", "kind": "order", "subject": "X1", "what": what, "now": now} | more)
    )
    table.transact([entry])
    return entry


def test_what_was_done_to_a_thing_is_listed_newest_first(wait_for_indexes):
    note("placed", by="ann")
    note("shipped", now=NOW + DAY, note="Tracking number 1")
    note("refunded", kind="payment")
    note("placed", subject="X2")
    wait_for_indexes()
    shipped, placed = measured(audit.of_target)("order", "X1")
    assert (shipped.what, shipped.by, shipped.at, shipped.note) == (
        "shipped",
        "bob",
        NOW + DAY,
        "Tracking number 1",
    )
    assert (placed.what, placed.by, placed.kind, placed.subject, placed.note) == (
        "placed",
        "ann",
        "order",
        "X1",
        "",
    )
    assert audit.of_target("order", "X3") == []


def test_two_things_of_one_moment_are_both_kept(wait_for_indexes):
    note("placed")
    note("shipped")
    wait_for_indexes()
    assert {entry.what for entry in audit.of_target("order", "X1")} == {"placed", "shipped"}


def test_an_entry_is_never_written_over():
    entry = note("placed")
    with pytest.raises(errors.Conflict):
        table.transact([replace(entry, item=entry.item | {"what": "shipped"})])


def test_an_entry_keeps_what_changed():
    entry = note("edited", before={"price": 5, "to": {"city": "Bonn"}}, after={"price": 6})
    stored = audit.entry_from_item(table.get(entry.key))
    assert (stored.before, stored.after) == ({"price": 5, "to": {"city": "Bonn"}}, {"price": 6})
    assert stored.id == entry.item["id"]


def test_entries_of_a_day_stand_together():
    first, second = note("placed"), note("placed", now=NOW + timedelta(hours=11, minutes=59))
    other = note("placed", now=NOW + timedelta(hours=12))
    day = keys.audit.partition(NOW.date())
    assert [item["id"] for item in table.query(day, consistent=True)] == [first.item["id"], second.item["id"]]
    assert other.key[0] == "AUDIT#2026-11-22"


def test_only_so_many_are_shown(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(audit, "ENTRIES_OF_A_TARGET", 2)
    for number in range(3):
        note(f"step {number}", now=NOW + timedelta(minutes=number))
    wait_for_indexes()
    assert [entry.what for entry in audit.of_target("order", "X1")] == ["step 2", "step 1"]


def test_no_subject_can_reach_another():
    for subject in ("X1#X2", "", f"{make_id()}#", "X\n1"):
        with pytest.raises(ValueError, match="cannot be part of a key"):
            audit.entry_write(by="bob", kind="order", subject=subject, what="x", now=NOW)
