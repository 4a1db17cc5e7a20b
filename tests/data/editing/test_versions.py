"""Versions: what was before each change is kept with it, goes along, and can be made the content again."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deal_changes, deals, drafts, publishing
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import trash, trash_record, versions
from dealsite.data.editing.versions import Version
from dealsite.data.entities.deals import HERE
from dealsite.data.integrity import checks
from dealsite.data.table import errors
from tests.builders import DAY, EDITOR, HOUR, NOW, PICTURE, make_deal, make_draft, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")
LATER = NOW + HOUR


def edit(deal: deals.Deal, *, by: str = "oscar", now=LATER, **changes) -> deals.Deal:
    content = replace(deal.content, **changes)
    brand = brands.get(content.brand)
    return deal_changes.edit(deal, content, version=deal.version, brand=brand, by=by, now=now)


def numbers(history_id: str) -> list[int]:
    return [version.number for version in versions.newest(history_id).versions]


def test_an_edit_keeps_what_was_before_it():
    deal = make_deal(sold=HERE, stock=3, expires_at=NOW + DAY, picture=PICTURE, voucher_code="SAVE")
    edited = edit(deal, title="New", price=Decimal("60"))
    edit(edited, description="Other", by="ann", now=LATER + HOUR)
    page = measured(versions.newest)(deal.id)
    assert page.before is None
    assert page.versions == [
        Version(2, edited.content, "Nordlicht", LATER, "oscar"),
        Version(1, deal.content, "Nordlicht", NOW, EDITOR),
    ]
    assert measured(versions.get_many)(deal.id, [1, 2, 3, 0, -1]) == {
        one.number: one for one in page.versions
    }


def test_publishing_keeps_nothing_and_expiring_what_was_before():
    deal = make_deal()
    assert numbers(deal.id) == []
    ended = deal_changes.expire_now(deal, by="oscar", now=NOW)
    assert versions.get(deal.id, 1).content == deal.content
    deal_changes.expire_now(ended, by="oscar", now=LATER)
    assert numbers(deal.id) == [1]


def test_a_saved_draft_keeps_what_was_before():
    draft = make_draft(title="Half", stock=4)
    drafts.save(draft, DealContent(title="More"), version=1, by="oscar", now=LATER)
    assert versions.newest(draft.id).versions == [Version(1, draft.content, "", NOW, EDITOR)]


def test_what_is_saved_by_itself_is_kept_when_it_begins():
    draft = make_draft(title="Half")
    for number in range(3):
        content = DealContent(title=f"Typing {number}")
        draft = drafts.save(draft, content, version=draft.version, by=EDITOR, now=NOW, autosave=make_id(NOW))
    assert numbers(draft.id) == [1]
    drafts.save(draft, DealContent(title="Done"), version=4, by=EDITOR, now=NOW)
    assert numbers(draft.id) == [4, 1]


def test_a_change_that_loses_a_conflict_keeps_nothing():
    deal, draft = make_deal(), make_draft(title="Half")
    edit(deal, title="First")
    drafts.save(draft, DealContent(title="More"), version=1, by="oscar", now=LATER)
    with pytest.raises(errors.VersionConflict):
        edit(deal, title="Second")
    with pytest.raises(errors.VersionConflict):
        drafts.save(draft, DealContent(title="Other"), version=1, by="ann", now=LATER)
    assert numbers(deal.id) == numbers(draft.id) == [1]


def test_versions_go_along_to_another_time():
    deal = edit(make_deal(live_at=NOW + DAY), title="New")
    new_id = make_id(NOW + 2 * DAY)
    moved = publishing.reschedule(deal, NOW + 2 * DAY, new_id=new_id, by=EDITOR, now=NOW)
    assert moved.history_id == deals.get(new_id).history_id == deal.id
    last_id = make_id(NOW + 3 * DAY)
    again = publishing.reschedule(moved, NOW + 3 * DAY, new_id=last_id, by=EDITOR, now=NOW)
    edit(deals.get(again.id), title="Newer")
    assert numbers(again.history_id) == [4, 1]


def test_versions_wait_in_the_trash_and_go_with_it():
    deal, draft = edit(make_deal(), title="New"), make_draft(title="Half")
    draft = drafts.save(draft, DealContent(title="More"), version=1, by="oscar", now=LATER)
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    drafts.delete(draft, by=EDITOR, now=NOW)
    measured(trash.restore)("deal", deal.id, by=EDITOR, now=NOW)
    assert numbers(deal.id) == numbers(draft.id) == [1]
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    trash.purge("deal", deal.id, by=EDITOR, now=NOW)
    trash.purge("draft", draft.id, by=EDITOR, now=NOW)
    assert numbers(deal.id) == numbers(draft.id) == []


def test_versions_of_a_deal_that_was_moved_go_with_the_trash_too():
    deal = edit(make_deal(live_at=NOW + DAY), title="New")
    new_id = make_id(NOW + 2 * DAY)
    moved = publishing.reschedule(deal, NOW + 2 * DAY, new_id=new_id, by=EDITOR, now=NOW)
    deal_changes.delete(moved, by=EDITOR, now=NOW)
    assert trash_record.get("deal", new_id).history_id == deal.id
    trash.purge("deal", new_id, by=EDITOR, now=NOW)
    assert numbers(deal.id) == []


def test_the_oldest_goes_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(versions, "MOST_KEPT", 3)
    deal = make_deal()
    for number in range(6):
        deal = edit(deal, title=f"Title {number}")
    assert numbers(deal.id) == [6, 5, 4]


def test_versions_have_pages(monkeypatch):
    monkeypatch.setattr(versions, "PAGE_SIZE", 2)
    deal = make_deal()
    for number in range(5):
        deal = edit(deal, title=f"Title {number}")
    first = versions.newest(deal.id)
    assert ([one.number for one in first.versions], first.before and first.before.number) == ([5, 4], 3)
    second = versions.newest(deal.id, below=4)
    assert ([one.number for one in second.versions], second.before and second.before.number) == ([3, 2], 1)
    assert versions.newest(deal.id, below=1).versions == []


def test_a_version_that_is_not_kept_is_not_found():
    deal = edit(make_deal(), title="New")
    for number in (0, 2, -1, 99_999_999):
        with pytest.raises(errors.NotFound):
            versions.get(deal.id, number)


def test_versions_of_nothing_are_taken_away_and_those_of_a_deal_are_kept():
    deal, gone = edit(make_deal(), title="New"), make_id(NOW)
    one = measured(versions.get)(deal.id, 1)
    for writes in (versions.keep_writes(gone, one), versions.keep_writes(deal.id, replace(one, number=2))):
        table.transact(writes)
    found = {problem.key: problem.what for problem in checks.find()}
    assert found == {
        keys.version(gone, 1): "This version has no deal or draft.",
        keys.deal(deal.id): "It is version 2, and the last one kept before is 2.",
    }
    assert checks.repair_all()[1] == []
    assert (deals.get(deal.id).version, numbers(deal.id)) == (3, [2, 1])  # nothing of what was is deleted


@pytest.mark.budget
def test_a_change_costs_as_many_requests_as_before():
    deal, draft = make_deal(), make_draft(title="Half")
    with table.metered() as meter:
        deal_changes.edit(
            deal,
            replace(deal.content, title="N"),
            version=1,
            brand=brands.get("nordlicht"),
            by=EDITOR,
            now=NOW,
        )
        drafts.save(draft, DealContent(title="More"), version=1, by=EDITOR, now=NOW)
    assert [operation for operation, _ in meter.log] == [
        "GetItem",
        "TransactWriteItems",
        "TransactWriteItems",
    ]
