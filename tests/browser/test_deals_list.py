"""Prices are changed in the editors' list of deals, by keyboard."""

from __future__ import annotations

from decimal import Decimal

import pytest
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from tests.browser.content import now_deal
from tests.browser.deal_form import said

LIST = "/cms/deals/?state=live"


@pytest.fixture(autouse=True)
def some(site: str) -> list[Deal]:
    """Two live deals."""
    return [now_deal(title=title) for title in ("Lamp", "Desk")]


def row(page: Page, deal: Deal) -> Locator:
    return page.locator(f"#row-{deal.id}")


def price_of(deal: Deal) -> Decimal | None:
    return deals.get(deal.id).content.price


def test_a_price_is_changed_by_keyboard_and_set_back(editor_window, some):
    page: Page = editor_window()
    lamp = some[0]
    before = price_of(lamp)
    page.goto(LIST)
    page.get_by_role("link", name="Change price and expiry of Lamp").press("Enter")
    field = page.get_by_role("textbox", name="Price", exact=True)
    expect(field).to_be_focused()
    field.fill("1,5")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Write the amount with digits and a point")).to_be_visible()
    field = page.get_by_role("textbox", name="Price", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("5.50")
    page.keyboard.press("Enter")
    expect(said(page, "“Lamp” is changed.")).to_be_visible()
    expect(row(page, lamp)).to_contain_text("€5.50")
    expect(page.get_by_role("link", name="Change price and expiry of Lamp")).to_be_focused()
    expect(page.locator("#announce")).to_have_text("“Lamp” is changed.")
    assert price_of(lamp) == Decimal("5.50")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(row(page, lamp)).not_to_contain_text("€5.50")
    assert price_of(lamp) == before


@pytest.mark.sample(quick=0, whole=3)
def test_escape_leaves_a_price_as_it_is(editor_window, some):
    page: Page = editor_window()
    page.goto(LIST)
    link = page.get_by_role("link", name="Change price and expiry of Lamp")
    link.press("Enter")
    page.get_by_role("textbox", name="Price", exact=True).fill("1")
    page.keyboard.press("Escape")
    expect(link).to_be_focused()
    assert deals.get(some[0].id).version == 1
