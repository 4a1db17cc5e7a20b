"""Prices are changed in the editors' list of deals, by keyboard."""

from __future__ import annotations

from decimal import Decimal

import pytest
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from tests.browser.content import now_deal
from tests.browser.deal_form import said
from tests.browser.flaws import flaws
from tests.browser.lists import measures

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
    stands_out = "error => error.scrollWidth > error.clientWidth"  # over the field beside it
    assert not page.locator(".field-error").evaluate(stands_out)
    field = page.get_by_role("textbox", name="Price", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("5.50")
    page.keyboard.press("Enter")
    expect(said(page, "“Lamp” is changed.")).to_be_visible()
    expect(row(page, lamp)).to_contain_text("€5.50")
    expect(page.get_by_role("link", name="Change price and expiry of Lamp")).to_be_focused()
    expect(page.locator("#announce")).to_have_text("“Lamp” is changed.")
    expect(page.locator("#messages .alert")).to_have_attribute("data-begun", "")  # it leaves by itself
    assert price_of(lamp) == Decimal("5.50")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(row(page, lamp).locator(".column-price")).not_to_contain_text("€5.50")
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


def test_the_list_is_worked_off_by_keys_alone(editor_window, some):
    for number in range(20):
        now_deal(title=f"Deal {number}")
    page: Page = editor_window(width=1280)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(LIST)
    page.wait_for_load_state("networkidle")
    rows = page.locator("[data-rows] tbody tr")
    top, in_view = measures(page)
    assert top <= 210
    assert in_view >= 14
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    assert page.locator("[data-rows] tbody tr[tabindex='0']").count() == 1
    page.keyboard.press("x")
    expect(page.get_by_text("1 chosen")).to_be_visible()
    box = rows.nth(1).bounding_box()
    assert box
    assert box["y"] == pytest.approx(top + 44, abs=2)  # no row moved
    page.keyboard.press("x")
    page.keyboard.press("e")
    expect(page.get_by_role("textbox", name="Price", exact=True)).to_be_focused()
    page.keyboard.type("jx")  # one types: these are letters
    expect(page.locator(".htmx-settling, .htmx-added")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(rows.nth(1).get_by_role("link", name="Change price and expiry of Desk")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(rows.nth(1)).to_be_focused()
    title = rows.nth(1).locator(".thing-title").inner_text()
    page.keyboard.press("#")
    expect(said(page, "is in the trash")).to_be_visible()
    expect(
        page.locator(".thing-title", has_text=title).and_(page.get_by_text(title, exact=True))
    ).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(said(page, "is as it was before")).to_be_visible()
    expect(page.get_by_text(title, exact=True).and_(page.locator(".thing-title"))).to_be_visible()
    page.get_by_label("Choose Desk").check()
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_on_a_phone_a_row_is_an_item_of_two_lines(editor_window, some):
    page: Page = editor_window(width=390)
    page.goto(LIST)
    box = row(page, some[0]).bounding_box()
    assert box
    assert box["height"] <= 96
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_times_of_the_cms_stay_in_the_zone_that_its_forms_take(editor_window, some):
    page: Page = editor_window(timezone_id="Asia/Tokyo")
    page.goto(f"/cms/deals/{some[0].id}/", wait_until="networkidle")
    expect(page.locator("main time").first).to_contain_text("UTC")


def test_keys_and_save_and_next_lead_through_the_list(editor_window, some):
    page: Page = editor_window()
    page.goto(LIST)
    page.get_by_role("link", name="Lamp", exact=True).click()
    title = page.get_by_role("textbox", name="Title")
    expect(title).to_have_value("Lamp")
    page.keyboard.press("Alt+PageDown")
    expect(title).to_have_value("Desk")
    assert flaws(page) == []
    page.keyboard.press("Alt+PageUp")
    expect(title).to_have_value("Lamp")
    title.fill("Oil lamp")
    page.get_by_title("Publish, then …").click()
    page.get_by_role("button", name="Publish and next").click()
    expect(title).to_have_value("Desk")
    expect(said(page, "The deal is saved.")).to_be_visible()
    assert deals.get(some[0].id).content.title == "Oil lamp"
    page.keyboard.press("Alt+PageDown")
    expect(said(page, "That was the last one.")).to_be_visible()
    expect(page.get_by_role("link", name="Oil lamp", exact=True)).to_be_visible()
