"""The back office sees what waits, finds orders, and looks at one."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from dealsite.data.commerce import order_changes
from dealsite.data.table.ids import iso, new_ulid
from tests.builders import DAY, HOUR, NOW, make_deal
from tests.cms.conftest import HTMX
from tests.orders import a_line_lost, make_order
from tests.payments import pay
from tests.people import calls as of_page

SECOND = timedelta(seconds=1)
LIST = "/cms/orders/"
TO_SHIP = "/cms/orders/?list=placed"


def text(response):
    return " ".join(response.content.decode().split())


def ids(response):
    return re.findall(r'id="order-([0-9A-Z]{26})"', response.content.decode())


def make_orders(number, *, start=NOW - DAY, step=SECOND):
    """Return so many orders, the oldest first, of shoppers of their own."""
    deal = make_deal(live_at=NOW - 2 * DAY)
    return [make_order(f"shopper{n}", deal, now=start + n * step) for n in range(number)]


def ship(order):
    return order_changes.ship(order.username, order.id, unpaid=True, by="olga", now=NOW)


def link(response, rel):
    found = re.search(rf'href="([^"]+)" rel="{rel}"', response.content.decode())
    return found and found[1].replace("&amp;", "&")


def test_orders_to_ship_are_listed_oldest_first(office):
    made = make_orders(3)
    ship(made[1])
    assert ids(office.get(TO_SHIP)) == [made[0].id, made[2].id]
    assert ids(office.get(LIST, {"list": "shipped"})) == [made[1].id]


def test_a_list_costs_four_queries(office):
    make_orders(1)
    assert of_page(office.get(TO_SHIP)) == ["BatchGetItem", *["Query"] * 4]


def test_pages_of_25_lead_on_and_back_without_skipping_or_repeating(office):
    made = [order.id for order in make_orders(60)]
    first = office.get(TO_SHIP)
    second = office.get(LIST + link(first, "next"))
    third = office.get(LIST + link(second, "next"))
    assert [ids(page) for page in (first, second, third)] == [made[:25], made[25:50], made[50:]]
    assert link(third, "next") is None
    assert ids(office.get(LIST + link(third, "prev"))) == made[25:50]
    assert link(first, "prev") is None


def test_a_row_says_what_is_known_of_its_order_and_leads_on(office):
    order = make_order("ada", make_deal(), make_deal(), quantity=2, plan=3)
    page = text(office.get(TO_SHIP))
    address = f"/cms/orders/ada/{order.id}/"
    assert re.search(f'href="{address}" title="{order.id}" data-key="Enter o">{order.id[-6:]}</a>', page)
    assert re.search('href="/cms/customers/ada/">Ada Lovelace</a>', page)
    assert re.findall('<td class="column-number"[^>]*> ?([^<]+?) ?</td>', page) == ["4"]
    badge = '<span class="state-badge" data-state="scheduled">Not paid yet</span>'
    assert re.search(f"<td class=.column-note[^>]*> {badge} <span[^>]*> 3 instalments </span> </td>", page)
    assert re.search("<td [^>]*> €319.60 </td>", page)
    named = f"order=ada/{order.id}&amp;next=/cms/orders/%3Flist%3Dplaced"
    for step in ("ship", "slips"):
        assert f'href="/cms/orders/{step}/?{named}"' in page
    ship(order)
    assert f'href="/cms/orders/deliver/?order=ada/{order.id}&amp;' in text(office.get("/cms/customers/ada/"))


@pytest.mark.parametrize(
    ("script", "look", "words"), [([], "ending", "Part paid"), (["decline"], "failed", "Payment failed")]
)
def test_a_row_says_how_it_stands_with_the_payments(office, script, look, words):
    order = pay(make_order("ada", make_deal(), quantity=3, plan=3), *script)
    badge = f'<span class="state-badge" data-state="{look}">{words}</span>'
    for address in (TO_SHIP, f"/cms/orders/ada/{order.id}/", "/cms/customers/ada/"):
        assert re.search(f'{badge} <span class="thing-note[^>]*> €79.90 </span>', text(office.get(address)))


@pytest.mark.parametrize("query", ["after=x", "before=x", "after=2026-11-21T12:00:00.000Z%23X"])
def test_a_cursor_that_this_site_did_not_make_is_refused(office, query):
    assert office.get(f"{TO_SHIP}&{query}").status_code == 400


def test_a_list_that_there_is_not_is_not_found(office):
    assert office.get(LIST, {"list": "lost"}).status_code == 404


def test_nothing_to_do_is_said(office):
    assert "There are no orders to ship." in text(office.get(TO_SHIP))
    assert "Nothing is on the way." in text(office.get(LIST, {"list": "shipped"}))


# New orders


def test_a_list_shows_the_columns_that_its_address_names(office):
    order = make_order("ada", make_deal(), quantity=2, plan=3)
    wanted = "columns=id%2Cuser%2Cplan%2Copen%2Cpaid"

    def cells(html: str) -> list[str]:
        row = re.search(rf'<tr id="order-{order.id}".*?</tr>', html)[0]
        return [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td .*?</td>", row)][4:]

    page = office.get(f"{TO_SHIP}&{wanted}")
    assert cells(text(page)) == ["€0.00", "€159.80", "3", "ada", order.id]
    assert "deal" not in re.search(r'<td class="column-who.*?</td>', text(page))[0].casefold()
    found = office.get(LIST, {"q": "ada", "columns": "user,nonsense"}, headers=HTMX)
    assert found.headers["HX-Replace-Url"] == "/cms/orders/?q=ada&columns=user"
    form = next(one for one in re.findall("<form.*?</form>", text(page)) if "/cms/columns/" in one)
    shown = re.search('name="list" value="([^"]+)"', form)[1].replace("&amp;", "&")
    chosen = office.post("/cms/columns/", {"list": shown, "column": ["total"]})
    assert chosen.headers["Location"] == f"{TO_SHIP}&columns=total"
    make_order("zoe", make_deal(), now=NOW)
    headers = HTMX | {"HX-Current-URL": f"http://testserver{TO_SHIP}&columns=id"}
    assert re.findall(r'<td class="column-(\w+)', text(office.get(news_of(page), headers=headers)))[3:] == [
        "who",
        "id",
    ]


def news_of(response):
    """Return the address that a page of orders asks for news."""
    return re.search(r'hx-get="(/cms/orders/news/[^"]+)"', response.content.decode())[1].replace("&amp;", "&")


def test_only_the_list_that_orders_come_into_asks_for_news(office):
    ship(make_orders(1)[0])
    page = office.get(LIST, {"list": "shipped"})
    assert "/cms/orders/news/" not in page.content.decode()
    assert "Reload" in text(page)


def test_without_news_nothing_is_swapped(office):
    make_orders(2)
    assert office.get(news_of(office.get(TO_SHIP)), headers=HTMX).status_code == 204


def test_new_orders_are_put_at_the_end_of_a_page_with_room_each_once(office):
    make_orders(2)
    page = office.get(TO_SHIP)
    new = make_order("zoe", now=NOW)
    answer = office.get(news_of(page), headers=HTMX)
    assert ids(answer) == [new.id]
    assert "1 new order, at the end of this list." in text(answer)
    assert 'hx-swap-oob="beforeend:#order-rows"' in text(answer)
    assert office.get(news_of(answer), headers=HTMX).status_code == 204
    newer = make_order("yan", now=NOW)
    assert ids(office.get(news_of(answer), headers=HTMX)) == [newer.id]


def test_an_order_that_comes_into_the_index_late_is_new_all_the_same(office):
    make_order("ada", now=NOW)
    page = office.get(TO_SHIP)
    late = make_order("zoe", now=NOW - SECOND)
    assert ids(office.get(news_of(page), headers=HTMX)) == [late.id]


def test_on_a_full_page_new_orders_are_counted_and_led_to(office):
    made = make_orders(26)
    page = office.get(TO_SHIP)
    new = [make_order("zoe", now=NOW + SECOND), make_order("yan", now=NOW + 2 * SECOND)]
    answer = office.get(news_of(page), headers=HTMX)
    assert ids(answer) == []
    assert "2 new orders came in." in text(answer)
    shown = re.search(r'href="([^"]+)">Show', answer.content.decode())[1].replace("&amp;", "&")
    assert ids(office.get(shown)) == [order.id for order in new]
    assert office.get(news_of(answer), headers=HTMX).status_code == 204
    make_order("xia", now=NOW + 3 * SECOND)
    assert "3 new orders came in." in text(office.get(news_of(answer), headers=HTMX))
    assert len(made) == 26


def test_more_new_orders_than_find_room_are_led_to(office):
    make_orders(24)
    page = office.get(TO_SHIP)
    for number in range(2):
        make_order(f"new{number}", now=NOW + number * SECOND)
    answer = office.get(news_of(page), headers=HTMX)
    assert ids(answer) == []
    assert "2 new orders came in." in text(answer)


def test_new_orders_on_an_empty_page_are_led_to(office):
    page = office.get(TO_SHIP)
    make_order("zoe", now=NOW + SECOND)
    assert "1 new order came in." in text(office.get(news_of(page), headers=HTMX))


def test_very_many_new_orders_are_all_counted(office):
    page = office.get(TO_SHIP)
    make_orders(30, start=NOW + SECOND)
    answer = office.get(news_of(page), headers=HTMX)
    assert "25 new orders came in." in text(answer)
    assert "30 new orders came in." in text(office.get(news_of(answer), headers=HTMX))


@pytest.mark.parametrize("query", ["list=lost", "since=x", "room=x", "told=999999", "room=-1"])
def test_a_damaged_address_of_news_is_refused(office, query):
    assert office.get(f"/cms/orders/news/?{query}", headers=HTMX).status_code == 400


@pytest.mark.parametrize("address", ["https://evil.example/", "http://testserver/account/", "javascript:x"])
def test_the_button_of_news_leads_to_the_orders_whatever_page_is_said_to_ask(office, address):
    page = office.get(TO_SHIP)
    make_order("zoe", now=NOW + SECOND)
    answer = office.get(news_of(page), headers=HTMX | {"HX-Current-URL": address})
    assert 'href="/cms/orders/"' in text(answer)
    assert address not in text(answer)


# One order


def test_an_order_is_shown_with_all_that_belongs_to_it(office):
    deal, other = make_deal(title="Quiet keyboard"), make_deal(title="<b>Lamp</b>")
    order = make_order("ada", deal, other, quantity=2, plan=3)
    order_changes.ship("ada", order.id, tracking="XY 123", unpaid=True, by="olga", now=NOW + HOUR)
    answer = office.get(f"/cms/orders/ada/{order.id}/")
    page = text(answer)
    for words in (
        "Quiet keyboard",
        "&lt;b&gt;Lamp&lt;/b&gt;",
        "2 × €79.90",
        "€319.60",
        "12 Analytical Row",
        "ada@example.org",
        '<span class="w-8 text-muted tabular-nums">3/3</span>',
        "XY 123",
        "by olga",
        "21 Nov 2026, 13:00 UTC",
        f"/cms/deals/{deal.id}/buyers/",
    ):
        assert words in page
    assert sorted(of_page(answer)) == ["BatchGetItem"] * 3 + ["GetItem"] * 2 + ["Query"] * 2


def test_what_can_be_done_to_an_order_goes_with_its_status(office):
    order = pay(make_order("ada"))
    address = f"/cms/orders/ada/{order.id}/"
    buttons = ("Mark shipped", "Mark delivered", "Cancel")
    assert [words in text(office.get(address)) for words in buttons] == [True, False, True]
    ship(order)
    assert [words in text(office.get(address)) for words in buttons] == [False, True, False]
    order_changes.deliver("ada", order.id, by="olga", now=NOW)
    assert [words in text(office.get(address)) for words in buttons] == [False, False, False]


def test_an_order_that_lost_a_line_is_found_and_shown_with_an_alert(office):
    order = make_order("ada", make_deal(title="Quiet keyboard"), make_deal())
    alert = f"The lines of order {order.id} do not add up: there are 1 of 2 lines, 1 of 2 pieces"
    with a_line_lost(order):
        page = text(office.get(reverse("cms_order", args=["ada", order.id])))
    assert alert in page
    assert "no packing slip and no mails" in page
    assert "do not add up" not in text(office.get(reverse("cms_order", args=["ada", order.id])))


def test_an_order_under_another_name_is_not_found(office):
    order = make_order("ada")
    make_order("bob")
    for username, order_id in (("bob", order.id), ("ada", "x"), ("ada", new_ulid(NOW, 5)), ("A#B", order.id)):
        assert office.get(reverse("cms_order", args=[username, order_id])).status_code == 404


# Roles


@pytest.mark.parametrize("path", ["", "news/", "ship/", "deliver/", "cancel/", "slips/"])
def test_an_editor_sees_no_orders(editor, path):
    assert editor.get(LIST + path).status_code == 403


def test_menus_show_what_the_role_allows(sign_in, editor, office):
    admin = sign_in("admin")
    page = text(office.get(TO_SHIP))
    assert 'href="/cms/orders/"' in page
    assert 'href="/cms/deals/"' not in page
    page = text(editor.get("/cms/"))
    assert 'href="/cms/orders/"' not in page
    assert 'href="/cms/deals/"' in page
    page = text(admin.get("/cms/"))
    assert 'href="/cms/orders/"' in page
    assert 'href="/cms/deals/"' in page


def test_a_position_that_an_order_stands_at_reads_what_comes_after_it(office):
    made = make_orders(2)
    position = f"{iso(made[0].placed_at)}#{made[0].id}"
    assert ids(office.get(LIST, {"list": "placed", "after": position})) == [made[1].id]


def test_the_page_adds_up_the_payments(office):
    order = pay(make_order("ada", make_deal(), quantity=3, plan=3))
    page = text(office.get(f"/cms/orders/ada/{order.id}/"))
    found = re.findall('<dt class="text-muted">([^<]+)</dt> <dd [^>]*> ?([^< ]+) ?</dd>', page)
    assert found == [
        ("Paid", "€79.90"),
        ("To be paid", "€159.80"),
        ("Failed", "€0.00"),
        ("Refunded", "€0.00"),
    ]


def test_the_page_says_what_the_site_did_by_itself(office):
    order = make_order("ada")
    order_changes.cancel("ada", order.id, by="-", reason="It was not paid.", now=NOW)
    page = text(office.get(f"/cms/orders/ada/{order.id}/"))
    assert 'by the site </p> <p class="text-sm wrap-anywhere">It was not paid.</p>' in page
