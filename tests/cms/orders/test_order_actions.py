"""Orders are marked shipped, delivered and cancelled, one or many at once; what failed is named."""

import re

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deals
from dealsite.data.commerce import order_changes, orders
from dealsite.data.editing import audit
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from tests.builders import NOW, make_deal
from tests.orders import a_line_lost, make_order
from tests.payments import pay
from tests.people import calls as of_page
from tests.slow_table import SlowTable

ACTIONS = ("ship", "deliver", "cancel")


@pytest.fixture
def three():
    """Paid orders of three shoppers for one deal with 10 pieces."""
    deal = make_deal(stock=10)
    return [pay(make_order(name, deal)) for name in ("ada", "bob", "cyd")]


def ref(order):
    return f"{order.username}/{order.id}"


def act(browser, what, *chosen, **data):
    return browser.post(f"/cms/orders/{what}/", {"order": [ref(order) for order in chosen]} | data)


def ask(browser, what, *chosen, **data):
    return browser.get(f"/cms/orders/{what}/", {"order": [ref(order) for order in chosen]} | data)


def text(response):
    return " ".join(response.content.decode().split())


def now_of(order):
    return orders.get(order.username, order.id)


def offered(response):
    """Return the orders that the form would send."""
    return re.findall(r'name="order" value="([^"]+)"', response.content.decode())


def test_asking_shows_the_orders_and_changes_nothing(office, three):
    answer = ask(office, "ship", *three)
    assert offered(answer) == [ref(order) for order in three]
    assert text(answer).count("Tracking number") == 3
    assert "Mark 3 orders shipped" in text(answer)
    assert of_page(answer) == ["BatchGetItem", "BatchGetItem"]
    assert [now_of(order) for order in three] == three


def test_orders_are_marked_shipped_each_with_its_tracking_number(office, three):
    answer = act(
        office, "ship", *three, **{f"tracking-{three[0].id}": " XY 123 ", f"tracking-{three[2].id}": ""}
    )
    assert answer["Location"] == "/cms/orders/"
    assert [now_of(order).status for order in three] == ["SHIPPED"] * 3
    assert [now_of(order).tracking for order in three] == ["XY 123", "", ""]
    assert now_of(three[0]).timeline[-1].by == "olga"
    assert "3 orders are marked shipped." in text(office.get("/cms/orders/"))


def test_an_unpaid_order_is_shipped_only_if_somebody_says_so(office, three, wait_for_indexes):
    declined = pay(make_order("dan", make_deal()), "decline")
    words = "Ship it although it is not paid"
    asked = text(ask(office, "ship", three[0], declined))
    assert asked.count(words) == 1
    assert "Payment failed" in asked
    assert words not in text(ask(office, "cancel", declined))
    answer = act(office, "ship", three[0], declined, **{f"tracking-{declined.id}": "XY 123"})
    assert answer.status_code == 409
    assert "This order is not paid: it is shipped only if you say so." in text(answer)
    assert offered(answer) == [ref(declined)]
    assert 'value="XY 123"' in text(answer)
    assert (now_of(three[0]).status, now_of(declined).status) == ("SHIPPED", "PLACED")
    act(office, "ship", declined, **{f"unpaid-{declined.id}": "yes"})
    assert now_of(declined).status == "SHIPPED"
    wait_for_indexes()
    assert "shipped by olga (Before it was paid.)" in text(office.get(f"/cms/orders/dan/{declined.id}/"))


def test_orders_are_marked_delivered(office, three):
    act(office, "ship", three[0])
    act(office, "deliver", three[0])
    assert now_of(three[0]).status == "DELIVERED"
    done = {(entry.what, entry.by) for entry in audit.of_target("order", three[0].id)}
    assert done == {("placed", "ada"), ("shipped", "olga"), ("delivered", "olga")}


def test_orders_are_cancelled_with_a_reason_and_stock_goes_back(office, three):
    (line,) = orders.lines_of(three[0])
    assert deals.get(line.deal).stock == 7
    act(office, "cancel", three[0], three[1], reason="Broken in the store")
    assert [now_of(order).status for order in three] == ["CANCELLED", "CANCELLED", "PLACED"]
    assert now_of(three[0]).timeline[-1].note == "Broken in the store"
    assert deals.get(line.deal).stock == 9


