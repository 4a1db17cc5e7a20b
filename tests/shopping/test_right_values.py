"""Right values of what people reported of shops such as this one: carts, checkouts, accounts, mails about orders."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from dealsite.accounts import passwords
from dealsite.data.commerce import carts, order_changes, orders, payments
from dealsite.data.commerce.carts import user_cart
from dealsite.data.commerce.order_record import save_card
from dealsite.data.people import email_addresses, profiles, sessions, users
from dealsite.data.table.ids import new_ulid
from tests.builders import DAY, HOUR, NOW, make_deal
from tests.jobs import run_next
from tests.payments import owe
from tests.people import give_card, make_user, signed_in
from tests.shopping.shoppers import CARD, checkout_form, fill_cart, make_shopper, place

pytestmark = pytest.mark.usefixtures("shop")
HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}
HONG_KONG = {"street": "2/F, 88 Des Voeux Road", "postcode": " ", "city": "Hong Kong", "country": "Hong Kong"}


def cart_form(browser: Client, **typed: str) -> dict[str, Any]:
    """Return what the cart's form sends, with the numbers of pieces that are typed by the first word of titles."""
    page = browser.get("/cart/")
    fields: dict[str, Any] = {name: [] for name in ("deal", "shown", "quantity")}
    for name, value in re.findall(r'name="(deal|shown|username)"\s+value="([^"]*)"', page.text):
        fields.setdefault(name, []).append(value)
    for shown in page.context["look"].active:
        fields["quantity"].append(typed.get(shown.line.title.split()[-1], str(shown.line.quantity)))
    return fields


def pieces(username: str = "ada") -> dict[str, int]:
    cart = carts.read_active(carts.user_cart(username), now=NOW)[1]
    return {line.title: line.quantity for line in cart}


@pytest.mark.parametrize("typed", ["7", "7 ", "007"])
def test_checkout_shows_what_is_typed_in_the_cart(typed):
    """A1: without script, too."""
    ada = make_shopper()
    fill_cart("ada", make_deal(title="Lamp", stock=9), make_deal(title="Chair"), quantity=1)
    form = cart_form(ada, Lamp=typed)
    assert ada.post("/cart/quantity/", form | {"do": "checkout"})["Location"] == "/checkout/"
    assert pieces() == {"Lamp": 7, "Chair": 1}


@pytest.mark.parametrize("button", ["save", "remove", "changes"])
def test_whatever_is_pressed_in_the_cart_sends_what_is_typed(button):
    """A1: each button of the cart has all its fields in its form."""
    ada = make_shopper()
    fill_cart("ada", make_deal(title="Chair"), make_deal(title="Lamp"), quantity=1)
    look = ada.get("/cart/").context["look"]
    line = next(shown.line for shown in look.active if shown.line.title == "Chair")
    pressed = {"seen": look.digest} if button == "changes" else {"line": line.ref}
    assert ada.post(f"/cart/{button}/", cart_form(ada, Lamp="7") | pressed, **HTMX).status_code == 200
    assert pieces()["Lamp"] == 7


def test_a_field_that_was_not_touched_changes_nothing():
    """A1: what another window made of it stays."""
    ada = make_shopper()
    fill_cart("ada", make_deal(title="Chair"), make_deal(title="Lamp"), quantity=1)
    form = cart_form(ada, Lamp="7")
    ada.post("/cart/quantity/", cart_form(ada, Chair="3"))
    ada.post("/cart/quantity/", form)
    assert pieces() == {"Lamp": 7, "Chair": 3}


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        *((wrong, "Enter a whole number from 1 to 999.") for wrong in ("0", "", "1.5", "-1", "1000", "1e1")),
        ("6", "Only 5 are left."),
    ],
)
def test_a_quantity_that_cannot_be_says_so_at_its_field(typed, reason, headers):
    """A12: what was typed stays in the field, other fields count, and checkout does not go on."""
    ada = make_shopper()
    fill_cart("ada", make_deal(title="Lamp", stock=5), make_deal(title="Chair"), quantity=1)
    form = cart_form(ada, Lamp=typed, Chair="2") | ({} if headers else {"do": "checkout"})
    answer = ada.post("/cart/quantity/", form, **headers)
    assert answer.status_code == 409
    (error_id, said) = re.search(
        r'<p class="field-error[^"]*"\s+id="([^"]+)">.*?<span>(.*?)</span>', answer.text, re.S
    ).groups()
    field = re.search(rf'<input id="{error_id.removesuffix("_error")}"[^>]*>', answer.text)[0]
    assert said == reason
    assert f'value="{typed}"' in field
    assert f'aria-describedby="{error_id}"' in field
    assert pieces() == {"Lamp": 1, "Chair": 2}


