"""What deals and drafts lack is in the index, so that no list is read to find those that need somebody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dealsite.data.catalogue.cards import Picture
from dealsite.data.table.ids import iso
from dealsite.search.finding import find
from dealsite.search.question import Question
from tests.builders import DAY, HOUR, LINK, NOW, PICTURE
from tests.search.conftest import deal_item, draft_item, titles

SILENT = replace(PICTURE, alt=" ")


def checked(item, failures, link="https://shop.example/keyboard"):
    """Return a deal whose link failed some checks; the link that was checked may be another than it has now."""
    kept = {"link": link, "failures": failures, "since": iso(NOW), "last": iso(NOW), "reason": "404"}
    return item | {"link": "https://shop.example/keyboard", "link_check": kept}


def asked(sort="newest", **question):
    return titles(find(Question(for_editors=True, **question), now=NOW, sort=sort))


@pytest.fixture
def everything(index):
    index(
        deal_item("Complete", picture=PICTURE),
        deal_item("Bare"),
        deal_item("Silent", picture=SILENT),
        deal_item("Sold", picture=PICTURE, stock=0),
        deal_item("Over and bare", expires_at=NOW - HOUR / 2),
        deal_item("Bare to come", live_at=NOW + DAY),
        checked(deal_item("Broken", picture=PICTURE, link=LINK), 2),
        checked(deal_item("Suspected", picture=PICTURE, link=LINK), 1),
        checked(deal_item("Has a new link", picture=PICTURE, link=LINK), 2, link="https://shop.example/old"),
        deal_item("Aside", picture=PICTURE, stock=3) | {"link": LINK},
        draft_item("Bare draft"),
        draft_item("Silent draft", picture=Picture("pictures/ab/abcdef", 4, 3)),
    )


@pytest.mark.usefixtures("everything")
def test_what_is_lacking_is_found(subtests):
    for question, found in [
        ({"kind": "either", "lacks": "picture"}, {"Bare", "Bare to come", "Bare draft"}),
        ({"kind": "deal", "lacks": "picture"}, {"Bare", "Bare to come", "Over and bare"}),
        ({"kind": "draft", "lacks": "picture"}, {"Bare draft"}),
        ({"kind": "either", "lacks": "alt"}, {"Silent", "Silent draft"}),
        ({"kind": "either", "lacks": "link"}, {"Broken"}),
        ({"state": "live", "lacks": "stock"}, {"Sold"}),
        ({"kind": "either", "lacks": "use"}, {"Aside"}),
        ({"kind": "either", "lacks": "nonsense"}, set()),
    ]:
        with subtests.test(question=question, found=found):
            assert set(asked(**question)) == found


@pytest.mark.usefixtures("everything")
def test_shoppers_are_not_shown_what_is_lacking():
    found = find(Question(kind="either", lacks="picture"), now=NOW, sort="newest")
    assert not {"Bare draft", "Bare to come"} & set(titles(found))
    assert "Complete" in titles(found)


def test_deals_of_a_featured_list_are_found(index):
    index(deal_item("On the list") | {"featured_on": {"front"}}, deal_item("On none"))
    assert asked(featured="front") == ["On the list"]
    assert asked(featured="editors-choice") == []


def test_what_goes_live_until_a_time_comes_soonest_first(index):
    index(*(deal_item(f"In {hours} hours", live_at=NOW + hours * HOUR) for hours in (3, 1, 30)))
    until = NOW + 12 * HOUR
    assert asked("soonest", state="scheduled", live_until=until) == ["In 1 hours", "In 3 hours"]


def test_what_ends_comes_soonest_first(index):
    index(*(deal_item(f"In {hours} hours", expires_at=NOW + hours * HOUR) for hours in (30, 2, 60)))
    assert asked("ending", state="ending") == ["In 2 hours", "In 30 hours"]


def test_each_hit_says_whether_it_is_a_draft(index):
    index(deal_item("Deal"), draft_item("Draft"))
    found = find(Question(kind="either", for_editors=True), now=NOW, sort="newest")
    assert {hit.card.title: hit.kind for hit in found.hits} == {"Deal": "deal", "Draft": "draft"}


def test_an_index_without_deals_is_ready_for_editors(index):
    index(draft_item("Only a draft"))
    found = find(Question(kind="draft", for_editors=True), now=NOW)
    assert (found.ready, titles(found)) == (True, ["Only a draft"])
