"""Merging brands: names, address, deals and drafts lead to the other brand, and come back for a day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brand_merges, brands, deal_changes, deals, drafts, publishing
from dealsite.data.catalogue.brands import Brand
from dealsite.data.editing import bulk, versions
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.integrity import checks
from dealsite.data.jobs import queue
from dealsite.data.table import errors
from dealsite.data.table.writes import Update
from dealsite.worker.bulk import change_at_once
from tests import races
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    all_brands,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.jobs import run_next
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table", "all_are_editors")
LATER = NOW + HOUR


@pytest.fixture(autouse=True)
def two(whole_table: None) -> None:
    make_brand("Vela", also=["Vela GmbH"])
    make_brand("Nordlicht")
    make_category("peripherals-networking")


@pytest.fixture
def work(wait_for_indexes: Callable[[], None]) -> Callable[..., None]:
    def run(now: datetime = NOW + HOUR / 2) -> None:
        wait_for_indexes()
        for turn in range(50):
            if not run_next(now=now + timedelta(seconds=turn)):
                return
            wait_for_indexes()

    return run


def raw(slug: str) -> Brand:
    return brands.get_with_counts(slug)


def merge(slug: str = "vela", into: str = "nordlicht", now: datetime = NOW) -> None:
    brand_merges.merge(raw(slug), raw(into), by=EDITOR, now=now)


def undo(slug: str = "vela", now: datetime = LATER) -> None:
    brand_merges.undo(raw(slug), by=EDITOR, now=now)


def found() -> dict[str, str]:
    return {name: brand.slug for name, brand in brands.named_by(["vela", "vela-gmbh", "nordlicht"]).items()}


def problems() -> list[str]:
    return [str(problem) for problem in checks.find()]


def test_a_merged_brands_names_deals_and_drafts_go_to_the_other_and_come_back(work, wait_for_indexes):
    moved = make_deal(brand="Vela", live_at=NOW - 400 * DAY)
    scheduled, draft = make_deal(brand="Vela", live_at=NOW + DAY), make_draft(brand="Vela")
    own = make_deal()
    before = found()
    measured(brand_merges.merge)(raw("vela"), raw("nordlicht"), by=EDITOR, now=NOW)
    assert found() == dict.fromkeys(before, "nordlicht")
    assert (brands.get("vela").slug, brands.get_many(["vela"])["vela"].slug) == ("nordlicht", "nordlicht")
    wait_for_indexes()
    assert [one.slug for one in all_brands()] == ["nordlicht"]
    assert [one.slug for one in brands.names("vel").rows] == ["nordlicht"]
    assert problems() == []
    work()
    for one in (deals.get(moved.id), deals.get(scheduled.id), drafts.get(draft.id), deals.get(own.id)):
        assert (one.content.brand, one.card.brand, one.card.brand_name) == (*["nordlicht"] * 2, "Nordlicht")
    assert (raw("vela").deals, raw("nordlicht").deals) == (0, 3)
    assert [(one.job.state, one.changed) for one in measured(brand_merges.moving)(raw("vela"))] == [
        ("done", 2),
        ("done", 1),
    ]
    assert problems() == []
    measured(brand_merges.undo)(raw("vela"), by=EDITOR, now=LATER)
    assert (found(), raw("nordlicht").also) == (before, ())
    work(LATER)
    assert [deals.get(one.id).content.brand for one in (moved, scheduled, own)] == [
        "vela",
        "vela",
        "nordlicht",
    ]
    assert (drafts.get(draft.id).card.brand_name, raw("vela").deals) == ("Vela", 2)
    assert problems() == []
    merge(now=LATER + HOUR)  # once more
    assert found() == dict.fromkeys(before, "nordlicht")


def test_undoing_leaves_what_was_moved_on_since(work):
    kept, back = make_deal(brand="Vela"), make_deal(brand="Vela")
    other = make_brand("Acme")
    merge()
    work()
    deal = deals.get(kept.id)
    deal_changes.edit(deal, deal.content, version=deal.version, brand=other, by="otto", now=NOW)
    undo()
    work(LATER)
    assert [deals.get(one.id).content.brand for one in (kept, back)] == ["acme", "vela"]


def edit(deal: deals.Deal, brand: Brand) -> Any:
    return deal_changes.edit(deal, deal.content, version=deal.version, brand=brand, by=EDITOR, now=NOW)


def delete_and_restore(deal: deals.Deal) -> Any:
    return deal_changes.restore(deal.id, by=EDITOR, now=NOW)[0]


def as_it_was(deal: deals.Deal) -> Any:
    to = versions.Version(1, replace(deal.content, title="Before"), "Vela", NOW, EDITOR)
    table.transact(versions.keep_writes(deal.history_id, to))
    change = BulkChange("deal", "restore-version", "1")
    change_at_once(change, [deal.id], job_id=make_id(NOW), by=EDITOR, asked_at=NOW, now=NOW)
    return deals.get(deal.id)


def move(deal: deals.Deal) -> Any:
    live_at = NOW + 2 * DAY
    return publishing.reschedule(deal, live_at, new_id=make_id(live_at), by=EDITOR, now=NOW)


OF_DRAFTS: dict[str, Callable[[drafts.Draft, Brand], Any]] = {
    "save": lambda draft, brand: drafts.save(
        draft, draft.content, version=draft.version, brand=brand, by=EDITOR, now=NOW
    ),
    "start": lambda draft, brand: drafts.create(
        draft.content, draft_id=make_id(NOW), brand=brand, by=EDITOR, now=NOW
    ),
    "publish": lambda draft, brand: publishing.publish(
        make_content(brand="vela"), deal_id=make_id(NOW), brand=brand, by=EDITOR, now=NOW
    ),
}
OF_DEALS: dict[str, Callable[[deals.Deal, Brand], Any]] = {
    "edit": edit,
    "restore": lambda deal, brand: delete_and_restore(deal),
    "revert": lambda deal, brand: as_it_was(deal),
    "reschedule": lambda deal, brand: move(deal),
}


@pytest.mark.parametrize("name", [*OF_DRAFTS, *OF_DEALS])
def test_nothing_is_written_to_a_merged_brand_by_whoever_read_it_before(name):
    brand = brands.get("vela")
    draft, deal = make_draft(brand="Vela"), make_deal(brand="Vela", live_at=NOW + DAY)
    if name == "restore":
        deal_changes.delete(deal, by=EDITOR, now=NOW)
    merge()
    written = OF_DRAFTS[name](draft, brand) if name in OF_DRAFTS else OF_DEALS[name](deal, brand)
    assert (written.content.brand, written.card.brand_name) == ("nordlicht", "Nordlicht")
    there = drafts.get(written.id) if isinstance(written, drafts.Draft) else deals.get(written.id)
    assert (there.content, there.card) == (written.content, written.card)
    assert problems() == []


@pytest.mark.parametrize(
    ("kind", "store"), [("deal", publishing.publish_many), ("draft", drafts.create_many)]
)
def test_an_import_that_read_a_brand_before_its_merge_is_told(kind, store):
    brand = brands.get("vela")
    merge()
    with pytest.raises(brands.BrandChanged):
        store([(make_id(NOW), make_content(brand="vela"), brand)], by=EDITOR, now=NOW)
    store([(make_id(NOW), make_content(brand="vela"), brands.get("vela"))], by=EDITOR, now=NOW)
    assert problems() == []


def test_a_draft_in_the_trash_comes_back_as_one_of_the_other_brand():
    draft = make_draft(brand="Vela")
    drafts.delete(draft, by=EDITOR, now=NOW)
    merge()
    assert drafts.restore(draft.id, by=EDITOR, now=NOW).card.brand == "nordlicht"
    assert problems() == []


def merged_into_third() -> None:
    make_brand("Acme")
    merge("nordlicht", "acme")


def named_like_it() -> None:
    into = raw("nordlicht")
    brands.edit(into, name="Vela", description="", logo=None, by=EDITOR, now=NOW)


def too_many_names() -> None:
    also = [f"Name {number}" for number in range(20)]
    brands.edit(raw("nordlicht"), name="Nordlicht", description="", logo=None, by=EDITOR, now=NOW, also=also)


@pytest.mark.parametrize(
    ("before", "slug", "into", "error"),
    [
        (None, "vela", "vela", "into itself"),
        (merge, "nordlicht", "vela", "was merged"),
        (merge, "vela", "nordlicht", "was merged"),
        (merge, "nordlicht", "acme", "still being moved"),
        (merge, "acme", "nordlicht", "still being moved"),
        (too_many_names, "vela", "nordlicht", "at most 20"),
    ],
)
def test_what_cannot_be_merged_says_why(before, slug, into, error):
    make_brand("Acme")
    if before:
        before()
    with pytest.raises(errors.DataError) as refused:
        merge(slug, into)
    assert error in str(refused.value)
    assert problems() == []


def test_a_merge_can_be_undone_for_a_day_once_everything_has_moved(work):
    make_deal(brand="Vela")
    merge()
    with pytest.raises(errors.Conflict, match="still being moved"):
        undo()
    work()
    with pytest.raises(errors.Conflict, match="for a day"):
        undo(now=NOW + DAY)
    part = bulk.get(raw("vela").merge_jobs[0])
    with pytest.raises(errors.Conflict, match="nothing to undo"):
        bulk.undo(part, undo_id=make_id(LATER), by=EDITOR, now=LATER)
    undo()
    undo()
    with pytest.raises(errors.Conflict, match="still being moved"):
        merge(now=LATER)


@pytest.mark.parametrize(
    ("meanwhile", "error"), [(merged_into_third, "Undo that first"), (named_like_it, "Rename it first")]
)
def test_an_undo_that_cannot_be_says_why(meanwhile, error, work):
    merge()
    work()
    meanwhile()
    with pytest.raises(errors.Conflict, match=error):
        undo()


def test_merges_one_after_the_other_lead_to_the_last_and_are_undone_backwards(work):
    deal = make_deal(brand="Vela")
    make_brand("Acme")
    merge()
    work()
    merge("nordlicht", "acme", now=LATER)
    assert found() == dict.fromkeys(["vela", "vela-gmbh", "nordlicht"], "acme")
    work(LATER + HOUR)
    assert (deals.get(deal.id).content.brand, problems()) == ("acme", [])
    undo("nordlicht", now=LATER + 2 * HOUR)
    work(LATER + 3 * HOUR)
    undo(now=LATER + 4 * HOUR)
    work(LATER + 5 * HOUR)
    assert (deals.get(deal.id).content.brand, problems()) == ("vela", [])


@pytest.mark.engines("native")
def test_of_two_merges_at_one_moment_one_wins():
    acme = make_brand("Acme")
    vela, nordlicht = raw("vela"), raw("nordlicht")
    merges = [
        partial(brand_merges.merge, *pair, by=EDITOR, now=NOW)
        for pair in ((vela, nordlicht), (nordlicht, vela), (vela, acme), (acme, vela))
    ]
    outcomes = races.at_once(*merges)
    assert outcomes.count(None) == 1
    assert {type(one) for one in outcomes if one} <= {errors.VersionConflict, errors.Conflict}
    assert len(all_brands()) == 2
    assert problems() == []


@pytest.mark.engines("native")
def test_of_two_undos_and_a_rename_at_one_moment_nothing_is_torn(work):
    merge()
    work()
    vela, nordlicht = raw("vela"), raw("nordlicht")
    back = partial(brand_merges.undo, vela, by=EDITOR, now=LATER)
    rename = partial(brands.edit, nordlicht, name="Polaris", description="", logo=None, by=EDITOR, now=LATER)
    races.at_once(back, back, rename)
    assert problems() == []


@pytest.mark.engines("native")
def test_a_deal_that_is_saved_while_its_brand_is_merged_is_the_others_in_the_end(work):
    some = [make_deal(brand="Vela") for _ in range(4)]
    vela, nordlicht = raw("vela"), raw("nordlicht")
    races.at_once(
        partial(brand_merges.merge, vela, nordlicht, by=EDITOR, now=NOW),
        *[partial(edit, one, vela) for one in some],
    )
    work()
    assert {deals.get(one.id).content.brand for one in some} == {"nordlicht"}
    assert problems() == []


@pytest.mark.parametrize("change", ["end", "move on"])
def test_what_somebody_changes_before_it_moves_moves_unless_it_left_the_brand(change, work):
    deal, acme, later = make_deal(brand="Vela"), make_brand("Acme"), NOW + HOUR / 4
    merge()
    if change == "end":
        deal_changes.expire_now(deal, by="otto", now=later)
    else:
        deal_changes.edit(deal, deal.content, version=deal.version, brand=acme, by="otto", now=later)
    work()
    assert deals.get(deal.id).content.brand == {"end": "nordlicht", "move on": "acme"}[change]
    assert problems() == []


def test_a_move_that_failed_cannot_go_on_once_the_merge_is_undone(work):
    deal = make_deal(brand="Vela")
    merge()
    moves = raw("vela").merge_jobs
    for job_id in moves:
        state = {"state": "failed", ("card", "state"): "failed"}
        table.write(Update(key=keys.job(job_id), set=state, remove=["GSI3PK", "GSI3SK"]))
    undo()
    for job_id in moves:
        with pytest.raises(errors.Conflict):
            queue.retry(job_id, by=EDITOR, now=LATER)
    work(LATER)
    assert (deals.get(deal.id).content.brand, problems()) == ("vela", [])


def test_a_merge_whose_move_was_cancelled_is_undone_as_far_as_it_came(work):
    deal = make_deal(brand="Vela")
    merge()
    for job_id in raw("vela").merge_jobs:
        queue.cancel(job_id, by=EDITOR, now=NOW)
    undo()
    assert (deals.get(deal.id).content.brand, found()["vela"]) == ("vela", "vela")
