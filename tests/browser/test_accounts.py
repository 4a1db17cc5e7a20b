"""An account from its making to its end, by keyboard, too."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.data.people import users
from dealsite.worker import loop
from tests.browser.conftest import PASSWORD, make_user, sign_in_by_form

NEW = "a much better password"


def work() -> None:
    """Run all jobs that are due."""
    while loop.run_next(now=timezone.now()):
        pass


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
def test_a_forgotten_password_is_replaced_by_a_link(site, window):
    make_user("ada")
    page: Page = window()
    page.goto("/account/sign-in/")
    page.get_by_role("link", name="Forgot your password?").click()
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Look into your mailbox")
    work()
    link = re.search(r"http\S+/password-reset/\S+", str(mail.outbox[-1].body))
    assert link
    page.goto(link[0])
    expect(page).to_have_url(re.compile("/account/password-reset/new/$"))
    page.get_by_label("New password").fill(NEW)
    page.get_by_role("button", name="Set the new password").click()
    expect(page.locator("#messages")).to_contain_text("Your new password is set")

    other: Page = window()
    other.goto("/account/sign-in/")
    sign_in_by_form(other, "ada", PASSWORD)
    expect(other.get_by_role("alert").first).to_contain_text("do not belong together")
    sign_in_by_form(other, "ada", NEW)
    expect(other.get_by_role("heading", level=1)).to_have_text("ada")
    other.goto(link[0])
    expect(other.get_by_role("heading", level=1)).to_have_text("This link has expired")


@pytest.mark.sample(quick=0, whole=3)
def test_a_session_is_ended_from_another_device_and_the_account_deleted(site, window):
    ada = make_user("ada")
    here: Page = window(ada)
    there: Page = window(ada)
    there.goto("/account/")
    here.goto("/account/sessions/")
    here.get_by_role("button", name="End the session of").click()
    expect(here.locator("#messages")).to_contain_text("That session is ended.")
    there.reload()
    expect(there.get_by_role("heading", level=1)).to_have_text("Sign in")

    here.goto("/account/delete/")
    here.get_by_label("Current password").fill(PASSWORD)
    here.get_by_role("button", name="Delete my account for good").click()
    expect(here.locator("#messages")).to_contain_text("Your account is deleted.")
    assert users.find("ada") is None


@pytest.mark.sample(quick=0, whole=3)
def test_an_admin_gives_a_role_and_it_holds_at_once(site, window):
    make_user("bob")
    bob: Page = window(users.get("bob"))
    bob.goto("/cms/deals/")
    expect(bob.get_by_role("heading", level=1)).to_have_text("You may not do that")
    admin: Page = window(make_user("ada", roles=["admin"]))
    admin.goto("/cms/users/")
    admin.get_by_label("User name or e-mail").fill("bob@example.org")
    admin.get_by_role("button", name="Find").click()
    admin.get_by_role("button", name="Give the role editor").click()
    expect(admin.locator("#messages")).to_contain_text("bob now has the role editor.")
    bob.reload()
    expect(bob.get_by_role("heading", level=1)).to_have_text("Deals")


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
