"""What becomes of visitors' carts when they sign in or up."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import Client
from django.utils import timezone

from dealsite.accounts import requests
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import cart_changes, carts
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.jobs import site_switch
from dealsite.data.jobs.site_switch import SiteSwitch
from dealsite.data.people.users import User
from dealsite.data.table.errors import Busy, Conflict, DataError, Unavailable
from dealsite.data.table.ids import new_ulid
from tests.accounts.conftest import PASSWORD, sign_in
from tests.builders import make_deal

COOKIE = site_settings.SESSION_COOKIE_NAME.replace("session", "cart")
ADA = carts.user_cart("ada")


@pytest.fixture
def key(browser: Client) -> str:
    """What the cart's cookie of the browser holds."""
    key = requests.new_key()
    browser.cookies[COOKIE] = key
    return key


def put(owner: carts.CartOwner, *some: Deal, quantity: int = 1) -> None:
    now = timezone.now()
    wanted = [CartAddition(deal.id, quantity, new_ulid(now)) for deal in some]
    assert cart_changes.add_many(owner, wanted, now=now).refused == {}


def held(owner: carts.CartOwner = ADA) -> tuple[dict[str, int], dict[str, int]]:
    cart = carts.read(owner, now=timezone.now())
    return tuple({line.title: line.quantity for line in lines} for lines in (cart.active, cart.saved))  # type: ignore[return-value]


def said(browser: Client) -> list[str]:
    return [str(message) for message in browser.get("/cart/").context["messages"]]


def make_deals(count: int, name: str = "Deal") -> list[Deal]:
    return [make_deal(title=f"{name} {number}") for number in range(count)]


def test_the_cart_comes_over_once_and_its_cookie_goes(browser: Client, ada: User, key: str):
    lamp, chair = make_deal(title="Lamp"), make_deal(title="Chair")
    put(carts.visitor_cart(key), lamp, chair, quantity=2)
    put(ADA, lamp)
    answer = sign_in(browser)
    assert answer.cookies[COOKIE]["max-age"] == 0
    assert held() == ({"Lamp": 3, "Chair": 2}, {})
    assert held(carts.visitor_cart(key)) == ({}, {})
    assert said(browser) == ["Your cart came with you: 2 deals, added to what was there."]
    sign_in(browser)
    assert held() == ({"Lamp": 3, "Chair": 2}, {})


def test_it_comes_over_to_a_new_account_too(browser: Client, key: str):
    put(carts.visitor_cart(key), make_deal(title="Lamp"))
    form = {
        "username": "ada",
        "email": "ada@example.org",
        "password": PASSWORD,
        "registration": new_ulid(timezone.now()),
    }
    answer = browser.post("/account/sign-up/", form | {"next": "/checkout/"})
    assert answer["Location"] == "/checkout/"
    assert answer.cookies[COOKIE]["max-age"] == 0
    assert held() == ({"Lamp": 1}, {})


def test_what_finds_no_room_is_saved_and_named(browser: Client, ada: User, key: str):
    put(ADA, *make_deals(24))
    put(carts.visitor_cart(key), *make_deals(3, "New"))
    sign_in(browser)
    active, saved = held()
    assert (len(active), len(saved)) == (25, 2)
    first, second = said(browser)
    assert first == "Your cart came with you: 1 deal, added to what was there."
    assert second.startswith("A cart holds up to 25 deals. Saved for later instead: “New ")


def test_a_browser_without_a_cart_is_told_nothing(browser: Client, ada: User):
    answer = sign_in(browser)
    assert COOKIE not in answer.cookies
    assert said(browser) == []


def test_an_empty_cart_goes_without_a_word(browser: Client, ada: User, key: str):
    assert sign_in(browser).cookies[COOKIE]["max-age"] == 0
    assert said(browser) == []


@pytest.mark.parametrize("error", [Unavailable(), Busy(), Conflict()])
def test_signing_in_works_though_the_cart_cannot_come_over(
    browser: Client, ada: User, key: str, monkeypatch: pytest.MonkeyPatch, error: DataError
):
    put(carts.visitor_cart(key), make_deal(title="Lamp"))

    def fail(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(cart_changes, "merge", fail)
        answer = sign_in(browser)
        assert answer.status_code == 302
        assert answer.cookies[site_settings.SESSION_COOKIE_NAME].value
        assert COOKIE not in answer.cookies
        page = browser.get("/cart/").content.decode()
        assert "could not be merged" in page
        assert "Merge carts" in page
        again = browser.post("/cart/merge/")
        assert again.status_code == error.status
        assert COOKIE not in again.cookies
    answer = browser.post("/cart/merge/")
    assert answer["Location"] == "/cart/"
    assert answer.cookies[COOKIE]["max-age"] == 0
    assert held() == ({"Lamp": 1}, {})
    assert "Merge carts" not in browser.get("/cart/").content.decode()


def test_a_visitor_brings_nothing_over(client: Client, whole_table: None):
    assert client.post("/cart/merge/").status_code == 401


def test_while_the_site_is_read_only_the_cart_waits_for_another_sign_in(
    browser: Client, ada: User, key: str, monkeypatch: pytest.MonkeyPatch
):
    put(carts.visitor_cart(key), make_deal(title="Lamp"))
    with monkeypatch.context() as closed:
        closed.setattr(site_switch.of_process, "current", lambda: SiteSwitch("read-only"))
        answer = sign_in(browser)
    assert (answer.status_code, COOKIE in answer.cookies) == (302, False)
    assert (held(), held(carts.visitor_cart(key))) == (({}, {}), ({"Lamp": 1}, {}))
