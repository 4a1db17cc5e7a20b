"""Whose session ends in the middle of something goes on where they were."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.accounts import passwords
from dealsite.data.people import sessions
from tests.browser.deal_form import brand_field, choose_picture, field
from tests.browser.flaws import flaws
from tests.people import make_user

PASSWORD = "correct horse battery"


@pytest.fixture
def eve(site):
    """An editor with a password."""
    return make_user("eve", roles=["editor"], password=passwords.hashed(PASSWORD), now=timezone.now())


@pytest.mark.sample(quick=0, whole=3)
def test_a_draft_that_was_sent_after_the_session_ended_is_stored_after_signing_in(window, eve):
    page = window(eve)
    page.goto("/cms/deals/new/")
    field(page, "Title").fill("Typed for an hour")
    field(page, "Description").fill("First line\n\nthird <line>")
    page.wait_for_timeout(1000)  # for what asks by itself: it would hear first that the session has ended
    page.wait_for_load_state("networkidle")
    sessions.end_all("eve")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to go on")
    assert flaws(page) == []
    expect(page.get_by_label("User name or e-mail")).to_have_value("eve")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(field(page, "Title")).to_have_value("Typed for an hour")
    expect(field(page, "Description")).to_have_value("First line\n\nthird <line>")


@pytest.mark.sample(quick=0, whole=3)
def test_a_form_that_is_sent_is_kept_with_its_picture_until_one_has_signed_in(window, eve):
    page: Page = window(eve)
    page.goto("/cms/brands/new/", wait_until="networkidle")
    field(page, "Name").fill("Typed for an hour")
    choose_picture(page, "A lamp", label="Text for the logo")
    expect(page.locator("#picture-kept")).not_to_have_value("")  # it is sent ahead of its form
    sessions.end_all("eve")
    page.get_by_role("main").get_by_role("button", name="Create the brand").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to go on")
    expect(page.get_by_label("User name or e-mail")).to_have_value("eve")
    assert flaws(page) == []
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Typed for an hour")
    expect(page.get_by_role("main").get_by_alt_text("A lamp").first).to_be_visible()


def test_what_asks_by_itself_says_so_and_takes_no_page_away(window, eve):
    page: Page = window(eve)
    page.goto("/cms/deals/new/", wait_until="networkidle")
    field(page, "Title").fill("Typed for an hour")
    sessions.end_all("eve")
    brand_field(page).press_sequentially("nord")  # asks for the names of brands
    expect(page.locator("#notice")).to_contain_text("Your session has ended")
    expect(field(page, "Title")).to_have_value("Typed for an hour")
