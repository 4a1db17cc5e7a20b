"""Bulk changes: each deal once, nobody's work overwritten, all of it on record, and back again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, deal_changes, deals, drafts, featured
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import bulk, trash, trash_record
from dealsite.data.editing.bulk import BulkChange, BulkResult, BulkTarget
from dealsite.data.editing.verbs.chart import VERBS
from dealsite.data.editing.verbs.verb import Prefetched, Verb
from dealsite.data.entities.imports import CHANGED, CHUNK, REFUSED
from dealsite.data.jobs import jobs, queue
from dealsite.data.table import errors
from dealsite.data.table.ids import iso
from dealsite.worker import bulk as running
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    PICTURE,
    make_brand,
    make_category,
    make_deal,
    make_draft,
    make_id,
)
from tests.jobs import run_next
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table", "all_are_editors")
JOB, UNDO = make_id(NOW, 1), make_id(NOW + HOUR, 2)
SOON, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
TO_TOYS = BulkChange("deal", "category", "toys-hobbies")
KEYBOARDS = "peripherals-networking"


@pytest.fixture(autouse=True)
def caught_up(wait_for_indexes: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers look for jobs when the indexes have caught up."""
    take = jobs.take_next

    def take_then(**when: Any) -> jobs.Job | None:
        wait_for_indexes()
        return take(**when)

    monkeypatch.setattr(jobs, "take_next", take_then)


def make_deals(number: int, **content: Any) -> list[deals.Deal]:
    make_category("toys-hobbies")
    return [
        make_deal(live_at=NOW - (n + 2) * HOUR, now=NOW - DAY, title=f"Deal {n}", **content)
        for n in range(number)
    ]


def chosen(*things: Any, seen: str = KEYBOARDS) -> list[BulkTarget]:
    return [BulkTarget(thing.id, thing.content.title, seen) for thing in things]


def order(change: BulkChange = TO_TOYS, targets: Any = (), **more: Any) -> None:
    bulk.start(change, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, targets=targets, **more)


def work(now: datetime = NOW + SOON) -> None:
    for turn in range(500):
        if not run_next(now=now + turn * timedelta(seconds=1)):
            return
    raise AssertionError("It never ends.")


def undo(now: datetime = NOW + HOUR) -> None:
    bulk.undo(bulk.get(JOB), undo_id=UNDO, by="oscar", now=now)
    work(now + SOON)


def category_of(deal: deals.Deal) -> str:
    return deals.get(deal.id).content.category


def counts(job_id: str = JOB) -> tuple[str, int, int]:
    job = jobs.get(job_id)
    return job.state, job.progress["changed"], job.progress["refused"]


def reasons(job_id: str = JOB) -> dict[str, str]:
    return {row.id: row.reason for row in bulk.rows(job_id, REFUSED, limit=1000)}


def entries(what: str) -> list[dict[str, Any]]:
    return [
        row
        for row in table.scan_all(consistent=True)
        if row["type"] == "AuditEntry" and row["card"]["what"] == what
    ]


# A selection


def test_each_chosen_deal_is_changed_and_says_by_which_job():
    one, two, other = make_deals(3)
    order(targets=chosen(one, two))
    work()
    assert [category_of(deal) for deal in (one, two, other)] == ["toys-hobbies", "toys-hobbies", KEYBOARDS]
    assert counts() == ("done", 2, 0)
    assert {entry["card"]["subject"]: entry["card"]["note"] for entry in entries("changed")} == {
        one.id: f"Job {JOB}",
        two.id: f"Job {JOB}",
    }
    rows = {row.id: (row.title, row.before, row.after) for row in measured(bulk.rows)(JOB, CHANGED)}
    assert rows == {
        one.id: ("Deal 0", KEYBOARDS, "toys-hobbies"),
        two.id: ("Deal 1", KEYBOARDS, "toys-hobbies"),
    }
    (ordered,) = entries("changes many deals")
    assert (ordered["card"]["by"], ordered["card"]["note"]) == (EDITOR, "deal: category toys-hobbies")


def test_ordering_twice_changes_nothing_more():
    (deal,) = make_deals(1)
    order(targets=chosen(deal))
    with pytest.raises(bulk.DoneBefore):
        order(targets=chosen(deal))
    work()
    with pytest.raises(bulk.DoneBefore):
        order(targets=chosen(deal))
    work()
    assert counts() == ("done", 1, 0)
    assert deals.get(deal.id).version == 2


