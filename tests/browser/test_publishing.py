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


def test_the_form_asks_for_what_the_seller_has_and_hides_nothing_that_is_filled(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    link, code, stock = field(page, "Link"), field(page, "Voucher code"), page.get_by_label("Stock")
    for seller, shown in (("Sold here", [stock]), ("At a shop, with a code", [link, code])):
        page.get_by_label(seller, exact=True).check()
        assert [one for one in (link, code, stock) if one.is_visible()] == shown
    link.fill("https://shop.example/drill")
    code.fill("DRILL18")
    page.get_by_label("Sold here", exact=True).check()
    assert all(one.is_visible() for one in (link, code, stock))
    expect(page.get_by_text("It is kept aside: shoppers do not see it.")).to_be_visible()
    code.fill("")
    page.get_by_label("At a shop", exact=True).check()
    assert [one for one in (link, code, stock) if one.is_visible()] == [link]
