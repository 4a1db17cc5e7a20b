"""The hot deals: how they are ranked, which deals take part, and their pages."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import activity, deal_changes, deals, hot, relations
from dealsite.data.catalogue.hot import HotDeal, Ranking
from dealsite.data.integrity import checks
from dealsite.data.jobs import site_switch
from dealsite.data.table.errors import BadCursor
from tests.builders import DAY, EDITOR, HOUR, NOW, Clock, make_deal, make_id
from tests.measuring import measured
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("whole_table")
TODAY = NOW.date()


def hottest():
    return [deal.id for deal in hot.read().deals]


def known(*of_ranking):
    """Let this process know a ranking of some deals."""
    entries = [
        HotDeal(deal.id, deal.card.brand, deal.card.category, 3, deal.card.expires_at) for deal in of_ranking
    ]
    hot.of_process.keep(Ranking(tuple(entries), NOW))


def pages(start=None, *, back=False, **filters):
    """Return the ids on each page from one on, or back from it."""
    found, cursor = [], start
    while True:
        page = hot.hot_deals(now=NOW, **{"before" if back else "after": cursor}, **filters)
        found.append([card.id for card in page.cards])
        if (cursor := page.before if back else page.after) is None:
            return found


@pytest.mark.engines("native")
@pytest.mark.parametrize(
    ("clicks", "likes", "orders", "hours", "found"),
    [
        (0, 0, 0, 1, 0),
        (1, 0, 0, 0, 0.0507),
        (4, 0, 0, 0, 0.2028),
        (0, 1, 0, 0, 0.2028),
        (0, 0, 1, 0, 0.5070),
        (10, 0, 0, 12, 0.2207),
        (100, 0, 0, 24, 1.3566),
        (100, 0, 0, 24 * 7, 0.1966),
        (20, 10, 5, 48, 0.8084),
    ],
)
def test_how_hot_a_deal_is(clicks, likes, orders, hours, found):
    age = timedelta(hours=hours)
    assert round(hot.score(clicks=clicks, likes=likes, orders=orders, age=age), 4) == found


@pytest.mark.engines("native")
def test_nothing_is_hot_before_a_worker_has_ranked():
    assert measured(hot.read)() == Ranking()
    assert hot.hot_deals(now=NOW).cards == []
    assert hot.likes(make_id()) == 0


def test_deals_are_ranked_by_what_happened_to_them_and_by_their_age(wait_for_indexes):
    clicked, ordered, old, over, idle, liked = (
        make_deal(live_at=NOW - hours * HOUR, expires_at=ends)
        for hours, ends in ((3, None), (2, None), (90, None), (30, NOW - HOUR), (1, None), (4, None))
    )
    later, gone = make_deal(live_at=NOW + HOUR), make_deal()
    make_user("sam")
    relations.add(relations.DEAL_LIKE, liked.id, "sam", now=NOW)
    activity.count(liked.id, TODAY - 2 * DAY)
    activity.count(clicked.id, TODAY, {"0001", "0002", "0003"})
    activity.count(ordered.id, TODAY - DAY, orders=1)
    activity.count(over.id, TODAY, {"0001", "0002"})
    activity.count(old.id, TODAY - 2 * DAY, {"0001"})
    activity.count(old.id, TODAY - 6 * DAY, {"0001"}, orders=1)
    activity.count(old.id, TODAY - 7 * DAY, orders=99)  # a week ago
    activity.count(idle.id, TODAY - 3 * DAY, orders=1)  # too long ago to be looked for
    for one in (later, gone):
        activity.count(one.id, TODAY, orders=9)
    deal_changes.delete(gone, by=EDITOR, now=NOW)
    relations.remove(relations.DEAL_LIKE, liked.id, "sam")
    relations.add(relations.DEAL_LIKE, liked.id, "sam", now=NOW)
    wait_for_indexes()
    hot.rank(now=NOW)
    wait_for_indexes()
    assert hottest() == [one.id for one in (ordered, liked, clicked, old, over)]
    assert hot.read().deals[1] == HotDeal(liked.id, "nordlicht", "peripherals-networking", 1)
    assert hot.read().deals[-1].expires_at == NOW - HOUR
    assert checks.find() == []


def test_one_worker_ranks_each_ten_minutes_and_what_was_hot_is_looked_at_again(wait_for_indexes):
    first, second = make_deal(), make_deal()
    activity.count(first.id, TODAY, {"0001"})
    wait_for_indexes()
    measured(hot.rank)(now=NOW)
    activity.count(second.id, TODAY, {"0001"})
    wait_for_indexes()
    hot.rank(now=NOW + timedelta(minutes=9, seconds=59))
    assert hottest() == [first.id]
    hot.rank(now=NOW + hot.EVERY)
    wait_for_indexes()
    assert hottest() == [second.id, first.id]  # of as many points the newer one
    hot.rank(now=NOW - HOUR)  # the clock was ahead
    wait_for_indexes()
    assert hot.read().at == NOW - HOUR
    hot.rank(now=NOW + 4 * DAY)  # nothing happened for days
    wait_for_indexes()
    assert hottest() == [second.id, first.id]
    hot.rank(now=NOW + 9 * DAY)
    wait_for_indexes()
    assert hottest() == []


def test_its_work_is_bounded_and_what_was_hot_comes_first_then_the_newest(monkeypatch, wait_for_indexes):
    monkeypatch.setattr(hot, "AT_ONCE", 2)
    made = [make_deal() for _ in range(6)]
    for number, deal in enumerate(made):
        activity.count(deal.id, TODAY - DAY * (number == 5), {f"{n:04x}" for n in range(9 - number)})
    wait_for_indexes()
    monkeypatch.setattr(hot, "CANDIDATES", 3)
    hot.rank(now=NOW)
    wait_for_indexes()
    assert hottest() == [one.id for one in made[2:5]]
    monkeypatch.setattr(hot, "CANDIDATES", 4)
    monkeypatch.setattr(hot, "MOST_HOT", 3)
    activity.count(made[2].id, TODAY - DAY, orders=5)
    hot.rank(now=NOW + hot.EVERY)
    wait_for_indexes()
    assert hottest() == [made[2].id, made[3].id, made[4].id]
    monkeypatch.setattr(hot, "CANDIDATES", 9)
    hot.rank(now=NOW + 2 * hot.EVERY)
    wait_for_indexes()
    assert hottest() == [made[2].id, made[0].id, made[1].id]


def test_two_workers_that_rank_at_once_come_to_the_same(monkeypatch, wait_for_indexes):
    deal = make_deal()
    activity.count(deal.id, TODAY, {"0001"})
    wait_for_indexes()
    hot.rank(now=NOW)
    before = table.get(keys.hot_deals())
    with monkeypatch.context() as patched:
        patched.setattr(hot, "read", Ranking)
        hot.rank(now=NOW)
    assert table.get(keys.hot_deals()) == before


@pytest.mark.engines("native")
def test_pages_lead_through_all_of_them_in_order_and_back():
    made = [make_deal(live_at=NOW - number % 7 * HOUR - HOUR) for number in range(60)]
    ids = [deal.id for deal in made]
    known(*made)
    assert measured(hot.hot_deals)(now=NOW).cards[0] == made[0].card
    assert pages() == [ids[:25], ids[25:50], ids[50:]]
    assert pages(ids[50], back=True) == [ids[25:50], ids[:25]]
    middle = hot.hot_deals(now=NOW, after=ids[24])
    assert (middle.before, middle.after) == (ids[25], ids[49])
    assert hot.hot_deals(now=NOW).before is None
    end = hot.hot_deals(now=NOW, after=ids[-1])
    assert (end.cards, end.after, end.before) == ([], None, ids[-1])


@pytest.mark.engines("native")
def test_a_cursor_stays_with_its_deal_and_one_that_is_gone_leads_to_the_first_page():
    made = [make_deal() for _ in range(30)]
    ids = [deal.id for deal in made]
    known(*made[::-1])
    assert pages(ids[4]) == [ids[3::-1]]  # it was the fifth, and is the fifth from the end
    known(*made[1:])
    first = hot.hot_deals(now=NOW)
    for after, before in ((ids[0], None), (None, ids[0]), (None, ids[1])):
        assert hot.hot_deals(now=NOW, after=after, before=before) == first
    for after, before in (("x", None), (None, "01M7"), (ids[1], ids[2])):
        with pytest.raises(BadCursor):
            hot.hot_deals(now=NOW, after=after, before=before)


@pytest.mark.engines("native")
def test_pages_hold_one_brand_or_category_and_what_is_over_only_where_asked_for():
    aurora = make_deal(brand="Aurora")
    toy = make_deal(category="toys-hobbies")
    over = make_deal(live_at=NOW - DAY, expires_at=NOW)
    ends = make_deal(expires_at=NOW + HOUR)
    known(over, toy, ends, aurora)
    assert pages() == [[toy.id, ends.id, aurora.id]]
    assert pages(with_over=True) == [[over.id, toy.id, ends.id, aurora.id]]
    assert pages(brand="aurora") == [[aurora.id]]
    assert pages(category="toys-hobbies") == [[toy.id]]
    assert pages(over.id, brand="aurora") == [[aurora.id]]
    assert pages(brand="aurora", category="toys-hobbies") == [[]]
    ranked_before_it_ended = HotDeal(over.id, "nordlicht", over.card.category, 0)
    hot.of_process.keep(Ranking((ranked_before_it_ended,), NOW))
    assert (pages(), pages(with_over=True)) == ([[]], [[over.id]])


@pytest.mark.engines("native")
def test_a_page_is_filled_though_many_have_gone_or_ended_since(monkeypatch):
    monkeypatch.setattr(hot, "PAGE_SIZE", 3)
    monkeypatch.setattr(hot, "FIRST_READ", 5)
    monkeypatch.setattr(hot, "NEXT_READ", 7)
    made = [make_deal(live_at=NOW - DAY, expires_at=NOW + DAY) for _ in range(16)]
    ids = [deal.id for deal in made]
    known(*made)
    for deal in made[2:10]:
        deal_changes.delete(deals.get(deal.id), by=EDITOR, now=NOW)
    with table.metered() as meter:
        page = hot.hot_deals(now=NOW)
    assert [card.id for card in page.cards] == [ids[0], ids[1], ids[10]]
    assert meter.log == [("BatchGetItem", None)] * 2
    assert pages() == [[ids[0], ids[1], ids[10]], ids[11:14], ids[14:]]
    assert pages(ids[11], back=True) == [[ids[0], ids[1], ids[10]]]
    known(*[deal for deal in made if deal not in made[:2]])
    assert [card.id for card in hot.hot_deals(now=NOW).cards] == ids[10:13]
    with table.metered() as meter:
        assert hot.hot_deals(now=NOW + DAY).cards == []  # as the ranking says by itself
    assert meter.calls == 0


@pytest.mark.engines("native")
def test_a_process_reads_the_ranking_once_a_minute_and_knows_likes_by_it(monkeypatch):
    monkeypatch.setattr(site_switch, "clock", time := Clock())
    deal, made = make_deal(), list[int]()

    def read() -> Ranking:
        made.append(1)
        return Ranking((HotDeal(deal.id, "b", "c", 7),), NOW)

    monkeypatch.setattr(hot, "read", read)
    hot.of_process.forget()
    with table.metered() as meter:
        assert [hot.likes(deal.id), hot.likes(make_id())] == [7, 0]
    assert (len(made), meter.calls) == (1, 0)
    time.now += 59
    assert hot.likes(deal.id) == 7
    assert len(made) == 1
    time.now += 1
    hot.hot_deals(now=NOW)
    assert len(made) == 2
