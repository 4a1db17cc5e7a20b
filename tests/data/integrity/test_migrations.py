"""Migrations end whole however they are interrupted, and nobody's change is lost."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dealsite import data
from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.integrity import migrations
from dealsite.data.integrity.migrations import CONTENDED, CURRENT, MIGRATED, NEWER, Migration
from dealsite.data.integrity.problem import Pace
from dealsite.data.table import Schema, Schemas
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.writes import Put, Update
from tests.builders import EDITOR, make_brand, make_deal
from tests.people import NOW
from tests.table_requests import Request, handled

ALL = range(7)


@pytest.fixture(autouse=True)
def _table(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of three items, so that few are many."""
    monkeypatch.setattr(migrations, "PAGE", 3)
    monkeypatch.setattr(migrations, "AT_ONCE", 2)


def named(item: dict[str, Any]) -> dict[str, Any]:
    """Schema 2 of a category: its name is its title."""
    if "name" not in item:
        return item
    return {**{key: value for key, value in item.items() if key != "name"}, "title": item["name"]}


@pytest.fixture
def new_build(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function after which categories have schema 2."""
    wanted = Schemas(data.SCHEMAS | {"Category": Schema(2, (lambda item: item, named))})
    return lambda: monkeypatch.setattr(data, "SCHEMAS", wanted)


def make_old(monkeypatch: pytest.MonkeyPatch, numbers: range = ALL) -> None:
    """Items as builds wrote them that noted no schema."""
    with monkeypatch.context() as patch:
        patch.setattr(data, "SCHEMAS", Schemas())
        for number in numbers:
            table.write(
                Put(key=key_of(number), item={"type": "Category", "name": f"n{number}", "version": 4})
            )


def key_of(number: int) -> keys.Key:
    return keys.category(f"c{number}")


def stored() -> list[dict[str, Any]]:
    """What the table holds, but for the migration itself."""
    return [item for item in scanned() if item["type"] != "Migration"]


def scanned() -> Iterator[dict[str, Any]]:
    start = None
    while True:
        rows = table.scan_page(start=start, consistent=True, as_stored=True)
        yield from rows.items
        if (start := rows.start) is None:
            return


def fast() -> Pace:
    return Pace(1e9, sleep=lambda seconds: None)


def migrate(name: str = "all", **options: Any) -> Migration:
    only = options.get("only", "")
    return migrations.run(migrations.begin(name, only=only), pace=fast(), **options)


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("migrate_items", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_every_item_notes_its_schema_in_the_shape_of_now(monkeypatch, new_build):
    make_old(monkeypatch)
    new_build()
    done = migrate()
    assert (done.total(MIGRATED), done.is_done) == (7, True)
    assert sorted((item["title"], item["schema"], "name" in item) for item in stored()) == [
        (f"n{number}", 2, False) for number in ALL
    ]
    again = migrate()
    assert (again.total(MIGRATED), again.total(CURRENT)) == (0, 8)  # and the migration itself


def test_a_form_that_is_open_meanwhile_can_be_saved(whole_table, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(data, "SCHEMAS", Schemas())
        brand = make_brand()
        deal = make_deal(title="Before")
    opened = deals.get(deal.id)
    assert migrate().total(MIGRATED) > 5
    content = opened.content
    changed = deal_changes.edit(opened, content, version=opened.version, brand=brand, by=EDITOR, now=NOW)
    assert changed.version == opened.version + 1
    assert (table.get(keys.deal(deal.id)) or {})["schema"] == 1


def test_a_dry_run_tells_and_does_nothing(monkeypatch, new_build):
    make_old(monkeypatch)
    new_build()
    before = stored()
    said = command("--dry-run")
    assert "Category: 7 to migrate" in said
    assert "7 items: 7 to migrate, 0 current." in said
    assert stored() == before
    assert migrations.find("all") is None


def test_a_type_alone_is_migrated(monkeypatch, new_build):
    make_old(monkeypatch)
    make_brand()
    new_build()
    assert command("--only", "Category").startswith("Category: 7 migrated\n")
    assert migrations.find("Category") is not None


def test_what_newer_builds_wrote_is_left_alone_and_counted(monkeypatch, new_build):
    make_old(monkeypatch, range(2))
    with monkeypatch.context() as patch:
        patch.setattr(data, "SCHEMAS", Schemas(Category=Schema(3)))
        table.write(Put(key=key_of(5), item={"type": "Category", "name": "new"}))
    newer = table.get(key_of(5), as_stored=True)
    new_build()
    assert migrate().total(NEWER) == 1
    assert table.get(key_of(5), as_stored=True) == newer


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.budget
@pytest.mark.parametrize("number", range(1, 12))
def test_a_migration_that_is_killed_goes_on_where_it_was(monkeypatch, new_build, number):
    """Before each of its requests in turn."""
    make_old(monkeypatch)
    new_build()
    sent = 0

    def kill(request: Request) -> None:
        nonlocal sent
        sent += 1
        if sent == number:
            raise Killed

    with handled(kill), pytest.raises(Killed):
        migrate()
    done = migrate()
    assert done.is_done
    assert {item["schema"] for item in stored()} == {2}
    assert done.total(MIGRATED) + done.total(CURRENT) >= len(ALL)


@pytest.mark.parametrize("pages", [0, 1])
def test_a_second_process_is_refused(monkeypatch, new_build, pages):
    """Whether both begin, or both go on."""
    make_old(monkeypatch)
    new_build()
    if pages:
        migrations.save(migrations.begin("all"))
    ours = theirs = migrations.begin("all")
    migrations.save(theirs)
    with pytest.raises(VersionConflict):
        migrations.run(ours, pace=fast())
    monkeypatch.setattr(migrations, "begin", lambda name, only: ours)
    with pytest.raises(CommandError, match="Another process goes on with the migration all"):
        command()


def test_a_place_that_led_to_other_schemas_is_not_gone_on_from(monkeypatch, new_build):
    make_old(monkeypatch)
    stopped = migrations.begin("all")
    migrations.save(Migration("all", stopped.aim, start=dict(zip(("PK", "SK"), key_of(6), strict=True))))
    assert migrations.begin("all").start is not None
    new_build()
    assert migrations.begin("all").start is None
    assert migrate().total(MIGRATED) == 7


@pytest.mark.parametrize("others", [0, 1, 9])
def test_a_change_between_reading_and_storing_is_kept(monkeypatch, new_build, others):
    """An editor's change of one item: the migration sees it, or leaves it to a further run, and the others go on."""
    make_old(monkeypatch, range(2))
    new_build()
    transact, get, left = table.transact, table.get, [key_of(0)] * (1 + others)

    def edit() -> None:
        if left:
            number = len(left)
            table.write(Update(key=left.pop(), set={"name": f"edited {number}"}))

    def edited_before(writes: Any) -> None:
        edit()
        transact(writes)

    def edited_after(key: keys.Key, **options: Any) -> Any:
        found = get(key, **options)
        if key == key_of(0) and options.get("as_stored"):
            edit()
        return found

    monkeypatch.setattr(table, "transact", edited_before)
    monkeypatch.setattr(table, "get", edited_after)
    done = migrate()
    monkeypatch.undo()
    monkeypatch.setattr(migrations, "PAGE", 3)
    new_build()
    assert done.total(CONTENDED) == (others == 9)
    if others == 9:
        assert migrate().total(MIGRATED) == 1
    titles = {item["PK"]: item["title"] for item in stored()}
    assert titles["CATEGORY#c1"] == "n1"
    assert titles["CATEGORY#c0"].startswith("edited")


def test_what_an_older_build_put_meanwhile_is_found_by_the_next_run(monkeypatch, new_build):
    make_old(monkeypatch)
    new_build()
    migrate()
    make_old(monkeypatch, range(1))
    assert migrate().total(MIGRATED) == 1


def test_the_pace_is_kept_from_page_to_page():
    now, slept = 0.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    pace = Pace(10, clock=lambda: now, sleep=sleep)
    for _ in range(3):
        pace(5)
    now += 10  # what took long is not made up for
    pace(5)
    pace(5)
    assert slept == [0.5, 0.5, 0.5, 0.5]


def test_a_rate_of_nothing_is_refused():
    with pytest.raises(CommandError, match="above 0"):
        command("--rate", "0")
