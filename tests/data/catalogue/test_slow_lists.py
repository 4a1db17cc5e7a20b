"""Lists of a slow table: buckets are read side by side, and hold what they hold when read one by one."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from math import inf
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import buckets, lists, publishing
from dealsite.data.catalogue.buckets import Page
from dealsite.data.catalogue.lists import FILTERED_QUERIES, DealFilter
from dealsite.data.table.paging import to_end
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_category, make_content, make_deal, make_id
from tests.slow_table import SlowTable

CATEGORY = "peripherals-networking"
CHOSEN = {
    "all": DealFilter("all"),
    "scheduled": DealFilter("scheduled"),
    "live": DealFilter("live"),
    "ending": DealFilter("ending"),
    "expired": DealFilter("expired"),
    "brand": DealFilter(brand="nordlicht"),
    "category": DealFilter(category=CATEGORY),
    "both": DealFilter(brand="nordlicht", category=CATEGORY),
    "expired of brand": DealFilter("expired", brand="nordlicht"),
}


@pytest.fixture
def a_deal_a_day(fresh_table: None) -> None:
    """Eighty days with a deal each, thirty of them to come; each third has ended or ends, some months later."""
    make_category(CATEGORY)
    brand, new = make_brand(), []
    for day in range(-30, 50):
        at = NOW - day * DAY
        content = make_content(expires_at=at + (day % 40) * DAY + HOUR if day % 3 == 0 else None)
        new.append((make_id(at - HOUR), content, brand))
    for first in range(0, len(new), 10):
        publishing.publish_many(new[first : first + 10], by=EDITOR, now=NOW)


@pytest.mark.budget
@pytest.mark.usefixtures("a_deal_a_day")
def test_a_list_over_many_days_takes_five_calls_one_after_the_other(monkeypatch: Any):
    slow, taken = SlowTable(monkeypatch), {}
    for name, chosen in CHOSEN.items():
        first = lists.cms_list(chosen, now=NOW)
        second = lists.cms_list(chosen, now=NOW, after=first.after)
        places: list[dict[str, Any]] = [{}, {"after": first.after}, {"before": second.before}]
        for place in places:
            read = partial(lists.cms_list, chosen, now=NOW, **place)
            taken[name, *place] = slow.calls_of(read)
    assert {name: calls for name, calls in taken.items() if calls > 5} == {}
    assert taken["all",] == 5  # the days, the newest one, and 25 more by nine at once


@pytest.mark.budget
@pytest.mark.usefixtures("a_deal_a_day")
def test_a_feed_over_many_days_takes_five_calls_one_after_the_other(monkeypatch: Any):
    slow = SlowTable(monkeypatch)
    assert slow.calls_of(lambda: lists.front_page(now=NOW)) <= 5
    assert slow.calls_of(lambda: lists.category_page(CATEGORY, now=NOW)) <= 5


def walk(chosen: DealFilter, size: int) -> tuple[Any, Any]:
    """Return the pages of a list, onward and from its end back."""

    def read(**place: Any) -> Page:
        return lists.cms_list(chosen, now=NOW, size=size, **place)

    onward = list(to_end(read))
    back, page = [], onward[-1]
    while page.before:
        page = read(before=page.before)
        back.append(page)
    return onward, back


@pytest.mark.budget
@pytest.mark.usefixtures("a_deal_a_day")
def test_the_pages_of_a_list_are_the_same_however_slow_the_table_is(monkeypatch: Any):
    for name, chosen in CHOSEN.items():
        monkeypatch.setattr(lists, "SLOW", inf)
        one_by_one = walk(chosen, 10)
        monkeypatch.setattr(lists, "SLOW", -inf)
        assert walk(chosen, 10) == one_by_one, name


@pytest.mark.budget
@pytest.mark.usefixtures("a_deal_a_day")
def test_a_filtered_list_reads_no_more_buckets_side_by_side_than_one_by_one(monkeypatch: Any):
    monkeypatch.setattr(lists, "SLOW", -inf)
    monkeypatch.setattr(lists, "EMPTY_PAGE", 1)
    found = lists.published(DealFilter(), buckets.all_days())
    with table.metered() as meter:
        page = lists.read(found, keep=lambda _card: False)
    assert meter.calls == FILTERED_QUERIES
    assert page.searched_back_to


@pytest.mark.budget
@pytest.mark.usefixtures("fresh_table")
def test_a_slow_table_is_asked_for_no_more_than_a_page_probably_needs(monkeypatch: Any):
    minute = timedelta(minutes=1)
    for day in range(6):
        for number in range(9):
            make_deal(live_at=NOW - day * DAY - HOUR - number * minute)
    monkeypatch.setattr(lists, "SLOW", -inf)
    source = lists.published(DealFilter(), buckets.all_days())
    with table.metered() as meter:
        page = lists.read(source, size=8)
    assert (len(page.cards), meter.calls) == (8, 1)
    with table.metered() as meter:
        page = lists.read(source, size=17)
    assert (len(page.cards), meter.calls) == (17, 2)


@pytest.mark.budget
@pytest.mark.usefixtures("fresh_table")
def test_many_rows_of_one_bucket_are_read_in_two_calls(monkeypatch: Any):
    make_category("toys-hobbies")
    make_category(CATEGORY)
    brand = make_brand()
    new = [(make_id(NOW - n * HOUR), make_content(), brand) for n in range(26)]
    publishing.publish_many(new[:13], by=EDITOR, now=NOW)
    publishing.publish_many(new[13:], by=EDITOR, now=NOW)
    monkeypatch.setattr(lists, "FILTERED_ROWS", 5)
    monkeypatch.setattr(lists, "EMPTY_PAGE", 1)
    monkeypatch.setattr(lists, "FILTERED_ROWS_A_PAGE", 25)
    slow = SlowTable(monkeypatch)
    chosen = DealFilter(brand="nordlicht", category="toys-hobbies")
    pages: list[Page] = []
    calls = slow.calls_of(lambda: pages.append(lists.cms_list(chosen, now=NOW)))
    assert calls == 3  # the brand, 5 rows, and 20 more
    assert pages[0].searched_back_to