def test_an_emptied_field_of_a_deals_page_adds_nothing():
    """A12: a list's button has no field, and adds one."""
    deal = make_deal(title="Lamp")
    for form, status in (({"quantity": ""}, 409), ({"quantity": "0"}, 409), ({}, 302)):
        ada = signed_in(make_user())
        answer = ada.post("/cart/add/", {"offer": f"{deal.id}:"} | form, HTTP_SEC_FETCH_SITE="same-origin")
        look = ada.get("/cart/").context["look"]
        assert len(look.active) == (status == 302), form
        assert answer.status_code == 302


def test_a_cart_whose_session_has_ended_says_so():
    """A13: whatever is pressed; what was typed goes on after signing in; no form changes another's cart."""
    ada, bob = make_shopper(), make_shopper("bob")
    (lamp,) = fill_cart("ada", make_deal(title="Lamp"), quantity=1)
    fill_cart("bob", lamp, quantity=1)
    form = cart_form(ada, Lamp="7")
    assert bob.post("/cart/quantity/", form, **HTMX).status_code == 409
    assert pieces("bob") == {"Lamp": 1}
    sessions.end_all("ada")
    for button in ("quantity", "save", "remove", "undo", "changes"):
        answer = ada.post(f"/cart/{button}/", form, **HTMX)
        assert answer.status_code == 401
        assert "Your session has ended" in answer.text
    asked = Client().post("/cart/quantity/", form | {"do": "checkout"})
    assert (asked.status_code, asked.context["address"]) == (401, "/cart/quantity/")
    assert ("quantity", "7") in asked.context["kept"]


def test_the_page_of_a_cart_whose_session_has_ended_says_so():
    """A13."""
    ada = make_shopper()
    fill_cart("ada")
    sessions.end_all("ada")
    page = ada.get("/cart/").text
    assert "Your session has ended." in page
    assert "Your cart is empty" not in page


def sign_up_and_order(**more: Any) -> tuple[Client, str]:
    """Return a browser in which ada has ordered whose address is not confirmed yet, and the order's id."""
    make_user("ada", confirmed=False)
    save_card("ada", CARD, job_id=new_ulid(NOW), now=NOW)
    ada = signed_in(users.get("ada"))
    fill_cart("ada")
    return ada, place(ada, **more)


def sent() -> list[tuple[list[str], str]]:
    """Do all work; return whom a mail went to since the last time, and its subject."""
    while run_next(now=NOW):
        pass
    found = [(message.to, message.subject.removeprefix("Dealsite: ")) for message in mail.outbox]
    mail.outbox.clear()
    return found


def test_an_address_gets_the_mails_of_its_orders_once_it_is_confirmed(settings):
    """A2: also the confirmation of what was ordered before."""
    settings.DEALSITE_SENDS_MAIL = True
    ada, order_id = sign_up_and_order()
    assert "For mails, too," in ada.get(reverse("checkout_done", args=[order_id])).text
    assert "Your order" not in str(sent())
    email_addresses.confirm(users.get("ada"), now=NOW)
    mark = f"({order_id[-6:]})"
    assert sent() == [(["ada@example.org"], f"Your order {mark}")]
    order_changes.ship("ada", order_id, unpaid=True, by="kim", now=NOW)
    assert sent() == [(["ada@example.org"], f"Your order is on its way {mark}")]


def test_an_order_shows_the_address_of_today():
    """A9."""
    ada, order_id = sign_up_and_order()
    email_addresses.confirm(users.get("ada"), now=NOW)
    given = {"name": "ada", "timezone": "", "email": "new@example.org"}
    email_addresses.claim(profiles.get("ada"), user=users.get("ada"), now=NOW, **given)
    email_addresses.confirm(users.get("ada"), now=NOW)
    page = ada.get(reverse("order", args=[order_id])).text
    assert "new@example.org" in page
    assert "ada@example.org" not in page


def test_instalments_are_months_of_the_site(settings):
    """A11."""
    settings.TIME_ZONE = "Europe/Berlin"
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2027, 5, 1, 0, 35, tzinfo=berlin).astimezone(UTC)
    due = [at.astimezone(berlin) for at, _ in payments.instalments(Decimal(60), 6, first=first)]
    assert [f"{at:%m-%d %H:%M}" for at in due] == [f"{month:02}-01 00:35" for month in range(5, 11)]
    night = datetime(2027, 1, 28, 2, 30, tzinfo=berlin).astimezone(UTC)
    assert payments.months_later(night, 2) == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)  # there is no 2:30


@pytest.mark.parametrize("at", ["before", "within"])
@pytest.mark.parametrize("other", [False, True])
def test_a_card_that_was_removed_meanwhile_buys_nothing(at, other, monkeypatch):
    """A20: also where another one takes its place at the moment of ordering."""
    ada = make_shopper()
    fill_cart("ada")
    form = checkout_form(ada)
    read = carts.read_active

    def remove(*arguments, **options):
        ada.post(reverse("forget_card"))
        if other:
            give_card("ada", "another")
        return read(*arguments, **options)

    if at == "before":
        remove(user_cart("ada"), now=NOW)
    else:
        monkeypatch.setattr(order_changes, "read_active", remove)
    answer = ada.post("/checkout/", form)
    assert answer.status_code == 422
    assert "Choose a card to pay with." in answer.text
    assert orders.of_user("ada").rows == []


