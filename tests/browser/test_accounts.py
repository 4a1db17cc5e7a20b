"""An account is made by keyboard alone, and its times are those of the browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD, make_user


def test_an_account_is_made_by_keyboard_alone(site, window):
    page: Page = window()
    page.goto("/account/sign-up/?next=/account/sessions/")
    page.get_by_label("User name").focus()
    for text in ("Ada", "ada@example.org", "short"):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.get_by_label("Password").press("Enter")
    summary = page.get_by_role("alert").filter(has_text="Please check the form")
    expect(summary).to_contain_text("This password is too short.")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sessions")
    expect(page.locator("#messages")).to_contain_text("Welcome, Ada.")
    expect(page.get_by_role("main")).to_contain_text("Chrome on Linux")


@pytest.mark.sample(quick=0, whole=3)
def test_times_follow_the_browser_until_a_zone_is_chosen(site, window):
    page: Page = window(make_user("ada"), timezone_id="America/New_York")
    page.goto("/account/")
    since = page.locator("time").first
    expect(since).to_contain_text(re.compile(r"GMT-[45]|E[SD]T"))
    page.goto("/account/profile/")
    page.get_by_label("Time zone").select_option("Asia/Tokyo")
    page.get_by_role("button", name="Save").click()
    expect(since).to_contain_text("JST")
