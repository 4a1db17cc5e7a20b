"""Featured lists planned for a time: set once, whatever breaks, and never over what somebody set by hand meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.conf import settings

from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, featured, featured_plans, publishing
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.featured import FeaturedEntry
from dealsite.data.catalogue.featured_plans import FeaturedPlan, PlanChanged
from dealsite.data.editing import audit
from dealsite.data.editing.audit import AuditContext
from dealsite.data.integrity import retention
from dealsite.data.jobs import jobs
from dealsite.data.people import users
from dealsite.data.table import errors
from dealsite.data.table.ids import epoch_seconds
from tests import races
from tests.builders import DAY, EDITOR, HOUR, NOW, make_deal, make_id
from tests.crashes import Crash, Crasher
from tests.jobs import run_next
from tests.measuring import measured
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("whole_table", "editors")
SOON = NOW + HOUR
LATER = SOON + HOUR


def put(*some: Deal, page_id: str = "front", now: Any = NOW, by: str = EDITOR) -> featured.FeaturedPage:
    page, found = featured.load(page_id, [deal.id for deal in some])
    chosen = [found[deal.id] for deal in some]
    return featured.set_featured(page, chosen, version=page.version, by=by, now=now)


def plan(*some: Deal, at: Any = SOON, plan_id: str = "") -> FeaturedPlan:
    listed = featured.versions_of([deal.card for deal in some])
    return featured_plans.create(
        featured.get("front"), listed, at=at, plan_id=plan_id or make_id(NOW), by="pia", now=NOW
    )


@pytest.fixture
def editors() -> None:
    for name in ("pia", EDITOR):
        make_user(name, roles=["editor"])


@pytest.fixture
def work(wait_for_indexes: Callable[[], None]) -> Callable[[Any], None]:
    """A function that lets a worker do all that is due."""

    def until_done(now: Any) -> None:
        wait_for_indexes()
        while run_next(now=now):
            wait_for_indexes()

    return until_done


def state(of: FeaturedPlan) -> str:
    return featured_plans.get(of.id).state


def test_a_list_is_set_at_its_time_and_not_before(work):
    first, second = make_deal(), make_deal()
    put(first)
    planned = plan(second, first)
    work(NOW + HOUR / 2)
    assert featured.get("front").ids == [first.id]
    work(SOON)
    page = featured.get("front")
    assert (page.ids, page.version, page.updated_by) == ([second.id, first.id], 2, "pia")
    assert state(planned) == "set"
    work(LATER)
    assert featured.get("front") == page
    assert jobs.get(planned.job).state == "done"


def test_plans_of_a_page_follow_each_other(work):
    some = [make_deal() for _ in range(3)]
    put(some[0])
    plans = [plan(some[1], at=SOON), plan(some[2], at=LATER)]
    assert [one.id for one in measured(featured_plans.newest)()] == [one.id for one in plans]
    work(SOON)
    assert featured.get("front").ids == [some[1].id]
    work(LATER)
    assert featured.get("front").ids == [some[2].id]
    assert [state(one) for one in plans] == ["set", "set"]


def test_a_plan_to_come_is_shown_however_many_were_made_after_it(monkeypatch):
    monkeypatch.setattr(featured_plans, "MOST_SHOWN", 2)
    deal = make_deal()
    first = plan(deal, at=LATER, plan_id=make_id(NOW))
    over = [plan(deal, plan_id=make_id(NOW + n * HOUR)) for n in range(1, 4)]
    for one in over:
        featured_plans.cancel(one, by=EDITOR, now=NOW)
    assert [one.id for one in featured_plans.newest()] == [first.id, over[2].id, over[1].id]


def test_a_list_that_somebody_set_by_hand_meanwhile_stays_and_the_plan_is_skipped(work):
    first, second = make_deal(), make_deal()
    planned = plan(second)
    put(first)
    work(SOON)
    assert featured.get("front").ids == [first.id]
    aside = featured_plans.get(planned.id)
    assert (aside.state, aside.why) == ("put aside", "hand")
    assert "put a planned list aside" in [
        entry.what for entry in audit.page(kind="page", subject="front").rows
    ]


def test_the_plan_of_somebody_who_is_no_editor_any_more_is_put_aside_until_another_takes_it_over(work):
    deal = make_deal()
    planned = plan(deal)
    users.take_role("pia", "editor", by=EDITOR, now=NOW)
    work(SOON)
    aside = featured_plans.get(planned.id)
    assert (aside.state, aside.why, featured.get("front").ids) == ("put aside", "left", [])
    featured_plans.change(aside, featured.get("front"), aside.deals, at=LATER, by=EDITOR, now=SOON)
    work(LATER)
    assert featured.get("front").ids == [deal.id]


def test_a_plan_skipped_can_be_planned_anew(work):
    first, second = make_deal(), make_deal()
    planned = plan(second)
    page = put(first)
    work(SOON)
    aside = featured_plans.get(planned.id)
    anew = featured_plans.change(aside, page, aside.deals, at=LATER, by=EDITOR, now=SOON)
    assert (anew.state, anew.why, anew.base) == ("planned", "", page.version)
    assert jobs.get(planned.job).state == "done"
    work(LATER)
    assert featured.get("front").ids == [second.id]


def test_deals_that_expired_or_were_deleted_are_left_out_and_noted(work):
    good, expired, deleted = (
        make_deal(),
        make_deal(title="Over", expires_at=NOW + HOUR / 2),
        make_deal(title="Gone"),
    )
    planned = plan(expired, deleted, good)
    deal_changes.delete(deleted, by=EDITOR, now=NOW)
    work(SOON)
    assert featured.get("front").ids == [good.id]
    assert measured(featured_plans.get)(planned.id).left_out == ("Over", "Gone")


def test_a_deal_that_gets_another_time_stays_in_the_lists_planned_with_it(work):
    first, coming = make_deal(), make_deal(live_at=LATER)
    put(first)
    planned, aside, cancelled = plan(coming, first), plan(coming, at=NOW + HOUR / 2), plan(coming)
    featured_plans.cancel(cancelled, by=EDITOR, now=NOW)
    put(first, by="ann")
    planned = featured_plans.change(planned, featured.get("front"), planned.deals, at=SOON, by="pia", now=NOW)
    work(NOW + HOUR / 2)
    new_id = make_id(LATER + HOUR)
    publishing.reschedule(coming, LATER + HOUR, new_id=new_id, by=EDITOR, now=NOW + HOUR / 2)
    moved = featured_plans.get(planned.id)
    assert (moved.ids, moved.at, moved.by, moved.job) == ([new_id, first.id], SOON, "pia", planned.job)
    assert (featured_plans.get(aside.id).ids, state(aside)) == ([new_id], "put aside")
    assert featured_plans.get(cancelled.id).ids == [coming.id]
    work(SOON)
    assert featured.get("front").ids == [new_id, first.id]
    assert (state(planned), featured_plans.get(planned.id).left_out) == ("set", ())


def test_a_plan_that_changes_while_its_deal_gets_another_time_has_both(work, monkeypatch):
    first, coming = make_deal(), make_deal(live_at=LATER)
    planned, new_id = plan(coming), make_id(LATER + HOUR)
    both = featured.versions_of([first.card, coming.card])
    change = partial(
        featured_plans.change, planned, featured.get("front"), both, at=LATER, by=EDITOR, now=NOW
    )
    races.meanwhile(monkeypatch, change)
    publishing.reschedule(coming, LATER + HOUR, new_id=new_id, by=EDITOR, now=NOW)
    work(LATER)
    assert featured.get("front").ids == [first.id, new_id]


@pytest.mark.engines("native")
def test_a_deal_in_more_planned_lists_than_one_transaction_changes_gets_another_time(monkeypatch):
    monkeypatch.setattr(featured_plans, "MOST_MOVED", 2)
    coming = make_deal(live_at=LATER)
    plans = [plan(coming, at=SOON + n * HOUR) for n in range(3)]
    new_id = make_id(LATER + HOUR)
    publishing.reschedule(coming, LATER + HOUR, new_id=new_id, by=EDITOR, now=NOW)
    assert [featured_plans.get(one.id).ids for one in plans] == [[new_id], [new_id], [coming.id]]


def test_a_plan_of_which_nothing_is_left_empties_no_page(work):
    first, expired = make_deal(), make_deal(expires_at=NOW + HOUR / 2)
    put(first)
    planned = plan(expired)
    work(SOON)
    assert featured.get("front").ids == [first.id]
    assert (state(planned), featured_plans.get(planned.id).why) == ("put aside", "gone")


def test_a_plan_is_changed_and_its_old_job_ends(work):
    first, second = make_deal(), make_deal()
    planned = plan(first)
    changed = featured_plans.change(
        planned, featured.get("front"), [FeaturedEntry(second.id, "x")], at=LATER, by=EDITOR, now=NOW
    )
    assert changed == featured_plans.get(planned.id)
    assert jobs.get(planned.job).state == "cancelled"
    work(SOON)
    assert featured.get("front").ids == []
    work(LATER)
    assert featured.get("front").ids == [second.id]


def test_a_cancelled_plan_is_not_set(work):
    planned = plan(make_deal())
    cancelled = measured(featured_plans.cancel)(planned, by=EDITOR, now=NOW)
    assert featured_plans.cancel(cancelled, by=EDITOR, now=NOW) == cancelled
    job = table.get(keys.job(planned.job))
    assert job["ttl"] == epoch_seconds(NOW + settings.DEALSITE_RETENTION["jobs"])
    assert retention.write(job, now=NOW) is None
    work(LATER)
    assert featured.get("front").version == 0
    with pytest.raises(PlanChanged):
        featured_plans.cancel(planned, by=EDITOR, now=NOW)


def test_a_plan_that_changed_meanwhile_is_not_changed_again():
    first = make_deal()
    planned = plan(first)
    listed = [FeaturedEntry(first.id, "x")]
    measured(featured_plans.change)(planned, featured.get("front"), listed, at=LATER, by=EDITOR, now=NOW)
    with pytest.raises(PlanChanged):
        featured_plans.change(planned, featured.get("front"), listed, at=LATER + HOUR, by=EDITOR, now=NOW)


def test_a_plan_set_by_hand_before_its_time_is_set_once(work):
    first, second = make_deal(), make_deal()
    planned = plan(first)
    page, found = featured.load("front", [first.id])
    writes = featured_plans.set_now_writes(planned, now=NOW)
    audit_context = AuditContext(writes=tuple(writes))
    measured(featured.set_featured)(
        page, [found[first.id]], version=0, by=EDITOR, now=NOW, audit_context=audit_context
    )
    put(second)
    work(SOON)
    assert featured.get("front").ids == [second.id]
    assert (state(planned), jobs.get(planned.job).state) == ("set", "cancelled")
    with pytest.raises(PlanChanged):
        featured_plans.set_now_writes(featured_plans.get(planned.id), now=NOW)


def test_a_plan_sent_twice_is_made_once():
    first = make_deal()
    planned = plan(first)
    assert plan(first, at=LATER, plan_id=planned.id) == planned
    assert featured_plans.newest() == [planned]


@pytest.mark.parametrize("wrong", ["past", "empty", "twice", "many"])
@pytest.mark.engines("native")
def test_what_is_no_plan_is_refused(wrong):
    one = FeaturedEntry(make_id(NOW), "x")
    listed = {"empty": [], "twice": [one, one], "many": [FeaturedEntry(make_id(NOW), "x") for _ in range(25)]}
    with pytest.raises(errors.Invalid):
        featured_plans.create(
            featured.get("front"),
            listed.get(wrong, [one]),
            at=NOW if wrong == "past" else SOON,
            plan_id=make_id(NOW),
            by=EDITOR,
            now=NOW,
        )


@pytest.mark.engines("native")
@pytest.mark.parametrize("when", ["before", "after"])
def test_whatever_breaks_a_planned_list_is_set_once(when, work):
    """A worker ends at each of its requests in turn; another takes the job when the lease is over."""
    at, crashed = 0, True
    first = make_deal()
    while crashed:
        at += 1
        now = NOW + at * DAY
        listed = featured.versions_of([first.card])
        page = featured.get("front")
        planned = featured_plans.create(page, listed, at=now, plan_id=make_id(now), by="pia", now=now - HOUR)
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work(now)
        crashed = crasher.crashed
        work(now + 2 * jobs.LEASE)
        work(now + HOUR)
        assert state(planned) == "set"
        assert featured.get("front").version == page.version + 1
        assert featured.get("front").ids == [first.id]
    assert at > 4


@pytest.mark.engines("native", "local")
def test_a_plan_and_a_hand_at_once_lose_nothing(work):
    first, second = make_deal(), make_deal()
    planned = plan(first)
    races.at_once(lambda: work(SOON), lambda: put(second, now=SOON))
    work(LATER)
    page = featured.get("front")
    if state(planned) == "set":  # it came first, or the hand saw the newer list and gave up
        assert page.version in (1, 2)
    else:
        assert (page.ids, page.version) == ([second.id], 1)


@pytest.mark.engines("native", "local")
def test_of_a_change_and_the_plans_time_one_wins(work):
    first, second = make_deal(), make_deal()
    planned = plan(first)
    listed = [FeaturedEntry(second.id, "x")]
    _, changed = races.at_once(
        lambda: work(SOON),
        lambda: featured_plans.change(
            planned, featured.get("front"), listed, at=LATER, by=EDITOR, now=SOON - HOUR / 60
        ),
    )
    work(SOON + HOUR / 2)
    if isinstance(changed, PlanChanged):
        assert featured.get("front").ids == [first.id]
    else:
        assert featured.get("front").ids == []
        work(LATER)
        assert featured.get("front").ids == [second.id]


# Earlier lists


def test_each_list_is_kept_when_the_next_one_is_set():
    first, second = make_deal(title="First"), make_deal(title="Second")
    put(first, by="ann")
    put(first, second)
    put()
    kept = [featured.get_version("front", version) for version in (1, 2)]
    assert [(one.version, [deal.title for deal in one.deals], one.by) for one in kept] == [
        (1, ["First"], "ann"),
        (2, ["First", "Second"], EDITOR),
    ]
    for page_id, version in (("front", 3), ("front", 9), ("editors-choice", 1)):
        with pytest.raises(errors.NotFound):
            featured.get_version(page_id, version)


@pytest.mark.engines("native")
def test_only_the_last_lists_are_kept():
    some = [make_deal(), make_deal()]
    for number in range(featured.KEPT + 3):
        put(some[number % 2])
    with pytest.raises(errors.NotFound):
        featured.get_version("front", 2)
    assert measured(featured.get_version)("front", 3).version == 3


def test_a_plan_whose_time_has_come_is_set():
    deal = make_deal()
    listed = featured.versions_of([deal.card])
    made = measured(featured_plans.create)(
        featured.get("front"), listed, at=SOON, plan_id=make_id(NOW), by="pia", now=NOW
    )
    assert measured(featured_plans.set_planned)(jobs.get(made.job), SOON) is None
    assert state(made) == "set"
