"""What is kept of the links to shops: two failures hours apart, an editor's word, and rounds over all deals."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.editing import audit, links
from dealsite.data.editing.links import ACCEPTED, APART, CHECK_LINK, CHECK_LINKS, PAGE_SIZE
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from tests.builders import DAY, EDITOR, HOUR, LINK, NOW, make_brand, make_deal, make_id
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")


def fail(deal_id: str, *, hours: float = 0, reason: str = "404") -> None:
    links.fails(links.get(deal_id), reason, now=NOW + hours * HOUR)


def change_link(deal: deals.Deal, link: str) -> None:
    deal_changes.edit(
        deals.get(deal.id),
        replace(deal.content, link=link),
        version=deal.version,
        brand=make_brand(),
        by=EDITOR,
        now=NOW,
    )


def waiting(wait_for_indexes) -> list[str]:
    """Return the deals whose links are to be checked again, with the hours until then."""
    wait_for_indexes()
    found = []
    for hours in (0, 6, 12, 18):
        while job := jobs.take_next(now=NOW + hours * HOUR):
            found.append(f"{job.kind} of {job.payload['deal']} in {hours}")
            jobs.finish(job)
            wait_for_indexes()
    return found


def test_a_deal_has_nothing_of_a_link_that_works():
    deal = make_deal(link=LINK)
    links.works(links.get(deal.id))
    assert links.get(deal.id) == links.DealLink(deal.id, deal.content.link, None)


def test_two_failures_some_hours_apart_make_a_broken_link():
    deal = make_deal(link=LINK)
    fail(deal.id)
    once = links.get(deal.id).check
    fail(deal.id, hours=6, reason="410")
    twice = links.get(deal.id).check
    assert once is not None
    assert twice is not None
    assert (once.failures, once.is_broken, once.reason) == (1, False, "404")
    assert (twice.failures, twice.is_broken, twice.reason) == (2, True, "410")
    assert (twice.since, twice.last) == (NOW, NOW + 6 * HOUR)


def test_a_failure_soon_after_another_does_not_count():
    deal = make_deal(link=LINK)
    for hours in (0, 1, 5.9):
        fail(deal.id, hours=hours)
    check = measured(links.get)(deal.id).check
    assert check is not None
    assert (check.failures, check.last) == (1, NOW)
    fail(deal.id, hours=6)
    assert links.get(deal.id).check.is_broken


def test_the_first_failure_asks_for_another_look_six_hours_later(wait_for_indexes):
    deal = make_deal(link=LINK)
    fail(deal.id)
    fail(deal.id, hours=1)
    fail(deal.id, hours=7)
    fail(deal.id, hours=14)
    assert waiting(wait_for_indexes) == [f"{CHECK_LINK} of {deal.id} in 6"]
    assert timedelta(hours=6) == APART


def test_a_link_that_works_again_is_forgotten():
    deal = make_deal(link=LINK)
    fail(deal.id)
    measured(links.works)(links.get(deal.id))
    assert links.get(deal.id).check is None


def test_another_link_begins_anew():
    deal = make_deal(link=LINK)
    fail(deal.id)
    before = links.get(deal.id)
    fail(deal.id, hours=6)
    change_link(deal, "https://shop.example/other")
    assert links.get(deal.id).check is None
    links.fails(before, "404", now=NOW + DAY)  # what a slow check found of the link before
    assert links.get(deal.id).check is None
    fail(deal.id, hours=7)
    assert links.get(deal.id).check.failures == 1


def test_an_edit_of_something_else_keeps_what_is_known():
    deal = make_deal(link=LINK)
    fail(deal.id)
    stored = deals.get(deal.id)
    dearer = replace(stored.content, title="Another title")
    deal_changes.edit(stored, dearer, version=stored.version, brand=make_brand(), by=EDITOR, now=NOW)
    assert links.get(deal.id).check.failures == 1


def test_what_is_found_of_a_deal_that_is_gone_is_left_out():
    deal = make_deal(link=LINK)
    fail(deal.id)
    linked = links.get(deal.id)
    deal_changes.delete(deals.get(deal.id), by=EDITOR, now=NOW)
    links.works(linked)
    links.fails(linked, "404", now=NOW + DAY)
    with pytest.raises(errors.NotFound):
        links.get(deal.id)


def test_of_two_checks_at_once_one_failure_is_kept():
    deal = make_deal(link=LINK)
    linked = links.get(deal.id)
    at_once(*(lambda: links.fails(linked, "404", now=NOW) for _ in range(4)))
    assert links.get(deal.id).check.failures == 1


def test_a_failure_that_is_found_while_an_editor_accepts_the_link_does_not_undo_that():
    deal = make_deal(link=LINK)
    fail(deal.id)
    seen = links.get(deal.id)
    measured(links.accept)(deal.id, link=deal.content.link, by=EDITOR, now=NOW)
    measured(links.fails)(seen, "404", now=NOW + DAY)
    links.works(seen)
    check = links.get(deal.id).check
    assert (check.failures, check.accepted_until) == (0, NOW + ACCEPTED)


def test_an_editors_word_is_noted_and_can_be_taken_back(wait_for_indexes):
    deal = make_deal(link=LINK)
    links.accept(deal.id, link=deal.content.link, by="mara", now=NOW)
    measured(links.take_back)(deal.id, link=deal.content.link, by="mara", now=NOW + HOUR)
    assert links.get(deal.id).check is None
    assert waiting(wait_for_indexes) == [f"{CHECK_LINK} of {deal.id} in 6"]
    entries = {(entry.by, entry.what) for entry in audit.of_target("deal", deal.id)}
    assert {("mara", "called the link fine"), ("mara", "had the link checked again")} <= entries


def test_only_the_link_that_an_editor_saw_is_accepted():
    deal = make_deal(link=LINK)
    with pytest.raises(errors.VersionConflict):
        links.accept(deal.id, link="https://shop.example/before", by=EDITOR, now=NOW)
    assert links.get(deal.id).check is None


def test_a_link_is_checked_at_once_where_that_is_asked_for(wait_for_indexes):
    deal = make_deal(link=LINK)
    measured(links.check_again)(deal.id, now=NOW)
    assert waiting(wait_for_indexes) == [f"{CHECK_LINK} of {deal.id} in 0"]


@pytest.mark.parametrize("deal_id", ["", "x", "0" * 26, "x" * 300, "a#b"])
def test_no_link_of_no_deal(deal_id):
    with pytest.raises(errors.NotFound):
        links.get(deal_id)


# Rounds


def test_a_round_walks_over_all_that_have_not_expired_newest_first(wait_for_indexes):
    live = [make_deal(link=LINK, live_at=NOW - number * DAY) for number in range(PAGE_SIZE + 3)]
    later = make_deal(link=LINK, live_at=NOW + DAY)
    over = make_deal(link=LINK, live_at=NOW - HOUR, expires_at=NOW - HOUR / 2)
    fine = make_deal(link=LINK, live_at=NOW - 2 * HOUR)
    links.accept(fine.id, link=fine.content.link, by=EDITOR, now=NOW)
    wait_for_indexes()
    walked, after, more = [], "", True
    while more:
        page, more = links.page(after=after, now=NOW)
        assert len(page) <= PAGE_SIZE
        walked += page
        after = page[-1][0] if page else after
    assert [deal_id for deal_id, linked in walked if linked] == [
        later.id,
        *(deal.id for deal in sorted(live, key=lambda deal: deal.id, reverse=True)),
    ]
    assert {deal_id for deal_id, linked in walked if linked is None} == {over.id, fine.id}
    later_on, _ = links.page(after=later.id, now=NOW + ACCEPTED)
    assert dict(later_on)[fine.id] is not None


def test_a_table_without_deals_has_no_links():
    assert links.page(after="", now=NOW) == ([], False)


def test_a_round_begins_once_a_week():
    assert measured(links.begin_round)(now=NOW)
    assert not links.begin_round(now=NOW + DAY)
    job = jobs.get(links.round_id(NOW))
    assert (job.kind, job.created_at.weekday()) == (CHECK_LINKS, 0)
    assert job.created_at <= NOW < job.created_at + 7 * DAY
    assert links.round_id(NOW + 7 * DAY) != links.round_id(NOW)


def test_of_workers_that_begin_a_round_at_once_one_does():
    begun = at_once(*(lambda: links.begin_round(now=NOW) for _ in range(4)))
    assert sorted(begun) == [False, False, False, True]


def test_the_links_of_a_page_are_read_at_once(wait_for_indexes):
    made = [make_deal(link=LINK) for _ in range(3)]
    wait_for_indexes()
    found, _ = measured(links.page)(after=make_id(NOW + DAY), now=NOW)
    assert {deal_id for deal_id, _ in found} == {deal.id for deal in made}
