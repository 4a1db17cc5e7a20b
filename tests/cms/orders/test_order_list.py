"""The back office finds any order, narrows all of them down, and opens one by its number."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils.html import strip_tags
from django.utils.http import urlencode

from dealsite.data.commerce import order_changes, orders
from dealsite.data.table.ids import new_ulid
from tests.builders import DAY, HOUR, NOW, make_deal
from tests.cms.conftest import HTMX
from tests.cms.orders.test_orders import LIST, ids, ship, text
from tests.orders import ADDRESS, make_order
from tests.payments import pay
from tests.people import calls as of_page

TOMAS = replace(ADDRESS, name="Tomáš Dvořák", postcode="180 00", city="Prague", country="CZ")


@pytest.fixture
def three(search_index):
    """Orders of Ada (newest, paid), Tomáš (on the way) and Zoe (declined), in the index."""
    deal = make_deal(title="Quiet keyboard", live_at=NOW - 9 * DAY)
    lamp = make_deal(title="Brass lamp", live_at=NOW - 9 * DAY)
    made = [
        pay(make_order("ada", deal, lamp, now=NOW)),
        make_order("tomas", lamp, quantity=2, now=NOW - HOUR, address=TOMAS),
        pay(make_order("zoe", deal, now=NOW - 2 * DAY), "decline"),
    ]
    ship(made[1])
    search_index()
    return made


def numbers(page):
    found = re.findall(
        r'<a href="/cms/orders/[^"]*" ?(?:aria-current="true")?>([^<]+) <span class="number">(\d+)', page
    )
    return {name.strip(): int(number) for name, number in found}


def test_all_orders_are_listed_newest_first_with_how_many_each_list_has(office, three):
    answer = office.get(LIST)
    page = text(answer)
    assert ids(answer) == [order.id for order in three]
    assert numbers(page) == {
        "All": 3,
        "To ship": 2,
        "On the way": 1,
        "Delivered": 0,
        "Cancelled": 0,
        "Returned": 0,
        "Payment failed": 1,
    }
    assert "1–3 of 3, sum €399.50" in page
    assert of_page(answer) == ["BatchGetItem"] * 2
    for words in ("Quiet keyboard", "+1", "Prague", ", Czechia", "Pack all 1 paid"):
        assert words in page


def test_a_list_says_what_of_an_order_is_not_charged(office):
    order = make_order("ada", make_deal(price=Decimal("10.00"), was_price=None), quantity=2)
    (line,) = orders.lines_of(order)
    order_changes.cancel("ada", order.id, pieces={line.id: 1}, by="kim", now=NOW)
    for place in ("/cms/orders/?list=placed", "/cms/customers/ada/", "/cms/"):
        assert "€20.00 −€10.00" in " ".join(strip_tags(text(office.get(place))).split())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "dvorak"}, [1]),
        ({"q": "dvorka"}, [1]),
        ({"q": "159.80"}, [0, 1]),
        ({"q": "lamp"}, [0, 1]),
        ({"q": "lamp", "list": "placed"}, [0]),
        ({"list": "failed"}, [2]),
        ({"list": "shipped", "country": "Czechia"}, [1]),
        ({"list": "placed", "country": "Czechia"}, []),
        ({"payment": "paid"}, [0]),
        ({"product": "keyboard"}, [0, 2]),
        ({"first": "2026-11-20"}, [0, 1]),
        ({"last": "2026-11-20"}, [2]),
        ({"least": "100", "most": "159.80"}, [0, 1]),
    ],
)
def test_orders_are_found_and_narrowed(office, three, query, found):
    answer = office.get(LIST, query)
    listed = query.get("list")
    assert ids(answer) == [three[n].id for n in (found[::-1] if listed in ("placed", "shipped") else found)]
    chips = set(query) - {"q", "list"}
    assert text(answer).count("Without this:") == len(chips)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"first": "x"}, "Placed from: Enter a valid date."),
        ({"least": "-1"}, "Amount from: Write the amount with digits and a point"),
        ({"payment": "gone"}, "Payment: Select a valid choice."),
    ],
)
def test_a_filter_that_is_none_is_said_and_narrows_nothing(office, three, query, words):
    answer = office.get(LIST, query)
    assert words in text(answer)
    assert len(ids(answer)) == 3
    sent = {"token": new_ulid(NOW), "address": f"{LIST}?{urlencode(query)}"}
    assert office.post(reverse("cms_export_list"), sent).status_code == 400


def test_an_order_is_opened_by_its_number_id_or_link(office, three):
    order = three[2]
    said = order.id[-6:]
    link = f"https://shop.example/account/orders/{order.id}/"
    for typed in (order.id, f" {order.id.lower()} ", link, said, f"#{said}"):
        assert office.get(LIST, {"q": typed})["Location"] == f"/cms/orders/zoe/{order.id}/", typed
        assert office.get(LIST, {"q": typed}, headers=HTMX).status_code == 200


def test_an_order_is_opened_by_the_number_of_its_parcel(office, search_index):
    order = make_order("ada")
    order_changes.ship("ada", order.id, tracking="JD 0146", unpaid=True, by="olga", now=NOW)
    search_index()
    assert office.get(LIST, {"q": "jd0146"})["Location"] == f"/cms/orders/ada/{order.id}/"


def test_the_id_or_link_of_a_deal_leads_to_its_orders(office, three):
    lamp = make_deal().id
    assert (
        office.get(LIST, {"q": f"https://shop.example/deals/{lamp}/x/"})["Location"]
        == f"{LIST}?product={lamp}"
    )


def test_customers_and_payments_that_fit_are_named_beside_the_orders(office, three):
    page = text(office.get(LIST, {"q": "tomas"}))
    assert '<dt class="text-muted">Customers</dt>' in page
    assert 'href="/cms/customers/tomas/">' in page
    (payment,) = three[1].payments
    assert f"/cms/payments/{payment['id']}/" in page
    assert '<dt class="text-muted">Customers</dt>' not in text(office.get(LIST))


def test_while_one_types_the_list_alone_comes_and_the_address_follows(office, three):
    answer = office.get(LIST, {"q": "dvorak", "list": ""}, headers=HTMX)
    assert ids(answer) == [three[1].id]
    assert answer["HX-Replace-Url"] == f"{LIST}?q=dvorak"
    assert 'hx-swap-oob="true"' in text(answer)
    assert "<html" not in text(answer)


def test_nothing_found_is_said_and_leads_back(office, three):
    page = text(office.get(LIST, {"q": "xyzzy"}))
    assert "No order fits." in page
    assert "Take all filters away" in page


def test_without_an_index_all_orders_wait_and_those_to_ship_are_there(office, search_index):
    order = make_order("ada")
    assert "Search is being set up" in text(office.get(LIST))
    assert ids(office.get(LIST, {"list": "placed"})) == [order.id]


def test_an_order_that_is_gone_from_the_table_is_not_listed(office, three, search_index):
    page = reverse("cms_order", args=["tomas", three[1].id])
    assert office.get(page).status_code == 200
    ship(three[0])
    shown = text(office.get(LIST, {"list": "placed", "q": "ada"}))
    assert '<span class="state-badge" data-state="ending">On the way</span>' in shown  # as the table has it


def test_the_palette_finds_orders_customers_and_payments_for_the_back_office_alone(office, editor, three):
    page = text(office.get(reverse("cms_palette"), {"q": "dvorak"}))
    assert f"{three[1].id[-6:]} · Tomáš Dvořák" in page
    assert 'href="/cms/customers/tomas/"' in page
    assert "Tomáš" not in text(editor.get(reverse("cms_palette"), {"q": "dvorak"}))
