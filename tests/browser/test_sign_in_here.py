"""A session that ends while somebody works: they sign in over their page and lose nothing that was in it."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import FilePayload, Page, expect

from dealsite.accounts import passwords
from dealsite.data.people import sessions
from tests.browser.deal_form import brand_field, choose_picture, field, picture_bytes
from tests.browser.flaws import flaws
from tests.people import make_user

PASSWORD = "correct horse battery"
LATER = "const now = Date.now; Date.now = () => now() + 120000"  # the session was seen two minutes ago


@pytest.fixture
def eve(site):
    """An editor with a password."""
    return make_user("eve", roles=["editor"], password=passwords.hashed(PASSWORD), now=timezone.now())


def sign_in_over(page: Page) -> None:
    """Give the password in the dialog."""
    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_label("User name or e-mail")).to_have_value("eve")
    expect(dialog.get_by_label("Password")).to_be_focused()
    dialog.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()


@pytest.mark.sample(quick=0, whole=3)
def test_a_form_that_is_sent_waits_for_the_sign_in_and_goes_on_with_its_picture(window, eve):
    page = window(eve)
    page.goto("/cms/brands/new/", wait_until="networkidle")
    field(page, "Name").fill("Typed for an hour")
    choose_picture(page, "A lamp", label="Text for the logo")
    expect(page.locator("#picture-kept")).not_to_have_value("")  # it is sent ahead of its form
    sessions.end_all("eve")
    page.evaluate(LATER)
    page.get_by_role("main").get_by_role("button", name="Create the brand").click()
    expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    assert flaws(page) == []
    sign_in_over(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Typed for an hour")
    expect(page.get_by_role("main").get_by_alt_text("A lamp").first).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_a_wrong_password_is_said_and_the_page_waits(window, eve):
    page = window(eve)
    page.goto("/cms/brands/new/", wait_until="networkidle")
    field(page, "Name").fill("Typed for an hour")
    sessions.end_all("eve")
    page.evaluate(LATER)
    page.get_by_role("main").get_by_role("button", name="Create the brand").click()
    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog.get_by_label("Password")).to_be_focused()
    dialog.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog.get_by_text("do not belong together").first).to_be_visible()
    expect(dialog.locator(".htmx-settling")).to_have_count(0)  # until then, htmx moves the focus
    expect(dialog.get_by_label("Password")).to_be_focused()
    dialog.get_by_label("User name or e-mail").focus()
    dialog.evaluate("dialog => dialog.dispatchEvent(new Event('htmx:afterSettle'))")
    expect(dialog.get_by_label("User name or e-mail")).to_be_focused()  # who types is not led away
    page.keyboard.press("Escape")
    expect(field(page, "Name")).to_have_value("Typed for an hour")


def test_what_asks_by_itself_takes_no_page_away(window, eve):
    page = window(eve)
    page.goto("/cms/deals/new/", wait_until="networkidle")
    field(page, "Title").fill("Typed for an hour")
    sessions.end_all("eve")
    brand_field(page).press_sequentially("nord")  # asks for the names of brands
    sign_in_over(page)
    expect(field(page, "Title")).to_have_value("Typed for an hour")


@pytest.mark.sample(quick=0, whole=3)
def test_a_session_that_lasts_is_not_asked_for(window, eve):
    page = window(eve)
    page.goto("/cms/brands/new/", wait_until="networkidle")
    page.evaluate(LATER)
    field(page, "Name").fill("Nordlicht")
    page.get_by_role("main").get_by_role("button", name="Create the brand").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nordlicht")


@pytest.mark.sample(quick=0, whole=3)
def test_a_picture_that_is_sent_alone_waits_for_the_sign_in_and_its_form_stays_unsent(window, eve):
    page = window(eve)
    page.goto("/cms/brands/new/", wait_until="networkidle")
    field(page, "Name").fill("Typed for an hour")
    sessions.end_all("eve")
    page.locator("input[type=file]").set_input_files(
        FilePayload(name="lamp.png", mimeType="image/png", buffer=picture_bytes())
    )
    sign_in_over(page)
    expect(page.get_by_role("spinbutton", name="From the left, %")).to_have_value("50")
    expect(page.locator("#picture-kept")).not_to_have_value("")
    assert page.url.endswith("/cms/brands/new/")
    expect(field(page, "Name")).to_have_value("Typed for an hour")
