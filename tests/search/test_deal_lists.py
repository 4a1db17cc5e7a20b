"""Going through all of a list that search finds: to the end, and nothing left out, whatever comes or goes."""

from __future__ import annotations

import pytest

from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.paging import to_end
from dealsite.search import deal_lists
from tests.builders import HOUR, NOW
from tests.search.conftest import deal_item, draft_item

BARE = DealFilter("all", "", "", "", lacks="picture")


def walk(chosen=BARE, size=2):
    """Go through the titles of a list."""
    pages = to_end(lambda after: deal_lists.page(chosen, after=after, now=NOW, size=size))
    return (card.title for page in pages for card in page.cards)


def test_a_walk_goes_to_the_end_newest_first(index):
    index(*(deal_item(f"{n}", live_at=NOW - n * HOUR) for n in range(7)))
    assert list(walk()) == ["0", "1", "2", "3", "4", "5", "6"]


def test_more_deals_of_one_moment_than_are_read_at_once_hold_nothing_up(index):
    index(*(deal_item(f"{n}") for n in range(7)), deal_item("older", live_at=NOW - 9 * HOUR))
    found, after = [], None
    for _ in range(10):  # else it would go on for ever
        page = deal_lists.page(BARE, after=after, now=NOW, size=2)
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
