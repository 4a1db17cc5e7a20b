"""The cart's page and its buttons: for visitors and users, with htmx and without."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import Client
from django.utils import timezone

from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import cart_changes, carts
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.entities.commerce import MAX_ACTIVE
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.ids import new_ulid
from dealsite.web import page_cache
from dealsite.web.page_cache import MessageCookie
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_content, make_deal
from tests.people import assert_costs_as_declared, calls, make_user, signed_in

pytestmark = pytest.mark.usefixtures("shop")

BROWSER: dict[str, Any] = {"HTTP_SEC_FETCH_SITE": "same-origin"}
HTMX: dict[str, Any] = BROWSER | {"HTTP_HX_REQUEST": "true"}
GET, BATCH = "GetItem", "BatchGetItem"
CART_COOKIE = site_settings.SESSION_COOKIE_NAME.replace("session", "cart")


def add(browser: Client, deal: Deal, quantity: int = 1, **more: Any) -> Any:
    """Press the button of a deal's page."""
    form = {"offer": f"{deal.id}:{deal.content.price}", "quantity": quantity, "token": new_ulid(NOW)}
    return browser.post("/cart/add/", form | more.pop("form", {}), **(BROWSER | more))


def in_cart(browser: Client) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """What the cart's page shows: titles and pieces of its lines, and of those saved for later."""
    look = browser.get("/cart/").context["look"]
    if look is None:
        return [], []
    active, saved = (
        [(shown.line.title, shown.line.quantity) for shown in rows] for rows in (look.active, look.saved)
    )
    return active, saved


def ref(browser: Client, number: int = 0, *, saved: bool = False) -> str:
    """What a button of the cart says to mean a line."""
    look = browser.get("/cart/").context["look"]
    reference: str = (look.saved if saved else look.active)[number].line.ref
    return reference


def said(answer: Any) -> list[str]:
    """The last message of the page that a redirect leads to."""
    return [str(message) for message in answer.client.get(answer["Location"]).context["messages"]][-1:]


@pytest.fixture
def ada() -> Client:
    """A browser in which ada is signed in."""
    return signed_in(make_user("ada"))


def test_a_visitor_gets_a_cart_with_the_first_deal_and_no_sooner(client: Client):
    deal = make_deal()
    assert CART_COOKIE not in client.get("/").cookies
    assert CART_COOKIE not in client.get("/cart/").cookies
    answer = add(client, deal, 2)
    assert (answer.status_code, answer["Location"]) == (302, "/cart/")
    cookie = answer.cookies[CART_COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 30 * 24 * 3600)
    assert len(cookie.value) == 43
    assert said(answer) == ["“Mechanical keyboard” is in your cart."]
    assert in_cart(client) == ([("Mechanical keyboard", 2)], [])
    assert CART_COOKIE not in add(client, deal).cookies


def test_a_refused_deal_makes_no_cart(client: Client):
    answer = add(client, make_deal(stock=0))
    assert CART_COOKIE not in answer.cookies
    assert said(answer) == ["“Mechanical keyboard” is sold out."]


@pytest.mark.parametrize("key", ["", "short", "x" * 44, "é" * 43, "#" * 43])
def test_a_cart_cookie_of_another_form_is_none(client: Client, key: str):
    client.cookies[CART_COOKIE] = key
    assert calls(client.get("/cart/")) == []
    assert CART_COOKIE in add(client, make_deal()).cookies


def test_htmx_is_told_beside_the_page_and_gets_a_new_token(client: Client):
    deal = make_deal()
    token = new_ulid(NOW)
    answer = add(client, deal, form={"token": token}, **HTMX)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "is in your cart." in page
    assert '<span class="unread-badge">1</span>' in page
    assert token not in page
    assert 'hx-swap-oob="outerHTML:.add-token"' in page
    refused = add(client, make_deal(title="Gone", stock=0), **HTMX)
    assert refused.status_code == 409
    assert "is sold out." in refused.content.decode()


def test_a_form_sent_twice_adds_once_and_another_one_adds_to_it(client: Client):
    deal = make_deal()
    token = {"token": new_ulid(NOW)}
    add(client, deal, 2, form=token)
    add(client, deal, 2, form=token)
    assert in_cart(client)[0] == [("Mechanical keyboard", 2)]
    add(client, deal, 3)
    assert in_cart(client)[0] == [("Mechanical keyboard", 5)]


