"""Feeds against a sorted list: nothing is skipped or repeated, whatever editors do between two pages."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dealsite.data import table
from dealsite.data.catalogue import categories, deal_changes, deals, lists, publishing
from dealsite.data.catalogue.buckets import Cursor, Page
from dealsite.data.catalogue.cards import ENDING_SOON
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.integrity import checks
from dealsite.data.table import errors, ids
from dealsite.data.table.paging import to_end
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.hostile import EXAMPLES
from tests.measuring import measured

BRANDS = {"nordlicht": "Nordlicht", "aurora": "Aurora"}
CATEGORIES = ["toys-hobbies", "grocery-household"]
DAYS_AGO = [0, 0, 1, 2, 3, 20, 35, 325, 326, 370, 800]  # the 325th day before NOW is New Year's Eve
FEEDS = ["front", "nordlicht", "toys-hobbies"]

moments = st.builds(
    lambda days, minutes: NOW - days * DAY - timedelta(minutes=minutes),
    st.sampled_from(DAYS_AGO),
    st.integers(0, 700),
)
coming = st.builds(
    lambda minutes: NOW + timedelta(minutes=minutes), st.sampled_from([1, 30, 60, 2000, 90_000])
)
places = st.tuples(st.sampled_from(list(BRANDS)), st.sampled_from(CATEGORIES))
steps = st.one_of(
    st.tuples(st.just("publish"), moments, places),
    st.tuples(st.just("publish"), coming, places),
    st.tuples(st.just("delete"), st.integers(0, 99), places),
    st.tuples(st.just("move"), st.integers(0, 99), places),
    st.tuples(st.just("edit"), st.integers(0, 99), places),
    st.tuples(st.just("reschedule"), st.integers(0, 99), coming),
)


@dataclass
class Model:
    """What the table should hold: id -> (brand, category), and where each deal ever was."""

    deals: dict[str, tuple[str, str]] = field(default_factory=dict)
    ever: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def put(self, deal_id: str, place: tuple[str, str]) -> None:
        self.deals[deal_id] = place
        self.ever.setdefault(deal_id, set()).add(place)

    def publish(self, live_at: datetime, place: tuple[str, str]) -> None:
        brand, category = place
        deal_id = make_id(live_at)
        make_deal(deal_id=deal_id, brand=BRANDS[brand], category=category)
        self.put(deal_id, place)

    def step(self, kind: str, what, place) -> None:
        """Do one thing that an editor does."""
        if kind == "publish":
            self.publish(what, place)
            return
        if not self.deals:
            return
        deal_id = sorted(self.deals)[what % len(self.deals)]
        deal = deals.get(deal_id)
        if kind == "delete":
            deal_changes.delete(deal, by=EDITOR, now=NOW)
            del self.deals[deal_id]
        elif kind == "reschedule":
            if deal.card.is_visible(NOW):
                return
            new_id = make_id(place)
            publishing.reschedule(deal, place, new_id=new_id, by=EDITOR, now=NOW)
            self.put(new_id, self.deals.pop(deal_id))
        else:
            to = place if kind == "move" else self.deals[deal_id]
            content = replace(deal.content, title=f"{deal.content.title}.", brand=to[0], category=to[1])
            brand = make_brand(BRANDS[to[0]])
            deal_changes.edit(deal, content, version=deal.version, brand=brand, by=EDITOR, now=NOW)
            self.put(deal_id, to)

    def feed(self, name: str) -> set[str]:
        """The ids of a feed, published ones."""
        return {
            d
            for d, place in self.deals.items()
            if (name == "front" or name in place) and d <= ids.last_ulid_until(NOW)
        }

    def buckets(self, name: str) -> set[str]:
        """The non-empty buckets of a feed, of scheduled deals too."""
        return {bucket(name, d) for d, place in self.deals.items() if name == "front" or name in place}


def bucket(name: str, deal_id: str) -> str:
    moment = ids.time_of(deal_id)
    return moment.strftime({"front": "%Y-%m-%d", "nordlicht": "%Y", "toys-hobbies": "%Y-%m"}[name])


def page_of(name: str, **cursor) -> Page:
    if name == "front":
        return lists.front_page(now=NOW, **cursor)[1]
    if name in CATEGORIES:
        return lists.category_page(name, now=NOW, **cursor)[2]
    return lists.brand_page(name, now=NOW, **cursor)[1]


def set_up(new_table, initial) -> Model:
    new_table()
    for slug in CATEGORIES:
        make_category(slug)
    for name in BRANDS.values():
        make_brand(name)
    model = Model()
    for live_at, place in initial:
        model.publish(live_at, place)
    return model


def walk(name: str, direction: str, model: Model, between, waited: set[str], first: Page) -> list[str]:
    """Follow a feed's links to its end, with one thing done before each page; return the ids in order."""
    seen = [card.id for card in first.cards]
    cursor = getattr(first, direction)
    waiting = list(between)
    while cursor:
        if waiting:
            model.step(*waiting.pop())
            waited &= model.feed(name)
            for deal_id in list(waited):
                if len(model.ever[deal_id]) > 1 and name != "front":
                    waited.discard(deal_id)
        page = page_of(name, **{direction: cursor})
        found = [card.id for card in page.cards]
        seen = seen + found if direction == "after" else found + seen
        following = getattr(page, direction)
        assert following != cursor
        cursor = following
    return seen


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize("name", FEEDS)
@given(
    initial=st.lists(st.tuples(st.one_of(moments, coming), places), max_size=18),
    between=st.lists(steps, max_size=6),
    back=st.lists(steps, max_size=4),
    size=st.integers(1, 6),
)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_no_page_skips_or_repeats_a_deal_whatever_happens_between_pages(
    name, initial, between, back, size, new_table, wait_for_indexes, monkeypatch
):
    monkeypatch.setattr(lists, "read", partial(lists.read, size=size))
    model = set_up(new_table, initial)
    wait_for_indexes()

    waited = model.feed(name)
    first = page_of(name)
    assert first.before is None
    seen = walk(name, "after", model, between, waited, first)
    assert seen == sorted(set(seen), reverse=True)
    assert waited <= set(seen)
    assert all(name == "front" or any(name in place for place in model.ever[deal_id]) for deal_id in seen)

    wait_for_indexes()
    waited = model.feed(name)
    last = page_of(name, after="0" * 26)
    assert last.cards == []
    seen = walk(name, "before", model, back, waited, last)
    assert seen == sorted(set(seen), reverse=True)
    assert {deal_id for deal_id in waited if len(model.ever[deal_id]) == 1} <= set(seen)

    wait_for_indexes()
    assert [d for page in all_pages(name) for d in page] == sorted(model.feed(name), reverse=True)
    assert [str(problem) for problem in checks.find()] == []


