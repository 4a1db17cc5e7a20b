"""Passkeys: added, used in place of password and code, and removed; and what an attacker sends in vain."""

from __future__ import annotations

import copy
import json
import logging
import re
from datetime import timedelta
from typing import Any

import pyotp
import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords, second_factor
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.people.users import User
from tests.accounts.authenticator import Authenticator
from tests.accounts.conftest import PASSWORD, sign_in
from tests.cms.conftest import inputs
from tests.people import make_user

ADD, REMOVE, OPTIONS = (
    "/account/two-factor/passkeys/add/",
    "/account/two-factor/passkeys/remove/",
    "/account/passkey/",
)
SIGN_IN, CODE = "/account/sign-in/", "/account/sign-in/code/"
ACCOUNT, SECURITY, DELETE = "/account/", "/account/two-factor/", "/account/delete/"
SET_UP = "/account/two-factor/set-up/"
DID_NOT_WORK = b"This passkey did not work."


@pytest.fixture(autouse=True)
def _named_site(settings: Any) -> None:
    settings.DEALSITE_URL = "http://localhost:8000"


def ask(browser: Client) -> str:
    """Fetch what a passkey is to sign."""
    return browser.get(OPTIONS).content.decode()


def add(browser: Client, device: Authenticator, name: str = "My phone", **proof: str) -> Any:
    """Add a passkey as the pages ask for it; return the last answer."""
    page = browser.post(ADD, {"name": name, "old_password": PASSWORD} | proof)
    assert page.status_code == 200, page.context["form"].errors
    return browser.post(ADD, {"name": name, "made": device.make(page.context["options"])})


def come_in(browser: Client, answer: str, address: str = SIGN_IN, **more: str) -> Any:
    """Send a passkey's answer in place of name and password."""
    return browser.post(address, {"name": "", "password": "", "passkey": answer} | more)


def is_in(browser: Client) -> bool:
    return browser.get(ACCOUNT).status_code == 200


@pytest.fixture
def device() -> Authenticator:
    return Authenticator()


@pytest.fixture
def with_passkey(browser: Client, ada: User, device: Authenticator) -> Client:
    """Ada's browser; she has added a passkey, her first factor."""
    sign_in(browser)
    answer = add(browser, device)
    assert len(set(re.findall(r"\d{4}-\d{4}-\d{4}", answer.content.decode()))) == 10
    return browser


def test_a_passkey_alone_signs_in_and_leads_on(with_passkey: Client, device: Authenticator, caplog: Any):
    caplog.set_level(logging.INFO)
    stranger = Client()
    answer = come_in(stranger, device.sign(ask(stranger)), next="/account/sessions/")
    assert answer["Location"] == "/account/sessions/"
    assert is_in(stranger)
    assert "event='signed_in' username='ada'" in caplog.text
    assert "detail='passkey'" in caplog.text
    page = with_passkey.get(SECURITY).content.decode()
    assert "My phone" in page
    assert "Last used" in page


def test_a_passkey_is_the_second_step_after_the_password(with_passkey: Client, device: Authenticator):
    stranger = Client()
    assert sign_in(stranger)["Location"].startswith(CODE)
    assert not is_in(stranger)
    for handle in (b"ada", b"01KAJV9D0000000000000000AA"):
        wrong = device.sign(ask(stranger), handle=handle)
        assert stranger.post(CODE, {"code": "", "passkey": wrong}).status_code == 422
    assert stranger.post(CODE, {"code": "", "passkey": device.sign(ask(stranger))}).status_code == 302
    assert is_in(stranger)


def test_a_recovery_code_helps_who_has_lost_the_only_passkey(browser: Client, ada: User):
    sign_in(browser)
    codes = re.findall(r"\d{4}-\d{4}-\d{4}", add(browser, Authenticator()).content.decode())
    stranger = Client()
    sign_in(stranger)
    assert stranger.post(CODE, {"code": codes[0]}).status_code == 302
    assert is_in(stranger)


