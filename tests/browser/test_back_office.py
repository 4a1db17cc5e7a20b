"""The back office at work: chooses, ships and prints orders, and sees new ones come."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.data.commerce import order_changes, order_record, orders
from dealsite.data.people import users
from tests import people
from tests.browser.content import now_deal
from tests.browser.flaws import flaws
from tests.browser.lists import measures
from tests.orders import make_order
from tests.payments import pay

MINUTE = timedelta(minutes=1)


@pytest.fixture
def office_window(site: str, window: Callable[..., Page]) -> Callable[..., Page]:
    """A function that opens a window of olga, of the back office."""

    def open_window(**options: Any) -> Page:
        user = users.find("olga") or people.make_user("olga", roles=["back office"])
        return window(user, **options)

    return open_window


def order_of(username: str, *, minutes_ago: int = 0, is_paid: bool = True) -> order_record.Order:
    """Have a shopper buy a lamp some minutes ago."""
    deal = now_deal(title=f"Lamp of {username}", age=timedelta(hours=1))
    order = make_order(username, deal, now=timezone.now() - minutes_ago * MINUTE)
    return pay(order) if is_paid else order


def now_of(order: order_record.Order) -> order_record.Order:
    return orders.get(order.username, order.id)


def tick(page: Page, order: order_record.Order) -> None:
    page.locator(f"#order-{order.id}").get_by_role("checkbox").check()


def shown(page: Page) -> list[str]:
    """Return the ids of the orders of the page."""
    rows = page.locator("#order-rows tr").all()
    return [str(row.get_attribute("id")).removeprefix("order-") for row in rows]


def test_orders_are_shipped_together_and_delivered(office_window, width):
    made = [order_of(name, minutes_ago=9 - number) for number, name in enumerate(("ada", "bob", "cyd"))]
    page = office_window(width=width)
    page.goto("/cms/orders/?list=placed")
    assert shown(page) == [order.id for order in made]
    tick(page, made[0])
    tick(page, made[2])
    expect(page.get_by_text("2 chosen")).to_be_visible()
    page.get_by_role("button", name="Mark shipped").click()
    expect(page.get_by_role("heading", name="Mark orders shipped")).to_be_visible()
    page.get_by_label(f"Tracking number (optional) for Ada Lovelace, {made[2].id}").fill("XY 123")
    page.get_by_role("button", name="Mark 2 orders shipped").click()
    expect(page.get_by_role("status").filter(has_text="2 orders are marked shipped.")).to_be_visible()
    assert shown(page) == [made[1].id]
    page.get_by_role("link", name="On the way").click()
    tick(page, made[2])
    page.get_by_role("button", name="Mark delivered").click()
    page.get_by_role("button", name="Mark 1 order delivered").click()
    expect(page.get_by_role("status").filter(has_text="1 order is marked delivered.")).to_be_visible()
    assert shown(page) == [made[0].id]
    assert (now_of(made[2]).status, now_of(made[2]).tracking) == ("DELIVERED", "XY 123")


@pytest.mark.sample(quick=0, whole=3)
def test_what_failed_is_named_and_can_be_tried_again(office_window, troubles):
    troubles.allowed.add(409)
    made = [order_of("ada", minutes_ago=2), order_of("bob", minutes_ago=1, is_paid=False)]
    page = office_window()
    page.goto("/cms/orders/?list=placed")
    for order in made:
        tick(page, order)
    page.get_by_role("button", name="Mark shipped").click()
    order_changes.cancel("ada", made[0].id, by="ada", now=timezone.now())
    page.get_by_label(f"Tracking number (optional) for Ada Lovelace, {made[1].id}").fill("?")
    page.get_by_role("button", name="Mark 2 orders shipped").click()
    expect(page.get_by_role("alert").filter(has_text="2 orders could not be changed.")).to_be_visible()
    expect(page.get_by_text("This order is cancelled: it cannot be shipped.")).to_be_visible()
    assert flaws(page) == []
    page.get_by_label(f"Tracking number (optional) for Ada Lovelace, {made[1].id}").fill("XY 1")
    page.get_by_label("Ship it although it is not paid").check()
    page.get_by_role("button", name="Mark 1 order shipped").click()
    expect(page.get_by_role("status").filter(has_text="1 order is marked shipped.")).to_be_visible()
    assert now_of(made[1]).tracking == "XY 1"


@pytest.mark.sample(quick=0, whole=3)
def test_all_orders_of_a_page_are_chosen_by_one_box_and_counted(office_window):
    made = [order_of(name) for name in ("ada", "bob", "cyd")]
    page = office_window()
    page.goto("/cms/orders/?list=placed")
    everything = page.get_by_role("checkbox", name="Choose all of this page")
    expect(page.get_by_role("button", name="Mark shipped")).to_be_hidden()
    everything.check()
    expect(page.get_by_text("3 chosen")).to_be_visible()
    page.locator(f"#order-{made[0].id}").get_by_role("checkbox").uncheck()
    expect(page.get_by_text("2 chosen")).to_be_visible()
    assert everything.evaluate("box => box.indeterminate")


def test_the_list_of_orders_is_worked_off_by_keys_alone(office_window):
    made = [order_of(f"shopper{number}", minutes_ago=30 - number) for number in range(20)]
    page = office_window(width=1280)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/cms/orders/?list=placed")
    page.wait_for_load_state("networkidle")
    top, in_view = measures(page)
    assert top <= 168
    assert in_view >= 15
    for _ in range(2):
        page.keyboard.press("j")
    expect(page.locator(f"#order-{made[1].id}")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("1 chosen")).to_be_visible()
    assert measures(page) == (top, in_view)  # no row moved
    assert flaws(page) == []
    page.keyboard.press("j")
    page.keyboard.press("s")
    page.get_by_role("button", name="Mark 1 order shipped").click()
    expect(page.get_by_role("status").filter(has_text="1 order is marked shipped.")).to_be_visible()
    assert [now_of(order).status for order in made[:4]] == ["PLACED", "PLACED", "SHIPPED", "PLACED"]
    page.locator(f"#order-{made[3].id}").press("Enter")
    expect(page).to_have_url(re.compile(f"/cms/orders/shopper3/{made[3].id}/$"))


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_there_is_no_box_that_would_do_nothing(office_window):
    order_of("ada")
    page = office_window(script=False)
    page.goto("/cms/orders/?list=placed")
    expect(page.get_by_role("checkbox")).to_have_count(1)


@pytest.mark.sample(quick=0, whole=3)
def test_new_orders_come_by_themselves_and_leave_what_is_ticked_alone(office_window):
    first = order_of("ada", minutes_ago=5)
    page = office_window()
    page.goto("/cms/orders/?list=placed")
    tick(page, first)
    second = order_of("bob")
    expect(
        page.get_by_role("status").filter(has_text="1 new order, at the end of this list.")
    ).to_be_visible()
    assert shown(page) == [first.id, second.id]
    expect(page.locator(f"#order-{first.id}").get_by_role("checkbox")).to_be_checked()
    third = order_of("cyd")
    expect(page.locator(f"#order-{third.id}")).to_be_visible()
    assert shown(page) == [first.id, second.id, third.id]
    assert flaws(page) == []
    tick(page, third)
    page.get_by_role("button", name="Mark shipped").click()
    expect(page.get_by_role("button", name="Mark 2 orders shipped")).to_be_visible()


def test_a_page_that_nobody_looks_at_does_not_ask_and_one_that_is_seen_again_asks_at_once(office_window):
    order_of("ada", minutes_ago=5)
    page = office_window(alone=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/news/" in request.url else None)
    page.goto("/cms/orders/?list=placed")
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    page.evaluate("htmx.trigger('#order-poll', 'seen-again')")
    page.wait_for_timeout(300)
    assert asked == []
    second = order_of("bob")
    page.evaluate("delete document.hidden")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(f"#order-{second.id}")).to_be_visible(timeout=3000)


def test_packing_slips_are_printed_one_order_a_page_without_the_site_around(office_window):
    made = [order_of(name) for name in ("ada", "bob", "cyd")]
    page = office_window(color_scheme="dark")
    page.goto("/cms/orders/?list=placed")
    for order in made:
        tick(page, order)
    page.get_by_role("button", name="Packing slips").click()
    expect(page.get_by_role("heading", name="Packing slip", exact=True)).to_have_count(3)
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    page.emulate_media(media="print")
    for part in (".side", ".bottom", "[data-print]", "h1"):
        expect(page.locator(part)).to_have_count(1)
        expect(page.locator(part)).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf())) == 3


@pytest.mark.parametrize("java_script", [True, False], ids=["script", "no script"])
def test_a_part_is_shipped_sent_back_and_refunded(office_window, window, java_script):
    deal = now_deal(title="Lamp", age=timedelta(hours=1))
    order = pay(make_order("ada", deal, quantity=3, now=timezone.now() - 9 * MINUTE))
    office, ada = (
        open_window(script=java_script)
        for open_window in (office_window, lambda **more: window(users.get("ada"), **more))
    )
    office.goto(f"/cms/orders/ada/{order.id}/")
    office.get_by_role("link", name="Mark shipped").click()
    office.get_by_label("Pieces: Lamp").fill("2")
    office.get_by_label("Carrier").select_option("DHL")
    office.get_by_label("Tracking number").fill("JD 1")
    office.get_by_role("button", name="Mark shipped").click()
    expect(office.get_by_role("region", name="Parcels")).to_contain_text("2 × Lamp")
    ada.goto(f"/account/orders/{order.id}/")
    ada.get_by_role("link", name="Cancel some of it").or_(ada.get_by_text("Cancel this order")).last.click()
    ada.get_by_role("button", name="Yes, cancel it").click()
    ada.get_by_role("link", name=re.compile("Return something")).click()
    ada.get_by_label("Reason").fill("Too loud")
    ada.get_by_label("Pieces: Lamp").fill("1")
    ada.get_by_role("button", name="Ask to return it").click()
    expect(ada.get_by_text("We have your request")).to_be_visible()
    office.reload()
    office.get_by_role("link", name="Take back").first.click()
    expect(office.get_by_label("Pieces: Lamp")).to_have_value("1")
    office.get_by_label("Reason").fill("It arrived")
    office.get_by_role("button", name="Take the chosen pieces back").click()
    expect(office.get_by_text("€79.90").first).to_be_visible()
    ada.reload()
    for words in ("1 × Shipped", "1 × Cancelled", "1 × Returned"):
        expect(ada.get_by_text(words)).to_be_visible()
    if java_script:
        assert (flaws(office), flaws(ada)) == ([], [])


def test_an_order_is_found_while_one_types_and_by_filters(office_window, search_index, width):
    ada, bob = order_of("ada", minutes_ago=5), order_of("bob", is_paid=False)
    search_index()
    page = office_window(width=width)
    page.goto("/cms/orders/")
    assert shown(page) == [bob.id, ada.id]
    page.get_by_role("searchbox", name="Number, name, place or amount").press_sequentially("lapm of bob")
    expect(page.locator("#order-rows tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/cms/orders/\?q=lapm\+of\+bob"))
    assert shown(page) == [bob.id]
    expect(page.locator("#tabs [aria-current]")).to_have_text("All 1")
    page.goto("/cms/orders/")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("combobox", name="Payment", exact=True).select_option("Paid")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#order-rows tr")).to_have_count(1)
    assert shown(page) == [ada.id]
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_orders_are_found_all_the_same(office_window, search_index):
    _ada, bob = order_of("ada"), order_of("bob")
    search_index()
    page = office_window(script=False)
    page.goto("/cms/orders/")
    page.get_by_role("searchbox", name="Number, name, place or amount").fill("lamp of bob")
    page.get_by_role("searchbox", name="Number, name, place or amount").press("Enter")
    assert shown(page) == [bob.id]
    page.get_by_role("searchbox", name="Number, name, place or amount").fill(bob.id[-6:])
    page.get_by_role("searchbox", name="Number, name, place or amount").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(bob.id[-6:])