def all_pages(name: str) -> list[list[str]]:
    page = page_of(name)
    pages = [[card.id for card in page.cards]]
    while page.after:
        page = page_of(name, after=page.after)
        pages.append([card.id for card in page.cards])
    return pages


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize("name", FEEDS)
@pytest.mark.budget
@pytest.mark.engines("native")
@given(initial=st.lists(st.tuples(st.one_of(moments, coming), places), max_size=18), size=st.integers(1, 6))
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_a_page_costs_one_batch_get_and_a_query_for_each_bucket_that_it_touches(
    name, initial, size, new_table, monkeypatch
):
    monkeypatch.setattr(lists, "read", partial(lists.read, size=size))
    model = set_up(new_table, initial)
    feed, buckets = sorted(model.feed(name), reverse=True), model.buckets(name)
    cursor: dict[str, str] = {}
    start = 0
    while True:
        with table.metered() as meter:
            page = page_of(name, **cursor)
        assert [card.id for card in page.cards] == feed[start : start + size]
        touched = feed[start : start + size + 1]
        newest = bucket(name, feed[start - 1]) if start else bucket(name, ids.last_ulid_until(NOW))
        oldest = bucket(name, touched[-1]) if len(touched) > size else ""
        queries = [call for call in meter.log if call[0] == "Query"]
        assert len(queries) <= len([b for b in buckets if oldest <= b <= newest])
        gets = meter.calls - len(queries)
        older_years = name == "front" and len(touched) <= size
        assert gets <= (2 if older_years else 1) or (
            name == "front" and ids.time_of(touched[-1]).year < NOW.year - 1
        )
        start += size
        if page.after is None:
            assert start >= len(feed)
            break
        cursor = {"after": page.after}


# Pages as they stand


@pytest.fixture
def feed_of_60(whole_table, wait_for_indexes):
    for n in range(60):
        make_deal(live_at=NOW - n * 7 * HOUR, title=f"Deal {n}", category="toys-hobbies")
    wait_for_indexes()


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize("name", FEEDS)
@pytest.mark.usefixtures("feed_of_60")
def test_pages_hold_25_deals_and_lead_forth_and_back(name):
    first = page_of(name)
    second = page_of(name, after=first.after)
    third = page_of(name, after=second.after)
    titles = [card.title for page in (first, second, third) for card in page.cards]
    assert titles == [f"Deal {n}" for n in range(60)]
    assert [len(page.cards) for page in (first, second, third)] == [25, 25, 10]
    assert (first.before, third.after) == (None, None)
    assert page_of(name, before=third.before) == second
    assert page_of(name, before=second.before) == first


