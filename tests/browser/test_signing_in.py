"""Signing in and out."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import make_user, sign_in_by_form


def test_a_wrong_password_is_refused_a_right_one_leads_on_and_signing_out_ends_it(site, window):
    make_user("ada")
    page: Page = window()
    page.goto("/account/profile/")
    sign_in_by_form(page, "ada", "a wrong password")
    summary = page.get_by_role("alert").filter(has_text="do not belong together")
    expect(summary).to_be_focused()
    expect(page.get_by_label("User name or e-mail")).to_have_value("ada")
    expect(page.get_by_label("Password", exact=True)).to_have_value("")
    sign_in_by_form(page, "ADA@example.org")
    expect(page.get_by_role("heading", level=1)).to_have_text("Profile")

    page.locator("header summary").filter(has_text="account menu").click()
    page.locator("header").get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    page.goto("/account/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
