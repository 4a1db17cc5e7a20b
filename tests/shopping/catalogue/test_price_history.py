"""What the page of a deal says of the prices that it has had."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.test import Client

from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.deals import Deal, Price
from dealsite.data.table.writes import Delete, Update
from dealsite.web.deal_page import price_chart
from tests.builders import DAY, EDITOR, HOUR, NOW, STATED, make_content, make_deal

pytestmark = pytest.mark.usefixtures("shop")


def page_of(client: Client, deal: Deal) -> str:
    return client.get(f"/deals/{deal.id}/{deal.card.slug}/").content.decode()


def chart_paths(page: str) -> list[str]:
    (chart,) = re.findall(r"<svg[^>]*role=\"img\".*?</svg>", page, re.DOTALL)
    return re.findall(r'<path d="(.*?)"', chart)


def reprice(deal: Deal, price: str, was_price: str | None, days_ago: int) -> Deal:
    content = make_content(price=Decimal(price), was_price=Decimal(was_price) if was_price else None)
    brand = Brand("nordlicht", "Nordlicht")
    return deal_changes.edit(
        deal, content, version=deal.version, brand=brand, by=EDITOR, now=NOW - days_ago * DAY
    )


LOW = "Lowest price of the 30 days before: <b>€{}</b>. You pay <b>€{}</b> less."
STEPS: dict[
    str, tuple[list[tuple[str, int]], str, str]
] = {  # prices with the days since -> what is said, the percent
    "reduced": ([("69.90", 20), ("99.00", 10), ("55.00", 5)], LOW.format("69.90", "14.90"), "−21%"),
    "reduced a little": ([("78.00", 5)], LOW.format("79.90", "1.90"), ""),
    "raised": ([("89.90", 5)], "up from €79.90", ""),
    "raised, then lowered": ([("99.00", 9), ("85.00", 5)], "RRP €119.00", ""),
    "one price": ([], "RRP €119.00", ""),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_is_said_of_a_price_is_what_its_history_allows(client: Client, name: str):
    deal, (steps, words, percent) = make_deal(live_at=NOW - 90 * DAY), STEPS[name]
    for price, days_ago in steps:
        deal = reprice(deal, price, "119.00", days_ago)
    page = page_of(client, deal)
    assert " ".join(re.search(r'<p class="price-said">(.*?)</p>', page, re.DOTALL)[1].split()).endswith(words)
    assert re.findall(r'class="cut">.*?</span>(−\d+%)', page) == [percent] * bool(percent)
    assert ("<s " in page) is bool(percent)
    front = client.get("/").content.decode()
    assert re.findall(r"−\d+%", front) == [percent] * bool(percent)
    feed = client.get("/deals.atom").content.decode()
    assert re.findall(r"\((30-day low|up from|RRP) ", feed) == [
        "30-day low" if words.startswith("Lowest") else words.partition(" €")[0]
    ]
    deal_changes.expire_now(deal, by=EDITOR, now=NOW)
    feed = client.get("/deals.atom").content.decode()
    assert not any(sign in feed for sign in ("30-day low", "RRP", "up from"))
    page = page_of(client, deal)
    assert not any(sign in page for sign in ("price-said", 'class="cut"', "<s "))


def test_of_a_price_that_the_shop_states_the_day_is_said(client: Client):
    page = page_of(client, make_deal(**STATED))
    assert "As the shop stated it on 21 Nov 2026." in page


def test_a_deal_of_before_prices_were_kept_is_shown_like_a_new_one(client: Client):
    deal = make_deal()
    table.write(Delete(key=keys.price(deal.id, deal.live_at, deal.id)))
    table.write(Update(key=keys.deal(deal.id), remove=["has_prices"]))
    page = page_of(client, deal)
    assert "RRP €119.00" in page
    assert "Price history" not in page


def test_the_chart_says_in_words_and_as_a_table_what_it_shows(client: Client):
    deal = reprice(make_deal(live_at=NOW - 40 * DAY), "69.90", None, 10)
    page = page_of(client, deal)
    assert (
        "€79.90 from 12 Oct 2026, €69.90 since 11 Nov 2026; the highest price was €79.90, the lowest €69.90."
    ) in page
    rows = re.findall(r'<td class="tabular-nums">(.*?)</td>', page)
    assert rows == ["€69.90", "€79.90"]
    svg = re.findall(r"<svg[^>]*role=\"img\".*?</svg>", page, re.DOTALL)
    assert len(svg) == 1
    assert "style" not in svg[0]


def test_the_line_steps_where_prices_changed():
    history = [
        Price(NOW - 4 * DAY, Decimal(100)),
        Price(NOW - 3 * DAY, Decimal(50)),
        Price(NOW - 1 * DAY, Decimal(75)),
    ]
    chart = price_chart(history, None, NOW)
    assert chart is not None
    assert chart.line == "M0 6H150V114H450V60H600"
    assert chart.area == "M0 6H150V114H450V60H600V120H0Z"
    assert price_chart(history[:1], None, NOW) is None


def test_the_chart_shades_the_30_days_and_draws_the_low_that_the_saving_compares_with(client: Client):
    deal = reprice(make_deal(live_at=NOW - 80 * DAY), "99.00", None, 60)
    deal = reprice(reprice(deal, "90.00", None, 30), "63.00", None, 20)
    page = page_of(client, deal)
    assert chart_paths(page) == [
        "M225 0H450V120H225Z",  # from 50 to 20 days ago, of 80
        "M450 33H600",  # 90.00, between 99.00 and 63.00
        "M0 63H150V6H375V33H450V114H600V120H0Z",
        "M0 63H150V6H375V33H450V114H600",
    ]
    said = " ".join(re.search(r"<figcaption.*?>(.*?)</figcaption>", page, re.DOTALL)[1].split())
    assert said == (
        "Prices here since 2 Sep 2026. Shaded: the 30 days before the reduction of 1 Nov 2026. "
        "Dashed: their lowest price, €90.00, which the saving compares with."
    )
    page = page_of(client, reprice(deal, "95.00", None, 1))
    assert len(chart_paths(page)) == 2
    assert "Shaded" not in page


def test_the_chart_draws_the_prices_of_who_sells_it_now(client: Client):
    deal = reprice(make_deal(live_at=NOW - 40 * DAY), "99.00", None, 30)
    brand = Brand("nordlicht", "Nordlicht")
    for price, days_ago in (("80.00", 9), ("70.00", 4)):
        content = make_content(price=Decimal(price), link="https://shop.example/")
        deal = deal_changes.edit(
            deal, content, version=deal.version, brand=brand, by=EDITOR, now=NOW - days_ago * DAY
        )
        page = page_of(client, deal)
        assert ("Price history" in page) is (price == "70.00")
    assert re.findall(r'<td class="tabular-nums">(.*?)</td>', page) == ["€70.00", "€80.00"]
    assert "Prices of shop.example since 12 Nov 2026." in page


def test_a_chart_of_a_deal_that_has_just_come_out_is_drawn_too():
    chart = price_chart([Price(NOW, Decimal(2)), Price(NOW, Decimal(1))], None, NOW)
    assert chart is not None
    assert chart.line == "M0 6H0V114H600"


def test_a_scheduled_deal_shows_no_price_of_before(client: Client):
    deal = make_deal(live_at=NOW + HOUR)
    content = make_content(price=Decimal(5))
    deal = deal_changes.edit(
        deal, content, version=1, brand=Brand("nordlicht", "Nordlicht"), by=EDITOR, now=NOW - HOUR
    )
    assert client.get(f"/deals/{deal.id}/{deal.card.slug}/").status_code == 404
