"""Items note their schema; what is older is upgraded as it is read, what is newer is refused for writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dealsite import data
from dealsite.data import table
from dealsite.data.keys import GSI1
from dealsite.data.table import Schema, Schemas
from dealsite.data.table.configuration import upgrade_write
from dealsite.data.table.errors import AlreadyExists, Conflict, NewerItem, VersionConflict
from dealsite.data.table.writes import Check, Delete, Put, Update, absent, equals, exists

KEY, OTHER = ("SONG#1", "SONG#1"), ("SONG#2", "SONG#2")


def in_cents(item: dict[str, Any]) -> dict[str, Any]:
    """Schema 2 of a song: its price is in cents, unless a newer build has said it so already."""
    if "cents" in item or "price" not in item:
        return item
    return {name: value for name, value in item.items() if name != "price"} | {"cents": item["price"] * 100}


def same(item: dict[str, Any]) -> dict[str, Any]:
    return item


OLD = Schemas(Song=Schema(1), Singer=Schema(1))
NEW = Schemas(Song=Schema(2, (same, in_cents)), Singer=Schema(1))


@pytest.fixture(autouse=True)
def _table(fresh_table: None) -> None:
    pass


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Callable[[Schemas], None]:
    """A function that makes this the build that knows some schemas."""

    def use(schemas: Schemas) -> None:
        monkeypatch.setattr(data, "SCHEMAS", schemas)

    use(OLD)
    return use


def stored(key=KEY) -> dict[str, Any] | None:
    return table.get(key, as_stored=True)


def put(item: dict[str, Any] | None = None, *, key=KEY, **more: Any) -> None:
    table.write(Put(key=key, item={"type": "Song", **(item or {})}, **more))


def test_what_is_put_inserted_or_begun_by_an_update_notes_its_schema(build):
    put()
    table.insert([{"PK": "SONG#2", "SK": "SONG#2", "type": "Song"}])
    table.transact([Update(key=("SONG#3", "SONG#3"), set={"type": "Song"}), Check(key=KEY, when=(exists(),))])
    table.write(Put(key=("X", "X"), item={"type": "Unknown"}))
    assert {item["PK"]: item.get("schema") for item in table.scan_all(consistent=True)} == {
        "SONG#1": 1,
        "SONG#2": 1,
        "SONG#3": 1,
        "X": None,
    }


def test_an_update_of_a_part_leaves_the_schema_as_it_is(build):
    build(Schemas())
    put({"price": 2})
    build(OLD)
    table.write(Update(key=KEY, set={"title": "x"}))
    assert "schema" not in (stored() or {})


def test_a_library_that_was_told_of_no_schema_notes_and_refuses_none(build):
    build(Schemas())
    put({"schema": 7})
    table.write(Update(key=KEY, set={"title": "x"}))
    assert stored() == {"PK": "SONG#1", "SK": "SONG#1", "type": "Song", "schema": 7, "title": "x"}


def test_older_items_are_upgraded_however_they_are_read(build, wait_for_indexes):
    row = {"GSI1PK": "A", "GSI1SK": "B"}
    put({"price": 2, **row})
    build(NEW)
    upgraded = {"PK": "SONG#1", "SK": "SONG#1", "type": "Song", "schema": 2, "cents": 200, **row}
    assert table.get(KEY) == upgraded
    assert table.batch_get([KEY]) == {KEY: upgraded}
    assert table.query("SONG#1", consistent=True) == [upgraded]
    assert list(table.scan_all(consistent=True)) == [upgraded]
    assert stored() == {"PK": "SONG#1", "SK": "SONG#1", "type": "Song", "schema": 1, "price": 2, **row}
    wait_for_indexes()
    (found,) = table.query("A", index=GSI1)
    assert found["schema"] == 2  # a row knows no schema: its card is upgraded, whether it needs it or not


def test_an_upgrade_keeps_what_a_newer_build_has_written_into_an_older_item(build):
    put({"price": 2})
    build(NEW)
    table.write(Update(key=KEY, set={"cents": 250}))
    assert (table.get(KEY) or {})["cents"] == 250


def test_an_update_that_may_meet_an_old_shape_does_not_claim_a_new_one(build):
    put({"price": 2})
    build(NEW)
    table.write(Update(key=KEY, set={"type": "Song", "title": "x"}))
    assert (stored() or {})["schema"] == 1
    assert (table.get(KEY) or {})["cents"] == 200


WRITES = {
    "put": Put(key=KEY, item={"type": "Song"}),
    "update": Update(key=KEY, set={"title": "x"}),
    "update with a type": Update(key=KEY, set={"type": "Song"}),
    "count": Update(key=KEY, add={"n": 1}),
    "delete": Delete(key=KEY),
    "delete of what is there": Delete(key=KEY, when=(exists(),), otherwise=VersionConflict()),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("others", [0, 1])
def test_a_build_reads_what_a_newer_one_wrote_and_does_not_change_it(build, write, others):
    build(NEW)
    put({"cents": 200})
    before = stored()
    build(OLD)
    other = Put(key=OTHER, item={"type": "Song"})
    with pytest.raises(NewerItem):
        table.transact([other, write]) if others else table.write(write)
    assert stored() == table.get(KEY) == before
    assert stored(OTHER) is None


@pytest.mark.engines("native")  # in weak mode a count may fail for other reasons
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_build_changes_what_an_older_one_wrote(build, write):
    put({"price": 2})
    build(NEW)
    table.write(write)
    assert (stored() is None) == isinstance(write, Delete)


def test_a_name_that_a_newer_build_took_is_taken(build):
    build(NEW)
    put()
    build(OLD)
    with pytest.raises(AlreadyExists):
        put(when=(absent(),), otherwise=AlreadyExists())
    assert table.insert([{"PK": "SONG#1", "SK": "SONG#1", "type": "Song"}]) == 0
    assert (stored() or {})["schema"] == 2


def test_a_condition_that_fails_on_a_known_item_still_means_what_it_says(build):
    put({"version": 3})
    stale = Update(key=KEY, set={"version": 3}, when=(equals("version", 2),), otherwise=VersionConflict())
    for write in (lambda: table.write(stale), lambda: table.transact([stale])):
        with pytest.raises(VersionConflict):
            write()


def test_each_type_has_a_schema_of_its_own(build):
    """What names a key alone does not say its type: a number for all would let a newer singer through."""
    build(Schemas(Song=Schema(2), Singer=Schema(2), Band=Schema(3)))
    for kind in ("Song", "Singer", "Band"):
        table.write(Put(key=(kind, "1"), item={"type": kind}))
    build(Schemas(Song=Schema(2), Singer=Schema(1), Band=Schema(3)))
    table.write(Update(key=("Song", "1"), set={"title": "x"}))
    table.write(Update(key=("Band", "1"), set={"title": "x"}))
    with pytest.raises(NewerItem):
        table.write(Update(key=("Singer", "1"), set={"title": "x"}))


def test_of_a_type_that_only_newer_builds_know_nothing_is_changed(build):
    build(Schemas(Band=Schema(2)))
    table.write(Put(key=("Band", "1"), item={"type": "Band"}))
    build(OLD)
    with pytest.raises(NewerItem):
        table.write(Delete(key=("Band", "1")))


def test_what_notes_no_number_is_as_old_as_what_notes_nothing(build):
    build(Schemas())
    put({"price": 2, "schema": "two"})
    build(NEW)
    assert (table.get(KEY) or {})["cents"] == 200
    table.write(Update(key=KEY, set={"title": "x"}))
    table.write(migration_of(stored() or {}))
    assert (stored() or {})["schema"] == 2


# Storing an item in the shape of now


def migration_of(item: dict[str, Any]) -> Update:
    update = upgrade_write(item)
    assert update
    return update


def test_an_upgrade_is_stored_whole(build):
    put({"price": 2})
    build(NEW)
    table.write(migration_of(stored() or {}))
    assert stored() == {"PK": "SONG#1", "SK": "SONG#1", "type": "Song", "schema": 2, "cents": 200}
    assert upgrade_write(stored() or {}) is None


RACES = {
    "what it was made of": Update(key=KEY, set={"price": 3}),
    "what it makes": Update(key=KEY, set={"cents": 250}),
    "the item": Delete(key=KEY),
    "the same": Update(key=KEY, set={"schema": 2}),
}


@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_an_upgrade_is_not_stored_over_what_changed_since(build, race):
    put({"price": 2})
    seen = stored() or {}
    table.write(race)
    after = stored()
    build(NEW)
    with pytest.raises(Conflict):
        table.write(migration_of(seen))
    assert stored() == after


def test_an_upgrade_is_not_stored_if_what_it_missed_has_come(build):
    put()
    seen = stored() or {}
    table.write(Update(key=KEY, set={"price": 3}))
    build(NEW)
    with pytest.raises(Conflict):
        table.write(migration_of(seen))
    assert (table.get(KEY) or {})["cents"] == 300


def test_a_type_that_never_changed_is_noted_whatever_else_changes(build):
    build(Schemas())
    put({"likes": 1})
    seen = stored() or {}
    table.write(Update(key=KEY, add={"likes": 1}))
    build(OLD)
    table.write(migration_of(seen))
    assert stored() == {"PK": "SONG#1", "SK": "SONG#1", "type": "Song", "likes": 2, "schema": 1}