@pytest.mark.usefixtures("feed_of_60")
def test_a_cursor_survives_the_deletion_of_its_deal(wait_for_indexes):
    first = page_of("front")
    second = page_of("front", after=first.after)
    deal_changes.delete(deals.get(first.after), by=EDITOR, now=NOW)
    wait_for_indexes()
    assert page_of("front", after=first.after).cards == second.cards


BAD = [
    "x",
    "0" * 25,
    "8" + "0" * 25,
    "ZZZZ",
    "#",
    "\x00",
    "é" * 26,
    "0" * 25 + "u",
    "a" * 400_000,
    "DEAL#" + "0" * 26,
]


@pytest.mark.parametrize("cursor", BAD)
@pytest.mark.usefixtures("fresh_table")
@pytest.mark.engines("native")
def test_a_damaged_cursor_is_the_visitors_error(cursor):
    make_brand()
    for way in ("after", "before"):
        for name in FEEDS:
            with pytest.raises(errors.BadCursor):
                page_of(name, **{way: cursor})
        for state in lists.STATES:
            with pytest.raises(errors.BadCursor):
                lists.cms_list(DealFilter(state), now=NOW, **{way: cursor})


@pytest.mark.usefixtures("fresh_table")
@pytest.mark.engines("native")
def test_two_cursors_at_once_are_the_visitors_error():
    for state in lists.STATES:
        with pytest.raises(errors.BadCursor):
            lists.cms_list(DealFilter(state), now=NOW, after=make_id(), before=make_id())
    with pytest.raises(errors.BadCursor):
        page_of("front", after=make_id(), before=make_id())


@pytest.mark.parametrize("cursor", ["0" * 26, ids.LAST_ULID])
@pytest.mark.usefixtures("feed_of_60")
@pytest.mark.engines("native")
def test_the_ends_of_all_cursors_lead_somewhere(cursor):
    assert len(page_of("front", after=cursor).cards) in (0, 25)
    assert len(page_of("front", before=cursor).cards) in (0, 25)
    for state in ("all", "scheduled", "live", "draft"):
        lists.cms_list(DealFilter(state), now=NOW, after=cursor)
        lists.cms_list(DealFilter(state), now=NOW, before=cursor)


@pytest.mark.parametrize("slug", ["", "No", "x#y", "nord licht", "\x00", "../", "ghost", "a" * 5000])
@pytest.mark.usefixtures("fresh_table")
@pytest.mark.engines("native")
def test_a_slug_that_is_none_is_not_found(slug):
    for ask in (
        partial(lists.brand_page, slug, now=NOW),
        partial(lists.category_page, slug, now=NOW),
        partial(categories.get, slug),
    ):
        with pytest.raises(errors.NotFound):
            ask()


