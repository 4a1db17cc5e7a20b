"""The back office finds a customer, and sees what they ordered, owe, read, want and where they are signed in."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse

from dealsite.data.catalogue import relations
from dealsite.data.commerce.carts import user_cart
from dealsite.data.people import sessions
from dealsite.search.office_finding import CustomerSums, sums_of
from tests.builders import DAY, NOW, make_deal
from tests.cms.conftest import HTMX
from tests.cms.orders.test_orders import ids, link, text
from tests.orders import make_order
from tests.payments import pay
from tests.people import calls as of_page, make_user
from tests.shop import add, make_deals

LIST = "/cms/customers/"


def of(name, **query):
    return reverse("cms_customer", args=[name], query=query)


def test_customers_are_found_with_what_their_orders_come_to(office, search_index):
    pay(make_order("ada", make_deal(), quantity=3, plan=3))
    pay(make_order("bob"), "decline")
    search_index()
    answer = office.get(LIST)
    page = text(answer)
    assert (
        page.index(">Ada Lovelace</a>") < page.index("ada@example.org") < page.index("London, United Kingdom")
    )
    for words in ("€239.70", "€159.80", "€79.90"):  # ordered, to be paid, failed
        assert words in page
    assert of_page(answer) == ["BatchGetItem"]
    found = text(office.get(LIST, {"q": "bob"}, headers=HTMX))
    assert "/cms/customers/bob/" in found
    assert "/cms/customers/ada/" not in found
    assert "No customer fits." in text(office.get(LIST, {"q": "xyzzy"}))


def test_sums_are_of_all_orders_of_each_customer_and_right_to_the_cent(search_index):
    for number in range(3):
        pay(make_order("ada", make_deal(), quantity=3, plan=3), *["decline"] * (number == 2))
    make_order("bob")
    search_index()
    assert sums_of(["ada", "bob", "cyd"]) == {
        "ada": CustomerSums(3, Decimal("719.10"), Decimal("159.80"), Decimal("479.40"), Decimal("79.90")),
        "bob": CustomerSums(1, Decimal("79.90"), Decimal("0.00"), Decimal("79.90"), Decimal("0.00")),
    }
    assert sums_of([]) == {}


def test_a_customer_has_their_orders_and_what_is_known_of_them(office, search_index):
    order = pay(make_order("ada", make_deal(title="Quiet keyboard")))
    search_index()
    answer = office.get(of("ada"))
    page = text(answer)
    assert ids(answer) == [order.id]
    for words in (
        "Quiet keyboard",
        "ada@example.org",
        "12 Analytical Row",
        "Visa ending in 4242",
        "1 order",
        "€79.90",
    ):
        assert words in page
    assert sorted(of_page(answer)) == ["BatchGetItem", "GetItem", "GetItem", "Query"]
    assert office.get("/cms/orders/of/ada/").status_code == 200  # as it was called before


def test_orders_are_paged(office):
    deal = make_deal(live_at=NOW - 2 * DAY)
    made = [make_order("ada", deal, now=NOW - timedelta(seconds=n)).id for n in range(26)]
    first = office.get(of("ada"))
    assert ids(first) + ids(office.get(of("ada") + link(first, "next"))) == made


def test_each_part_is_shown(office, search_index):
    make_order("ada")
    (deal,) = make_deals(1)
    add(user_cart("ada"), deal, 2)
    relations.add(relations.BRAND_WATCH, "nordlicht", "ada", now=NOW)
    relations.add(relations.DEAL_LIKE, deal.id, "ada", now=NOW)
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    sessions.start(make_user("bob"), key="a key", user_agent=agent, address="192.0.2.7", now=NOW)
    search_index()
    for part, words in (
        ("payments", ["Scheduled", "€79.90"]),
        ("messages", ["Thank you: your order is placed", "Unread"]),
        ("cart", ["Deal 0", "In the cart", "2"]),
        ("likes", ["Nordlicht", "Watches", "Deal 0", "Likes"]),
    ):
        page = text(office.get(of("ada", part=part)))
        for word in words:
            assert word in page, part
    page = text(office.get(of("bob", part="sessions")))
    assert "Firefox on Linux" in page
    assert "192.0.2.7" not in page
    assert "Nothing here." in text(office.get(of("bob", part="likes")))


@pytest.mark.parametrize("name", ["a#b", "Ada", "x", "a" * 40, "nobody"])
def test_whom_there_is_not_is_not_found(office, name):
    assert office.get(of(name)).status_code == 404
    assert office.get(of(name, part="sessions")).status_code == 404


def test_a_part_that_there_is_not_is_not_found(office):
    make_user("ada")
    assert office.get(of("ada", part="secrets")).status_code == 404


def test_only_the_back_office_sees_customers_and_only_admins_are_led_to_their_roles(office, editor, sign_in):
    make_user("ada")
    assert editor.get(LIST).status_code == editor.get(of("ada")).status_code == 403
    assert "/cms/users/ada/" in text(sign_in("admin").get(of("ada")))
    assert "/cms/users/ada/" not in text(office.get(of("ada")))


def test_the_team_keeps_a_note_of_a_customer_that_they_do_not_see(office, sign_in):
    make_user("ada")
    address = reverse("cms_note_customer", args=["ada"])
    assert office.post(address, {"note": "Calls <b>before</b> noon", "before": ""})["Location"] == of("ada")
    assert ">Calls &lt;b&gt;before&lt;/b&gt; noon</textarea>" in text(office.get(of("ada")))
    refused = office.post(address, {"note": "Mine", "before": "Other"})
    assert refused.status_code == 422
    for words in (
        "Somebody wrote another note",
        "Calls &lt;b&gt;before&lt;/b&gt; noon</p>",
        ">Mine</textarea>",
    ):
        assert words in text(refused)
    assert office.post(reverse("cms_note_customer", args=["nobody"]), {"note": "x"}).status_code == 404


def test_an_order_names_its_customer_with_what_they_owe(office, search_index):
    order = make_order("ada", make_deal(), quantity=3, plan=3)
    search_index()
    page = text(office.get(reverse("cms_order", args=["ada", order.id])))
    assert 'href="/cms/customers/ada/">Open' in page
    assert page.count("€239.70") > 2