@pytest.mark.parametrize("number", [0, 101])
def test_none_and_too_many_cannot_be_chosen(number):
    targets = [BulkTarget(make_id(NOW, n), "x") for n in range(number)]
    with pytest.raises(errors.Invalid):
        order(targets=targets)


def test_what_is_no_change_is_refused():
    with pytest.raises(errors.Invalid):
        order(BulkChange("draft", "feature", "front"), [BulkTarget(JOB, "x")])


def test_a_selection_of_two_chunks_is_changed_whole(monkeypatch):
    monkeypatch.setattr("dealsite.data.editing.bulk.CHUNK", 2)
    made = make_deals(5)
    order(targets=chosen(*made))
    work()
    assert {category_of(deal) for deal in made} == {"toys-hobbies"}
    assert counts() == ("done", 5, 0)


# Each kind of change, and back


def test_an_expiry_is_set_and_taken_back():
    one, two = make_deals(1) + make_deals(1, expires_at=NOW + DAY)
    until = iso(NOW + 5 * DAY)
    order(BulkChange("deal", "expiry", until), chosen(one, seen="") + chosen(two, seen=iso(NOW + DAY)))
    work()
    assert [deals.get(deal.id).content.expires_at for deal in (one, two)] == [NOW + 5 * DAY] * 2
    undo()
    assert [deals.get(deal.id).content.expires_at for deal in (one, two)] == [None, NOW + DAY]
    assert counts(UNDO) == ("done", 2, 0)


def test_deals_expire_now_and_come_back():
    (live,) = make_deals(1, expires_at=NOW + DAY)
    scheduled = make_deal(live_at=NOW + DAY, now=NOW - DAY)
    over = make_deal(live_at=NOW - 2 * DAY, now=NOW - 2 * DAY, expires_at=NOW - HOUR)
    order(
        BulkChange("deal", "expire"),
        chosen(live, seen=iso(NOW + DAY)) + chosen(scheduled, seen="") + chosen(over, seen=iso(NOW - HOUR)),
    )
    work()
    assert counts() == ("done", 1, 2)
    assert deals.get(live.id).card.state(NOW + 2 * SOON) == "expired"
    assert reasons() == {
        scheduled.id: "It is not published yet; delete it, or move its time.",
        over.id: "It has expired already.",
    }
    undo()
    assert deals.get(live.id).content.expires_at == NOW + DAY


def test_a_brand_is_changed_with_its_counters_and_taken_back():
    made = make_deals(3)
    make_brand("Aurora")
    order(BulkChange("deal", "brand", "aurora"), chosen(*made, seen="nordlicht"))
    work()
    assert {deals.get(deal.id).card.brand_name for deal in made} == {"Aurora"}
    assert (brands.get_with_counts("aurora").deals, brands.get_with_counts("nordlicht").deals) == (3, 0)
    undo()
    assert {deals.get(deal.id).card.brand_name for deal in made} == {"Nordlicht"}
    assert counts(UNDO) == ("done", 3, 0)


def full_draft(**content: Any) -> drafts.Draft:
    make_category(KEYBOARDS)
    filled: dict[str, Any] = {
        "title": "Desk",
        "category": KEYBOARDS,
        "price": Decimal("9.90"),
        "link": "https://shop.example/desk",
        "brand": "Nordlicht",
    }
    return make_draft(now=NOW - DAY, **(filled | content))


def test_drafts_are_published_and_become_drafts_again():
    good, lacking = full_draft(), full_draft(title="Chair", price=None, picture=replace(PICTURE, alt=""))
    order(BulkChange("draft", "publish"), chosen(good, lacking, seen=""))
    work()
    published = deals.get(drafts.get(good.id).published_as)
    assert (published.content.title, published.updated_by) == ("Desk", EDITOR)
    assert counts() == ("done", 1, 1)
    assert reasons() == {
        lacking.id: "Enter the price, or what there is instead of one. "
        "Describe the picture for those who cannot see it."
    }
    undo()
    again = drafts.get(good.id)
    assert (again.published_as, again.content) == ("", good.content)
    with pytest.raises(errors.NotFound):
        deals.get(published.id)
    assert trash_record.get("deal", published.id).by == "oscar"
    assert counts(UNDO) == ("done", 1, 0)


