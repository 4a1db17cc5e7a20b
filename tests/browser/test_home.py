"""The CMS's first page without a mouse: what needs an editor is put right there, and taken back."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals, drafts, featured
from dealsite.data.catalogue.cards import Picture
from tests.browser.content import feature, now_deal
from tests.browser.deal_form import said
from tests.browser.test_keyboard_and_motion import tab_to
from tests.builders import DAY, HOUR, make_brand, make_draft
from tests.searching import index_table

pytestmark = pytest.mark.usefixtures("site", "search_index")
SILENT = Picture("pictures/ab/abcdef", 40, 30)


def button(page: Page, name: str) -> Locator:
    """Return the button of a name; what only screen readers hear may stand apart from it."""
    words, colon, title = name.partition(": ")
    pattern = re.compile(f"^{words} ?{colon}{title}$")
    return page.get_by_role("main").get_by_role("button", name=pattern)


def use_button(page: Page, name: str) -> None:
    """Go to a button by Tab and press it."""
    tab_to(page, button(page, name))
    page.keyboard.press("Enter")


def test_an_ending_deal_gets_a_week_more_and_that_is_taken_back_with_the_keyboard_alone(editor_window):
    ends = (timezone.now() + 3 * HOUR).replace(microsecond=0)
    deal = now_deal(title="Kettle", expires_at=ends)
    index_table()
    page: Page = editor_window()
    page.goto("/cms/")
    use_button(page, "A week longer: Kettle")
    expect(said(page, "“Kettle” has its new end.")).to_be_visible()
    assert deals.get(deal.id).content.expires_at == ends + 7 * DAY
    expect(page.get_by_role("heading", name="Ends soon")).to_have_count(0)
    use_button(page, "Undo")
    expect(said(page, "“Kettle” has its new end.")).to_be_visible()
    assert deals.get(deal.id).content.expires_at == ends
    expect(button(page, "A week longer: Kettle")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_a_picture_gets_its_words_right_where_it_is_listed(editor_window):
    draft = make_draft(title="Lamp", picture=SILENT, now=timezone.now())
    index_table()
    page: Page = editor_window(width=390)
    page.route("**/media/**", lambda route: route.fulfill(status=200, content_type="image/webp", body=b""))
    page.goto("/cms/")
    tab_to(page, page.get_by_label("What the picture shows: Lamp"))
    page.keyboard.type("A lamp on a desk")
    page.keyboard.press("Enter")
    expect(said(page, "The alt text is saved.")).to_be_visible()
    assert drafts.get(draft.id).content.picture == replace(SILENT, alt="A lamp on a desk")


@pytest.mark.sample(quick=0, whole=3)
def test_an_expired_deal_is_taken_off_its_list_and_put_back(editor_window):
    over, fine = now_deal(title="Over", age=2 * DAY, expires_at=timezone.now() - DAY), now_deal(title="Fine")
    feature("front", [over, fine])
    index_table()
    page: Page = editor_window()
    page.goto("/cms/attention/featured/")
    use_button(page, "Remove: Over")
    expect(said(page, "“Over” is off the list “Front page”.")).to_be_visible()
    assert featured.get("front").ids == [fine.id]
    use_button(page, "Undo")
    expect(said(page, "The deal is back on the list “Front page”.")).to_be_visible()
    assert featured.get("front").ids == [over.id, fine.id]


@pytest.mark.sample(quick=0, whole=3)
def test_the_numbers_come_by_themselves_and_the_page_does_not_wait_for_them(editor_window):
    make_brand()
    index_table()
    page: Page = editor_window()
    page.goto("/cms/")
    expect(page.get_by_role("heading", name="Nothing needs attention")).to_be_visible()
    expect(page.get_by_role("heading", name="The last two weeks")).to_be_visible()
    expect(page.get_by_role("link", name="Day by day, as charts and tables")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_a_link_leads_to_the_numbers(editor_window):
    page: Page = editor_window(script=False)
    page.goto("/cms/")
    page.get_by_role("link", name="The numbers of the last 30 days").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Numbers")