def test_the_first_one_turns_two_factor_on_and_ends_all_other_sessions(browser: Client, ada: User):
    other = Client()
    sign_in(other)
    sign_in(browser)
    add(browser, Authenticator())
    assert is_in(browser)
    assert not is_in(other)
    factor = two_factor.get("ada")
    assert users.get("ada").two_factor == factor.id
    assert factor.secret == ""
    assert b"ada" not in factor.id.encode()


def test_another_one_is_added_by_the_first_and_ends_all_other_sessions(
    with_passkey: Client, device: Authenticator
):
    other = Client()
    come_in(other, device.sign(ask(other)))
    second = Authenticator(credential=b"another")
    answer = add(with_passkey, second, "Tablet", old_password="", passkey=device.sign(ask(with_passkey)))
    assert answer["Location"] == SECURITY
    assert is_in(with_passkey)
    assert not is_in(other)
    stranger = Client()
    assert come_in(stranger, second.sign(ask(stranger))).status_code == 302
    page = with_passkey.post(ADD, {"name": "x", "passkey": device.sign(ask(with_passkey))})
    excluded = {one["id"] for one in json.loads(page.context["options"])["excludeCredentials"]}
    assert excluded == {one.credential for one in two_factor.get("ada").passkeys}


@pytest.mark.parametrize(("password", "field"), [("", "old_password"), ("wrong", "old_password")])
def test_nobody_adds_one_without_the_password(browser: Client, ada: User, password: str, field: str):
    sign_in(browser)
    answer = browser.post(ADD, {"name": "x", "old_password": password})
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert "passkey-8000" not in browser.cookies


def test_who_has_a_factor_shows_it_before_another_is_added(with_passkey: Client):
    answer = with_passkey.post(ADD, {"name": "x", "old_password": PASSWORD, "code": "000000"})
    assert answer.status_code == 422
    assert len(two_factor.get("ada").passkeys) == 1


def test_what_a_browser_made_unasked_or_for_another_is_not_taken(browser: Client, ada: User):
    sign_in(browser)
    page = browser.post(ADD, {"name": "x", "old_password": PASSWORD})
    options = page.context["options"]
    for answer in (
        Authenticator().make(options, origin="https://evil.example"),
        Authenticator().make(options, rp_id="evil.example"),
        Authenticator().make(options, verified=False),
        Authenticator(credential=b"x" * 1024).make(options),
        *("", "{}", "[]", "null", "x" * 1000, json.dumps({"id": "x", "rawId": "x", "response": 1})),
    ):
        assert browser.post(ADD, {"name": "x", "made": answer})["Location"] == ADD
        assert users.get("ada").two_factor == ""
    good = Authenticator().make(options)
    browser.cookies["passkey-8000"] = ""
    assert browser.post(ADD, {"name": "x", "made": good})["Location"] == ADD
    browser.get(OPTIONS)  # what was asked for to sign in is not what was asked for to add one
    assert browser.post(ADD, {"name": "x", "made": good})["Location"] == ADD
    assert users.get("ada").two_factor == ""


def test_a_question_for_one_user_adds_no_passkey_to_another(browser: Client, ada: User):
    sign_in(browser)
    page = browser.post(ADD, {"name": "x", "old_password": PASSWORD})
    bobs = Client()
    make_user("bob", password=passwords.hashed(PASSWORD))
    sign_in(bobs, "bob")
    bobs.cookies["passkey-8000"] = page.cookies["passkey-8000"].value
    answer = bobs.post(ADD, {"name": "x", "made": Authenticator().make(page.context["options"])})
    assert answer["Location"] == ADD
    assert users.get("bob").two_factor == ""


