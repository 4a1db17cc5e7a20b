"""Unpublished changes of a deal: shoppers see nothing of them, nobody's are lost, and they stay with their deal."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, deals, publishing
from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import audit, pending_edits, trash
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.integrity import checks
from dealsite.data.table import errors
from dealsite.data.table.writes import Put
from tests.builders import DAY, EDITOR, HOUR, NOW, PICTURE, make_brand, make_content, make_deal, make_id
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
MINUTE = timedelta(minutes=1)


def keep(
    deal: Deal, before: PendingEdits | None = None, *, by=EDITOR, now=NOW, autosave="", **content
) -> PendingEdits:
    return pending_edits.keep(
        deal,
        replace(deal.content, **content),
        brand_name="Nordlicht",
        base=deal.version,
        seen="{}",
        before=before,
        by=by,
        now=now,
        autosave=autosave,
    )


def publish(deal: Deal, kept: PendingEdits, now=NOW) -> Deal:
    audit_context = AuditContext(writes=(pending_edits.publish_write(kept),))
    brand = make_brand()
    return deal_changes.edit(
        deal, kept.content, version=deal.version, brand=brand, by=EDITOR, now=now, audit_context=audit_context
    )


def noted(deal: Deal) -> list[str]:
    return sorted(entry.what for entry in audit.of_target("deal", deal.id))


def test_changes_are_read_back_as_they_were_kept_and_the_deal_stays_as_it_is():
    deal = make_deal(stock=3)
    kept = keep(deal, title="Better", picture=PICTURE, price=None, stock=5, expires_at=NOW + DAY, link="")
    assert pending_edits.find(deal) == kept
    assert deals.get(deal.id) == deal
    assert (kept.version, kept.base, kept.begun_at, kept.content.price) == (1, 1, NOW, None)


def test_what_is_kept_is_seen_as_it_was_given():
    deal = make_deal()
    content = replace(deal.content, title="Better")
    given: dict[str, Any] = {"brand_name": "Nordlicht", "base": 1, "seen": "{}", "before": None}
    kept = measured(pending_edits.keep)(deal, content, **given, by=EDITOR, now=NOW)
    assert (kept.content, kept.base) == (content, 1)


def test_they_are_listed_last_changed_first_with_their_deal(wait_for_indexes):
    lamp, desk, sofa = make_deal(title="Lamp"), make_deal(title="Desk"), make_deal(title="Sofa")
    first = keep(lamp, title="Lamp 2")
    for n, deal in enumerate((desk, sofa)):
        keep(deal, title="Other", now=NOW + n * MINUTE)
    keep(lamp, first, title="Lamp 3", now=NOW + 5 * MINUTE, by="otto")
    wait_for_indexes()
    assert [(card.id, card.title) for card in pending_edits.cards()] == [
        (lamp.id, "Lamp 3"),
        (sofa.id, "Other"),
        (desk.id, "Other"),
    ]


def test_publishing_makes_the_deal_what_they_hold_and_ends_them(wait_for_indexes):
    deal = make_deal(stock=3)
    kept = keep(deal, title="Better")
    assert publish(deal, kept).content.title == "Better"
    wait_for_indexes()
    assert (deals.get(deal.id).content, pending_edits.find(deal), pending_edits.cards()) == (
        kept.content,
        None,
        [],
    )


def test_changes_that_went_on_meanwhile_are_not_published_unseen():
    deal = make_deal()
    seen = keep(deal, title="Better")
    newer = keep(deal, seen, title="Best", by="otto")
    with pytest.raises(pending_edits.PendingEditsConflict):
        publish(deal, seen)
    assert (deals.get(deal.id), measured(pending_edits.find)(deal)) == (deal, newer)


def test_the_second_editor_is_shown_the_firsts_work():
    deal = make_deal()
    first = keep(deal, title="First", by="first")
    for before in (None, replace(first, version=7)):
        with pytest.raises(errors.VersionConflict) as conflict:
            keep(deal, before, title="Second", by="second")
        assert conflict.value.current == first


def test_what_is_saved_by_itself_is_noted_once(wait_for_indexes):
    deal = make_deal()
    kept = None
    for n in range(4):
        kept = keep(deal, kept, title=f"Better {n}", now=NOW + n * MINUTE, autosave=f"{n:032}")
    wait_for_indexes()
    assert noted(deal) == ["kept unpublished changes", "published"]
    assert (kept.version, kept.begun_at, kept.autosaved_since) == (4, NOW, NOW)
    keep(deal, kept, title="Late", now=NOW + 10 * MINUTE, autosave="a" * 32)
    wait_for_indexes()
    assert noted(deal) == ["kept unpublished changes"] * 2 + ["published"]


def test_discarding_is_undone(wait_for_indexes):
    deal = make_deal()
    kept = keep(deal, title="Better")
    pending_edits.discard(kept, by=EDITOR, now=NOW)
    wait_for_indexes()
    discarded = pending_edits.find(deal)
    assert (discarded.is_discarded, pending_edits.cards()) == (True, [])
    with pytest.raises(errors.VersionConflict):
        pending_edits.discard(kept, by="otto", now=NOW)
    measured(pending_edits.restore)(discarded, by=EDITOR, now=NOW)
    wait_for_indexes()
    back = pending_edits.find(deal)
    assert (back.content, back.is_discarded) == (kept.content, False)
    assert [card.id for card in pending_edits.cards()] == [deal.id]
    assert "brought back unpublished changes" in noted(deal)


def test_others_can_be_kept_in_the_place_of_discarded_ones():
    deal = make_deal()
    measured(pending_edits.discard)(keep(deal, title="Better"), by=EDITOR, now=NOW)
    discarded = pending_edits.find(deal)
    kept = keep(deal, discarded, title="Other", now=NOW + HOUR)
    assert (kept.begun_at, pending_edits.find(deal)) == (NOW + HOUR, kept)
    with pytest.raises(errors.VersionConflict):
        pending_edits.restore(discarded, by=EDITOR, now=NOW)


def test_what_could_do_harm_is_refused():
    with pytest.raises(errors.Invalid):
        keep(make_deal(), link="javascript:alert(1)")


def test_they_move_with_a_deal_that_gets_another_time(wait_for_indexes):
    deal = make_deal(live_at=NOW + HOUR)
    kept = keep(deal, title="Better")
    moved = publishing.reschedule(deal, NOW + DAY, new_id=make_id(NOW + DAY), by=EDITOR, now=NOW)
    wait_for_indexes()
    found = pending_edits.find(moved)
    assert (found.deal_id, found.content, found.base) == (moved.id, kept.content, moved.version)
    assert [(card.id, card.title) for card in measured(pending_edits.cards)()] == [(moved.id, "Better")]
    publish(moved, found)
    assert pending_edits.find(moved) is None


def test_they_lie_in_the_trash_with_their_deal_and_come_back_with_it(wait_for_indexes):
    deal = make_deal()
    kept = keep(deal, title="Better")
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound):
        keep(deal, kept, title="Late")
    trash.restore("deal", deal.id, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert pending_edits.find(deals.get(deal.id)) == kept
    assert [card.id for card in pending_edits.cards()] == [deal.id]


def test_they_go_when_their_deal_is_deleted_for_good():
    deal = make_deal()
    keep(deal, title="Better")
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    trash.purge("deal", deal.id, by=EDITOR, now=NOW)
    assert pending_edits.find(deal) is None


def test_they_are_not_those_of_another_deal_that_gets_the_id(wait_for_indexes):
    deal = make_deal()
    keep(deal, title="Better")
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    again = make_deal(deal_id=deal.id, now=NOW + HOUR, title="Imported once more")
    wait_for_indexes()
    old = pending_edits.find(again)
    assert old
    assert old.is_discarded
    with pytest.raises(errors.VersionConflict):
        pending_edits.restore(old, by=EDITOR, now=NOW + HOUR)
    kept = keep(again, old, title="New", now=NOW + 2 * HOUR)
    assert pending_edits.find(again) == kept


def test_they_stay_when_the_deal_is_edited_or_ends():
    deal = make_deal()
    kept = keep(deal, title="Better")
    edited = deal_changes.edit(
        deal, make_content(title="Live"), version=1, brand=make_brand(), by="otto", now=NOW
    )
    ended = deal_changes.expire_now(edited, by="otto", now=NOW)
    assert pending_edits.find(ended) == kept
    assert kept.base != ended.version  # so that publishing shows both


@pytest.mark.engines("native")
def test_changes_without_a_deal_are_found_and_taken_away():
    deal = make_deal()
    keep(deal, title="Better")
    item = table.get(keys.changes(deal.id))
    stray = keys.changes(make_id())
    rows = keys.changed_deals(NOW, stray[0].removeprefix("VERSIONS#"))
    table.write(Put(key=stray, item=item | {"of": stray[0].removeprefix("VERSIONS#"), **rows}))
    (problem,) = checks.find()
    assert (problem.key, problem.what) == (stray, "These unpublished changes have no deal.")
    assert checks.repair(problem)


@pytest.mark.engines("native", "local")
def test_of_several_who_keep_at_once_one_wins_and_the_others_are_told():
    deal = make_deal()
    results = at_once(*(lambda n=n: keep(deal, title=f"By {n}", by=f"editor{n}") for n in range(6)))
    (winner,) = [result for result in results if isinstance(result, PendingEdits)]
    losers = [result for result in results if isinstance(result, errors.VersionConflict)]
    assert len(losers) == 5
    assert pending_edits.find(deal) == winner


@pytest.mark.engines("native", "local")
@pytest.mark.parametrize("round_", range(3))
def test_keeping_while_the_deal_is_moved_or_deleted_leaves_no_stray(round_):
    deal = make_deal(live_at=NOW + HOUR)
    new_id = make_id(NOW + DAY)
    at_once(
        lambda: keep(deal, title="Better"),
        lambda: publishing.reschedule(deal, NOW + DAY, new_id=new_id, by=EDITOR, now=NOW),
    )
    moved = deals.get(new_id)
    kept = pending_edits.find(moved)
    assert kept is None or kept.content.title == "Better"
    at_once(lambda: keep(moved, kept, title="Best"), lambda: deal_changes.delete(moved, by=EDITOR, now=NOW))


@pytest.mark.engines("native", "local")
def test_publishing_and_going_on_at_once_loses_nothing():
    deal = make_deal()
    seen = keep(deal, title="Better")
    results = at_once(lambda: publish(deal, seen), lambda: keep(deal, seen, title="Best", by="otto"))
    kept = pending_edits.find(deal)
    if isinstance(results[0], Deal):
        assert isinstance(results[1], errors.VersionConflict)
        assert kept is None
    else:
        assert isinstance(results[0], pending_edits.PendingEditsConflict)
        assert (kept.content.title, deals.get(deal.id)) == ("Best", deal)