def test_who_cancels_what_was_shipped_in_part_hears_that_it_was_the_rest(office):
    order = make_order("ada", make_deal(), quantity=2)
    (line,) = orders.lines_of(order)
    order_changes.ship("ada", order.id, pieces={line.id: 1}, unpaid=True, by="kim", now=NOW)
    act(office, "cancel", order, reason="Broken in the store")
    assert f"A part of order {order.id[-6:]} was shipped before" in text(office.get("/cms/orders/"))


@pytest.mark.parametrize(
    ("reason", "words"), [("", "Say why"), (" \u200b ", "Say why"), ("x" * 501, "Shorten this to 500")]
)
def test_a_cancellation_needs_a_reason(office, three, reason, words):
    answer = act(office, "cancel", three[0], reason=reason)
    assert answer.status_code == 422
    assert words in text(answer)
    assert offered(answer) == [ref(three[0])]
    assert now_of(three[0]).status == "PLACED"


def test_what_failed_is_named_and_the_others_are_done(office, three):
    order_changes.cancel("bob", three[1].id, by="bob", now=NOW)
    answer = act(office, "ship", *three, **{f"tracking-{three[2].id}": "?"})
    assert answer.status_code == 409
    assert now_of(three[0]).status == "SHIPPED"
    assert "1 order is marked shipped." in text(answer)
    assert "2 orders could not be changed." in text(answer)
    assert "This order is cancelled: it cannot be shipped." in text(answer)
    assert "A tracking number has 3 to 60" in text(answer)
    assert offered(answer) == [ref(three[2])]
    assert 'value="?"' in text(answer)
    assert now_of(three[2]).status == "PLACED"


def test_what_cannot_be_done_is_said_before_it_is_tried(office, three):
    act(office, "ship", three[0])
    answer = ask(office, "cancel", *three[:2])
    assert offered(answer) == [ref(three[1])]
    assert "It is shipped already." in text(answer)
    answer = ask(office, "deliver", three[1])
    assert offered(answer) == []
    assert "It is not shipped yet." in text(answer)
    assert "Mark 1" not in text(answer)


def test_a_second_click_is_harmless(office, three):
    data = {f"tracking-{three[0].id}": "XY123"}
    act(office, "ship", three[0], **data)
    assert act(office, "ship", three[0], **data).status_code == 302
    assert [event.status for event in now_of(three[0]).timeline] == ["PLACED", "SHIPPED"]


def test_another_tracking_number_than_the_one_that_is_kept_is_not_lost_in_silence(office, three, sign_in):
    act(sign_in("back office", username="otto"), "ship", three[0], **{f"tracking-{three[0].id}": "FIRST1"})
    answer = act(office, "ship", three[0], **{f"tracking-{three[0].id}": "SECOND2"})
    assert answer.status_code == 409
    assert "otto marked it shipped before, with the tracking number FIRST1." in text(answer)
    assert now_of(three[0]).tracking == "FIRST1"