def test_a_published_deal_that_was_edited_stays():
    draft = full_draft()
    order(BulkChange("draft", "publish"), chosen(draft, seen=""))
    work()
    deal = deals.get(drafts.get(draft.id).published_as)
    edit(deal, by="olga", title="Better")
    undo()
    assert deals.get(deal.id).content.title == "Better"
    assert reasons(UNDO) == {draft.id: "olga changed it since."}


def test_fields_of_drafts_are_changed_and_taken_back():
    make_category("toys-hobbies")
    draft = make_draft(title="Half", now=NOW - DAY)
    order(BulkChange("draft", "category", "toys-hobbies"), chosen(draft, seen=""))
    work()
    assert drafts.get(draft.id).content.category == "toys-hobbies"
    undo()
    assert drafts.get(draft.id).content == draft.content


def test_deals_and_drafts_go_to_the_trash_and_come_back():
    made = make_deals(2)
    order(BulkChange("deal", "delete"), chosen(*made, seen=""))
    work()
    assert deals.get_many([deal.id for deal in made]) == {}
    assert counts() == ("done", 2, 0)
    undo()
    assert {deals.get(deal.id).content.title for deal in made} == {"Deal 0", "Deal 1"}
    assert counts(UNDO) == ("done", 2, 0)


def test_a_draft_in_the_trash_comes_back():
    draft = make_draft(title="Half", now=NOW - DAY)
    order(BulkChange("draft", "delete"), chosen(draft, seen=""))
    work()
    with pytest.raises(errors.NotFound):
        drafts.get(draft.id)
    undo()
    assert drafts.get(draft.id).content == draft.content


def test_what_was_restored_meanwhile_is_reported():
    (deal,) = make_deals(1)
    order(BulkChange("deal", "delete"), chosen(deal, seen=""))
    work()
    trash.restore("deal", deal.id, by="olga", now=NOW + HOUR)
    undo()
    assert reasons(UNDO) == {deal.id: "This deal is not in the trash any more."}
    assert deals.get(deal.id).version == 2


@pytest.mark.parametrize("kind", ["deal", "draft"])
def test_what_was_restored_and_deleted_again_meanwhile_stays_deleted(kind):
    thing: Any = make_deals(1)[0] if kind == "deal" else make_draft(title="Half", now=NOW - DAY)
    order(BulkChange(kind, "delete"), chosen(thing, seen=""))
    work()
    trash.restore(kind, thing.id, by="olga", now=NOW + MINUTE)
    if kind == "deal":
        deal_changes.delete(deals.get(thing.id), by="olga", now=NOW + MINUTE)
    else:
        drafts.delete(drafts.get(thing.id), by="olga", now=NOW + MINUTE)
    undo()
    assert trash_record.get(kind, thing.id).by == "olga"
    assert reasons(UNDO) == {thing.id: "olga changed it since."}


def test_deals_are_featured_after_what_a_page_features_already_and_taken_off_again():
    first, *others = make_deals(3)
    page, found = featured.load("front", [first.id])
    featured.set_featured(page, [found[first.id]], version=0, by=EDITOR, now=NOW)
    order(BulkChange("deal", "feature", "front"), chosen(first, *others, seen=""))
    work()
    assert featured.get("front").ids == [first.id, *(deal.id for deal in others)]
    assert reasons() == {first.id: "It is on this page already."}
    undo()
    assert featured.get("front").ids == [first.id]


def test_a_page_takes_as_many_as_it_has_room_for(monkeypatch):
    monkeypatch.setattr("dealsite.data.editing.verbs.publish.MAX_CARDS", 2)
    made = make_deals(3)
    order(BulkChange("deal", "feature", "front"), chosen(*made, seen=""))
    work()
    assert counts() == ("done", 2, 1)
    assert reasons() == {made[2].id: "The page features 2 deals already; no more fit."}


def test_deals_taken_off_a_page_come_back_to_their_places():
    made = make_deals(3)
    page, found = measured(featured.load)("front", [deal.id for deal in made])
    featured.set_featured(page, [found[deal.id] for deal in made], version=0, by=EDITOR, now=NOW)
    order(BulkChange("deal", "unfeature", "front"), chosen(made[1], seen=""))
    work()
    assert featured.get("front").ids == [made[0].id, made[2].id]
    undo()
    assert featured.get("front").ids == [deal.id for deal in made]


