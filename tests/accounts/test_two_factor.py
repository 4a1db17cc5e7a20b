"""Signing in with a second factor, and what a stranger with the password cannot do."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pyotp
import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords, second_factor
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.people.users import User
from tests.accounts.conftest import PASSWORD, sign_in
from tests.jobs import run_next
from tests.people import make_user

CODE, TURN_ON, TURN_OFF = "/account/sign-in/code/", "/account/two-factor/set-up/", "/account/two-factor/off/"
RENEW = "/account/two-factor/recovery-codes/"
CODES = re.compile(r"\d{4}-\d{4}-\d{4}")


class App:
    """An authenticator app; every code that it gives is one that it did not give before."""

    def __init__(self, secret: str) -> None:
        self.totp = pyotp.TOTP(secret)

    def code(self, now: datetime, offset: int = 0) -> str:
        return self.totp.at(now, counter_offset=offset)


def set_up(browser: Client, code: str | None = None, password: str = PASSWORD) -> tuple[Any, App]:
    """Turn it on as the page asks for it; return its answer and the app that was told the secret."""
    page = browser.get(TURN_ON)
    app = App("".join(page.context["groups"]))
    sent = {
        "secret": page.context["sealed"],
        "code": app.code(timezone.now()) if code is None else code,
        "old_password": password,
    }
    return browser.post(TURN_ON, sent), app


@pytest.fixture
def app(browser: Client, ada: User, clock: Any) -> App:
    """Ada's app; she has turned it on, and her browser is signed in."""
    sign_in(browser)
    answer, app = set_up(browser)
    assert answer.status_code == 200
    clock(seconds=30)
    return app


def recovery_codes(answer: Any) -> list[str]:
    return CODES.findall(answer.content.decode())


def step_two(browser: Client, code: str, **more: Any) -> Any:
    return browser.post(CODE, {"code": code}, **more)


def test_setting_it_up_shows_ten_recovery_codes_once(browser: Client, ada: User, clock: Any):
    sign_in(browser)
    answer, _ = set_up(browser)
    assert answer.status_code == 200
    assert len(set(recovery_codes(answer))) == 10
    assert "no-store" in answer["Cache-Control"]
    page = browser.get("/account/two-factor/").content.decode()
    assert "10 left" in page
    assert not CODES.search(page)
    assert browser.get(TURN_ON)["Location"] == "/account/two-factor/"


def test_the_picture_says_what_the_key_says_and_needs_no_style(browser: Client, ada: User):
    sign_in(browser)
    page = browser.get(TURN_ON)
    secret = "".join(page.context["groups"])
    assert page.context["address"] == f"otpauth://totp/Dealsite:ada?secret={secret}&issuer=Dealsite"
    assert "style" not in page.context["qr_code"]
    assert page.context["qr_code"].startswith("<svg ")
    assert secret != "".join(browser.get(TURN_ON).context["groups"])


@pytest.mark.parametrize(
    ("code", "password", "field"),
    [("000000", PASSWORD, "code"), ("", PASSWORD, "code"), (None, "wrong", "old_password")],
)
def test_it_stays_off_without_a_good_code_and_the_password(
    browser: Client, ada: User, clock: Any, code: str | None, password: str, field: str
):
    sign_in(browser)
    answer, app = set_up(browser, code, password)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert "".join(answer.context["groups"]) == app.totp.secret  # the same secret, already scanned
    assert users.get("ada").two_factor == ""


