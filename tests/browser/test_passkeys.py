"""A passkey in a browser: added from the account, then used alone, as the second step and to confirm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.accounts import decorators
from dealsite.data.people import two_factor, users
from tests.browser.conftest import PASSWORD, make_user, sign_in_by_form
from tests.browser.flaws import flaws

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def named(site: str, settings: Any) -> str:
    """The site under a name: browsers keep no passkeys for an IP address."""
    settings.DEALSITE_URL = site.replace("127.0.0.1", "localhost")
    return settings.DEALSITE_URL


@pytest.fixture
def visitor(window: Callable[..., Page], troubles: Any, named: str) -> Page:
    """A window in a browser with a virtual authenticator."""
    troubles.address = named
    page = window(alone=True, base_url=named)
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return page


def sign_out(page: Page) -> None:
    page.context.clear_cookies()
    page.goto("/account/sign-in/")


def test_a_passkey_is_added_and_signs_in_and_confirms(visitor: Page, monkeypatch: pytest.MonkeyPatch):
    page = visitor
    make_user("ada", roles=["admin"])
    make_user("zoe")
    page.goto("/account/sign-in/")
    sign_in_by_form(page, "ada")
    page.goto("/account/two-factor/")
    page.get_by_role("link", name="Add a passkey").press("Enter")
    page.get_by_label("Name").fill("My laptop")
    page.get_by_label("Current password").fill(PASSWORD)
    page.keyboard.press("Enter")
    create = page.get_by_role("button", name="Create the passkey")
    expect(create).to_be_visible()
    assert flaws(page) == []
    create.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    page.get_by_role("link", name="I have them").click()
    expect(page.get_by_text("My laptop", exact=True)).to_be_visible()

    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello, ada")

    sign_out(page)
    sign_in_by_form(page, "ada")
    expect(page.get_by_role("heading", level=1)).to_have_text("Enter your code")
    page.get_by_role("button", name="Use a passkey instead").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello, ada")

    monkeypatch.setattr(decorators, "FRESH", timedelta(0))
    page.goto("/cms/users/zoe/")
    page.get_by_role("button", name="Give the role editor").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Is it you?")
    page.get_by_role("button", name="Use a passkey instead").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("zoe")
    assert users.get("zoe").roles == {"editor"}
    assert two_factor.get("ada").passkeys[0].used_at <= timezone.now()


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_or_at_an_ip_address_no_passkey_is_offered(site: str, window: Callable[..., Page]):
    make_user("ada")
    for script in (True, False):
        page = window(users.get("ada"), script=script)
        page.goto("/account/two-factor/")
        expect(page.get_by_text("this one has just an IP address")).to_be_visible()
        expect(page.get_by_role("link", name="Add a passkey")).to_be_hidden()
        page.goto("/account/sign-in/")
        expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