# What others do meanwhile


def edit(deal: deals.Deal, *, by: str, now: datetime = NOW + 2 * SOON, **changes: Any) -> deals.Deal:
    deal = deals.get(deal.id)
    content = replace(deal.content, **changes)
    return deal_changes.edit(
        deal, content, version=deal.version, brand=brands.get(content.brand), by=by, now=now
    )


def test_another_value_that_somebody_gave_meanwhile_stays_and_is_reported():
    one, two = make_deals(2)
    make_category("audio-tv-photo")
    order(targets=chosen(one, two))
    edit(one, by="olga", category="audio-tv-photo")
    work()
    assert [category_of(deal) for deal in (one, two)] == ["audio-tv-photo", "toys-hobbies"]
    assert reasons() == {one.id: "olga changed it meanwhile."}


def test_another_field_that_somebody_changed_meanwhile_stays_changed():
    (deal,) = make_deals(1)
    order(targets=chosen(deal))
    edit(deal, by="olga", title="Better")
    work()
    content = deals.get(deal.id).content
    assert (content.title, content.category) == ("Better", "toys-hobbies")


def test_a_deal_that_was_edited_since_it_was_looked_at_is_not_deleted():
    one, two = make_deals(2)
    order(BulkChange("deal", "delete"), chosen(one, two, seen=""))
    edit(one, by="olga", title="Better")
    work()
    assert deals.get(one.id).content.title == "Better"
    assert reasons() == {one.id: "olga changed it meanwhile."}
    assert counts() == ("done", 1, 1)


def edited_once_it_is_read(monkeypatch, verb: Verb, deal_id: str) -> None:
    """Somebody edits a deal after the worker has read it, and before it comes to it."""
    prefetch, still_to_come = type(verb).prefetch, [deal_id]

    def then_edit(*args: Any) -> Prefetched:
        prefetched = prefetch(*args)
        if still_to_come:
            edit(deals.get(still_to_come.pop()), by="olga", title="Better")
        return prefetched

    monkeypatch.setattr(type(verb), "prefetch", then_edit)


def test_a_deal_that_is_edited_while_others_are_deleted_is_not(monkeypatch):
    one, two = make_deals(2)
    order(BulkChange("deal", "delete"), chosen(one, two, seen=""))
    edited_once_it_is_read(monkeypatch, VERBS["delete"], two.id)
    work()
    assert deals.get(two.id).content.title == "Better"
    assert reasons() == {two.id: "olga changed it meanwhile."}


def test_a_deal_that_is_edited_while_others_become_drafts_again_does_not(monkeypatch):
    draft = full_draft()
    order(BulkChange("draft", "publish"), chosen(draft, seen=""))
    work()
    deal_id = drafts.get(draft.id).published_as
    edited_once_it_is_read(monkeypatch, VERBS["publish"], deal_id)
    undo()
    assert deals.get(deal_id).content.title == "Better"
    assert reasons(UNDO) == {draft.id: "olga changed it since."}


def test_a_deal_that_is_gone_by_then_is_reported():
    (deal,) = make_deals(1)
    order(targets=chosen(deal))
    deal_changes.delete(deal, by="olga", now=NOW)
    work()
    assert reasons() == {deal.id: "It was deleted meanwhile."}


def test_undoing_leaves_what_somebody_changed_since():
    one, two = make_deals(2)
    make_category("audio-tv-photo")
    order(targets=chosen(one, two))
    work()
    edit(one, by="olga", category="audio-tv-photo")
    edit(two, by="olga", title="Better")
    undo()
    assert [category_of(deal) for deal in (one, two)] == ["audio-tv-photo", KEYBOARDS]
    assert deals.get(two.id).content.title == "Better"
    assert reasons(UNDO) == {one.id: "olga changed it since."}
    assert counts(UNDO) == ("done", 1, 1)


# Undoing


