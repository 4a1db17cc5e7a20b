"""Lists that search finds: how many are in each state; all of one, to the end, whatever comes or goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from dealsite.data.catalogue.cards import ENDING_SOON
from dealsite.data.catalogue.lists import STATES, DealFilter
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.paging import to_end
from dealsite.search import lists
from tests.builders import HOUR, NOW, PICTURE
from tests.search.conftest import deal_item, draft_item

BARE = DealFilter("all", "", "", "", lacks="picture")
MS = timedelta(milliseconds=1)


def walk(chosen=BARE, size=2):
    """Go through the titles of a list."""
    pages = to_end(lambda after: lists.page(chosen, after=after, now=NOW, size=size))
    return (card.title for page in pages for card in page.cards)


def test_a_walk_goes_to_the_end_newest_first(index):
    index(*(deal_item(f"{n}", live_at=NOW - n * HOUR) for n in range(7)))
    assert list(walk()) == ["0", "1", "2", "3", "4", "5", "6"]


def test_more_deals_of_one_moment_than_are_read_at_once_hold_nothing_up(index):
    index(*(deal_item(f"{n}") for n in range(7)), deal_item("older", live_at=NOW - 9 * HOUR))
    found, after = [], None
    for _ in range(10):  # else it would go on for ever
        page = lists.page(BARE, after=after, now=NOW, size=2)
        after = page.after
        found += [card.title for card in page.cards]
        if not after:
            break
    assert not after
    assert set(found) == {"0", "1", "2", "3", "4", "5", "6", "older"}


def test_a_walk_tells_deals_from_drafts(index):
    index(deal_item("Bare", live_at=NOW - HOUR), draft_item("Draft"))
    assert list(walk()) == ["Bare"]
    assert list(walk(DealFilter("draft", "", "", "", lacks="picture"))) == ["Draft"]


def test_what_comes_while_one_walks_brings_nothing_twice_and_nothing_is_left_out(index):
    items = [deal_item(f"{n}", live_at=NOW - (n + 1) * HOUR) for n in range(5)]
    index(*items)
    walked = walk()
    found = [next(walked), next(walked)]
    index(deal_item("new"), *items[1:])
    assert [*found, *walked] == ["0", "1", "2", "3", "4"]


def test_there_is_no_walk_without_an_index():
    with pytest.raises(Unavailable):
        list(walk())


STARTS = {"scheduled": HOUR, "now": 0 * HOUR, "live": -HOUR}
ENDS = {
    "never": None,
    "over": -HOUR / 2,
    "this moment": 0 * HOUR,
    "soon": ENDING_SOON,
    "later": ENDING_SOON + MS,
}
WORDS = ["", "lamp", "lmap", "lamp oak", "lamp xyzzy", "lapm oak", "xyzzy"]


@pytest.fixture
def shelf(index):
    """Deals of each beginning and end, and a draft, some of them lamps."""
    deals = [
        deal_item(
            f"{'Oak lamp' if number % 3 else 'Lanp'} {start} {end}",
            live_at=NOW + from_now,
            expires_at=None if until is None else NOW + until,
            category="peripherals-networking" if number % 2 else "toys-hobbies",
            picture=PICTURE if number % 4 else None,
        )
        for number, ((start, from_now), (end, until)) in enumerate(product(STARTS.items(), ENDS.items()))
    ]
    index(*deals, draft_item("Oak lamp to be"))


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    "narrowed",
    [{}, {"category": "toys-hobbies"}, {"brand": "nordlicht"}, {"lacks": "picture"}, {"brand": "aurora"}],
)
def test_the_total_of_each_state_is_what_its_list_finds(shelf, words, narrowed, is_sorted):
    chosen, sort = DealFilter(words=words, **narrowed), "price" if is_sorted else ""
    found = {
        state: lists.find_deals(replace(chosen, state=state), now=NOW, sort=sort).total for state in STATES
    }
    assert lists.totals(replace(chosen, state="live"), now=NOW, is_sorted=is_sorted) == found


def test_the_totals_of_all_states_are_one_question_to_the_index(shelf, monkeypatch):
    asked = []
    aggregate = lists._by_state

    def counted(*given):
        asked.append(given)
        return aggregate(*given)

    monkeypatch.setattr(lists, "_by_state", counted)
    assert lists.totals(DealFilter(), now=NOW)["all"] == len(STARTS) * len(ENDS)
    assert len(asked) == 1


def test_without_an_index_no_total_is_known():
    assert lists.totals(DealFilter(), now=NOW) == {}
