"""The way to a shop: it counts who goes there, but no robot, and never in the visitor's time."""

from __future__ import annotations

import pytest
from django.test import Client

from dealsite.data.catalogue import activity, deal_changes
from dealsite.data.table.errors import Unavailable
from tests.builders import DAY, EDITOR, HOUR, LINK, NOW, make_deal

pytestmark = pytest.mark.usefixtures("shop")
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile Safari/604.1"
GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


def go(deal, agent=FIREFOX, **more):
    return Client().get(f"/go/{deal.id}/", headers={"User-Agent": agent, **more.pop("headers", {})}, **more)


def counted(deal) -> int:
    activity.flush()
    return sum(day.clicks for day in activity.of_deal(deal.id, since=NOW.date()).values())


def test_the_way_leads_to_the_shop_and_is_kept_by_nobody():
    response = go(make_deal(link="https://shop.example/a?b=1&c=2"))
    assert (response.status_code, response["Location"]) == (302, "https://shop.example/a?b=1&c=2")
    assert "no-store" in response["Cache-Control"]
    assert response["X-Robots-Tag"] == "noindex"
    assert not response.cookies


def test_what_is_sold_here_has_no_way_to_a_shop():
    deal = make_deal(stock=3, link=LINK)
    assert go(deal)["Location"] == f"/deals/{deal.id}/{deal.card.slug}/"
    assert counted(deal) == 0


def test_what_nobody_may_see_has_no_way():
    soon, gone = make_deal(link=LINK, live_at=NOW + DAY), make_deal(link=LINK)
    deal_changes.delete(gone, by=EDITOR, now=NOW)
    for address in (f"/go/{soon.id}/", f"/go/{gone.id}/", "/go/x/", "/go/%00/"):
        assert Client().get(address).status_code == 404


def test_over_deals_lead_there_still():
    assert go(make_deal(link=LINK, live_at=NOW - DAY, expires_at=NOW - HOUR))["Location"] == LINK


def test_each_visitor_counts_once_a_day_and_deal():
    deal, other = make_deal(link=LINK), make_deal(link=LINK)
    for agent, address in (
        (FIREFOX, "203.0.113.7"),
        (FIREFOX, "203.0.113.7"),
        (SAFARI, "203.0.113.7"),
        (FIREFOX, "203.0.113.8"),
        (FIREFOX, "2001:db8::1"),
        (FIREFOX, "2001:db8::2"),
    ):
        go(deal, agent, REMOTE_ADDR=address)
    go(other)
    assert (counted(deal), counted(other)) == (4, 1)
    go(deal, REMOTE_ADDR="203.0.113.7")  # when those before are counted
    assert counted(deal) == 4


@pytest.mark.parametrize(
    "headers",
    [
        {"User-Agent": ""},
        {"User-Agent": GOOGLE},
        {"User-Agent": "curl/8.5.0"},
        {"User-Agent": "python-requests/2.32"},
        {"User-Agent": "facebookexternalhit/1.1"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Sec-Purpose": "prefetch"},
    ],
)
def test_robots_and_browsers_that_look_ahead_are_not_counted(headers):
    deal = make_deal(link=LINK)
    assert go(deal, headers=headers)["Location"] == LINK
    assert counted(deal) == 0


def test_who_asks_for_the_head_only_is_not_counted():
    deal = make_deal(link=LINK)
    assert Client().head(f"/go/{deal.id}/", headers={"User-Agent": FIREFOX}).status_code == 302
    assert counted(deal) == 0


def test_what_cannot_be_counted_now_is_counted_later(monkeypatch):
    deal, real = make_deal(link=LINK), activity.count

    def away(*_):
        raise Unavailable()

    monkeypatch.setattr(activity, "count", away)
    go(deal)
    with pytest.raises(Unavailable):
        activity.flush()
    monkeypatch.setattr(activity, "count", real)
    assert counted(deal) == 1


def test_a_flood_is_noted_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(activity, "MOST", 3)
    deal = make_deal(link=LINK)
    for number in range(9):
        go(deal, REMOTE_ADDR=f"203.0.113.{number}")
    assert counted(deal) == 3


def test_no_address_is_in_what_is_noted():
    deal = make_deal(link=LINK)
    go(deal, REMOTE_ADDR="203.0.113.7")
    ((place, noted),) = activity._noted.items()
    assert place == (deal.id, NOW.date())
    assert {len(visitor) for visitor in noted.visitors} == {4}