def test_what_was_made_is_added_once(browser: Client, ada: User, device: Authenticator):
    sign_in(browser)
    options = browser.post(ADD, {"name": "x", "old_password": PASSWORD}).context["options"]
    made = device.make(options)
    assert browser.post(ADD, {"name": "x", "made": made}).status_code == 200
    assert browser.post(ADD, {"name": "x", "made": made}).status_code == 409
    assert len(two_factor.get("ada").passkeys) == 1


def session_key(browser: Client) -> str:
    return browser.cookies["session-8000"].value.partition(":")[2]


def test_what_was_made_is_not_added_to_a_factor_of_another_page(browser: Client, ada: User):
    sign_in(browser)
    page = browser.post(ADD, {"name": "x", "old_password": PASSWORD})
    given: Any = {"recovery": ["a hash"], "step": 1, "key": session_key(browser), "now": timezone.now()}
    factor = two_factor.turn_on(ada, secret="sealed", **given)
    made = {"name": "x", "made": Authenticator().make(page.context["options"])}
    answer = browser.post(ADD, made)
    assert answer.status_code == 409
    assert b"Your account was changed elsewhere meanwhile." in answer.content
    assert two_factor.get("ada") == factor


def test_what_was_made_brings_back_no_factor_that_was_turned_off_meanwhile(
    with_passkey: Client, device: Authenticator
):
    page = with_passkey.post(ADD, {"name": "x", "passkey": device.sign(ask(with_passkey))})
    now, key = timezone.now(), session_key(with_passkey)
    two_factor.turn_off(users.get("ada"), by="ada", key=key, now=now)
    second = Authenticator(credential=b"another")
    made = {"name": "x", "made": second.make(page.context["options"])}
    assert with_passkey.post(ADD, made).status_code == 409
    assert (users.get("ada").two_factor, two_factor.get("ada")) == ("", None)


# What an attacker sends


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:8001"},
        {"rp_id": "evil.example"},
        {"verified": False},
        {"handle": b""},
        {"handle": b"ada"},
        {"handle": b"01KAJV9D0000000000000000AA"},
        {"handle": "Ä".encode("latin-1")},
        {"kind": "webauthn.create"},
    ],
    ids=str,
)
def test_an_answer_for_elsewhere_or_without_the_user_signs_nobody_in(
    with_passkey: Client, device: Authenticator, wrong: dict[str, Any], caplog: Any
):
    caplog.set_level(logging.INFO)
    stranger = Client()
    answer = come_in(stranger, device.sign(ask(stranger), **wrong))
    assert answer.status_code == 422
    assert DID_NOT_WORK in answer.content
    assert not is_in(stranger)
    assert "event='passkey_failed'" in caplog.text
    assert come_in(stranger, device.sign(ask(stranger))).status_code == 302


def test_an_answer_is_good_once(with_passkey: Client, device: Authenticator):
    first, options = Client(), ""
    options = ask(first)
    answer = device.sign(options)
    again = Client()
    again.cookies["passkey-8000"] = first.cookies["passkey-8000"].value
    assert come_in(first, answer).status_code == 302
    assert come_in(again, answer).status_code == 422
    assert not is_in(again)


def test_an_answer_to_another_browsers_question_signs_nobody_in(with_passkey: Client, device: Authenticator):
    victim, thief = Client(), Client()
    answer = device.sign(ask(victim))
    assert come_in(thief, answer).status_code == 422  # which was asked nothing
    ask(thief)
    assert come_in(thief, answer).status_code == 422
    assert not is_in(thief)


def test_a_question_is_over_after_five_minutes(
    with_passkey: Client, device: Authenticator, monkeypatch: pytest.MonkeyPatch
):
    import time

    stranger = Client()
    answer, real = device.sign(ask(stranger)), time.time
    monkeypatch.setattr(time, "time", lambda: real() + 301)
    assert come_in(stranger, answer).status_code == 422


def test_a_made_up_question_is_no_question(with_passkey: Client, device: Authenticator):
    stranger = Client()
    options = json.dumps({"challenge": "AAAA", "rpId": "localhost"})
    for cookie in (":AAAA", ":AAAA:1w:x", "ada:AAAA"):
        stranger.cookies["passkey-8000"] = cookie
        assert come_in(stranger, device.sign(options)).status_code == 422


