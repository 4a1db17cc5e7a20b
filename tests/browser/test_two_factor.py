"""Two-factor sign-in in a browser: set up by the keyboard, then used."""

from __future__ import annotations

import re

import pyotp
from django.utils import timezone
from playwright.sync_api import expect

from dealsite.accounts import passwords
from tests.browser.flaws import flaws
from tests.people import make_user

PASSWORD = "correct horse battery"


def test_it_is_set_up_by_the_keyboard_and_asked_for_at_the_next_sign_in(site, window):
    user = make_user("ada", password=passwords.hashed(PASSWORD), now=timezone.now())
    page = window(user)
    page.goto("/account/")
    page.get_by_role("link", name="Two-factor sign-in").press("Enter")
    page.get_by_role("link", name="Set it up").press("Enter")
    secret = re.sub(r"\s", "", page.locator(".font-mono").inner_text())
    app = pyotp.TOTP(secret)
    code = page.get_by_label("Code", exact=True)
    code.fill(app.at(timezone.now()))
    code.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    codes = page.get_by_label("Recovery codes").locator("li").all_inner_texts()
    assert len(codes) == 10
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    assert flaws(page) == []
    page.get_by_role("link", name="I have them").press("Enter")
    expect(page.get_by_text("10 left")).to_be_visible()

    page = window()
    page.goto("/account/sign-in/")
    page.get_by_label("User name or e-mail").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Enter your code")
    page.get_by_label("Code", exact=True).fill(codes[0])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello, ada")
