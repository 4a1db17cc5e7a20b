"""No password, key, token or code gets into a line of the log, or a row of the security or audit log."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import Client
from django.utils import timezone

from dealsite.accounts import email_links, passwords, second_factor
from dealsite.data import table
from dealsite.data.people import sessions as stored_passwords
from dealsite.data.people.users import User
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.ids import new_ulid
from dealsite.gateways.interface import GatewayUnavailable
from dealsite.gateways.stripe_api import StripeGateway
from dealsite.web.counting import RequestFilter
from dealsite.web.log_lines import OneLine
from tests.accounts.conftest import PASSWORD, sign_in
from tests.accounts.test_passwords import ask, link_in, work
from tests.accounts.test_two_factor import CODE, CODES, RENEW, App, set_up

WRONG, NEW, NEWEST = "w.r-o!n*g planted", "a planted n-e-w one", "the n-e-w-e-s-t planted"
STRIPE_KEY, HIDDEN = (
    "sk_live_pl4nt3d",
    re.compile(r'name="(?:csrfmiddlewaretoken|secret|half)" value="([^"]+)"'),
)
SIGN_UP = {"username": "bob", "name": "Bob", "email": "bob@example.org", "password": NEW}


class Log:
    """All that the site's handler would write, at DEBUG, with tracebacks."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.handler = logging.StreamHandler(self.out)
        self.handler.setFormatter(OneLine(site_settings.LOGGING["formatters"]["plain"]["format"]))
        self.handler.addFilter(RequestFilter())

    @property
    def text(self) -> str:
        return self.out.getvalue()


@contextlib.contextmanager
def collected(*more: str) -> Iterator[Log]:
    """Collect what the log holds, also of some loggers that are quiet in tests."""
    made, root = Log(), logging.getLogger()
    levels = {name: logging.getLogger(name).level for name in ("", "django.request", "stripe", *more)}
    root.addHandler(made.handler)
    for name in levels:
        logging.getLogger(name).setLevel(logging.DEBUG)
    try:
        yield made
    finally:
        root.removeHandler(made.handler)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@pytest.fixture
def log() -> Iterator[Log]:
    with collected() as made:
        yield made


class Planted:
    """The secrets that pages and cookies gave out, as a browser got them."""

    def __init__(self) -> None:
        self.values = {PASSWORD, WRONG, NEW, NEWEST, STRIPE_KEY}

    def see(self, answer: Any) -> Any:
        """Note the secrets of an answer: its cookies, hidden fields, recovery codes and links."""
        html = answer.content.decode()
        self.values |= set(HIDDEN.findall(html)) | set(CODES.findall(html))
        for cookie in answer.cookies.values():
            self.values |= {cookie.value, *cookie.value.split(":")[1:]} - {""}
        return answer


def kept() -> str:
    """What the security log and the audit log hold."""
    items = [item for item in table.scan_all() if item["type"] in ("SecurityEvent", "AuditEntry")]
    assert {item["type"] for item in items} == {"SecurityEvent", "AuditEntry"}
    return str(items)


def fails(*args: Any, **more: Any) -> None:
    raise RuntimeError("It went wrong.")


def away(*args: Any, **more: Any) -> None:
    raise Unavailable


def test_what_is_secret_stands_in_no_line_and_no_row(
    browser: Client, ada: User, log: Log, monkeypatch: pytest.MonkeyPatch
):
    planted, now = Planted(), timezone.now()
    see = planted.see
    browser.raise_request_exception = False
    see(browser.get("/account/sign-up/"))
    see(browser.post("/account/sign-up/", SIGN_UP | {"registration": new_ulid(now)}))
    see(browser.post("/account/sign-out/"))
    # Wrong ones: a password, and one where the name should be.
    see(sign_in(browser, password=WRONG))
    see(sign_in(browser, name=WRONG, password="ada"))
    see(browser.post("/account/sign-in/", {"password": WRONG}))
    see(Client(enforce_csrf_checks=True).post("/account/sign-in/", {"name": "ada", "password": PASSWORD}))
    see(sign_in(browser))
    # A second factor: set up with a wrong code and a right one, and used.
    see(set_up(browser, code="735411")[0])
    page, app = set_up(browser)
    secret = app.totp.secret
    planted.values |= {secret, "735411", app.code(now), *second_factor_groups(secret)}
    recovery = CODES.findall(see(page).content.decode())
    assert len(recovery) == 10
    see(browser.post("/account/sign-out/"))
    see(sign_in(browser))
    see(browser.post(CODE, {"code": "735411"}))
    see(browser.post(CODE, {"code": recovery[0]}))
    see(browser.post(RENEW, {"old_password": PASSWORD, "code": recovery[1]}))
    # Errors while a form with a password is answered, and while a link with a token is followed.
    change = {"old_password": PASSWORD, "password": NEWEST}
    for broken in (fails, away):
        with monkeypatch.context() as patch:
            patch.setattr(stored_passwords, "change_password", broken)
            assert browser.post("/account/password/", change).status_code in (500, 503)
    see(browser.post("/account/password/", change))
    address = link_in(ask_for_link(browser))
    planted.values |= {address, address.rstrip("/").rpartition("/")[2]}
    for broken in (fails, away):
        with monkeypatch.context() as patch:
            patch.setattr(email_links, "_resetting_user", broken)
            assert browser.get(address).status_code in (500, 503)
    other = Client()
    see(other.get(address))
    see(other.post("/account/password-reset/new/", {"password": NEW}))
    with pytest.raises(GatewayUnavailable):
        StripeGateway(STRIPE_KEY, "http://127.0.0.1:9", lambda: None).charge(
            "cus_1|pm_1", Decimal("1.00"), "EUR", idempotency_key="K", description="x"
        )
    written, rows = log.text, kept()
    for event in ("signed_up", "sign_in_failed", "code_failed", "csrf_refused", "password_changed"):
        assert f"event='{event}'" in written
    assert written.count("Traceback") >= 2
    assert "page='/account/password-reset/<str:username>/<str:token>/'" in written
    assert len(planted.values) > 40
    for text in planted.values:
        found = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w)")
        assert not found.search(written), text
        assert not found.search(rows), text


def second_factor_groups(secret: str) -> list[str]:
    return [secret, second_factor.seal("ada", secret)]


def ask_for_link(browser: Client) -> Any:
    ask(browser, "ada@example.org")
    return next(sent for sent in work() if sent.subject == "Dealsite: A new password")


def test_the_search_itself_would_find_what_is_logged(log: Log, browser: Client, ada: User):
    """Else the test above would prove nothing."""
    logging.getLogger("dealsite.test").debug("the password %s", PASSWORD)
    try:
        raise RuntimeError(NEW)
    except RuntimeError:
        logging.getLogger("dealsite.test").exception("It went wrong.")
    assert PASSWORD in log.text
    assert NEW in log.text
    assert passwords.matches(PASSWORD, ada.password)
    assert App("A" * 32).code(timezone.now())
