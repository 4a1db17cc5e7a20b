"""Everything that costs the site something has a limit, which its page tells with 429 and how long to wait."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts.limit_table import ROWS
from dealsite.data import table
from dealsite.data.table.ids import iso, new_ulid
from tests.builders import NOW, make_announcement, make_brand, make_deal
from tests.payments import owe
from tests.people import make_user, signed_in
from tests.shopping.shoppers import checkout_form, fill_cart, make_shopper

BROWSER: dict[str, Any] = {"HTTP_SEC_FETCH_SITE": "same-origin"}
HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}
Act = Callable[..., Any]


@pytest.fixture(autouse=True)
def site(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty site where it is always NOW."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def new_cart() -> Act:
    deal = make_deal()
    form = {"offer": f"{deal.id}:{deal.content.price}"}
    return lambda **more: Client().post("/cart/add/", form, **BROWSER, **more)


def cart() -> Act:
    browser = make_shopper()
    (deal,) = fill_cart()
    return lambda **more: browser.post("/cart/quantity/", {"deal": deal.id, "quantity": "3"}, **more)


def added() -> Act:
    browser, deal = make_shopper(), make_deal()
    form = {"offer": f"{deal.id}:{deal.content.price}"}
    return lambda **more: browser.post("/cart/add/", form, **BROWSER, **more)


def search() -> Act:
    return lambda **more: Client().get("/search/?q=lamp", **more)


def relation(verb: str) -> Act:
    make_brand()
    browser = signed_in(make_user("ada"))
    return lambda **more: browser.post(f"/brands/nordlicht/{verb}/", **more)


def mute() -> Act:
    browser = signed_in(make_user("ada"))
    return lambda **more: browser.post("/account/messages/settings/all/", {"muted": "yes"}, **more)


def order() -> Act:
    browser = make_shopper()
    fill_cart()
    form = checkout_form(browser)
    return lambda **more: browser.post("/checkout/", form, **more)


def card() -> Act:
    browser = make_shopper(card=False)
    return lambda **more: browser.post("/account/card/finish/", {"number": "4242 4242 4242 4242"}, **more)


def pay() -> Act:
    browser = make_shopper()
    (payment,) = owe(account="ada", first=NOW + timedelta(days=9))
    address, form = f"/account/payments/{payment.id}/pay/", {"due_at": iso(payment.due_at)}
    return lambda **more: browser.post(address, form, **more)


def office() -> Client:
    return signed_in(make_user("olga", roles=("editor", "back office")))


def retry_payment() -> Act:
    browser = office()
    (payment,) = owe(account="bob")
    form = {"account": "bob", "due": iso(payment.due_at)}
    return lambda **more: browser.post(f"/cms/payments/{payment.id}/retry/", form, **more)


def retry_job() -> Act:
    browser, job = office(), make_announcement(make_deal().id, new_ulid(NOW, 77))
    return lambda **more: browser.post(f"/cms/jobs/{job}/retry/", **more)


def message() -> Act:
    browser, deal = office(), make_deal()
    words = {"deal": deal.id, "audience": "both", "headline": "x", "sure": "yes", "action": "send"}

    def send(**more: Any) -> Any:
        return browser.post("/cms/messages/new/", words | {"token": new_ulid(NOW)}, **more)

    return send


def export() -> Act:
    browser, form = office(), {"address": "/cms/deals/"}
    return lambda **more: browser.post("/cms/jobs/export/", form | {"token": new_ulid(NOW)}, **more)


def snapshot() -> Act:
    browser = office()
    return lambda **more: browser.post("/cms/ask/snapshot/", **more)


def my_data() -> Act:
    browser = signed_in(make_user("ada"))
    return lambda **more: browser.post("/account/my-data/", {"token": new_ulid(NOW)}, **more)


def sign_up() -> Act:
    names = iter(("eve", "mallory"))

    def make(**more: Any) -> Any:
        name = next(names)
        form = {"username": name, "email": f"{name}@example.org", "password": "seven quiet trams"}
        return Client().post("/account/sign-up/", form | {"registration": new_ulid(NOW)}, **more)

    return make


def reset() -> Act:
    return lambda **more: Client().post("/account/password-reset/", {"email": "ada@example.org"}, **more)


ACTIONS: list[tuple[str, Callable[[], Act]]] = [
    ("new-cart", new_cart),
    ("cart", cart),
    ("cart", added),
    ("search", search),
    ("like", lambda: relation("like")),
    ("like", lambda: relation("unwatch")),
    ("like", mute),
    ("order", order),
    ("card", card),
    ("retry", pay),
    ("retry", retry_payment),
    ("retry", retry_job),
    ("message", message),
    ("export", export),
    ("snapshot", snapshot),
    ("my-data", my_data),
    ("sign-up", sign_up),
    ("reset", reset),
]


@pytest.mark.parametrize(("name", "prepare"), ACTIONS)
def test_what_costs_something_has_a_limit(settings: Any, name: str, prepare: Callable[[], Act]):
    act = prepare()
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {f"{name}-total": (1, timedelta(minutes=1))}
    first = act()
    assert first.status_code in (200, 302)
    before = table.scan_all(consistent=True)
    answer = act()
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 60
    assert "Please wait 60 seconds" in answer.content.decode()
    # Nothing was done: what is kept is who was refused.
    changed = [item for item in table.scan_all(consistent=True) if item not in before]
    assert {item["type"] for item in changed} <= {"Throttle"}


def test_every_limit_in_all_is_tried_here_or_has_a_test_of_its_own():
    # tests/worker/test_mails.py, tests/cms/ask/test_ask.py, tests/accounts/test_email_address.py,
    # tests/cms/deals/test_link_reading.py, tests/worker/test_turns.py
    elsewhere = {"mail", "mail-order", "gateway", "gateway-worker", "probe"} | {
        "question",
        "answer",
        "confirmation",
        "link",
    }
    assert {row.name for row in ROWS if row.total} == {name for name, _ in ACTIONS} | elsewhere


def test_a_part_of_a_page_says_so_too(settings: Any):
    act = relation("like")
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"like": (1, timedelta(minutes=1))}
    assert act(**HTMX).status_code == 200
    answer = act(**HTMX)
    assert (answer.status_code, answer["Retry-After"]) == (429, "60")
    assert 'id="error"' in answer.content.decode()  # what the notice of every page shows of it


def test_a_hundred_new_carts_are_stopped_at_thirty():
    act = new_cart()
    found = [act(REMOTE_ADDR=f"203.0.113.{n}").status_code for n in range(117)]
    assert found == [302] * 30 + [429] * 87
    assert act(REMOTE_ADDR="198.51.100.7").status_code == 302
    carts = [item for item in table.scan_all(consistent=True) if item["PK"].startswith("CARTANON#")]
    assert len({item["PK"] for item in carts}) == 31


def test_an_empty_search_page_uses_nothing_up(settings: Any):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"search-total": (1, timedelta(minutes=1))}
    assert [Client().get("/search/").status_code for _ in range(3)] == [200] * 3


def test_one_user_does_not_use_up_what_others_may(settings: Any):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"like": (1, timedelta(minutes=1))}
    act = relation("like")
    assert [act().status_code for _ in range(2)] == [302, 429]
    assert signed_in(make_user("bob")).post("/brands/nordlicht/like/").status_code == 302


def test_many_sessions_of_a_user_have_one_budget(settings: Any):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"like": (1, timedelta(minutes=1))}
    make_brand()
    user = make_user("ada")
    found = [signed_in(user).post("/brands/nordlicht/like/").status_code for _ in range(3)]
    assert found == [302, 429, 429]