def test_undoing_is_done_once():
    (deal,) = make_deals(1)
    order(targets=chosen(deal))
    work()
    as_seen = bulk.get(JOB)
    undo()
    assert measured(bulk.get)(JOB).undone_by == UNDO
    assert bulk.get(UNDO).order.undoes == JOB
    with pytest.raises(bulk.DoneBefore):
        bulk.undo(as_seen, undo_id=UNDO, by=EDITOR, now=NOW)
    for one in (as_seen, bulk.get(JOB)):
        with pytest.raises(errors.Conflict, match="undone already"):
            bulk.undo(one, undo_id=make_id(NOW), by=EDITOR, now=NOW)
    with pytest.raises(errors.Conflict, match="nothing to undo"):
        bulk.undo(bulk.get(UNDO), undo_id=make_id(NOW), by=EDITOR, now=NOW)


def test_what_goes_on_cannot_be_undone_before_it_is_cancelled():
    made = make_deals(2)
    order(targets=chosen(*made))
    with pytest.raises(errors.Conflict, match="nothing to undo"):
        bulk.undo(bulk.get(JOB), undo_id=UNDO, by=EDITOR, now=NOW)


def test_what_was_changed_thirty_days_ago_cannot_be_undone():
    (deal,) = make_deals(1)
    order(targets=chosen(deal))
    work()
    with pytest.raises(errors.Conflict, match="nothing to undo"):
        bulk.undo(bulk.get(JOB), undo_id=UNDO, by=EDITOR, now=NOW + 30 * DAY)


@pytest.mark.engines("native", "local")
def test_a_job_that_was_cancelled_half_way_is_undone_as_far_as_it_came(monkeypatch):
    monkeypatch.setattr(jobs, "TURN_SECONDS", 0.0)
    monkeypatch.setattr("dealsite.data.editing.bulk.CHUNK", 2)
    made = make_deals(6)
    order(targets=chosen(*made))
    assert run_next(now=NOW + SOON)  # splits it
    assert run_next(now=NOW + SOON)  # one of its parts
    queue.cancel(JOB, by=EDITOR, now=NOW + SOON)
    work(NOW + HOUR)
    assert counts() == ("cancelled", 2, 0)
    undo(NOW + 2 * HOUR)
    assert {category_of(deal) for deal in made} == {KEYBOARDS}
    assert counts(UNDO) == ("done", 2, 0)


def test_a_failed_job_that_is_undone_is_not_tried_again(monkeypatch):
    made = make_deals(3)
    order(targets=chosen(*made))
    save = deal_changes.edit
    saved: list[deals.Deal] = []

    def edit_one(*args: Any, **more: Any) -> deals.Deal:
        if saved:
            raise RuntimeError("A mistake of ours.")
        saved.append(save(*args, **more))
        return saved[0]

    monkeypatch.setattr(deal_changes, "edit", edit_one)
    for turn in range(jobs.MAX_TRIES):
        run_next(now=NOW + SOON + turn * 5 * HOUR)
    assert counts() == ("failed", 1, 0)
    monkeypatch.setattr(deal_changes, "edit", save)
    undo(NOW + DAY)
    assert {category_of(deal) for deal in made} == {KEYBOARDS}
    assert counts() == ("cancelled", 1, 0)
    with pytest.raises(errors.Conflict):
        queue.retry(JOB, by=EDITOR, now=NOW + DAY)


def test_a_paused_job_changes_nothing_until_it_goes_on(monkeypatch):
    made = make_deals(3)
    order(targets=chosen(*made))
    save = deal_changes.edit
    paused: list[str] = []

    def edit_then_pause(*args: Any, **more: Any) -> deals.Deal:
        deal = save(*args, **more)
        if not paused:
            paused.append(deal.id)
            queue.pause(JOB, by=EDITOR, now=NOW)
        return deal

    monkeypatch.setattr(deal_changes, "edit", edit_then_pause)
    work()
    assert counts() == ("paused", 1, 0)
    assert [category_of(deal) for deal in made].count("toys-hobbies") == 1
    queue.resume(JOB, by=EDITOR, now=NOW + HOUR)
    work(NOW + HOUR)
    assert counts() == ("done", 3, 0)
    assert [deals.get(deal.id).version for deal in made] == [2, 2, 2]


# All of a list


@pytest.mark.parametrize("turn", [0.0, 1e9])
def test_all_of_a_list_are_changed_however_many_turns_it_takes(turn, monkeypatch, wait_for_indexes):
    monkeypatch.setattr(jobs, "TURN_SECONDS", turn)
    monkeypatch.setattr(running, "CHUNK", 3)
    made = make_deals(8)
    other = make_deal(brand="Aurora", now=NOW - DAY)
    wait_for_indexes()
    order(matching=DealFilter(brand="nordlicht", category=KEYBOARDS))
    work()
    assert {category_of(deal) for deal in made} == {"toys-hobbies"}
    assert category_of(other) == KEYBOARDS
    assert counts() == ("done", 8, 0)
    assert jobs.get(JOB).progress["total"] == 8


