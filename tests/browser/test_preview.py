"""The preview beside a deal's form: it follows what is typed, keeps its width and theme, and leads nowhere."""

from __future__ import annotations

import re
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, Route, expect

from dealsite.data.people import sessions
from tests.browser.content import now_deal
from tests.browser.deal_form import CATEGORY, category_field, choose_picture, field, fill_in
from tests.browser.flaws import flaws
from tests.browser.test_engine_down import break_table  # noqa: F401 - a fixture

WIDE = 1600  # the preview is a column of its own


def panel(page: Page) -> Locator:
    """Return the preview beside the form, or over it."""
    return page.get_by_role("region", name="Preview", exact=True)


def inside(page: Page) -> FrameLocator:
    """Return the page within the preview."""
    return page.frame_locator("[data-preview] iframe")


def width_inside(page: Page) -> int:
    return page.locator("[data-preview] iframe").evaluate("frame => frame.contentWindow.innerWidth")


def test_the_preview_follows_what_is_typed(editor_window):
    page: Page = editor_window(width=WIDE)
    page.goto("/cms/deals/new/")
    expect(inside(page).locator("h1")).to_have_text("Without a title")
    fill_in(page, brand="Ochsenkopf", category=CATEGORY)
    expect(inside(page).locator("h1")).to_have_text("Cordless drill, 18 V")
    expect(inside(page).locator("strong")).to_have_text("one")
    expect(inside(page).locator(".offer .price-now")).to_contain_text("€89.90")
    choose_picture(page, "A drill")
    expect(inside(page).locator(".deal-page img")).to_be_visible()
    assert (
        inside(page)
        .locator(".deal-page img")
        .evaluate("async picture => (await picture.decode(), picture.naturalWidth)")
        > 0
    )
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_hostile_content_stays_text_in_the_preview(editor_window):
    page: Page = editor_window(width=WIDE)
    page.goto("/cms/deals/new/")
    fill_in(
        page, {"Title": "<img src=x onerror=alert(1)>", "Description": "<script>alert(1)</script>**bold**"}
    )
    expect(inside(page).locator("h1")).to_have_text("<img src=x onerror=alert(1)>")
    expect(inside(page).locator("strong")).to_have_text("bold")
    assert inside(page).locator("script").count() == 0


@pytest.mark.sample(quick=0, whole=3)
def test_width_and_theme_of_the_preview_are_kept(editor_window):
    deal = now_deal(title="Desk lamp")
    page: Page = editor_window(width=WIDE)
    page.goto(f"/cms/deals/{deal.id}/")
    expect(inside(page).locator("h1")).to_have_text("Desk lamp")
    assert width_inside(page) == 390
    panel(page).get_by_role("button", name="Desktop").click()
    panel(page).get_by_role("button", name="Dark preview").click()
    assert width_inside(page) == 1280
    page.reload()
    expect(inside(page).locator("h1")).to_have_text("Desk lamp")
    assert width_inside(page) == 1280
    expect(panel(page).get_by_role("button", name="Desktop")).to_have_attribute("aria-pressed", "true")
    expect(inside(page).locator("html")).to_have_attribute("data-theme", "evening")


@pytest.mark.sample(quick=0, whole=3)
def test_nothing_in_the_preview_leads_anywhere(editor_window):
    deal = now_deal(title="Desk lamp", link="https://shop.example/lamp")
    page: Page = editor_window(width=WIDE)
    page.goto(f"/cms/deals/{deal.id}/")
    link = inside(page).get_by_text("Go to shop.example")
    expect(link).to_be_visible()
    link.click(force=True)
    assert link.evaluate("link => link.closest('[inert]').id") == "previewed"
    expect(inside(page).locator("h1")).to_have_text("Desk lamp")


