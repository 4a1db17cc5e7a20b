"""Signing in and out, and a new password that ends what the old one began."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD, make_user, sign_in_by_form

NEW = "a much better password"


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


@pytest.mark.sample(quick=0, whole=3)
def test_a_new_password_ends_all_other_sessions(site, window):
    ada = make_user("ada")
    here: Page = window(ada)
    there: Page = window(ada)
    there.goto("/account/")
    here.goto("/account/password/")
    here.get_by_label("Current password").fill(PASSWORD)
    here.get_by_label("New password").fill("password")
    here.get_by_role("button", name="Change password").click()
    expect(here.get_by_role("alert").filter(has_text="Please check the form")).to_be_focused()
    here.get_by_label("Current password").fill(PASSWORD)
    here.get_by_label("New password").fill(NEW)
    here.get_by_role("button", name="Change password").click()
    expect(here.locator("#messages .alert")).to_be_visible()
    here.goto("/account/")
    expect(here.get_by_role("heading", level=1)).to_have_text("ada")
    there.goto("/account/")
    expect(there.get_by_role("heading", level=1)).to_have_text("Sign in")
    sign_in_by_form(there, "ada", NEW)
    expect(there.get_by_role("heading", level=1)).to_have_text("ada")


@pytest.mark.sample(quick=0, whole=3)
def test_a_profile_is_edited(site, window):
    page: Page = window(make_user("ada"))
    page.goto("/account/profile/")
    page.get_by_label("Name", exact=True).fill("Ada L.")
    page.get_by_label("Time zone").select_option("Asia/Tokyo")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ada L.")
    expect(page.get_by_role("main")).to_contain_text("JST")
