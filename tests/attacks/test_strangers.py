"""Every address of the site, opened by those whom it does not concern: nothing of others is shown or changed."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from dealsite.data.commerce import orders
from dealsite.data.people import messages, users
from dealsite.data.table.ids import new_ulid
from tests.attacks.conftest import body_of, browser_of
from tests.builders import EDITOR
from tests.pages import Route, routes
from tests.people import make_user
from tests.seeded import ADMIN, BACK_OFFICE, SHOPPER, VISITOR, Content

STRANGER = "stranger"
OF_THE_SHOPPER = ("order_id", "payment_id", "message_id")
# What only its owner, or the role for it, may read.
PRIVATE = (
    "@example.org",
    "1 High Street",
    "ending in 4242",
    "Half a deal",
    "A picture without words",
    "Lacks nothing",
)
WITH_A_TOKEN = ("follow_reset_link", "new_password")
HARMLESS = {"delete_message": 302}  # of one's own messages, none has this id: it is gone as wished


@pytest.fixture
def attacked(site: Content) -> Content:
    if STRANGER not in site.users:
        site.users[STRANGER] = make_user(STRANGER, email="stranger@elsewhere.example", now=timezone.now())
    return site


def own_things() -> list[Route]:
    """Return the routes of accounts and checkout that name an order, a payment or a message."""
    return [
        route
        for route in routes()
        if not route.pattern.startswith("cms/")
        and any(f":{name}>" in route.pattern for name in OF_THE_SHOPPER)
    ]


def is_refused(route: Route, method: str) -> bool:
    """Tell whether a view does not know a method at all."""
    only_looked_at = route.name in ("order", "checkout_done", "open_message")
    return only_looked_at if method == "post" else route.page.kind == "action"


def snapshot(site: Content) -> list[Any]:
    """Return what belongs to the shopper, as it stands in the table."""
    return [orders.get(SHOPPER, site.order), messages.get(SHOPPER, site.message), users.get(SHOPPER)]


def test_there_are_orders_payments_and_messages_to_ask_for():
    assert len(own_things()) == 11


def test_orders_payments_and_messages_of_others_are_not_there(attacked: Content, subtests: pytest.Subtests):
    for who in [STRANGER, EDITOR, BACK_OFFICE, ADMIN]:
        for method in ["get", "head", "post"]:
            with subtests.test(method=method, who=who):
                before = snapshot(attacked)
                browser = browser_of(attacked, who)
                wrong = []
                for route in own_things():
                    address = route.addresses(attacked)[0]
                    answer = getattr(browser, method)(address, {"token": new_ulid(timezone.now())})
                    expected = HARMLESS.get(route.name, 404) if method == "post" else 404
                    if answer.status_code != (405 if is_refused(route, method) else expected):
                        wrong.append((address, answer.status_code))
                assert wrong == []
                assert snapshot(attacked) == before


def test_a_visitor_is_led_to_the_sign_in_page_from_each_of_them(attacked: Content):
    before = snapshot(attacked)
    for route in own_things():
        for method in ("get", "post"):
            answer = getattr(browser_of(attacked, VISITOR), method)(route.addresses(attacked)[0])
            assert answer.status_code in (302, 401, 405), route.name
            assert answer.get("Location", "/account/sign-in/").startswith("/account/sign-in/")
    assert snapshot(attacked) == before


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("who", [VISITOR, STRANGER])
def test_no_answer_at_any_address_holds_what_is_private_to_another(attacked: Content, who: str, method: str):
    """All routes and all their further addresses, the forms sent empty."""
    before, leaks, failed = snapshot(attacked), [], []
    for route in routes():
        if route.name in WITH_A_TOKEN:
            continue
        for address in route.addresses(attacked):
            answer = getattr(browser_of(attacked, who), method)(address)
            body = body_of(answer)
            leaks += [(address, private) for private in PRIVATE if private in body]
            failed += [(address, answer.status_code)] if answer.status_code >= 500 else []
            assert attacked.order not in body.replace(address, ""), address
    assert leaks == []
    assert failed == []
    assert snapshot(attacked) == before


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}], ids=["old", "new"]
)
@pytest.mark.parametrize("who", [SHOPPER, ADMIN])
def test_a_forged_form_without_its_token_changes_nothing_at_any_address(
    attacked: Content, who: str, headers: dict[str, str]
):
    """A page of another site sends a form with the cookies of whoever is signed in, from an old or a new browser."""
    before, taken = snapshot(attacked), []
    browser = browser_of(attacked, who, enforce_csrf_checks=True)
    for route in routes():
        for address in route.addresses(attacked)[:1]:
            answer = browser.post(address, headers=headers)
            if answer.status_code not in (403, 405):
                taken.append((address, answer.status_code))
    assert taken == []
    assert snapshot(attacked) == before


@pytest.mark.parametrize("who", [VISITOR, ADMIN])
@pytest.mark.parametrize("method", ["put", "delete", "patch", "trace"])
def test_no_other_method_opens_an_address(attacked: Content, who: str, method: str):
    browser = browser_of(attacked, who)
    opened = []
    for route in routes():
        address = route.addresses(attacked)[0]
        answer = getattr(browser, method)(address)
        if answer.status_code not in (302, 401, 403, 404, 405):
            opened.append((address, answer.status_code))
    assert opened == []
