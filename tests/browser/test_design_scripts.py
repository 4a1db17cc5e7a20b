"""What the small scripts do on every page: theme, menus, voucher codes, times."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import MINUTE, now_deal

pytestmark = pytest.mark.usefixtures("site")
Window = Callable[..., Page]
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.sample(quick=0, whole=3)
def test_the_first_key_leads_past_the_menu(window: Window):
    page = window()
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the main content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("main :focus")).to_have_count(1)


@pytest.mark.sample(quick=0, whole=3)
def test_the_theme_follows_the_system_until_chosen_and_is_remembered(window: Window):
    page = window(color_scheme="light")
    page.goto("/")
    light = page.evaluate(BACKGROUND)
    menu = page.locator("summary", has_text="Menu")
    menu.click()
    page.get_by_role("button", name="Dark theme").click()
    dark = page.evaluate(BACKGROUND)
    assert dark != light
    page.goto("/brands/")
    assert page.evaluate(BACKGROUND) == dark
    menu.click()
    toggle = page.get_by_role("button", name="Dark theme")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    toggle.click()
    assert page.evaluate(BACKGROUND) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(BACKGROUND) == dark
    expect(toggle).to_have_attribute("aria-pressed", "true")


def test_a_menu_opens_and_closes_by_keyboard(window: Window):
    page = window()
    page.goto("/")
    summary = page.locator("summary", has_text="Menu")
    summary.press("Enter")
    link = page.get_by_role("navigation", name="More").get_by_role("link", name="Brands from A to Z")
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    expect(summary).to_be_focused()


def test_a_voucher_code_is_copied_and_announced(window: Window):
    page = window(permissions=["clipboard-write"])
    deal = now_deal(voucher_code="SAVE")
    page.goto(f"/deals/{deal.id}/{deal.card.slug}/")
    page.get_by_role("button", name="Copy voucher code SAVE").click()
    expect(page.locator("#announce")).to_have_text("Voucher code SAVE copied")
    search = page.get_by_role("searchbox").first  # no page may read the clipboard: people paste
    search.focus()
    page.keyboard.press("Control+V")
    expect(search).to_have_value("SAVE")


def test_times_are_in_the_visitors_zone_and_pass(window: Window):
    expires_at = datetime(2099, 11, 21, 14, 2, tzinfo=UTC)
    deal = now_deal(age=MINUTE, expires_at=expires_at)
    page = window(timezone_id="Europe/Berlin")
    page.clock.install(time=expires_at - timedelta(minutes=121))
    page.goto(f"/deals/{deal.id}/{deal.card.slug}/")
    expect(page.locator(".deal-page")).to_contain_text("Until 21 Nov 2099, 15:02 CET")
    left = page.locator(".deal-page [data-state]")
    expect(left).to_contain_text("2 hours left")
    page.clock.fast_forward("05:00")
    expect(left).to_contain_text(re.compile(r"11\d minutes left"))
    expect(left).to_have_attribute("data-state", "ending")
    page.clock.fast_forward("02:00:00")
    expect(left).to_contain_text("Expired")
    expect(left).to_have_attribute("data-state", "expired")