def test_changing_what_the_list_is_ordered_by_leaves_nobody_out(monkeypatch, wait_for_indexes):
    monkeypatch.setattr(running, "CHUNK", 2)
    make_category("toys-hobbies")
    made = [
        make_deal(live_at=NOW - (n + 2) * HOUR, now=NOW - DAY, expires_at=NOW + (n + 1) * HOUR)
        for n in range(7)
    ]
    wait_for_indexes()
    order(BulkChange("deal", "expiry", iso(NOW + 30 * HOUR)), matching=DealFilter(state="ending"))
    work()
    assert {deals.get(deal.id).content.expires_at for deal in made} == {NOW + 30 * HOUR}
    assert counts() == ("done", 7, 0)


def test_all_drafts_are_published(monkeypatch, wait_for_indexes):
    monkeypatch.setattr(running, "CHUNK", 2)
    made = [full_draft(title=f"Desk {n}") for n in range(5)]
    wait_for_indexes()
    order(BulkChange("draft", "publish"), matching=DealFilter(state="draft"))
    work()
    assert all(drafts.get(draft.id).published_as for draft in made)
    assert counts() == ("done", 5, 0)


def test_a_deal_that_came_after_the_order_is_left_alone(wait_for_indexes):
    make_category("toys-hobbies")
    late = make_deal(live_at=NOW - HOUR, now=NOW + SOON)
    (early,) = make_deals(1)
    wait_for_indexes()
    order(matching=DealFilter())
    work()
    assert [category_of(deal) for deal in (early, late)] == ["toys-hobbies", KEYBOARDS]
    assert reasons() == {late.id: "It was added after this was confirmed."}


def test_a_list_of_nothing_is_done_at_once():
    make_deals(1)
    order(matching=DealFilter(state="scheduled"))
    work()
    assert counts() == ("done", 0, 0)


# The steps of a job, one by one


def test_each_step_of_a_change_and_of_its_undo():
    one, two = make_deals(2)
    both = chosen(one, two)
    measured(bulk.start)(TO_TOYS, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, targets=both)
    job = jobs.take_next(now=NOW)
    assert job is not None
    assert [target.id for target in measured(bulk.chunk)(JOB, 1).targets] == [one.id, two.id]
    assert measured(bulk.last_chunk)(JOB).number == 1
    done = BulkResult(one.id, "Deal 0", CHANGED, KEYBOARDS, "toys-hobbies", chunk=1)
    changed = replace(one.content, category="toys-hobbies")
    context, brand = bulk.audit_context(job, job, done, changed=1), brands.get("nordlicht")
    deal_changes.edit(one, changed, version=1, brand=brand, by=EDITOR, now=NOW, audit_context=context)
    refused = BulkResult(two.id, "Deal 1", REFUSED, reason="Gone", chunk=1)
    measured(bulk.refuse)(job, job, [refused], in_all=1)
    assert measured(bulk.is_changed)(JOB, one.id)
    assert set(measured(bulk.outcomes)(JOB, [one.id, two.id])) == {one.id, two.id}
    assert (measured(bulk.marks)(JOB, 1), bulk.marks(JOB, 2)) == ([one.id], [])
    jobs.finish(jobs.get(JOB))
    ordered = measured(bulk.undo)(bulk.get(JOB), undo_id=UNDO, by=EDITOR, now=NOW)
    assert (ordered.id, ordered.progress["total"]) == (UNDO, 1)
    work(NOW)
    assert category_of(one) == KEYBOARDS


def test_what_is_found_for_a_change_is_kept_by_the_chunk():
    order(targets=chosen(*make_deals(1)))
    job = jobs.take_next(now=NOW)
    assert job is not None
    found = tuple(BulkTarget(make_id(NOW, number), "x" * 60, KEYBOARDS) for number in range(CHUNK))
    measured(bulk.collect)(job, bulk.Chunk(2, found, NOW))
    assert bulk.last_chunk(JOB).targets == found