@pytest.mark.parametrize(
    "form",
    [
        {"offer": ""},
        {"offer": "x:1"},
        {"offer": f"{new_ulid(NOW)}:one"},
        {"offer": f"{new_ulid(NOW)}:-1"},
        {"offer": f"{new_ulid(NOW)}:NaN"},
        {"offer": f"{new_ulid(NOW)}:1.999"},
        {"quantity": "0"},
        {"quantity": "1000"},
        {"quantity": "1.000"},
        {"quantity": "1_0"},
        {"quantity": "-1"},
        {"quantity": "2.5"},
        {"quantity": "x"},
        {"token": "x"},
    ],
)
def test_what_no_page_sends_adds_nothing(client: Client, form: dict[str, str]):
    answer = add(client, make_deal(), form=form)
    assert answer.status_code == 302
    assert "Location" in answer
    assert in_cart(client) == ([], [])
    assert CART_COOKIE not in answer.cookies
    assert add(client, make_deal(), form=form, **HTMX).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"HTTP_SEC_FETCH_SITE": "cross-site"},
        {"HTTP_SEC_FETCH_SITE": "same-site"},
        {"HTTP_SEC_FETCH_SITE": "none"},
        {"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_ORIGIN": "http://testserver"},
        {"HTTP_ORIGIN": "https://evil.example"},
        {"HTTP_ORIGIN": "http://testserver.evil.example"},
        {"HTTP_ORIGIN": "https://testserver"},
        {"HTTP_ORIGIN": "null"},
    ],
)
@pytest.mark.parametrize("who", ["visitor", "user"])
def test_another_site_cannot_fill_a_cart(who: str, headers: dict[str, Any]):
    browser = Client(enforce_csrf_checks=True) if who == "visitor" else signed_in(make_user("ada"))
    form = {"offer": f"{make_deal().id}:79.90"}
    answer = browser.post("/cart/add/", form, **headers)
    assert answer.status_code == 403
    assert CART_COOKIE not in answer.cookies
    assert in_cart(browser) == ([], [])


@pytest.mark.parametrize(
    "headers", [{"HTTP_SEC_FETCH_SITE": "same-origin"}, {"HTTP_ORIGIN": "http://testserver"}]
)
def test_this_site_can_without_a_token(headers: dict[str, Any]):
    browser = Client(enforce_csrf_checks=True)
    form = {"offer": f"{make_deal().id}:79.90"}
    assert browser.post("/cart/add/", form, **headers).status_code == 302
    assert in_cart(browser)[0] == [("Mechanical keyboard", 1)]


@pytest.mark.parametrize("action", ["quantity", "remove", "undo", "save", "move", "changes", "merge"])
def test_every_other_button_of_the_cart_needs_its_token(action: str):
    browser = signed_in(make_user("ada"), enforce_csrf_checks=True)
    assert browser.post(f"/cart/{action}/", {}, **BROWSER).status_code == 403


def test_pages_for_all_visitors_are_kept_though_one_can_buy_there(client: Client, settings: Any):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 60
    page_cache.forget()
    deal = make_deal()
    for path in ("/", f"/deals/{deal.id}/{deal.card.slug}/"):
        answer = client.get(path)
        assert 'class="add-token"' in answer.content.decode()
        assert "csrf" not in answer.content.decode()
        assert not answer.cookies
        assert calls(answer) != []
        assert calls(Client().get(path)) == []


def test_only_who_has_a_cart_is_asked_for_its_number(client: Client, settings: Any):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 60
    page_cache.forget()
    badge = 'hx-get="/cart/badge/"'
    assert badge not in client.get("/").content.decode()
    add(client, make_deal())
    del client.cookies[
        MessageCookie.cookie_name
    ]  # which would keep the page out of the cache, being one visitor's
    assert badge in client.get("/").content.decode()
    assert badge not in Client().get("/").content.decode()


def test_the_badge_costs_one_get_and_nothing_without_a_cart(client: Client, ada: Client):
    assert calls(client.get("/cart/badge/")) == []
    deal = make_deal()
    for browser, cost in ((client, [GET]), (ada, [BATCH, GET])):
        add(browser, deal)
        answer = browser.get("/cart/badge/")
        assert calls(answer) == cost
        assert "1" in answer.content.decode()
        assert answer["Cache-Control"] == "private, no-store"


