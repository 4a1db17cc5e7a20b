"""Searching as visitors and editors do: by keyboard, on a phone, with Back."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import titles
from tests.browser.content import MINUTE, now_deal
from tests.browser.deal_form import said
from tests.searching import index_table

pytestmark = pytest.mark.usefixtures("site", "search_index")
Window = Callable[..., Page]
HOUR = 60 * MINUTE


def make_lamps() -> None:
    now_deal(title="Brass lamp", age=3 * HOUR, price=Decimal(40), was_price=None)
    now_deal(title="Steel lamp", age=2 * HOUR, price=Decimal(10), was_price=None, brand="Vela")
    now_deal(title="Keyboard", age=HOUR, description="Goes with every lamp <b>&amp;</b> desk.")
    now_deal(title="Soon a lamp", age=-HOUR)
    index_table()


def box(page: Page):
    return page.locator("[data-search-box] input:visible")


@pytest.mark.sample(quick=0, whole=3)
def test_from_the_box_of_any_page_to_the_results(window: Window, width: int):
    make_lamps()
    page = window(width=width)
    page.goto("/brands/")
    box(page).fill("lmap")
    box(page).press("Enter")
    page.wait_for_url("**/search/?q=lmap")
    expect(page.get_by_role("heading", name="No live deal for “lmap”")).to_be_visible()
    expect(box(page)).to_have_value("lmap")
    near = page.get_by_role("region", name="Not quite “lmap”, but near")
    expect(near.get_by_role("listitem")).to_have_count(3)
    page.get_by_role("link", name="lamp", exact=True).click()
    page.wait_for_url("**/search/?q=lamp")
    assert set(titles(page)) == {"Brass lamp", "Steel lamp", "Keyboard"}


def test_a_filter_changes_the_results_alone_and_the_address_follows(window: Window):
    make_lamps()
    page = window()
    page.goto("/search/?q=lamp")
    title = page.get_by_role("heading", level=1)
    expect(title).to_have_text("3 live deals for “lamp”")
    page.evaluate("window.isSame = true")
    vela = page.get_by_label("Vela")
    vela.focus()
    page.keyboard.press("Space")
    expect(title).to_have_text("1 live deal for “lamp”")
    page.wait_for_url("**/search/?q=lamp&brand=vela")
    expect(page.locator("#announce")).to_have_text("1 live deal found.")
    expect(vela).to_be_focused()
    expect(vela).to_be_checked()
    expect(page.locator(".htmx-settling, .htmx-added")).to_have_count(0)
    page.get_by_label("Nordlicht").check()
    expect(title).to_have_text("3 live deals for “lamp”")
    expect(page.locator(".htmx-settling, .htmx-added")).to_have_count(0)
    page.get_by_label("Sort by").locator("visible=true").select_option("price")
    page.wait_for_url("**/search/?q=lamp&brand=vela&brand=nordlicht&sort=price")
    assert titles(page)[0] == "Steel lamp"
    page.get_by_label("Highest price").fill("20")
    page.keyboard.press("Enter")  # a change and a submission: two requests
    page.wait_for_url(re.compile("price_to=20.*sort=price"))
    expect(page.locator(".htmx-request, .htmx-settling, .htmx-added")).to_have_count(0)
    assert page.evaluate("window.isSame")
    page.get_by_role("link", name="up to €20.00").click()
    page.wait_for_url("**/search/?q=lamp&brand=vela&brand=nordlicht&sort=price")
    expect(title).to_have_text("3 live deals for “lamp”")
    page.go_back()
    expect(title).to_have_text("1 live deal for “lamp”")


@pytest.mark.sample(quick=0, whole=3)
def test_on_a_phone_one_button_opens_filters_and_order(window: Window):
    make_lamps()
    page = window(width=390)
    page.goto("/search/?q=lamp")
    expect(page.get_by_label("Vela")).to_be_hidden()
    page.get_by_text("Filter and sort").click()
    page.get_by_label("Sort by").locator("visible=true").select_option("price")
    page.wait_for_url("**/search/?q=lamp&sort=price")
    page.get_by_label("Vela").check()
    page.wait_for_url("**/search/?q=lamp&brand=vela&sort=price")
    expect(page.get_by_label("Vela")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_some_results_show_under_the_box_and_escape_closes_them(window: Window, width: int):
    make_lamps()
    page = window(width=width)
    page.goto("/")
    box(page).press_sequentially("steel", delay=20)
    found = page.get_by_role("list", name="Deals found").get_by_role("link")
    expect(found).to_have_text([re.compile("Steel lamp")])
    page.keyboard.press("Escape")
    expect(found).to_have_count(0)
    expect(box(page)).to_be_focused()
    expect(box(page)).to_have_value("steel")
    box(page).fill("lamp")
    expect(page.get_by_role("link", name="Show all 3 deals")).to_be_visible()
    for _ in range(1 if width < 640 else 2):  # past the button, which a phone does without
        page.keyboard.press("Tab")
    expect(found.first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/deals/**")


@pytest.mark.sample(quick=0, whole=3)
def test_a_new_deal_is_there_at_the_next_letter(window: Window):
    make_lamps()
    page = window()
    page.goto("/search/?q=lamp")
    box(page).fill("zanzibar")
    expect(page.get_by_text("No deals found.")).to_be_visible()
    now_deal(title="Zanzibar lamp")
    index_table()
    box(page).press_sequentially(" l")
    found = page.get_by_role("list", name="Deals found").get_by_role("link")
    expect(found.first).to_contain_text("Zanzibar lamp")


@pytest.mark.sample(quick=0, whole=3)
def test_an_editor_finds_deals_as_he_types(editor_window: Window):
    make_lamps()
    page = editor_window()
    page.goto("/cms/deals/")
    page.get_by_label("Words, id or link").press_sequentially("stel", delay=20)
    rows = page.locator("#deals tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Steel lamp")
    page.wait_for_url(re.compile("q=stel"))
    page.get_by_label("Words, id or link").fill("lamp")
    expect(rows).to_have_count(4)
    page.get_by_role("link", name="Scheduled").click()
    expect(rows).to_contain_text("Soon a lamp")
    page.get_by_label("Words, id or link").fill("")
    expect(page).to_have_url(re.compile(r"/cms/deals/\?state=scheduled$"))


@pytest.mark.sample(quick=0, whole=3)
def test_an_editor_features_what_he_finds(editor_window: Window):
    make_lamps()
    page = editor_window()
    page.goto("/cms/featured/front/")
    words = page.get_by_label("Words")
    words.press_sequentially("stel", delay=20)
    choice = page.locator("#picker").get_by_role("listitem")
    expect(choice).to_have_count(1)
    expect(words).to_be_focused()
    choice.get_by_role("button", name="Add").click()
    expect(page.locator("[data-list]")).to_contain_text("Steel lamp")
    expect(page.get_by_label("Words")).to_have_value("stel")
    page.get_by_role("button", name="Save the list").click()
    expect(said(page, "the featured deals are saved")).to_be_visible()
    page.goto("/")
    assert "Steel lamp" in titles(page)