def test_while_the_table_is_away_what_was_not_done_is_kept_to_be_tried_again(office, three, monkeypatch):
    ship = order_changes.ship

    def away(username, order_id, **words):
        if username != "ada":
            raise errors.Unavailable()
        return ship(username, order_id, **words)

    monkeypatch.setattr(order_changes, "ship", away)
    answer = act(office, "ship", *three, **{f"tracking-{three[1].id}": "KEEP1"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert offered(answer) == [ref(three[1]), ref(three[2])]
    assert "1 order is marked shipped." in text(answer)
    assert 'value="KEEP1"' in text(answer)

    def gone(refs):
        raise errors.Unavailable()

    monkeypatch.setattr(orders, "get_many", gone)
    answer = act(office, "ship", *three)
    assert answer.status_code == 503
    assert offered(answer) == [ref(three[1]), ref(three[2])]


@pytest.mark.parametrize("what", ACTIONS)
def test_with_nothing_chosen_one_is_led_back(office, what):
    for answer in (office.get(f"/cms/orders/{what}/"), office.post(f"/cms/orders/{what}/", {"reason": "x"})):
        assert answer["Location"] == "/cms/orders/"
    assert "Choose at least one order first" in text(office.get("/cms/orders/"))


@pytest.mark.parametrize("what", [*ACTIONS, "slips"])
@pytest.mark.parametrize(
    "chosen", ["x", "ada/x", "ada", f"Ada/{new_ulid(NOW, 1)}", f"/{new_ulid(NOW, 1)}", "a#b/c"]
)
def test_a_damaged_form_is_refused(office, what, chosen):
    assert office.get(f"/cms/orders/{what}/", {"order": chosen}).status_code == 400


@pytest.mark.parametrize("what", [*ACTIONS, "slips"])
def test_more_than_25_at_once_are_refused(office, what):
    chosen = [f"ada/{new_ulid(NOW, number)}" for number in range(26)]
    assert office.get(f"/cms/orders/{what}/", {"order": chosen}).status_code == 400


def test_an_order_of_another_than_is_said_is_not_touched(office, three):
    answer = office.post("/cms/orders/ship/", {"order": f"bob/{three[0].id}"})
    assert answer.status_code == 409
    assert "There is no such order." in text(answer)
    assert now_of(three[0]).status == "PLACED"


@pytest.mark.parametrize(
    ("back", "leads_to"),
    [
        ("/cms/orders/?list=shipped&after=x", "/cms/orders/?list=shipped&after=x"),
        ("/cms/orders/ada/x/", "/cms/orders/ada/x/"),
        ("", "/cms/orders/"),
        ("https://evil.example/cms/orders/", "/cms/orders/"),
        ("//evil.example/cms/orders/", "/cms/orders/"),
        ("/cms/orders//evil.example", "/cms/orders/"),
        ("/cms/orders/../../account/delete/", "/cms/orders/"),
        ("/cms/users/", "/cms/orders/"),
        ("javascript:alert(1)", "/cms/orders/"),
    ],
)
def test_one_is_led_back_to_the_page_of_orders_one_came_from_and_nowhere_else(office, three, back, leads_to):
    assert act(office, "ship", three[0], next=back)["Location"] == leads_to


# Packing slips


def test_a_packing_slip_says_what_goes_where_and_no_price(office):
    deal = make_deal(title="Quiet keyboard")
    order, other = make_order("ada", deal, quantity=3), make_order("bob", deal)
    answer = ask(office, "slips", order, other)
    page = text(answer)
    for words in (
        "Quiet keyboard",
        "Ada Lovelace",
        "12 Analytical Row",
        "London <br> EC1A 1BB <br> United Kingdom",
        order.id,
        "3 pieces in all",
    ):
        assert words in page
    assert page.count('class="panel slip"') == 2
    assert "€" not in page
    assert of_page(answer) == ["BatchGetItem", "BatchGetItem", "Query", "Query"]


def test_the_lines_of_all_slips_are_read_side_by_side(office, three, monkeypatch):
    slow = SlowTable(monkeypatch)
    assert slow.calls_of(lambda: ask(office, "slips", *three)) == 3  # who asks, the orders, their lines


def test_an_order_that_is_gone_has_no_slip_and_that_is_said(office, three):
    chosen = {"order": [ref(three[0]), f"ada/{new_ulid(NOW, 9)}"]}
    page = text(office.get(reverse("cms_packing_slips"), chosen))
    assert page.count('class="panel slip"') == 1
    assert "1 of the chosen orders could not be found." in page


def test_an_order_that_lost_a_line_has_no_slip_and_the_others_have_theirs(office, three):
    with a_line_lost(three[1]):
        answer = ask(office, "slips", *three)
    page = text(answer)
    assert (answer.status_code, page.count('class="panel slip"')) == (409, 2)
    assert f"The lines of order {three[1].id} do not add up: there are 0 of 1 lines, 0 of 1 pieces" in page
    assert f'href="/cms/orders/bob/{three[1].id}/"' in page
    assert f"slip-{three[1].id}" not in page


def test_an_order_that_lost_a_line_is_not_cancelled_and_says_why(office, three):
    with a_line_lost(three[1]):
        answer = act(office, "cancel", *three, reason="Broken")
    assert answer.status_code == 409
    assert f"The lines of order {three[1].id} do not add up" in text(answer)
    assert offered(answer) == [ref(three[1])]
    assert [now_of(order).status for order in three] == ["CANCELLED", "PLACED", "CANCELLED"]