def test_what_is_due_stands_before_what_is_cancelled():
    """Data A1: and no further page is hidden."""
    long_ago = NOW - 400 * DAY
    for number in range(1, 4):
        for payment in owe(12, "120.00", account="ada", order_number=number, first=long_ago):
            payments.cancel("ada", payment.due_at, payment.id, reason="x", by="kim", now=long_ago)
    due = owe(3, "30.00", account="ada", order_number=4)
    page = signed_in(users.get("ada")).get(reverse("payments"))
    (shown,) = page.context["coming"]
    assert [payment.id for payment in shown.payments] == [payment.id for payment in due]
    history = [payment for group in page.context["history"] for payment in group.payments]
    rest = signed_in(users.get("ada")).get(reverse("payments") + page.context["past"])
    history += [payment for group in rest.context["history"] for payment in group.payments]
    assert (len(history), {payment.status for payment in history}) == (36, {"CANCELLED"})
    assert not page.context["after"]


def test_a_detour_to_the_cart_keeps_the_address():
    """A15."""
    ada = make_shopper()
    fill_cart("ada")
    away = ada.post("/checkout/", checkout_form(ada, street="12½ High Street", city="", do="cart"))
    assert away["Location"] == "/cart/"
    form = ada.get("/checkout/").context["form"]
    assert (form["street"].value(), form["city"].value()) == ("12½ High Street", "")


def shown_lines(page: str) -> list[str]:
    """The lines of the address on a page."""
    (found,) = re.findall(r"<address[^>]*>(.*?)</address>", page, re.S)
    return [line.strip() for line in found.split("<br>")]


def test_an_address_needs_no_postcode_and_shows_no_gap():
    """A14: on pages, slips, in mails and files."""
    ada, office = make_shopper(), signed_in(make_user("kim", roles=["back office"]))
    fill_cart("ada")
    order_id = place(ada, **HONG_KONG)
    expected = ["Ada Ash", "2/F, 88 Des Voeux Road", "Hong Kong", "Hong Kong"]
    assert orders.get("ada", order_id).address.postcode == ""
    slips = f"{reverse('cms_packing_slips')}?order=ada/{order_id}"
    for browser, path in (
        (ada, reverse("checkout_done", args=[order_id])),
        (ada, reverse("order", args=[order_id])),
        (office, reverse("cms_order", args=["ada", order_id])),
        (office, slips),
    ):
        assert shown_lines(browser.get(path).text) == expected, path
    while run_next(now=NOW + HOUR):
        pass
    assert any("\n\n" + "\n".join(expected) + "\n" in sent.body for sent in mail.outbox)
    asked = {"token": new_ulid(NOW), "address": f"{reverse('cms_orders')}?list=placed"}
    answer: Any = office.post(reverse("cms_export_list"), asked)
    file = b"".join(answer.streaming_content).decode()
    assert ',Ada Ash,"2/F, 88 Des Voeux Road",,,Hong Kong,Hong Kong,' in file
    fill_cart("ada")
    assert ada.get("/checkout/").context["form"]["postcode"].value() == ""


@pytest.mark.parametrize(
    "name",
    ["change_password", "new_password", "delete_account", "edit_profile", "set_up_two_factor", "my_data"],
)
def test_a_password_stands_with_its_user_name(name):
    """A18: for password managers."""
    ada = make_user("ada")
    browser = signed_in(ada, now=NOW - HOUR)
    if name == "new_password":
        browser = Client()
        token = passwords.make_reset_token(users.get("ada"), now=NOW)
        browser.get(reverse("follow_reset_link", args=["ada", token]))
    page = browser.post(reverse(name)) if name == "my_data" else browser.get(reverse(name))
    form = next(part for part in page.text.split("<form") if 'type="password"' in part)
    (field,) = re.findall(r'<input[^>]*autocomplete="username"[^>]*>', form)
    assert 'value="ada"' in field
    assert form.index(field) < form.index('type="password"')


def test_what_is_typed_at_checkout_is_there_after_a_detour():
    """A15: without script, too; and where the cart changed so that nothing was ordered."""
    ada = make_shopper()
    fill_cart("ada")
    form = checkout_form(ada, street="5 Long Lane")
    assert ada.post("/checkout/", form | {"do": "cart"})["Location"] == "/cart/"
    assert ada.get("/checkout/").context["form"]["street"].value() == "5 Long Lane"
    assert ada.post("/checkout/", form | {"street": "6 Long Lane", "total": "1.00"}).status_code == 409
    assert ada.get("/checkout/").context["form"]["street"].value() == "6 Long Lane"
