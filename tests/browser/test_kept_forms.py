"""Who is asked for a password in the middle of something goes on where they were."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from dealsite.accounts import passwords
from dealsite.data.people import sessions
from tests.browser.deal_form import field
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
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to go on")
    assert flaws(page) == []
    expect(page.get_by_label("User name or e-mail")).to_have_value("eve")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(field(page, "Title")).to_have_value("Typed for an hour")
    expect(field(page, "Description")).to_have_value("First line\n\nthird <line>")
