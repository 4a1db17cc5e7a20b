"""What a form or an earlier version makes of a deal or draft, and taking that back field by field."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deals, drafts
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.editing import bulk, versions
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.entities.deals import HERE
from dealsite.data.jobs import jobs
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict
from dealsite.data.table.writes import Delete, Put, Update
from dealsite.worker.bulk import Outcome, change_at_once, undo_at_once
from tests import races
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_deal, make_draft, make_id
from tests.data.editing.verb_cases import MINUTE, edit, entry, held
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


def type_in(found: Entry, *, now: datetime = NOW, **changes: Any) -> str:
    """Change an entry as a form does; returns the id of the job."""
    content = replace(found.content, **changes)
    brand = brands.get(content.brand) if content.brand else None
    return bulk.edit_alone(found, content, brand=brand, by=EDITOR, now=now)[1]


def take_back(job_id: str, *, now: datetime = NOW + HOUR) -> Outcome:
    return undo_at_once(bulk.get(job_id), undo_id=make_id(now), by="oscar", now=now)


def reasons(outcome: Outcome) -> list[str]:
    return [row.reason for row in outcome.refused]


def sell(deal_id: str, pieces: int) -> None:
    table.write(Update(key=keys.offer(deal_id), add={"stock": -pieces}))


@pytest.fixture(params=["deal", "draft"])
def made(request: pytest.FixtureRequest) -> Entry:
    """A deal or draft with one version."""
    how: Any = {"title": "Desk", "price": Decimal("20.00"), "now": NOW - DAY}
    return make_deal(**how) if request.param == "deal" else make_draft(brand="Nordlicht", **how)


def again(found: Entry) -> Entry:
    return entry("deal" if isinstance(found, deals.Deal) else "draft", found.id)


def test_what_was_typed_is_taken_back(made):
    before = held()
    content = replace(made.content, title="Shelf", description="Of oak.")
    brand = brands.get("nordlicht")
    how: Any = {"brand": brand, "by": EDITOR, "now": NOW}
    if isinstance(made, deals.Deal):
        changed, job_id = measured(bulk.edit_alone)(made, content, **how)
    else:
        changed, job_id = bulk.edit_alone(made, content, **how)
    assert (changed, changed.content, changed.version) == (again(made), content, 2)
    outcome = take_back(job_id)
    assert (outcome.refused, held(), again(made).version) == ([], before, 3)
    assert bulk.get(job_id).undone_by == outcome.job_id
    assert [one.number for one in versions.newest(made.id).versions] == [2, 1]


def test_what_others_changed_besides_stays(made):
    job_id = type_in(made, title="Shelf")
    edit("deal" if isinstance(made, deals.Deal) else "draft", made.id, price=Decimal("30.00"))
    assert reasons(take_back(job_id)) == []
    assert again(made).content == replace(made.content, price=Decimal("30.00"))


def test_what_others_changed_of_the_same_is_left_as_it_is(made):
    job_id = type_in(made, title="Shelf", price=Decimal("30.00"))
    edit("deal" if isinstance(made, deals.Deal) else "draft", made.id, title="Lamp")
    theirs = held()
    assert reasons(take_back(job_id)) == ["olga changed it since."]
    assert held() == theirs


def test_what_was_changed_there_and_back_counts_as_it_is(made):
    job_id = type_in(made, title="Shelf")
    for title in ("Lamp", "Shelf"):
        edit("deal" if isinstance(made, deals.Deal) else "draft", made.id, title=title)
    assert reasons(take_back(job_id)) == []
    assert again(made).content.title == "Desk"


@pytest.mark.parametrize(
    ("was", "set_to", "sold", "left"),
    [(3, 6, 1, 2), (3, 6, 5, 0), (8, 6, 2, 6), (None, 6, 2, None), (4, None, 0, 4), (5, 5, 2, 3)],
)
@pytest.mark.engines("native", "local")  # how many were sold is added, which no one sends again
def test_what_was_sold_since_stays_sold(was, set_to, sold, left):
    made = make_deal(now=NOW - DAY, sold=HERE, stock=was)
    job_id = type_in(made, title="Shelf", stock=set_to)
    if sold:
        sell(made.id, sold)
    assert reasons(take_back(job_id)) == []
    content = deals.get(made.id).content
    assert (content.stock, content.title) == (left, made.content.title)


@pytest.mark.parametrize(("was", "set_to"), [(3, 6), (None, 6), (4, None)])
def test_a_stock_is_not_taken_back_over_what_others_did(was, set_to):
    made = make_deal(now=NOW - DAY, sold=HERE, stock=was)
    job_id = type_in(made, stock=set_to)
    edit("deal", made.id, stock=50)
    assert reasons(take_back(job_id)) == ["olga changed it since."]
    assert deals.get(made.id).stock == 50


def test_an_end_that_has_passed_does_not_come_back_by_an_undo():
    made = make_deal(now=NOW - DAY, expires_at=NOW + MINUTE)
    job_id = type_in(made, expires_at=NOW + DAY)
    assert reasons(take_back(job_id)) == ["The end that it had has passed meanwhile."]
    assert deals.get(made.id).content.expires_at == NOW + DAY


def test_a_deal_does_not_come_back_to_a_brand_that_is_gone():
    made = make_deal(now=NOW - DAY)
    make_brand("Aurora")
    job_id = type_in(made, brand="aurora")
    brand = table.get(keys.brand("nordlicht"))
    table.write(Delete(key=keys.brand("nordlicht")))
    assert reasons(take_back(job_id)) == ["Its brand does not exist any more."]
    assert brand is not None
    table.write(Put(key=keys.brand("nordlicht"), item=brand))
    assert reasons(take_back(job_id)) == []
    assert deals.get(made.id).card.brand == "nordlicht"


def test_what_is_not_kept_any_more_cannot_come_back(monkeypatch):
    monkeypatch.setattr(versions, "MOST_KEPT", 2)
    made = make_deal(now=NOW - DAY)
    job_id = type_in(made, title="Shelf")
    for text in ("Of oak.", "Of pine.", "Of beech."):
        edit("deal", made.id, description=text)
    assert reasons(take_back(job_id)) == ["This version is not kept (any more)."]


def test_a_version_and_the_next_one_are_read_together():
    made = make_deal(now=NOW - DAY)
    type_in(made, title="Shelf")
    assert versions.around(made.id, 1)[1] is None
    type_in(deals.get(made.id), title="Lamp")
    older, newer = measured(versions.around)(made.id, 1)
    assert (older.content.title, newer.content.title) == (made.content.title, "Shelf")


@pytest.mark.engines("native", "local")
def test_an_undo_and_an_edit_at_once_are_one_after_the_other():
    made = make_deal(now=NOW - DAY, title="Desk")
    job_id = type_in(made, title="Shelf")
    races.at_once(
        partial(take_back, job_id), partial(take_back, job_id), partial(edit, "deal", made.id, title="Lamp")
    )
    stored = deals.get(made.id)
    assert stored.content.title == "Lamp" or (stored.content.title, stored.version) == ("Desk", 3)
    assert [one.number for one in versions.newest(made.id).versions] == list(range(stored.version - 1, 0, -1))


def test_of_an_edit_that_came_too_late_nothing_is_kept():
    made = make_deal(now=NOW - DAY)
    edit("deal", made.id, title="Lamp")
    with pytest.raises(VersionConflict):
        type_in(made, title="Shelf")
    assert [row["id"] for row in table.scan_all(consistent=True) if row["type"] == "Job"] == []


# Going back to a version


def restore(deal_id: str, value: str, *, now: datetime = NOW, version: int | None = None) -> Outcome:
    change = BulkChange("deal", "restore-version", value)
    ids, job_id = [deal_id], make_id(now)
    return change_at_once(change, ids, job_id=job_id, by=EDITOR, asked_at=now, now=now, version=version)


def test_a_deal_becomes_what_it_was_but_for_its_stock_and_end():
    made = make_deal(stock=3, expires_at=NOW + DAY, now=NOW - DAY)
    type_in(made, title="New", price=Decimal("60"), stock=7, expires_at=NOW + 2 * DAY)
    assert reasons(restore(made.id, "1")) == []
    stored = deals.get(made.id)
    assert (stored.content, stored.version) == (replace(made.content, stock=7, expires_at=NOW + 2 * DAY), 3)
    assert [one.price for one in deals.prices_of(made.id)] == [
        Decimal("79.90"),
        Decimal("60.00"),
        Decimal("79.90"),
    ]


def test_its_stock_and_end_come_back_where_that_is_asked_for():
    made = make_deal(stock=3, expires_at=NOW + DAY, now=NOW - DAY)
    type_in(made, stock=None, expires_at=None)
    assert reasons(restore(made.id, "1 end stock")) == []
    assert deals.get(made.id).content == made.content


def test_a_draft_comes_back_whole():
    made = make_draft(title="Desk", stock=3, now=NOW - DAY)
    type_in(made, title="Shelf", stock=4)
    change = BulkChange("draft", "restore-version", "1")
    change_at_once(change, [made.id], job_id=make_id(NOW), by=EDITOR, asked_at=NOW, now=NOW)
    assert drafts.get(made.id).content == made.content


def test_an_end_that_has_passed_does_not_come_back():
    made = make_deal(expires_at=NOW + HOUR, now=NOW - DAY)
    type_in(made, expires_at=None, title="New")
    (reason,) = reasons(restore(made.id, "1 end", now=NOW + DAY))
    assert "Keep the end that it has now." in reason
    assert reasons(restore(made.id, "1", now=NOW + DAY)) == []
    assert deals.get(made.id).content == replace(made.content, expires_at=None)


def test_an_end_that_is_over_now_as_it_was_then_is_no_obstacle():
    made = make_deal(expires_at=NOW + HOUR, now=NOW - DAY)
    type_in(made, title="New")
    assert reasons(restore(made.id, "1 end", now=NOW + DAY)) == []
    assert deals.get(made.id).content == made.content


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("1", "It is as it was in this version already."),
        ("3", "This version is not kept (any more)."),
        ("99999999", "This version is not kept (any more)."),
    ],
)
def test_going_back_to_what_it_is_or_never_was_changes_nothing(value, reason):
    made = make_deal(now=NOW - DAY)
    type_in(made, title="New")
    type_in(deals.get(made.id), title=made.content.title)
    assert reasons(restore(made.id, value)) == [reason]
    assert deals.get(made.id).version == 3


def test_a_version_that_somebody_changed_since_it_was_shown_stays():
    made = make_deal(now=NOW - DAY)
    type_in(made, title="New")
    edit("deal", made.id, title="Newer")
    assert reasons(restore(made.id, "1", now=NOW + HOUR, version=2)) == ["olga changed it meanwhile."]


@pytest.mark.engines("native", "local")
def test_versions_restored_and_edits_made_at_once_are_one_after_the_other():
    made = make_deal(now=NOW - DAY, title="Desk")
    type_in(made, title="Shelf")
    results = races.at_once(
        partial(restore, made.id, "1"),
        partial(restore, made.id, "1"),
        partial(edit, "deal", made.id, by=EDITOR, title="Lamp"),
    )
    stored = deals.get(made.id)
    assert [one.number for one in versions.newest(made.id).versions] == list(range(stored.version - 1, 0, -1))
    done = [one for one in results if isinstance(one, Outcome) and one.changed]
    assert stored.version == 2 + len(done) + (not isinstance(results[2], Conflict))
    assert all(jobs.get(one.job_id).state == "done" for one in done)


def test_what_is_gone_has_no_version():
    with pytest.raises(NotFound):
        versions.around(make_id(NOW), 1)