def test_the_question_for_adding_one_signs_nobody_in(with_passkey: Client, device: Authenticator):
    page = with_passkey.post(ADD, {"name": "x", "passkey": device.sign(ask(with_passkey))})
    challenge = json.loads(page.context["options"])["challenge"]
    answer = device.sign(json.dumps({"challenge": challenge, "rpId": "localhost"}))
    stranger = Client()
    stranger.cookies["passkey-8000"] = page.cookies["passkey-8000"].value
    assert come_in(stranger, answer).status_code == 422


def test_a_key_of_ones_own_under_somebody_elses_credential_or_handle_signs_in_as_nobody_else(
    with_passkey: Client, device: Authenticator
):
    make_user("bob", password=passwords.hashed(PASSWORD))
    bobs, forged = Client(), Authenticator()  # the credential's id is that of ada's
    sign_in(bobs, "bob")
    add(bobs, forged)
    stranger = Client()
    come_in(stranger, forged.sign(ask(stranger)))
    assert b"bob" in stranger.get(SECURITY).content or stranger.get(ACCOUNT).context["user"].username == "bob"
    stranger = Client()
    assert come_in(stranger, forged.sign(ask(stranger), handle=device.handle)).status_code == 422
    sign_in(stranger)
    for handle in (forged.handle, device.handle, b""):
        answer = stranger.post(CODE, {"code": "", "passkey": forged.sign(ask(stranger), handle=handle)})
        assert answer.status_code == 422
    assert not is_in(stranger)


def test_a_copy_of_a_key_that_counts_is_refused_and_noted(browser: Client, ada: User, caplog: Any):
    caplog.set_level(logging.INFO)
    sign_in(browser)
    device = Authenticator(counts=True)
    add(browser, device)
    copied = copy.copy(device)
    for _ in range(2):
        stranger = Client()
        assert come_in(stranger, device.sign(ask(stranger))).status_code == 302
    stranger = Client()
    assert come_in(stranger, copied.sign(ask(stranger))).status_code == 422
    assert not is_in(stranger)
    assert "event='passkey_failed' username='ada'" in caplog.text
    assert "counted backwards" in caplog.text


@pytest.mark.parametrize("answer", ["{}", "[]", "null", "x", "\x00", '{"id": 1}', "[" * 5000])
def test_what_is_no_answer_is_422(with_passkey: Client, answer: str):
    stranger = Client()
    ask(stranger)
    assert come_in(stranger, answer).status_code == 422
    shown = stranger.post(SIGN_IN, {"passkey": answer}).content.decode()
    assert 'name="passkey" id="id_passkey">' in shown  # without its value: a second try would send it again


def test_guesses_of_one_address_are_limited(with_passkey: Client):
    stranger = Client(REMOTE_ADDR="198.51.100.9")
    found = [come_in(stranger, "{}").status_code for _ in range(31)]
    assert found == [422] * 30 + [429]


def test_a_suspended_user_does_not_come_in_by_passkey(with_passkey: Client, device: Authenticator):
    make_user("root", roles=["admin"])
    sessions.suspend(users.get("ada"), reason="Spam", by="root", now=timezone.now())
    stranger = Client()
    answer = come_in(stranger, device.sign(ask(stranger)))
    assert answer.status_code == 422
    assert b"This account is suspended." in answer.content
    assert not is_in(stranger)


# Elsewhere


@pytest.fixture
def admin(whole_table: None, device: Authenticator) -> Client:
    """The browser of the admin root, whose factor is a passkey alone."""
    make_user("root", roles=["admin"], password=passwords.hashed(PASSWORD))
    browser = Client()
    sign_in(browser, "root")
    add(browser, device)
    return browser


