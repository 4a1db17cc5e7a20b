"""A whole purchase, as shoppers do it: from a deal to its order and cancellation."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import addresses, cart_changes, carts, orders
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.order_record import PaymentCard, save_card
from dealsite.data.people import sessions
from dealsite.data.table.ids import new_ulid
from tests.browser.addresses import ADDRESS, type_address
from tests.browser.conftest import make_user, sign_in_by_form
from tests.browser.content import now_deal
from tests.browser.flaws import flaws

pytestmark = pytest.mark.usefixtures("site")

CARD = PaymentCard("test", "test:approve", "Visa ending in 4242")


def path(deal: Deal) -> str:
    return f"/deals/{deal.id}/{deal.card.slug}/"


def badge(page: Page) -> Locator:
    return page.locator("#cart-badge .unread-badge")


def lines(page: Page) -> Locator:
    """The lines in the cart, without those saved for later."""
    return page.get_by_role("list", name="In your cart").get_by_role("listitem")


def told(page: Page) -> Locator:
    """Where the page says what was just done."""
    return page.locator("[data-toast]")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("main").get_by_role("button", name=name, exact=True)


def shopper(*some: Deal, card: bool = True) -> Any:
    """Make ada, with a card and some deals in her cart."""
    ada, now = make_user("ada"), timezone.now()
    if card:
        save_card("ada", CARD, job_id=new_ulid(now), now=now)
    wanted = [CartAddition(deal.id, 1, new_ulid(now)) for deal in some]
    if wanted:
        assert cart_changes.add_many(carts.user_cart("ada"), wanted, now=now).refused == {}
    return ada


def test_a_visitor_buys_on_instalments_and_cancels(window: Callable[..., Page], width: int):
    make_user("ada")
    lamp = now_deal(title="A warm lamp", price=Decimal("50.00"), was_price=None, stock=9)
    now_deal(title="A chair", price=Decimal("20.00"), was_price=None)
    page = window(width=width)

    page.goto(path(lamp))
    page.get_by_label("Pieces").fill("2")
    page.locator("#buy-form").get_by_role("button", name="Add to cart").click()
    expect(told(page)).to_contain_text("“A warm lamp” is in your cart.")
    expect(badge(page)).to_have_text("1")
    page.goto("/")
    button(page, "Add to cart: A chair").click()
    expect(told(page)).to_contain_text("“A chair” is in your cart.")
    page.goto("/cart/")
    expect(badge(page)).to_have_text("2")
    expect(lines(page)).to_have_count(2)
    expect(lines(page).nth(0)).to_contain_text("A chair")
    expect(page.get_by_role("main")).to_contain_text("€120.00")

    button(page, "Go to checkout").click()
    sign_in_by_form(page, "ada")
    expect(page).to_have_url(re.compile("/checkout/$"))
    expect(page.locator("#messages")).to_contain_text("Your cart came with you: 2 deals")
    page.get_by_label("Town").fill("Berlin")
    button(page, "Add a card").click()
    page.get_by_label("Card number").fill("4242 4242 4242 4242")
    button(page, "Use this card").click()
    expect(page.get_by_label("Town")).to_have_value("Berlin")
    button(page, "Buy now").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter the name of who receives it.")
    type_address(page)
    page.get_by_role("radio", name=re.compile("3 monthly instalments")).check()
    page.get_by_label("Town").press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you, ")
    expect(page.get_by_role("main")).to_contain_text("You pay in 3 instalments")
    assert deals.get(lamp.id).stock == 7
    page.goto("/cart/")
    expect(page.get_by_role("main")).to_contain_text("Your cart is empty.")
    (placed,) = orders.of_user("ada").rows
    page.goto("/account/")
    expect(page.locator(".order-row")).to_contain_text("€120.00")
    page.locator(".order-row").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Order {placed.id[-6:]}")
    expect(page.locator(".track [data-done]")).to_contain_text("Placed")
    expect(page.get_by_role("main")).to_contain_text("€40.00")
    page.get_by_text("Cancel this order").click()
    button(page, "Yes, cancel it").click()
    expect(page.locator("#messages")).to_contain_text("Your order is cancelled.")
    assert orders.get("ada", placed.id).status == "CANCELLED"
    assert deals.get(lamp.id).stock == 9
    button(page, "Order again").click()
    expect(lines(page)).to_have_count(2)


@pytest.mark.sample(quick=0, whole=3)
def test_lines_are_changed_removed_restored_and_saved(window: Callable[..., Page], width: int):
    some = [now_deal(title=title, price=Decimal("10.00"), was_price=None) for title in ("Lamp", "Chair")]
    page = window(shopper(*some), width=width)
    page.goto("/cart/")
    page.get_by_label("Pieces of Lamp").fill("3")
    page.get_by_label("Pieces of Lamp").press("Tab")
    expect(page.get_by_role("main")).to_contain_text("€40.00")
    button(page, "Remove Lamp").click()
    expect(lines(page)).to_have_count(1)
    expect(told(page)).to_contain_text("“Lamp” is removed.")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Pieces of Lamp")).to_have_value("3")
    button(page, "Save for later Chair").click()
    expect(lines(page)).to_have_count(1)
    expect(page.get_by_role("main")).to_contain_text("Saved for later")
    button(page, "Move to the cart Chair").click()
    expect(lines(page)).to_have_count(2)
    expect(page.get_by_role("main")).to_contain_text("€40.00")


@pytest.mark.sample(quick=0, whole=3)
def test_a_shopper_with_the_keyboard_alone_keeps_his_place(window: Callable[..., Page]):
    some = [now_deal(title=title) for title in ("Lamp", "Chair", "Table")]
    page = window(shopper(*some))
    page.goto("/cart/")
    page.get_by_label("Pieces of Chair").focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Pieces of Chair")).to_have_value("2")
    expect(page.locator("#announce")).to_have_text("The number of pieces is changed.")
    expect(page.get_by_label("Pieces of Chair")).to_be_focused()
    button(page, "Remove Chair").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    expect(page.locator("#announce")).to_have_text("“Chair” is removed.")
    page.keyboard.press("Enter")
    expect(lines(page)).to_have_count(3)
    button(page, "Save for later Lamp").focus()
    page.keyboard.press("Enter")
    expect(lines(page)).to_have_count(2)
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("[data-toast]")).to_be_hidden()


def test_impatient_clicks_add_once_and_order_once(window: Callable[..., Page]):
    lamp = now_deal(title="Lamp", price=Decimal("10.00"), was_price=None)
    page = window(shopper())
    page.goto(path(lamp))
    page.locator("#buy-form").get_by_role("button", name="Add to cart").evaluate(
        "button => { button.click(); button.click(); button.click(); }"
    )
    expect(told(page)).to_contain_text("“Lamp” is in your cart.")
    page.goto("/checkout/")
    expect(page.get_by_role("main")).to_contain_text("€10.00")
    type_address(page)
    button(page, "Buy now").evaluate("button => { button.click(); button.click(); }")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you, ")
    assert len(orders.of_user("ada").rows) == 1


@pytest.mark.parametrize("script", [True, False])
def test_checkout_shows_what_was_typed_however_fast_one_clicks(window: Callable[..., Page], script: bool):
    lamp, chair = (
        now_deal(title=title, price=Decimal("10.00"), was_price=None) for title in ("Lamp", "Chair")
    )
    page = window(shopper(lamp, chair), script=script)
    page.goto("/cart/")
    page.get_by_label("Pieces of Lamp").fill("7")
    page.get_by_label("Pieces of Chair").fill("0")
    button(page, "Go to checkout").click()
    expect(page.get_by_label("Pieces of Chair")).to_have_accessible_description(
        "Enter a whole number from 1 to 999."
    )
    expect(page.get_by_label("Pieces of Lamp")).to_have_value("7")
    page.get_by_label("Pieces of Chair").fill("2")
    button(page, "Go to checkout").click()
    expect(page).to_have_url(re.compile("/checkout/$"))
    expect(page.get_by_role("main")).to_contain_text("€90.00")


def test_what_is_typed_while_an_answer_is_on_its_way_is_kept(window: Callable[..., Page]):
    lamp, chair = (
        now_deal(title=title, price=Decimal("10.00"), was_price=None) for title in ("Lamp", "Chair")
    )
    page = window(shopper(lamp, chair), alone=True)
    page.goto("/cart/")
    with page.expect_response("**/cart/quantity/"):
        page.get_by_label("Pieces of Lamp").fill("0")
        page.get_by_label("Pieces of Lamp").press("Tab")
    expect(page.get_by_role("button", name="Save for later Lamp")).to_be_focused()
    expect(page.get_by_label("Pieces of Lamp")).to_have_accessible_description(
        "Enter a whole number from 1 to 999."
    )
    page.get_by_label("Pieces of Lamp").fill("2")

    def slowly(route: Any) -> None:
        answer = route.fetch()
        page.get_by_label("Pieces of Chair").fill("3")
        route.fulfill(response=answer)

    page.route("**/cart/quantity/", slowly, times=1)
    page.get_by_label("Pieces of Lamp").press("Tab")
    expect(page.get_by_role("main")).to_contain_text("€50.00")
    expect(page.get_by_label("Pieces of Chair")).to_have_value("3")
    expect(page.get_by_label("Pieces of Chair")).to_be_focused()
    page.get_by_label("Pieces of Chair").fill("4")
    button(page, "Remove Lamp").click()
    expect(lines(page)).to_have_count(1)
    expect(page.get_by_role("main")).to_contain_text("€40.00")


def test_a_cart_whose_session_has_ended_says_so(window: Callable[..., Page]):
    page = window(shopper(now_deal(title="Lamp")))
    page.goto("/cart/")
    sessions.end_all("ada")
    page.get_by_label("Pieces of Lamp").focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("heading", name="Your session has ended")).to_be_in_viewport()
    expect(page.get_by_role("main")).not_to_contain_text("Your cart is empty")


def test_what_is_typed_at_checkout_survives_reload_and_detours_until_it_is_ordered(
    window: Callable[..., Page],
):
    page = window(shopper(now_deal(title="Lamp", price=Decimal("30.00"), was_price=None)))
    plan = page.get_by_role("radio", name=re.compile("3 monthly instalments"))

    def is_there() -> None:
        expect(page.get_by_label("Town")).to_have_value("Berlin")
        expect(plan).to_be_checked()

    page.goto("/checkout/")
    type_address(page)
    with page.expect_response(lambda answer: answer.status == 204):
        plan.check()
    page.reload()
    is_there()
    page.goto("/brands/")
    page.goto("/checkout/")
    is_there()
    button(page, "Change").click()
    button(page, "Go to checkout").click()
    is_there()
    button(page, "Buy now").click()
    expect(page.get_by_role("main")).to_contain_text("You pay in 3 instalments")


@pytest.mark.parametrize("script", [True, False])
def test_a_country_asks_for_what_its_addresses_have(window: Callable[..., Page], script: bool):
    page = window(shopper(now_deal(title="Lamp", price=Decimal("30.00"), was_price=None)), script=script)
    page.goto("/checkout/")
    page.get_by_label("Country").focus()
    page.get_by_label("Country").select_option(label="United States")
    if script:
        expect(page.get_by_label("State")).to_be_visible()
        expect(page.get_by_label("Country")).to_be_focused()
        page.get_by_label("ZIP code").fill("02101")
    else:
        page.get_by_label("Postcode").fill("02101")
    for label, text in ADDRESS.items():
        if label != "Postcode":
            page.get_by_label(label, exact=True).fill(text)
    button(page, "Buy now").click()
    expect(page.get_by_role("alert")).to_contain_text("State: Enter the state or province.")
    page.get_by_label("State").select_option(label="Massachusetts")
    page.get_by_label("Telephone").fill("617 555 0100")
    button(page, "Buy now").click()
    expect(page.get_by_role("main")).to_contain_text("Berlin, MA 02101")
    expect(page.get_by_role("main")).to_contain_text("+1 617-555-0100")


def test_what_is_typed_while_the_fields_of_a_country_are_on_their_way_is_kept(window: Callable[..., Page]):
    page = window(shopper(now_deal(title="Lamp")), alone=True)

    def slowly(route: Any) -> None:
        answer = route.fetch()
        page.get_by_label("Street and house number").fill("9 Low Road")
        route.fulfill(response=answer)

    page.goto("/checkout/")
    page.get_by_label("Name", exact=True).fill("Ada Ash")
    page.route("**/account/address-fields/", slowly, times=1)
    page.get_by_label("Country").select_option(label="Japan")
    expect(page.get_by_label("Prefecture")).to_be_visible()
    expect(page.get_by_label("Street and house number")).to_have_value("9 Low Road")
    expect(page.get_by_label("Street and house number")).to_be_focused()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Ada Ash")
    expect(page.get_by_label("Country")).to_have_value("JP")


@pytest.mark.parametrize("script", [True, False])
def test_the_bill_goes_elsewhere_and_other_addresses_are_offered(
    window: Callable[..., Page], width: int, script: bool
):
    lamp = now_deal(title="Lamp", price=Decimal("30.00"), was_price=None)
    page = window(shopper(lamp), script=script, width=width)
    for place in ("1 High Street", "9 Low Road"):
        addresses.keep("ada", Address("Ada Ash", place, postcode="10115", city="Berlin", country="DE"))
    page.goto("/checkout/")
    page.get_by_label("Your addresses").select_option(label="Ada Ash, 1 High Street, 10115 Berlin, Germany")
    if not script:
        button(page, "Use it").click()
    expect(page.get_by_label("Street and house number")).to_have_value("1 High Street")
    bill = page.get_by_role("group", name="Where the bill goes")
    expect(bill).to_be_hidden()
    page.get_by_label("The bill goes to another address").check()
    if not script:
        button(page, "Buy now").click()
        expect(page.get_by_role("alert")).to_contain_text("Complete where the bill goes.")
    expect(bill.get_by_label("Country")).to_be_visible()
    expect(page.locator(".htmx-request, .htmx-settling, .htmx-added")).to_have_count(0)
    bill.get_by_label("Country").select_option(label="Germany")
    if script:
        expect(bill.get_by_label("Postcode", exact=True)).to_be_visible()
    for name, text in {"name": "Ash Ltd", "street": "1 Row", "postcode": "10115", "city": "Berlin"}.items():
        bill.locator(f"[name='bill-{name}']").fill(text)
    if script:
        assert flaws(page) == []
    button(page, "Buy now").click()
    expect(page.get_by_role("main")).to_contain_text("The bill goes to")
    (card,) = orders.of_user("ada").rows
    order = orders.get("ada", card.id)
    assert (order.address.street, order.bill_to.name) == ("1 High Street", "Ash Ltd")
    page.goto("/account/addresses/")
    expect(page.get_by_role("main").get_by_role("listitem")).to_have_count(2)


def test_an_order_whose_sum_changed_is_placed_with_the_new_one_after_one_button(window: Callable[..., Page]):
    lamp = now_deal(title="Lamp", price=Decimal("30.00"), was_price=None)
    page = window(shopper(lamp))
    page.goto("/checkout/")
    type_address(page)
    line = carts.read(carts.user_cart("ada"), now=timezone.now()).active[0]
    cart_changes.change_quantity(carts.user_cart("ada"), line.deal, 2, now=timezone.now())
    button(page, "Buy now").click()
    expect(page.get_by_role("main")).to_contain_text("Your order said €30.00, now it comes to €60.00.")
    assert orders.of_user("ada").rows == []
    button(page, "Go on with €60.00").click()
    expect(page.get_by_label("Town")).to_have_value("Berlin")
    button(page, "Buy now").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you, ")
    assert [order.total for order in orders.of_user("ada").rows] == [Decimal("60.00")]


@pytest.mark.sample(quick=0, whole=3)
def test_on_a_phone_the_way_to_checkout_stands_above_the_lines(window: Callable[..., Page]):
    page = window(shopper(*(now_deal(title=f"Lamp {number}") for number in range(6))), width=390)
    page.goto("/cart/")
    expect(lines(page).nth(5)).not_to_be_in_viewport()
    expect(button(page, "Go to checkout")).to_be_in_viewport(ratio=1)
    step = page.get_by_role("list", name="Steps").get_by_role("listitem")
    assert [
        one.get_by_text(name).bounding_box()["width"] > 1
        for one, name in zip(step.all(), ("Cart", "Delivery and payment", "Done"), strict=True)
    ] == [True, False, False]


@pytest.mark.sample(quick=0, whole=3)
def test_the_same_button_adds_again_after_its_answer(window: Callable[..., Page]):
    lamp = now_deal(title="Lamp")
    page = window()
    page.goto("/")
    for count in (1, 2):
        with page.expect_response("**/cart/add/"):
            button(page, "Add to cart: Lamp").click()
        expect(badge(page)).to_have_text("1")
        page.goto("/cart/")
        expect(page.get_by_label("Pieces of Lamp")).to_have_value(str(count))
        page.goto("/" if count == 1 else path(lamp))


@pytest.mark.sample(quick=0, whole=3)
def test_what_cannot_be_added_is_told_beside_the_page(window: Callable[..., Page]):
    lamp = now_deal(title="Lamp", stock=2)
    page = window()
    page.goto(path(lamp))
    page.locator("#buy-form").get_by_role("button", name="Add to cart").click()
    expect(told(page)).to_contain_text("“Lamp” is in your cart.")
    page.get_by_label("Pieces").fill("2")
    page.locator("#buy-form").get_by_role("button", name="Add to cart").click()
    expect(told(page)).to_contain_text("Only 2 are left. You have 1 of them in your cart.")
    expect(page.get_by_role("heading", level=1)).to_have_text("Lamp")


@pytest.mark.sample(quick=0, whole=3)
def test_notes_and_dialogs_of_a_purchase_are_accessible(window: Callable[..., Page]):
    lamp, chair = (now_deal(title=title) for title in ("Lamp" * 20, "Chair"))
    page = window(shopper(lamp, chair))
    page.goto("/")
    button(page, "Add to cart: Chair").click()
    expect(told(page)).to_be_visible()
    found = flaws(page)
    page.goto("/cart/")
    button(page, f"Remove {'Lamp' * 20}").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    found += flaws(page)
    page.goto("/checkout/")
    page.get_by_text("All dates and amounts").click()
    button(page, "Buy now").click()
    page.get_by_role("alert").filter(has_text="Please check the form").wait_for()
    found += flaws(page)
    assert found == []