def test_a_secret_is_sealed_for_one_user_and_for_half_an_hour(browser: Client, ada: User, clock: Any):
    sign_in(browser)
    strange = second_factor.seal("bob", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
    for sealed in (strange, "", "x", "ada:JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"):
        code = pyotp.TOTP("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP").at(timezone.now())
        sent = {"secret": sealed, "code": code, "old_password": PASSWORD}
        assert b"open for too long" in browser.post(TURN_ON, sent).content
    assert users.get("ada").two_factor == ""
    assert second_factor.unseal("bob", strange) == "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
    assert second_factor.unseal("bob", strange, within=timedelta(seconds=-1)) is None


def test_the_table_holds_neither_secret_nor_recovery_codes(
    browser: Client, ada: User, clock: Any, settings: Any
):
    sign_in(browser)
    answer, app = set_up(browser)
    factor = two_factor.get("ada")
    stored = repr((factor.secret, factor.recovery))
    assert app.totp.secret not in stored
    assert not any(code in stored or code.replace("-", "") in stored for code in recovery_codes(answer))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key", [settings.SECRET_KEY]
    assert second_factor.unseal("ada", factor.secret) == app.totp.secret
    settings.SECRET_KEY_FALLBACKS = []
    assert second_factor.unseal("ada", factor.secret) is None


def test_the_password_alone_starts_no_session(app: App):
    stranger = Client()
    answer = sign_in(stranger)
    assert answer["Location"] == f"{CODE}?next=%2Faccount%2F"
    assert stranger.get("/account/").status_code == 302
    assert len(sessions.of_user("ada", now=timezone.now())) == 1
    cookie = stranger.cookies["half-8000"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert cookie["max-age"] == 600


def test_password_and_code_sign_in_and_lead_on(app: App):
    browser = Client()
    answer = browser.post(
        "/account/sign-in/", {"name": "ada", "password": PASSWORD, "next": "/account/sessions/"}
    )
    page = browser.get(answer["Location"])
    assert 'value="/account/sessions/"' in page.content.decode()
    sent = {
        "code": f" {app.code(timezone.now())[:3]} {app.code(timezone.now())[3:]}",
        "next": "/account/sessions/",
    }
    answer = browser.post(CODE, sent)
    assert answer["Location"] == "/account/sessions/"
    assert browser.get("/account/").status_code == 200
    assert answer.cookies["half-8000"]["max-age"] == 0


@pytest.mark.parametrize("next_page", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_the_second_step_leads_to_pages_of_this_site_only(app: App, next_page: str):
    browser = Client()
    sign_in(browser)
    answer = browser.post(CODE, {"code": app.code(timezone.now()), "next": next_page})
    assert answer["Location"] == "/account/"


@pytest.mark.parametrize(("offset", "is_good"), [(-2, False), (-1, False), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_half_a_minute_off(app: App, offset: int, is_good: bool):
    browser = Client()
    sign_in(browser)
    # One step back is the code that turned it on: a code is good once.
    answer = step_two(browser, app.code(timezone.now(), offset))
    assert answer.status_code == (302 if is_good else 422)


def test_a_code_of_the_step_before_is_taken(app: App, clock: Any):
    clock(minutes=5)
    browser = Client()
    sign_in(browser)
    assert step_two(browser, app.code(timezone.now(), -1)).status_code == 302


def test_the_digits_of_a_code_may_be_full_width(app: App, clock: Any):
    clock(minutes=5)
    browser = Client()
    sign_in(browser)
    code = app.code(timezone.now()).translate({ord("0") + n: 0xFF10 + n for n in range(10)})
    assert step_two(browser, f"{code[:3]}\u3000{code[3:]}").status_code == 302


def test_a_code_signs_in_once(app: App):
    code = app.code(timezone.now())
    first, second = Client(), Client()
    for browser in (first, second):
        sign_in(browser)
    assert step_two(first, code).status_code == 302
    answer = step_two(second, code)
    assert answer.status_code == 422
    assert b"This code was used already" in answer.content


def test_a_recovery_code_signs_in_once_and_the_user_is_told(browser: Client, ada: User, clock: Any):
    sign_in(browser)
    answer, _ = set_up(browser)
    code = recovery_codes(answer)[3]
    mail.outbox = []
    first, second = Client(), Client()
    for stranger in (first, second):
        sign_in(stranger)
    assert step_two(first, code.replace("-", " ")).status_code == 302
    assert step_two(second, code).status_code == 422
    assert len(two_factor.get("ada").recovery) == 9
    while run_next(now=timezone.now()):
        pass
    subjects = [sent.subject for sent in mail.outbox if "new sign-in" not in sent.subject]
    assert sorted(subjects) == ["Dealsite: A recovery code was used", "Dealsite: Two-factor sign-in is on"]


def test_after_some_wrong_codes_one_has_to_wait_even_with_the_right_one(app: App):
    browser = Client()
    sign_in(browser)
    assert [step_two(browser, "000000").status_code for _ in range(6)] == [422] * 5 + [429]
    answer = step_two(browser, app.code(timezone.now()))
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0


def test_wrong_codes_count_for_the_user_on_their_own_device_too(app: App, browser: Client):
    """Else each device that somebody with the password made would have tries of its own."""
    stranger = Client()
    sign_in(stranger)
    for _ in range(6):
        step_two(stranger, "000000")
    browser.post("/account/sign-out/")
    sign_in(browser)
    assert step_two(browser, app.code(timezone.now())).status_code == 429


def test_good_codes_are_not_counted_as_tries(app: App, clock: Any):
    browser = Client()
    for _ in range(7):
        sign_in(browser)
        assert step_two(browser, app.code(clock(minutes=1))).status_code == 302


@pytest.mark.parametrize("cookie", ["", "ada", "ada:mark", "ada:mark:1w:x", "a@b.example:mark"])
def test_without_the_first_step_there_is_no_second(app: App, cookie: str):
    browser = Client()
    browser.cookies["half-8000"] = cookie
    answer = step_two(browser, app.code(timezone.now()))
    assert answer["Location"].startswith("/account/sign-in/?next=")
    assert browser.get("/account/").status_code == 302


def test_a_first_step_is_void_with_another_password_or_factor(app: App, browser: Client, clock: Any):
    stranger = Client()
    sign_in(stranger)
    browser.post("/account/password/", {"old_password": PASSWORD, "password": "a much better one"})
    assert step_two(stranger, app.code(timezone.now()))["Location"].startswith("/account/sign-in/?")
    another = Client()
    for half_signed_in in (stranger, another):
        sign_in(half_signed_in, password="a much better one")
    two_factor.turn_off(users.get("ada"), by="root", now=timezone.now())
    assert step_two(stranger, app.code(timezone.now()))["Location"].startswith("/account/sign-in/?")
    sign_in(browser, password="a much better one")
    _, new_app = set_up(browser, password="a much better one")
    assert step_two(another, new_app.code(clock(seconds=30)))["Location"].startswith("/account/sign-in/?")


def test_a_first_step_lasts_ten_minutes(app: App, monkeypatch: pytest.MonkeyPatch):
    import time

    stranger = Client()
    sign_in(stranger)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 601)
    assert stranger.get(CODE).status_code == 302


def test_a_new_password_by_mail_does_not_pass_by_the_second_factor(app: App):
    token = passwords.make_reset_token(users.get("ada"), now=timezone.now())
    browser = Client()
    browser.get(f"/account/password-reset/ada/{token}/")
    answer = browser.post("/account/password-reset/new/", {"password": "a much better password"})
    assert answer["Location"].startswith(CODE)
    assert browser.get("/account/").status_code == 302
    assert step_two(browser, app.code(timezone.now())).status_code == 302
    assert browser.get("/account/").status_code == 200


def test_it_is_turned_off_by_password_and_code(app: App, browser: Client):
    other = Client()
    sign_in(other)
    step_two(other, app.code(timezone.now()))
    sent = {"old_password": PASSWORD, "code": app.code(timezone.now(), 1)}
    for wrong in ({"old_password": "wrong"}, {"code": "000000"}, {"code": ""}):
        assert browser.post(TURN_OFF, sent | wrong).status_code == 422
        assert users.get("ada").two_factor
    assert browser.post(TURN_OFF, sent)["Location"] == "/account/two-factor/"
    assert users.get("ada").two_factor == ""
    assert browser.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert sign_in(Client())["Location"] == "/account/"


def test_new_recovery_codes_void_the_old_ones(app: App, browser: Client):
    old = two_factor.get("ada").recovery
    answer = browser.post(RENEW, {"old_password": PASSWORD, "code": app.code(timezone.now())})
    assert len(recovery_codes(answer)) == 10
    assert two_factor.get("ada").recovery.isdisjoint(old)
    assert browser.post(RENEW, {"old_password": PASSWORD, "code": "000000"}).status_code == 422


@pytest.mark.parametrize("path", [TURN_OFF, RENEW])
def test_there_is_nothing_to_change_while_it_is_off(browser: Client, ada: User, path: str):
    sign_in(browser)
    for answer in (browser.get(path), browser.post(path, {"old_password": PASSWORD, "code": "1"})):
        assert answer["Location"] == "/account/two-factor/"


@pytest.fixture
def editor(whole_table: None, settings: Any, clock: Any) -> Client:
    """The browser of an editor without a second factor, at a site that asks for one."""
    settings.DEALSITE_REQUIRE_TWO_FACTOR = True
    make_user("eve", roles=["editor"], password=passwords.hashed(PASSWORD))
    browser = Client()
    sign_in(browser, "eve")
    return browser


def test_where_staff_has_to_have_it_the_cms_leads_to_the_set_up_and_back(editor: Client):
    answer = editor.get("/cms/jobs/?month=2026-11")
    assert answer["Location"] == "/account/two-factor/set-up/?next=%2Fcms%2Fjobs%2F%3Fmonth%3D2026-11"
    assert editor.get("/cms/jobs/", headers={"HX-Request": "true"})["HX-Redirect"] == TURN_ON
    assert editor.post("/cms/brands/new/", {"name": "X"})["Location"] == TURN_ON
    answer, _ = set_up(editor)
    assert answer.status_code == 200
    assert editor.get("/cms/jobs/").status_code == 200


def test_where_staff_has_to_have_it_it_cannot_be_turned_off(editor: Client, clock: Any):
    _, app = set_up(editor)
    sent = {"old_password": PASSWORD, "code": app.code(clock(minutes=1))}
    assert editor.post(TURN_OFF, sent).status_code == 403
    assert users.get("eve").two_factor


def test_shoppers_are_not_asked_for_it(browser: Client, ada: User, settings: Any):
    settings.DEALSITE_REQUIRE_TWO_FACTOR = True
    sign_in(browser)
    assert browser.get("/account/").status_code == 200


def test_the_command_helps_who_has_lost_everything(app: App, browser: Client, capsys: pytest.CaptureFixture):
    call_command("reset_two_factor", "ada")
    assert "signs in with the password alone now" in capsys.readouterr().out
    assert users.get("ada").two_factor == ""
    assert browser.get("/account/").status_code == 302
    call_command("reset_two_factor", "ada")
    assert "already" in capsys.readouterr().out
    with pytest.raises(CommandError, match="no such user"):
        call_command("reset_two_factor", "nobody")