@pytest.mark.sample(quick=0, whole=3)
def test_the_preview_takes_the_place_of_the_settings_and_stays_by_keyboard_alone(editor_window):
    deal = now_deal(title="Desk lamp")
    page: Page = editor_window()
    page.goto(f"/cms/deals/{deal.id}/")
    expect(panel(page)).to_be_hidden()
    field(page, "Title").press("Alt+p")
    expect(inside(page).locator("h1")).to_have_text("Desk lamp")
    expect(category_field(page)).to_be_hidden()
    page.reload()
    expect(panel(page)).to_be_visible()
    page.get_by_role("button", name="Settings", exact=True).press("Enter")
    expect(panel(page)).to_be_hidden()
    expect(category_field(page)).to_be_visible()
    page.reload()
    expect(category_field(page)).to_be_visible()
    expect(panel(page)).to_be_hidden()


@pytest.mark.sample(quick=0, whole=3)
def test_on_a_phone_the_preview_lies_over_the_form_and_escape_brings_it_back(editor_window):
    page: Page = editor_window(width=390)
    page.goto("/cms/deals/new/")
    field(page, "Title").fill("Desk lamp")
    expect(panel(page)).to_be_hidden()
    opener = page.get_by_role("button", name="Preview", exact=True)
    opener.click()
    expect(inside(page).locator("h1")).to_have_text("Desk lamp")
    expect(page.get_by_role("button", name="Close the preview")).to_be_focused()
    assert field(page, "Title").evaluate("field => field.closest('[inert]') !== null")
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(field(page, "Title")).to_have_value("Desk lamp")


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_the_preview_is_a_page_of_its_own(editor_window):
    page: Page = editor_window(script=False)
    page.goto("/cms/deals/new/")
    fill_in(page)
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Preview", exact=True).click()
    expect(opened.value.locator("h1")).to_have_text("Cordless drill, 18 V")
    expect(field(page, "Title")).to_have_value("Cordless drill, 18 V")


@pytest.mark.sample(quick=0, whole=3)
def test_the_preview_waits_while_the_table_is_away_and_goes_on(editor_window, break_table):  # noqa: F811
    deal = now_deal(title="Desk lamp")
    page: Page = editor_window(width=WIDE)
    page.goto(f"/cms/deals/{deal.id}/")
    expect(inside(page).locator("h1")).to_have_text("Desk lamp")
    repair = break_table()
    field(page, "Title").fill("Better lamp")
    expect(panel(page)).to_contain_text("The preview waits: the site does not answer.")
    repair()
    expect(inside(page).locator("h1")).to_have_text("Better lamp")
    expect(panel(page)).not_to_contain_text("The preview waits")


@pytest.mark.sample(quick=0, whole=3)
def test_a_preview_that_is_refused_says_so_and_is_asked_for_again_after_the_next_change_alone(editor_window):
    page: Page = editor_window(width=WIDE)
    page.goto("/cms/deals/new/")
    expect(inside(page).locator("h1")).to_have_text("Without a title")
    page.evaluate(
        """() => {
            const real = window.setTimeout;
            window.setTimeout = (call, wait) => real(call, wait === 5000 ? 0 : wait); // what waits longest here
        }"""
    )
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(parse_qs(route.request.post_data or "")["title"][0])
        route.fulfill(status=400, body="")

    page.route("**/cms/deals/preview/", refuse)
    for title in ("Lamp", "Desk lamp"):
        with page.expect_response("**/cms/deals/preview/"):
            field(page, "Title").fill(title)
        expect(panel(page).get_by_role("status")).to_contain_text("The preview cannot be made.")
    assert asked == ["Lamp", "Desk lamp"]


@pytest.mark.sample(quick=0, whole=3)
def test_the_preview_says_that_the_session_has_ended_and_keeps_the_page(editor_window):
    deal = now_deal(title="Desk lamp")
    page: Page = editor_window(width=WIDE)
    page.goto(f"/cms/deals/{deal.id}/")
    expect(inside(page).locator("h1")).to_have_text("Desk lamp")
    sessions.end_all("eve")
    field(page, "Title").fill("Better lamp")
    expect(panel(page)).to_contain_text("your session has ended")
    expect(page).to_have_url(re.compile(deal.id))
