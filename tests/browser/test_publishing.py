"""The form of a deal refuses without losing anything, and offers brands while one types."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.deal_form import (
    CATEGORY,
    TEXTS,
    brand_field,
    category_field,
    choose_picture,
    field,
    fill_in,
    said,
)
from tests.builders import make_brand


@pytest.fixture(autouse=True)
def brand(site: str) -> None:
    """A brand that can be chosen."""
    make_brand("Ochsenkopf")


def focused_id(page: Page) -> str:
    """Return the id of what has the focus."""
    found: str = page.evaluate("document.activeElement.id")
    return found


def test_what_is_missing_is_listed_and_leads_to_its_field_and_nothing_typed_is_lost(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    typed = TEXTS | {"Link": "", "Price": "eighty"}
    fill_in(page, typed, brand="Ochsenkopf")
    choose_picture(page, "A drill in its case")
    page.get_by_role("button", name="Publish now").click()
    summary = page.get_by_role("alert").filter(has_text="Please check the form")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name=re.compile("^Price")).click()
    expect(field(page, "Price")).to_be_focused()
    expect(field(page, "Price")).to_have_accessible_description(re.compile("digits and a point"))
    field(page, "Price").fill("80")
    page.get_by_role("button", name="Publish now").click()

    for label in ("Category", "Link"):
        summary.get_by_role("link", name=re.compile(f"^{label}")).click()
        assert focused_id(page) == f"id_{label.lower()}"
    for label, text in (typed | {"Price": "80"}).items():
        expect(field(page, label)).to_have_value(text)
    expect(brand_field(page)).to_have_value("Ochsenkopf")
    expect(page.get_by_role("main").get_by_role("img", name="A drill in its case")).to_be_visible()

    field(page, "Link").fill("https://shop.example/drill")
    category_field(page).select_option(CATEGORY)
    page.get_by_role("button", name="Publish now").click()
    expect(said(page, "The deal is published.")).to_be_visible()
    page.get_by_role("link", name="Open its page in the shop").click()
    expect(page.get_by_role("main")).to_contain_text("€80.00")
    expect(page.get_by_alt_text("A drill in its case")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_brands_are_offered_while_an_editor_types(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    brand_field(page).press_sequentially("ochs")
    expect(page.locator("#brand-names option")).to_have_attribute("value", "Ochsenkopf")