def test_a_badge_that_cannot_be_had_is_left_out_without_a_word(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    add(client, make_deal())

    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable()

    monkeypatch.setattr(carts, "read_head", fail)
    answer = client.get("/cart/badge/")
    assert (answer.status_code, answer.content) == (204, b"")


def test_the_cart_costs_the_same_however_much_is_in_it(client: Client, ada: Client):
    for browser in (client, ada):
        for number in range(3):
            add(browser, make_deal(title=f"Deal {number}"))
        browser.get("/cart/")
        answer = browser.get("/cart/")
        assert_costs_as_declared(answer)
        assert answer["Cache-Control"] == "private, no-store"


def test_the_newest_line_stands_first_and_the_total_is_right(client: Client, monkeypatch: pytest.MonkeyPatch):
    for minute, (title, price, quantity) in enumerate([("One", "1.50", 2), ("Two", "10.00", 3)]):
        monkeypatch.setattr(timezone, "now", lambda minute=minute: NOW + minute * HOUR / 60)
        add(client, make_deal(title=title, price=Decimal(price), was_price=None), quantity)
    assert in_cart(client)[0] == [("Two", 3), ("One", 2)]
    assert client.get("/cart/").context["look"].total == Decimal("33.00")


@pytest.mark.parametrize("headers", [BROWSER, HTMX], ids=["plain", "htmx"])
def test_pieces_are_changed_and_more_than_there_are_is_refused(client: Client, headers: dict[str, Any]):
    deal = make_deal(stock=5)
    add(client, deal)
    client.post("/cart/quantity/", {"deal": deal.id, "quantity": "4"}, **headers)
    assert in_cart(client)[0] == [("Mechanical keyboard", 4)]
    for wrong in ("6", "0", "-1", "x", "", "1e2", "9" * 30, "٣"):
        answer = client.post("/cart/quantity/", {"deal": deal.id, "quantity": wrong}, **headers)
        assert answer.status_code == 409
    assert in_cart(client)[0] == [("Mechanical keyboard", 4)]


@pytest.mark.parametrize("saved", [False, True])
def test_a_removed_line_comes_back_to_where_it_was_as_it_was(client: Client, saved: bool):
    deal = make_deal()
    add(client, deal, 3)
    if saved:
        client.post("/cart/save/", {"line": ref(client)})
    before = in_cart(client)
    answer = client.post("/cart/remove/", {"line": ref(client, saved=saved)})
    page = client.get("/cart/")
    assert "Undo" in page.content.decode()
    assert page.context["look"].active == page.context["look"].saved == []
    assert answer["Location"] == "/cart/"
    removed = client.post("/cart/add/", {"offer": f"{make_deal(title='Other').id}:1"}, **BROWSER)
    assert removed.status_code == 302
    form = undo_form(page.content.decode())
    client.post("/cart/remove/", {"line": ref(client)})
    client.post("/cart/undo/", form)
    client.post("/cart/undo/", form)
    assert in_cart(client) == before


def undo_form(page: str) -> dict[str, str]:
    """The fields of the undo form on a page."""
    part = page.split('action="/cart/undo/"')[1].split("</form>")[0]
    return dict(re.findall(r'name="(offer|quantity|token|saved)" value="([^"]*)"', part))


def test_the_price_that_was_shown_comes_back_too(client: Client):
    deal = make_deal()
    add(client, deal)
    client.post("/cart/remove/", {"line": ref(client)})
    form = undo_form(client.get("/cart/").content.decode())
    reprice(deal, "70.00")
    client.post("/cart/undo/", form)
    (shown,) = client.get("/cart/").context["look"].active
    assert (shown.line.price, shown.price, shown.problems) == (
        Decimal("79.90"),
        Decimal("70.00"),
        ("price_down",),
    )


def test_undo_after_htmx_stands_beside_the_page(client: Client):
    add(client, make_deal())
    answer = client.post("/cart/remove/", {"line": ref(client)}, **HTMX)
    page = answer.content.decode()
    assert 'id="toast" hx-swap-oob="innerHTML"' in page
    assert undo_form(page)["quantity"] == "1"
    assert not answer.cookies.get(MessageCookie.cookie_name)


def test_lines_are_saved_for_later_and_taken_back(client: Client):
    add(client, make_deal())
    line = ref(client)
    client.post("/cart/save/", {"line": line})
    assert in_cart(client) == ([], [("Mechanical keyboard", 1)])
    assert said(client.post("/cart/save/", {"line": line})) == ["This deal is not in your cart any more."]
    client.post("/cart/move/", {"line": ref(client, saved=True)})
    assert in_cart(client) == ([("Mechanical keyboard", 1)], [])


def reprice(deal: Deal, price: str = "79.90", **changes: Any) -> None:
    """Have an editor change a deal."""
    current = deals.get(deal.id)
    content = make_content(title=deal.card.title, price=Decimal(price), was_price=None, **changes)
    deal_changes.edit(current, content, version=current.version, brand=make_brand(), by=EDITOR, now=NOW)


def test_what_changed_is_named_and_taken_at_one_stroke(client: Client):
    up, down, few, over = (
        make_deal(title=title, stock=stock, expires_at=NOW + DAY)
        for title, stock in (("Up", None), ("Down", None), ("Few", 9), ("Over", None))
    )
    for deal in (up, down, few, over):
        add(client, deal, 5)
    reprice(up, "84.90")
    reprice(down, "69.90")
    reprice(few, stock=2)
    deal_changes.expire_now(deals.get(over.id), by=EDITOR, now=NOW - HOUR)
    page = client.get("/cart/")
    text = page.content.decode()
    for sentence in (
        "The price went up from €79.90 to €84.90.",
        "The price went down from €79.90 to €69.90.",
        "Only 2 are left. You wanted 5.",
        "This deal has expired.",
    ):
        assert sentence in text
    assert "Go to checkout" not in text
    seen = page.context["look"].digest
    assert said(client.post("/cart/changes/", {"seen": "other"})) == [
        "Your cart changed again meanwhile. This is how it is now."
    ]
    assert said(client.post("/cart/changes/", {"seen": seen})) == ["Your cart is up to date."]
    active, saved = in_cart(client)
    assert (sorted(active), saved) == ([("Down", 5), ("Few", 2), ("Up", 5)], [("Over", 5)])
    assert "Go to checkout" in client.get("/cart/").content.decode()


def test_an_empty_cart_says_so(client: Client, ada: Client):
    assert "Your cart is empty." in client.get("/cart/").content.decode()
    assert "Sign in" in client.get("/cart/").content.decode()
    assert "You have filled one elsewhere?" not in ada.get("/cart/").content.decode()


@pytest.mark.parametrize("action", ["quantity", "remove", "undo", "save", "move", "changes"])
def test_who_has_no_cart_changes_nothing(client: Client, action: str):
    answer = client.post(f"/cart/{action}/", {"deal": new_ulid(NOW), "quantity": "1"})
    assert said(answer) == ["This deal is not in your cart any more."]


def test_the_line_of_another_is_not_there(client: Client, ada: Client):
    add(ada, make_deal())
    theirs = ref(ada)
    add(client, make_deal(title="Mine"))
    for action in ("remove", "save", "move"):
        assert said(client.post(f"/cart/{action}/", {"line": theirs})) == [
            "This deal is not in your cart any more."
        ]
    assert in_cart(ada)[0] == [("Mechanical keyboard", 1)]


@pytest.mark.parametrize("line", ["", "x", "ACTIVE.x.y", "PURCHASED.2026-11-21T12:00:00.000Z." + "0" * 26])
def test_a_damaged_line_is_refused(client: Client, line: str):
    add(client, make_deal())
    assert said(client.post("/cart/remove/", {"line": line})) == [
        "This form is damaged. Load your cart again."
    ]


def test_a_full_cart_takes_no_more_and_says_so(ada: Client):
    owner = carts.user_cart("ada")
    made = [make_deal(title=f"Deal {number}") for number in range(MAX_ACTIVE)]
    cart_changes.add_many(owner, [CartAddition(deal.id, 1, new_ulid(NOW)) for deal in made], now=NOW)
    assert said(add(ada, make_deal(title="One more"))) == [
        "A cart holds up to 25 deals. Order these first, or save some for later."
    ]
