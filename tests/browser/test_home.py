"""The CMS's first page without a mouse: what needs an editor is put right there, and taken back."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from tests.browser.content import now_deal
from tests.browser.deal_form import said
from tests.browser.test_keyboard_and_motion import tab_to
from tests.builders import DAY, HOUR, make_draft
from tests.searching import index_table

pytestmark = pytest.mark.usefixtures("site", "search_index")


def button(page: Page, name: str) -> Locator:
    """Return the button of a name; what only screen readers hear may stand apart from it."""
    words, colon, title = name.partition(": ")
    pattern = re.compile(f"^{words} ?{colon}{title}$")
    return page.locator("main, #messages").get_by_role("button", name=pattern)


def use_button(page: Page, name: str) -> None:
    """Go to a button by Tab and press it."""
    tab_to(page, button(page, name))
    page.keyboard.press("Enter")


def test_an_ending_deal_gets_a_week_more_and_that_is_taken_back_with_the_keyboard_alone(editor_window):
    ends = (timezone.now() + 3 * HOUR).replace(microsecond=0)
    deal = now_deal(title="Kettle", expires_at=ends)
    index_table()
    page: Page = editor_window()
    page.goto("/cms/attention/ending/")
    use_button(page, "A week longer: Kettle")
    expect(said(page, "The end of “Kettle” is now:")).to_be_visible()
    assert deals.get(deal.id).content.expires_at == ends + 7 * DAY
    expect(page.get_by_text("Nothing ends within two days.")).to_be_visible()
    use_button(page, "Undo")
    expect(said(page, "“Kettle” is as it was before.")).to_be_visible()
    assert deals.get(deal.id).content.expires_at == ends
    expect(button(page, "A week longer: Kettle")).to_be_visible()


def test_a_task_unfolds_and_is_done_with_the_keyboard_alone(editor_window):
    now_deal(title="Kettle", stock=0)
    make_draft(title="Half", now=timezone.now())
    index_table()
    page: Page = editor_window()
    page.goto("/cms/")
    expect(button(page, "End it: Kettle")).to_be_visible()  # the first one is open
    tab_to(page, page.locator("#drafts summary"))
    page.keyboard.press("Enter")
    expect(page.locator("#drafts").get_by_role("link", name="Half")).to_be_visible()
    use_button(page, "End it: Kettle")
    expect(said(page, "“Kettle” has ended.")).to_be_visible()
    expect(page.locator("#sold-out")).to_have_count(0)
