"""Right values of what people reported of shops such as this one: carts, checkouts, accounts, mails about orders."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from dealsite.data.commerce import carts
from dealsite.data.people import sessions
from tests.builders import NOW, make_deal
from tests.people import make_user, signed_in
from tests.shopping.shoppers import fill_cart, make_shopper

pytestmark = pytest.mark.usefixtures("shop")
HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}


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
        r'<p class="field-error[^"]*" id="([^"]+)">.*?<span>(.*?)</span>', answer.text, re.S
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
