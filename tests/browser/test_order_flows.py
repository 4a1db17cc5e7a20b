"""What becomes of an order, with script and without: shoppers change it, the back office does the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.data.commerce import order_changes, orders, payments
from dealsite.data.commerce.order_record import Order, PaymentCard, save_card
from dealsite.data.people import users
from dealsite.data.table.ids import new_ulid
from tests import people
from tests.browser.addresses import type_address
from tests.browser.content import now_deal
from tests.browser.flaws import flaws
from tests.orders import make_order
from tests.payments import pay

pytestmark = [pytest.mark.usefixtures("site"), pytest.mark.sample(quick=6, whole=3)]
MINUTE = timedelta(minutes=1)


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def script(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def office(window: Callable[..., Page], script: bool) -> Page:
    """A window of olga, of the back office."""
    return window(people.make_user("olga", roles=["back office"]), script=script)


@pytest.fixture
def shopper(window: Callable[..., Page], script: bool) -> Page:
    """A window of ada, who has a card."""
    ada, now = users.find("ada") or people.make_user("ada"), timezone.now()
    save_card(
        "ada", PaymentCard("test", "test:approve", "Visa ending in 4242"), job_id=new_ulid(now), now=now
    )
    return window(ada, script=script)


def paid_order(quantity: int = 2) -> Order:
    """Have ada buy some lamps nine minutes ago."""
    lamp = now_deal(title="Lamp", price=Decimal("30.00"), was_price=None, stock=9, age=timedelta(hours=1))
    return pay(make_order("ada", lamp, quantity=quantity, now=timezone.now() - 9 * MINUTE))


def the_order() -> Order:
    (card,) = orders.of_user("ada").rows
    return orders.get("ada", card.id)


def main(page: Page) -> Any:
    return page.get_by_role("main")


def test_a_shopper_buys_changes_the_address_cancels_a_part_and_buys_again(shopper: Page):
    lamp = now_deal(title="Lamp", price=Decimal("30.00"), was_price=None, stock=9)
    shopper.goto(f"/deals/{lamp.id}/{lamp.card.slug}/")
    shopper.get_by_label("Pieces").fill("2")
    shopper.locator("#buy-form").get_by_role("button", name="Add to cart").click()
    expect(shopper.locator("#messages, [data-toast]").filter(has_text="is in your cart")).to_be_visible()
    shopper.goto("/cart/")
    main(shopper).get_by_role("button", name="Go to checkout").click()
    type_address(shopper)
    main(shopper).get_by_role("button", name="Buy now").click()
    expect(shopper.get_by_role("heading", level=1)).to_contain_text("Thank you, ")
    order = the_order()
    assert (order.total, order.address.street) == (Decimal("60.00"), "1 High Street")

    shopper.goto(f"/account/orders/{order.id}/")
    shopper.get_by_role("link", name=re.compile("Change.*It goes to")).click()
    type_address(shopper, "9 Low Road")
    main(shopper).get_by_role("button", name="Change the address").click()
    expect(main(shopper)).to_contain_text("9 Low Road")
    shopper.get_by_role("link", name="Cancel some of it").click()
    shopper.get_by_label("Pieces: Lamp").fill("1")
    shopper.get_by_role("button", name="Cancel").click()
    expect(main(shopper).get_by_text("1 × Cancelled")).to_be_visible()
    assert the_order().card.taken_back == 1
    expect(main(shopper)).to_contain_text("€30.00 is on its way back")
    shopper.get_by_role("button", name="Order again").click()
    expect(shopper).to_have_url(re.compile("/cart/$"))
    expect(main(shopper)).to_contain_text("Lamp")


def test_a_return_is_asked_for_and_declined(shopper: Page, office: Page):
    order = paid_order()
    order_changes.ship("ada", order.id, by="olga", now=timezone.now() - 2 * MINUTE)
    shopper.goto(f"/account/orders/{order.id}/")
    shopper.get_by_role("link", name="Return something").click()
    shopper.get_by_label("Pieces: Lamp").fill("1")
    shopper.get_by_label("Reason").fill("Too loud")
    shopper.get_by_role("button", name="Ask to return it").click()
    office.goto("/cms/orders/returns/")
    expect(office.get_by_role("cell", name="Too loud")).to_be_visible()
    office.get_by_role("link", name=order.id[-6:], exact=True).click()
    office.get_by_role("link", name="Decline").click()
    office.get_by_role("button", name="Decline it").click()
    expect(office.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")
    office.get_by_label("Reason").fill("It was used")
    office.get_by_role("button", name="Decline it").click()
    expect(office.get_by_role("link", name="Decline")).to_have_count(0)
    shopper.reload()
    expect(main(shopper)).to_contain_text("It was used")


def test_the_back_office_notes_tags_redirects_and_lowers_an_order(office: Page, script: bool):
    order = paid_order(quantity=3)
    office.goto(f"/cms/orders/ada/{order.id}/")
    office.get_by_label("A note for the team").fill("Rang: back on Monday")
    office.get_by_role("button", name="A note for the team").click()
    expect(main(office).get_by_text("Rang: back on Monday", exact=True)).to_be_visible()
    office.get_by_text("Tag", exact=True).click()
    office.get_by_label("New tag").fill("fragile")
    office.get_by_label("New tag").press("Enter")
    expect(office.get_by_role("button", name="Remove the tag fragile")).to_be_visible()
    office.get_by_role("button", name="Remove the tag fragile").click()
    expect(office.get_by_role("button", name="Remove the tag fragile")).to_have_count(0)
    office.get_by_role("link", name=re.compile("Change.*Delivery")).click()
    type_address(office, "9 Low Road")
    office.get_by_role("button", name="Change the address").click()
    expect(main(office)).to_contain_text("9 Low Road")
    office.locator("summary", has_text="More").first.click()
    office.get_by_role("link", name="Cancel lines").click()
    office.get_by_label("Pieces: Lamp").fill("1")
    office.get_by_label("Reason").fill("One is broken")
    office.get_by_role("button", name="Cancel the chosen pieces").click()
    expect(main(office).get_by_text("One is broken", exact=True)).to_be_visible()
    office.locator("summary", has_text="More").first.click()
    office.get_by_role("link", name="Refund an amount").first.click()
    office.get_by_label("Lamp").fill("5.50")
    office.get_by_label("Reason").fill("Scratched")
    office.get_by_role("button", name="Refund it").click()
    expect(main(office)).to_contain_text("€54.50")
    assert [payment.unwanted for payment in payments.of_order("ada", the_order().payments)] == [
        Decimal("35.50")
    ]
    if script:
        assert flaws(office) == []


def test_an_order_is_made_for_somebody_shipped_delivered_and_its_mail_sent_again(
    office: Page, search_index: Any, script: bool
):
    people.make_user("ada")
    now_deal(title="Lamp", price=Decimal("30.00"), was_price=None, stock=9)
    search_index()
    office.goto("/cms/customers/ada/")
    office.get_by_role("link", name="New order").click()
    office.get_by_label("Words, id or link of a deal").fill("lamp")
    if not script:
        office.get_by_role("button", name="Find", exact=True).click()
    office.get_by_role("button", name=re.compile("Add.*Lamp")).click()
    office.get_by_label("Pieces of Lamp").fill("2")
    office.get_by_label("Pieces of Lamp").press("Enter")
    expect(office.locator("#new-order-sum")).to_contain_text("€60.00")
    type_address(office)
    office.get_by_role("button", name="Place the order").click()
    expect(office.get_by_text("The order for Ada Ash is placed.")).to_be_visible()
    order = the_order()
    assert (order.placed_by, order.total) == ("olga", Decimal("60.00"))

    office.get_by_role("link", name="Ship it all the same").click()
    office.get_by_label("Ship it although it is not paid").check()
    office.get_by_role("button", name="Mark shipped").click()
    office.get_by_role("link", name="Mark delivered").click()
    office.get_by_role("button", name="Mark 1 order delivered").click()
    expect(office.get_by_text("1 order is marked delivered.")).to_be_visible()
    assert the_order().status == "DELIVERED"
    office.get_by_role("button", name="Send again").first.click()
    expect(office.get_by_text("The mail is sent again, to ada@example.org.")).to_be_visible()


def test_a_customer_and_their_order_are_found(office: Page, search_index: Any):
    order = paid_order()
    search_index()
    office.goto("/cms/customers/")
    office.get_by_role("searchbox").fill("ada")
    office.get_by_role("searchbox").press("Enter")
    main(office).get_by_role("link", name="Ada Lovelace").first.click()
    office.get_by_role("link", name=order.id[-6:], exact=True).click()
    expect(office.get_by_role("heading", level=1)).to_contain_text(order.id[-6:])
