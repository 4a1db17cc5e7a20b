"""Before what is dangerous, the password is asked for again, in place, and what was being sent goes on."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyotp
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import get_resolver, path
from django.utils import timezone

from dealsite.accounts import passwords, second_factor
from dealsite.accounts.decorators import fresh, signed_in
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.people.users import User
from tests.accounts.conftest import PASSWORD, sign_in
from tests.cms.conftest import inputs
from tests.pages import ROUTES
from tests.people import NOW, make_user

done: list[dict[str, list[str]]] = []


@signed_in.form("none")
@fresh
def dangerous(request: HttpRequest) -> HttpResponse:
    """A view that does something by POST."""
    if request.method == "POST":
        done.append(dict(request.POST.lists()))
        return HttpResponse("done")
    return HttpResponse("looked")


@signed_in.form("none")
@fresh(when=lambda request: "all" in request.POST)
def sometimes_dangerous(request: HttpRequest) -> HttpResponse:
    done.append(dict(request.POST.lists()))
    return HttpResponse("done")


urlpatterns = [
    *get_resolver("dealsite.urls").url_patterns,
    path("test/dangerous", dangerous),
    path("test/sometimes", sometimes_dangerous),
]


@pytest.fixture(autouse=True)
def _test_pages(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.accounts.test_reauthentication"
    done.clear()


@pytest.fixture
def later(browser: Client, ada: User, clock: Any) -> Client:
    """Ada's browser, 15 minutes after she signed in."""
    sign_in(browser)
    clock(minutes=15)
    return browser


def test_who_has_just_signed_in_is_not_asked(browser: Client, ada: User, clock: Any):
    sign_in(browser)
    clock(minutes=14, seconds=59)
    assert browser.post("/test/dangerous", {"a": "b"}).content == b"done"
    assert done == [{"a": ["b"]}]


def test_looking_is_never_asked_about(later: Client):
    assert later.get("/test/dangerous").content == b"looked"


def test_whose_password_is_old_is_asked_and_nothing_is_done(later: Client):
    answer = later.post("/test/dangerous", {"a": "b"})
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Form")
    assert "no-store" in answer["Cache-Control"]
    assert done == []


def test_with_the_password_it_goes_on_with_all_that_was_sent(later: Client):
    sent = {"text": 'Line <one> & "two"\n\nthree', "many": ["1", "2"], "empty": ""}
    page = later.post("/test/dangerous?x=1", sent)
    assert page.context["address"] == "/test/dangerous?x=1"
    carried = inputs(page)
    assert carried["text"] == sent["text"]
    assert [pair for pair in page.context["kept"] if pair[0] == "many"] == [("many", "1"), ("many", "2")]
    answer = later.post("/test/dangerous?x=1", sent | {"proof-old_password": PASSWORD})
    assert answer.content == b"done"
    assert done == [{"text": [sent["text"]], "many": ["1", "2"], "empty": [""]}]


def test_once_proved_it_holds_for_another_quarter_of_an_hour(later: Client, clock: Any):
    later.post("/test/dangerous", {"proof-old_password": PASSWORD})
    clock(minutes=14)
    assert later.post("/test/dangerous").content == b"done"
    clock(minutes=1)
    assert later.post("/test/dangerous").status_code == 401


@pytest.mark.parametrize("password", ["wrong", "", "x" * 300])
def test_with_a_wrong_password_nothing_is_done_and_nothing_lost(later: Client, password: str):
    page = later.post("/test/dangerous", {"a": "b", "proof-old_password": password})
    assert page.status_code == 401
    assert list(page.context["form"].errors) == ["old_password"]
    assert page.context["kept"] == [("a", "b")]
    assert done == []
    assert later.post("/test/dangerous").status_code == 401


def test_after_many_wrong_passwords_one_has_to_wait(later: Client):
    statuses = [later.post("/test/dangerous", {"proof-old_password": "wrong"}).status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]
    assert later.post("/test/dangerous", {"proof-old_password": PASSWORD}).status_code == 429
    assert done == []


def test_only_this_session_is_proved(later: Client, clock: Any):
    other = Client()
    sign_in(other)
    clock(minutes=20)
    later.post("/test/dangerous", {"proof-old_password": PASSWORD})
    assert other.post("/test/dangerous").status_code == 401


def test_a_session_that_ends_meanwhile_proves_nothing(later: Client, monkeypatch: pytest.MonkeyPatch):
    real = sessions.reauthenticate

    def end_first(session: sessions.Session, *, now: datetime) -> None:
        sessions.end(session.username, session.key_hash)
        real(session, now=now)

    monkeypatch.setattr(sessions, "reauthenticate", end_first)
    assert later.post("/test/dangerous", {"proof-old_password": PASSWORD}).status_code == 409
    assert done == []
    assert sessions.of_user("ada", now=timezone.now()) == []


def test_only_some_forms_of_a_page_may_be_dangerous(later: Client):
    assert later.post("/test/sometimes", {"one": "1"}).content == b"done"
    assert later.post("/test/sometimes", {"all": "1"}).status_code == 401


def test_who_has_a_second_factor_gives_a_code_too(browser: Client, ada: User, clock: Any):
    secret = second_factor.new_secret()
    sealed = second_factor.seal("ada", secret)
    two_factor.turn_on(ada, secret=sealed, recovery=["x"], step=1, key="", now=timezone.now())
    totp = pyotp.TOTP(secret)
    sign_in(browser)
    browser.post("/account/sign-in/code/", {"code": totp.at(timezone.now())})
    now = clock(minutes=20)
    for sent in ({}, {"proof-code": "000000"}, {"proof-code": totp.at(now), "proof-old_password": "wrong"}):
        assert browser.post("/test/dangerous", {"proof-old_password": PASSWORD} | sent).status_code == 401
    good = {"proof-old_password": PASSWORD, "proof-code": totp.at(now)}
    assert browser.post("/test/dangerous", good).content == b"done"


DANGEROUS = {
    "/cms/users/ada/give-role/": {"role": "admin"},
    "/cms/users/ada/take-role/": {"role": "editor"},
    "/cms/users/ada/reset-two-factor/": {},
}


@pytest.mark.parametrize("address", DANGEROUS)
def test_the_dangerous_pages_of_users_ask(browser: Client, ada: User, clock: Any, address: str):
    make_user("root", roles=["admin"], password=passwords.hashed(PASSWORD))
    users.give_role("ada", "editor", by="root", now=NOW)
    ada = users.get("ada")
    two_factor.turn_on(ada, secret="x", recovery=["x"], step=1, key="", now=timezone.now())
    before = users.get("ada")
    sign_in(browser, "root")
    clock(minutes=16)
    assert browser.post(address, DANGEROUS[address]).status_code == 401
    assert users.get("ada") == before
    assert browser.post(address, DANGEROUS[address] | {"proof-old_password": PASSWORD}).status_code == 302
    assert users.get("ada") != before


def test_these_pages_ask_for_the_password():
    assert {
        name for name, route in ROUTES.items() if getattr(route.view, "asks_to_reauthenticate", False)
    } == {
        "cms_end_sessions",
        "cms_give_role",
        "cms_lift_suspension",
        "end_other_sessions",
        "end_session",
        "my_data",
        "cms_new_message",
        "cms_purge",
        "cms_reduce_order",
        "cms_refund_payment",
        "cms_take_back",
        "cms_reset_two_factor",
        "cms_suspend_user",
        "cms_switch_site",
        "cms_take_role",
        "remove_passkey",
        "set_up_two_factor",
    }
