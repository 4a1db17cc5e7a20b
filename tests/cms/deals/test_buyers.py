"""Who has a deal in the cart, saved, bought or cancelled."""

import re

import pytest

from dealsite.data.commerce import cart_changes, carts, order_changes
from dealsite.data.entities.commerce import SAVED
from dealsite.data.table.ids import new_ulid
from tests.builders import DAY, NOW, make_deal
from tests.orders import buyer, make_order
from tests.people import calls as of_page


def put_in_cart(username, deal, *, quantity=1, saved=False, now=NOW):
    owner = carts.user_cart(buyer(username).username)
    cart_changes.add(
        owner, cart_changes.CartAddition(deal.id, quantity, new_ulid(now), seen=deal.content.price), now=now
    )
    if saved:
        cart_changes.move(owner, carts.read(owner, now=now).active[0].ref, SAVED, now=now)


def text(response):
    return " ".join(response.content.decode().split())


def who(response):
    return re.findall(r'href="/cms/customers/([^/]+)/"', response.content.decode())


def page(browser, deal_id, **query):
    return browser.get(f"/cms/deals/{deal_id}/buyers/", query)


@pytest.fixture
def deal():
    return make_deal(live_at=NOW - 3 * DAY, title="Quiet keyboard")


def test_each_list_shows_its_own_newest_first(office, deal):
    put_in_cart("ada", deal, now=NOW - DAY)
    put_in_cart("bob", deal)
    put_in_cart("cyd", deal, saved=True)
    make_order("dan", deal)
    back = make_order("eli", deal)
    order_changes.cancel("eli", back.id, by="eli", now=NOW)
    put_in_cart("fay", make_deal())
    assert who(page(office, deal.id)) == ["bob", "ada"]
    assert who(page(office, deal.id, list="saved")) == ["cyd"]
    assert who(page(office, deal.id, list="bought")) == ["dan"]
    assert who(page(office, deal.id, list="returned")) == ["eli"]


def test_a_list_can_be_of_one_day(office, deal):
    put_in_cart("ada", deal, now=NOW - DAY)
    put_in_cart("bob", deal)
    assert who(page(office, deal.id, day="2026-11-20")) == ["ada"]
    assert who(page(office, deal.id, day="2026-11-19")) == []
    assert "Nobody on that day." in text(page(office, deal.id, day="2026-11-19"))


def test_what_a_list_comes_to_is_said(office, deal):
    put_in_cart("ada", deal, quantity=3)
    put_in_cart("bob", deal)
    shown = text(page(office, deal.id))
    for words in ("Quiet keyboard", "<dd>2</dd>", "<dd>4</dd>", "<dd>€319.60</dd>", "3 × €79.90"):
        assert words in shown


def test_a_bought_line_leads_to_its_order(office, deal):
    order = make_order("ada", deal)
    assert f'href="/cms/orders/ada/{order.id}/"' in text(page(office, deal.id, list="bought"))


def test_a_page_costs_a_query_and_the_deal(office, deal):
    assert of_page(page(office, deal.id)) == ["BatchGetItem", "BatchGetItem", "Query"]


def test_pages_of_25_skip_and_repeat_nobody(office, deal):
    names = [f"shopper{number:02}" for number in range(30)]
    for name in names:
        put_in_cart(name, deal)
    first = page(office, deal.id)
    onward = re.search(r'href="([^"]+)"\s+rel="next"', first.content.decode())[1].replace("&amp;", "&")
    second = office.get(f"/cms/deals/{deal.id}/buyers/{onward}")
    assert sorted(who(first) + who(second)) == names
    assert (len(who(first)), len(who(second))) == (25, 5)
    assert "<dd>30</dd>" in text(first)
    assert "totals-row" not in text(second)
    assert "First page" in text(second)


def test_of_a_deal_that_was_deleted_one_still_sees_who_had_it(office):
    deal_id = new_ulid(NOW)
    assert f"The deal {deal_id} is not published" in text(page(office, deal_id))


@pytest.mark.parametrize("query", [{"list": "lost"}, {"after": "x"}, {"day": "tomorrow"}])
def test_what_no_form_asks_is_refused(office, deal, query):
    assert page(office, deal.id, **query).status_code in (400, 404, 422)


def test_what_is_no_deal_is_not_found(office):
    assert page(office, "x").status_code == 404


def test_editors_do_not_see_who_has_a_deal(editor, sign_in, deal):
    assert page(editor, deal.id).status_code == 403
    address = f"/cms/deals/{deal.id}/buyers/"
    assert address not in text(editor.get(f"/cms/deals/{deal.id}/"))
    assert address in text(sign_in("admin").get(f"/cms/deals/{deal.id}/"))
