"""What the page of a deal says of the prices that it has had."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.test import Client

from dealsite.data import keys, table
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.deal import editing
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.prices import Price
from dealsite.data.table.writes import Delete, Update
from dealsite.web.deal_page import price_chart
from tests.builders import DAY, EDITOR, HOUR, NOW, make_content, make_deal

pytestmark = pytest.mark.usefixtures("shop")


def page_of(client: Client, deal: Deal) -> str:
    return client.get(f"/deals/{deal.id}/{deal.card.slug}/").content.decode()


def reprice(deal: Deal, price: str, was_price: str | None, days_ago: int) -> Deal:
    content = make_content(price=Decimal(price), was_price=Decimal(was_price) if was_price else None)
    brand = Brand("nordlicht", "Nordlicht")
    return editing.edit(deal, content, version=deal.version, brand=brand, by=EDITOR, now=NOW - days_ago * DAY)


def test_beside_the_price_before_stands_the_lowest_of_the_30_days_before(client: Client):
    deal = make_deal(live_at=NOW - 90 * DAY)
    deal = reprice(deal, "69.90", "119.00", 20)
    deal = reprice(deal, "99.00", "119.00", 10)
    deal = reprice(deal, "75.00", "119.00", 5)
    assert 'in the 30 days before: <span class="tabular-nums">€69.90</span>' in page_of(client, deal)


def test_without_a_price_before_no_reduction_is_announced_and_nothing_said(client: Client):
    assert "Lowest price" not in page_of(client, make_deal(was_price=None))


def test_of_a_deal_with_one_price_the_first_one_known_is_named_and_no_chart_drawn(client: Client):
    page = page_of(client, make_deal())
    assert 'in the last 30 days: <span class="tabular-nums">€79.90</span>' in page
    assert "Price history" not in page


def test_a_deal_of_before_prices_were_kept_is_shown_like_a_new_one(client: Client):
    deal = make_deal()
    table.write(Delete(key=keys.price(deal.id, deal.live_at, deal.id)))
    table.write(Update(key=keys.deal(deal.id), remove=["has_prices"]))
    assert 'in the last 30 days: <span class="tabular-nums">€79.90</span>' in page_of(client, deal)


def test_the_chart_says_in_words_and_as_a_table_what_it_shows(client: Client):
    deal = reprice(make_deal(live_at=NOW - 40 * DAY), "69.90", None, 10)
    page = page_of(client, deal)
    assert (
        "€79.90 from 12 Oct 2026, €69.90 since 11 Nov 2026; the highest price was €79.90, the lowest €69.90."
    ) in page
    rows = re.findall(r'<td class="tabular-nums">(.*?)</td>', page)
    assert rows == ["€69.90", "–", "€79.90", "€119.00"]
    svg = re.findall(r"<svg[^>]*role=\"img\".*?</svg>", page, re.DOTALL)
    assert len(svg) == 1
    assert "style" not in svg[0]


def test_the_line_steps_where_prices_changed():
    history = [
        Price(NOW - 4 * DAY, Decimal(100)),
        Price(NOW - 3 * DAY, Decimal(50)),
        Price(NOW - 1 * DAY, Decimal(75)),
    ]
    chart = price_chart(history, NOW)
    assert chart is not None
    assert chart.line == "M0 6H150V114H450V60H600"
    assert chart.area == "M0 6H150V114H450V60H600V120H0Z"
    assert price_chart(history[:1], NOW) is None


def test_a_chart_of_a_deal_that_has_just_come_out_is_drawn_too():
    chart = price_chart([Price(NOW, Decimal(2)), Price(NOW, Decimal(1))], NOW)
    assert chart is not None
    assert chart.line == "M0 6H0V114H600"


def test_a_scheduled_deal_shows_no_price_of_before(client: Client):
    deal = make_deal(live_at=NOW + HOUR)
    content = make_content(price=Decimal(5))
    deal = editing.edit(
        deal, content, version=1, brand=Brand("nordlicht", "Nordlicht"), by=EDITOR, now=NOW - HOUR
    )
    assert client.get(f"/deals/{deal.id}/{deal.card.slug}/").status_code == 404