@pytest.mark.usefixtures("whole_table")
def test_featured_cards_stand_on_the_first_page_only_and_only_those_that_shoppers_may_see(wait_for_indexes):
    from dealsite.data.catalogue import featured

    live = make_deal(live_at=NOW - DAY, category="toys-hobbies")
    shown = [
        live,
        make_deal(live_at=NOW + HOUR, category="toys-hobbies"),
        make_deal(live_at=NOW - DAY, expires_at=NOW, category="toys-hobbies"),
    ]
    for page_id in ("front", "toys-hobbies", "editors-choice"):
        featured.set_featured(featured.get(page_id), shown, version=0, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert measured(lists.front_page)(now=NOW)[0] == [live.card]
    assert measured(lists.category_page)("toys-hobbies", now=NOW)[1] == [live.card]
    assert measured(lists.editors_choice)(now=NOW)[1] == [live.card]
    assert lists.front_page(now=NOW, after=make_id(NOW))[0] == []
    assert lists.front_page(now=NOW + HOUR)[0] == [live.card, shown[1].card]


@pytest.mark.budget
@pytest.mark.usefixtures("fresh_table")
def test_pages_of_live_deals_skip_none_and_none_is_empty_before_the_last(
    wait_for_indexes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lists, "FILTERED_ROWS_A_PAGE", 10)
    monkeypatch.setattr(lists, "ROWS_OF_LIVE", 6)
    brand = make_brand()
    make_category("toys-hobbies")
    new = [
        (
            make_id(NOW - (n + 1) * HOUR),
            make_content(category="toys-hobbies", expires_at=None if n % 15 == 14 else NOW),
            brand,
        )
        for n in range(60)
    ]
    for start in range(0, len(new), 10):
        publishing.publish_many(new[start : start + 10], by=EDITOR, now=NOW - DAY)
    wait_for_indexes()
    live = [deal_id for n, (deal_id, *_) in enumerate(new) if n % 15 == 14]
    for name in FEEDS:
        pages = list(to_end(lambda after, name=name: page_of(name, after=after, live_only=True)))
        assert [card.id for page in pages for card in page.cards] == live, name
        assert all(page.cards for page in pages[:-1]), name  # what is behind the last, nobody knows
        back = page_of(name, before=live[-1], live_only=True)
        assert [card.id for card in back.cards] == live[:-1][-len(back.cards) :], name


@pytest.mark.usefixtures("whole_table")
def test_the_days_of_the_sitemap_hold_published_deals_only(wait_for_indexes):
    old = make_deal(live_at=NOW - 3 * DAY)
    today = make_deal(live_at=NOW - HOUR)
    make_deal(live_at=NOW + HOUR)
    make_deal(live_at=NOW + 3 * DAY)
    wait_for_indexes()
    days = measured(lists.past_days)(now=NOW)
    assert days == [NOW.date(), (NOW - 3 * DAY).date()]
    assert [list(lists.deals_of_day(day, now=NOW)) for day in days] == [[today.card], [old.card]]
    assert [card.id for card in measured(lists.deals_of_day)(days[0], now=NOW)] == [today.id]


# The editors' lists


@pytest.mark.usefixtures("whole_table")
def test_the_editors_list_begins_with_what_comes_last(wait_for_indexes):
    made = [make_deal(live_at=NOW + days * DAY) for days in (-2, -1, 0, 1)]
    wait_for_indexes()
    page = measured(lists.cms_list)(DealFilter(), now=NOW)
    assert [card.id for card in page.cards] == [deal.id for deal in made[::-1]]


expiries = st.sampled_from(
    [None, None, -40 * DAY, -2 * DAY, -HOUR, timedelta(0), HOUR, DAY, ENDING_SOON, 3 * DAY]
)
some_deals = st.lists(st.tuples(st.one_of(moments, coming), places, expiries), max_size=20)


@given(
    initial=some_deals,
    state=st.sampled_from(["all", "scheduled", "live", "ending", "expired"]),
    brand=st.sampled_from(["", *BRANDS]),
    category=st.sampled_from(["", *CATEGORIES]),
    size=st.integers(1, 6),
)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_the_editors_lists_hold_just_the_deals_of_their_state(
    initial, state, brand, category, size, new_table, wait_for_indexes
):
    model = set_up(new_table, [])
    wanted = []
    for live_at, (of_brand, of_category), expiry in initial:
        expires_at = None if expiry is None else NOW + expiry
        if expires_at and expires_at <= live_at:
            continue
        deal = make_deal(live_at=live_at, brand=BRANDS[of_brand], category=of_category, expires_at=expires_at)
        model.put(deal.id, (of_brand, of_category))
        at = deal.card.state(NOW)
        in_state = state == "all" or at == state or (state == "live" and at == "ending")
        if in_state and brand in ("", of_brand) and category in ("", of_category):
            wanted.append((expires_at or NOW, deal.id))
    wait_for_indexes()
    if state == "ending":
        expected = [deal_id for _, deal_id in sorted(wanted)]
    elif state == "expired":
        expected = [deal_id for _, deal_id in sorted(wanted, reverse=True)]
    else:
        expected = sorted((deal_id for _, deal_id in wanted), reverse=True)

    ask = partial(lists.cms_list, DealFilter(state, brand, category), now=NOW, size=size)
    page = ask()
    pages = [page]
    while page.after:
        page = ask(after=page.after)
        pages.append(page)
        assert len(pages) <= len(initial) + 14
    assert [card.id for one in pages for card in one.cards] == expected
    assert pages[0].before is None
    back: list[str] = []
    while page.before:
        page = ask(before=page.before)
        back = [card.id for card in page.cards] + back
    assert [*back, *(card.id for card in pages[-1].cards)] == expected


@pytest.fixture
def ending_in_a_row(whole_table, wait_for_indexes):
    """Deals that end 12 hours apart: 40 days from now, and a bit before and after."""
    made = [
        make_deal(live_at=NOW - DAY, title=f"{n}", expires_at=NOW + n * DAY / 2, category="toys-hobbies")
        for n in range(1, 90)
    ]
    make_deal(live_at=NOW - DAY, title="another's", expires_at=NOW + 9 * DAY, brand="Aurora")
    make_deal(live_at=NOW + DAY, title="not there yet", expires_at=NOW + 9 * DAY, category="toys-hobbies")
    wait_for_indexes()
    return made


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize(
    ("brand", "category"), [("nordlicht", ""), ("", "toys-hobbies"), ("nordlicht", "toys-hobbies")]
)
@pytest.mark.budget
def test_a_range_of_forty_days_of_expiry_is_answered_whole_month_by_month(ending_in_a_row, brand, category):
    first, last = ids.iso(NOW + DAY), ids.iso(NOW + 40 * DAY)  # 22 November to 31 December
    source = lists.ending_between(first, last, DealFilter(brand=brand, category=category), now=NOW)
    with table.metered() as meter:
        page = lists.read(source, size=100)
    expected = [deal.id for deal in ending_in_a_row[1:80]]
    assert [card.id for card in page.cards] == expected
    assert (page.after, page.before, page.searched_back_to) == (None, None, None)
    assert [call[0] for call in meter.log] == ["Query", "Query", "BatchGetItem"]

    latest_first = replace(source, soonest_first=False)
    for one, order in ((source, expected), (latest_first, expected[::-1])):
        pages = list(to_end(lambda after, one=one: lists.read(one, cursor_of(after), size=25)))
        assert [card.id for page in pages for card in page.cards] == order
        assert len(pages) == 4
        back = lists.read(one, cursor_of(before=pages[-1].before), size=25)
        assert back.cards == pages[-2].cards


@pytest.mark.usefixtures("whole_table")
@pytest.mark.budget
def test_a_range_of_years_is_looked_through_by_twelve_months_a_page(wait_for_indexes):
    deal = make_deal(live_at=NOW - DAY, expires_at=NOW + 1000 * DAY)
    wait_for_indexes()
    source = lists.ending_between(ids.iso(NOW), ids.iso(NOW + 2000 * DAY), DealFilter(), now=NOW)
    pages = []
    for after in (None, *(f"{month}-01T00:00:00.000Z~{'0' * 26}" for month in ("2027-11", "2028-11"))):
        with table.metered() as meter:
            pages.append(lists.read(source, cursor_of(after)))
        assert len([call for call in meter.log if call[0] == "Query"]) == 12
    assert [page.cards for page in pages] == [[], [], [deal.card]]
    assert pages[0].after == f"2027-11-01T00:00:00.000Z~{'0' * 26}"
    assert pages[0].searched_back_to == datetime(2027, 11, 1, tzinfo=UTC)


def cursor_of(after=None, before=None) -> Cursor:
    return Cursor(after, before, by_expiry=True)


@pytest.mark.usefixtures("whole_table")
def test_drafts_are_listed_newest_first_by_brand_and_by_category(wait_for_indexes):
    made = [
        make_draft(draft_id=make_id(NOW - n * HOUR), title=f"{n}", brand=brand, category=category)
        for n, (brand, category) in enumerate(
            [("", ""), ("Nordlicht", ""), ("", "toys-hobbies"), ("Nordlicht", "toys-hobbies"), ("Aurora", "")]
        )
    ]
    wait_for_indexes()

    def listed(**filters: Any) -> list[str]:
        return [card.title for card in lists.cms_list(DealFilter("draft", **filters), now=NOW).cards]

    assert listed() == ["0", "1", "2", "3", "4"]
    assert listed(brand="nordlicht") == ["1", "3"]
    assert listed(category="toys-hobbies") == ["2", "3"]
    assert listed(brand="nordlicht", category="toys-hobbies") == ["3"]
    assert made[0].card.title == "0"


@pytest.mark.usefixtures("whole_table")
def test_drafts_lead_forth_and_back(wait_for_indexes):
    for n in range(55):
        make_draft(draft_id=make_id(NOW - n * HOUR), title=f"{n}")
    wait_for_indexes()
    ask = partial(lists.cms_list, DealFilter("draft"), now=NOW)
    first = ask()
    second = ask(after=first.after)
    third = ask(after=second.after)
    assert [card.title for page in (first, second, third) for card in page.cards] == [
        f"{n}" for n in range(55)
    ]
    assert ask(before=third.before) == second
    assert ask(before=second.before) == first
    assert (first.before, third.after) == (None, None)


@pytest.mark.usefixtures("fresh_table")
@pytest.mark.engines("native")
def test_unknown_filters_are_refused():
    with pytest.raises(errors.Invalid):
        lists.cms_list(DealFilter("ghost"), now=NOW)
    wrong: list[dict[str, Any]] = [
        {"brand": "No Slug"},
        {"brand": "ghost"},
        {"category": "ghost"},
        {"brand": "x#y"},
    ]
    for filters in wrong:
        with pytest.raises(errors.NotFound):
            lists.cms_list(DealFilter(**filters), now=NOW)