def test_a_form_that_came_after_the_session_had_ended_goes_on_by_passkey(
    admin: Client, device: Authenticator
):
    make_user("zoe")
    sessions.end_all("root")
    page = admin.post("/cms/users/zoe/give-role/", {"role": "editor"})
    assert b'name="proof-passkey"' in page.content
    sent = {
        "role": "editor",
        "proof-name": "",
        "proof-password": "",
        "proof-passkey": device.sign(ask(admin)),
    }
    assert admin.post("/cms/users/zoe/give-role/", sent).status_code == 302
    assert users.get("zoe").roles == {"editor"}


def test_what_is_dangerous_is_confirmed_by_passkey(
    admin: Client, device: Authenticator, monkeypatch: pytest.MonkeyPatch
):
    make_user("zoe")
    later = timezone.now() + timedelta(minutes=20)
    monkeypatch.setattr(timezone, "now", lambda: later)
    address, role = "/cms/users/zoe/give-role/", {"role": "editor"}
    assert admin.post(address, role).status_code == 401
    wrong = Authenticator()
    wrong.handle = device.handle
    assert (
        admin.post(
            address, role | {"proof-old_password": "", "proof-passkey": wrong.sign(ask(admin))}
        ).status_code
        == 401
    )
    assert users.get("zoe").roles == set()
    sent = role | {"proof-old_password": "", "proof-code": "", "proof-passkey": device.sign(ask(admin))}
    assert admin.post(address, sent).status_code == 302
    assert users.get("zoe").roles == {"editor"}


def test_a_passkey_is_enough_where_staff_has_to_have_a_factor(
    whole_table: None, settings: Any, device: Authenticator
):
    settings.DEALSITE_REQUIRE_TWO_FACTOR = True
    make_user("root", roles=["admin"], password=passwords.hashed(PASSWORD))
    browser = Client()
    sign_in(browser, "root")
    page = browser.get(browser.get("/cms/users/")["Location"]).content.decode()
    assert f"{ADD}?next=/cms/users/".replace("/cms/users/", "%2Fcms%2Fusers%2F") in page
    add(browser, device)
    assert browser.get("/cms/users/").status_code == 200
    (passkey,) = two_factor.get("root").passkeys
    assert REMOVE not in browser.get(SECURITY).content.decode()
    assert browser.post(REMOVE, {"passkey_id": passkey.id}).status_code == 403
    assert two_factor.get("root").passkeys == (passkey,)


def test_a_passkey_is_removed_and_the_last_one_turns_two_factor_off(
    with_passkey: Client, device: Authenticator
):
    second = Authenticator(credential=b"another")
    add(with_passkey, second, "Tablet", passkey=device.sign(ask(with_passkey)))
    other = Client()
    come_in(other, device.sign(ask(other)))
    own = sorted(two_factor.get("ada").passkeys, key=lambda one: one.name == "Tablet")
    ids = [one.id for one in own]
    assert with_passkey.post(REMOVE, {"passkey_id": "01KAJV9D0000000000000000AA"}).status_code == 404
    assert with_passkey.post(REMOVE, {"passkey_id": ids[0]})["Location"] == SECURITY
    assert not is_in(other)
    stranger = Client()
    assert come_in(stranger, device.sign(ask(stranger))).status_code == 422
    assert with_passkey.post(REMOVE, {"passkey_id": ids[1]})["Location"] == SECURITY
    assert users.get("ada").two_factor == ""
    assert is_in(with_passkey)
    assert come_in(stranger, second.sign(ask(stranger))).status_code == 422
    assert sign_in(Client())["Location"] == ACCOUNT


def test_an_app_is_added_to_passkeys_and_both_sign_in(with_passkey: Client, device: Authenticator):
    page = with_passkey.get(SET_UP)
    app = pyotp.TOTP("".join(page.context["groups"]))
    sent = {"secret": page.context["sealed"], "code": app.at(timezone.now()), "old_password": PASSWORD}
    assert with_passkey.post(SET_UP, sent)["Location"] == SECURITY
    assert second_factor.unseal("ada", two_factor.get("ada").secret) == app.secret
    assert with_passkey.get(SET_UP)["Location"] == SECURITY
    stranger = Client()
    assert come_in(stranger, device.sign(ask(stranger))).status_code == 302
    stranger = Client()
    sign_in(stranger)
    assert stranger.post(CODE, {"code": app.at(timezone.now(), counter_offset=1)}).status_code == 302


def test_the_password_alone_adds_no_app_to_passkeys(
    with_passkey: Client, device: Authenticator, monkeypatch: pytest.MonkeyPatch
):
    later = timezone.now() + timedelta(minutes=16)
    monkeypatch.setattr(timezone, "now", lambda: later)
    page = with_passkey.get(SET_UP)
    app = pyotp.TOTP("".join(page.context["groups"]))
    sent = {"secret": page.context["sealed"], "code": app.at(later), "old_password": PASSWORD}
    asked = with_passkey.post(SET_UP, sent)
    assert asked.status_code == 401
    assert two_factor.get("ada").secret == ""
    kept = inputs(asked)
    assert sent.items() <= kept.items()
    for proof in ({"old_password": PASSWORD}, {"old_password": PASSWORD, "code": app.at(later)}):
        named = {f"proof-{name}": text for name, text in proof.items()}
        assert with_passkey.post(SET_UP, kept | named).status_code == 401
    assert two_factor.get("ada").secret == ""
    by_passkey = {"proof-passkey": device.sign(ask(with_passkey))}
    assert with_passkey.post(SET_UP, kept | by_passkey)["Location"] == SECURITY
    assert second_factor.unseal("ada", two_factor.get("ada").secret) == app.secret


def test_an_account_with_a_factor_is_not_deleted_by_the_password_alone(
    with_passkey: Client, device: Authenticator
):
    assert b'name="passkey"' in with_passkey.get(DELETE).content
    for sent in ({"old_password": PASSWORD}, {"old_password": PASSWORD, "code": "000000"}):
        assert with_passkey.post(DELETE, sent).status_code == 422
    assert users.count() == 1
    answer = with_passkey.post(DELETE, {"passkey": device.sign(ask(with_passkey))})
    assert (answer.status_code, answer["Location"], users.count()) == (302, "/", 0)


def test_an_admin_who_resets_it_removes_the_passkeys(with_passkey: Client, device: Authenticator):
    two_factor.turn_off(users.get("ada"), by="root", now=timezone.now())
    stranger = Client()
    assert come_in(stranger, device.sign(ask(stranger))).status_code == 422
    assert not is_in(with_passkey)


def test_a_site_at_an_ip_address_says_why_there_are_none(browser: Client, ada: User, settings: Any):
    settings.DEALSITE_URL = "http://127.0.0.1:8000"
    assert b"data-passkey" not in browser.get(SIGN_IN).content
    sign_in(browser)
    for address in (SECURITY, ADD):
        assert b"this one has just an IP address" in browser.get(address).content


def test_what_is_asked_says_nothing_about_users_and_costs_no_request(ada: User):
    from dealsite.data import table

    with table.metered() as meter:
        options = json.loads(ask(Client()))
    assert meter.log == []
    assert options["userVerification"] == "required"
    assert options.get("allowCredentials", []) == []
    assert options["rpId"] == "localhost"


def test_bad_passkeys_through_an_unknown_proxy_lock_nobody_else_out(ada: User):
    proxy: dict[str, Any] = {"HTTP_X_FORWARDED_FOR": "203.0.113.1"}
    wrong = {"name": "", "password": "", "passkey": "{}"}
    answers = [Client().post("/account/sign-in/", wrong, **proxy).status_code for _ in range(35)]
    assert set(answers) == {422}
    here = [Client().post("/account/sign-in/", wrong).status_code for _ in range(31)]
    assert here == [422] * 30 + [429]
