"""Keys that lead anywhere: the command palette and the shortcuts, and how they are turned off."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dealsite.data.people import profiles
from tests.browser.content import now_deal
from tests.browser.flaws import flaws
from tests.searching import index_table


@pytest.fixture
def page(editor_window) -> Page:
    """The window of an editor, at the list of jobs, with all its scripts at work."""
    page = editor_window()
    page.goto("/cms/jobs/", wait_until="networkidle")
    return page


def test_the_palette_finds_a_page_and_opens_it_by_keys_alone(page):
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search or do")
    expect(palette).to_be_visible()
    expect(page.get_by_role("combobox", name="A name, an id or an action")).to_be_focused()
    expect(page.get_by_role("option", selected=True)).to_have_count(1)
    assert flaws(page) == []
    page.keyboard.type("new d")
    expect(page.get_by_role("option")).to_have_count(2)  # the page, and the search for it
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("New deal")


@pytest.mark.sample(quick=0, whole=3)
def test_enter_waits_for_what_goes_with_the_words(page):
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Overview")
    page.keyboard.type("brands")
    page.keyboard.press("Enter")  # long before the site has answered
    expect(page.get_by_role("heading", level=1)).to_have_text("Brands")


@pytest.mark.sample(quick=0, whole=3)
def test_arrow_keys_move_round_the_options(page):
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Overview")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Deals")
    chosen = page.get_by_role("option", selected=True).get_attribute("id")
    expect(page.get_by_role("combobox")).to_have_attribute("aria-activedescendant", chosen)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("option", selected=True)).to_have_text("Reload")  # of the page itself
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Search or do")).to_be_hidden()


@pytest.mark.sample(quick=0, whole=3)
@pytest.mark.usefixtures("search_index")
def test_a_deal_is_found_by_its_words(page):
    now_deal(title="Brass lamp")
    index_table()
    page.get_by_role("link", name="Search or do …").click()
    page.keyboard.type("brass")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Brass lamp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Brass lamp")


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_the_palette_is_a_page(editor_window):
    page = editor_window(script=False)
    page.goto("/cms/brands/")
    page.get_by_role("link", name="Search or do …").click()
    page.get_by_role("searchbox", name="A name, an id").fill("featured")
    page.keyboard.press("Enter")
    page.get_by_role("main").get_by_role("link", name="Featured").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Featured")


@pytest.mark.sample(quick=0, whole=3)
def test_two_keys_lead_to_a_page_and_one_begins_a_deal(page):
    page.keyboard.type("gd")
    expect(page.get_by_role("heading", level=1)).to_have_text("Deals")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text("New deal")
    page.wait_for_load_state("networkidle")
    page.get_by_label("Title").fill("")
    page.keyboard.type("gd n?")  # one types: these are letters
    expect(page.get_by_label("Title")).to_have_value("gd n?")


def test_the_question_mark_tells_what_keys_there_are(page):
    page.keyboard.press("?")
    told = page.get_by_role("dialog", name="Shortcuts")
    expect(told).to_be_visible()
    expect(told.get_by_text("Go to anything")).to_be_visible()
    assert flaws(page) == []
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()


@pytest.mark.sample(quick=0, whole=3)
def test_the_slash_leads_into_the_search_box_of_a_page_or_else_to_the_palette(page):
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="Search or do")).to_be_visible()
    page.goto("/cms/deals/", wait_until="networkidle")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    expect(page.get_by_role("dialog", name="Search or do")).to_be_hidden()


@pytest.mark.sample(quick=0, whole=3)
def test_turned_off_single_keys_do_nothing_but_the_palette_still_opens(editor_window):
    page = editor_window()
    profiles.save_preferences("eve", shortcuts=False)
    page.goto("/cms/jobs/", wait_until="networkidle")
    for key in ("?", "/", "n", "g", "d"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Search or do")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_the_palette_fits_the_window(editor_window, width):
    page = editor_window(width=width)
    page.goto("/cms/jobs/", wait_until="networkidle")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", selected=True)).to_be_visible()
    box = page.get_by_role("dialog", name="Search or do").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_the_palette_does_what_the_page_does(page):
    page.goto("/cms/deals/new/", wait_until="networkidle")
    page.get_by_label("Title").fill("Lamp")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("option", selected=True)).to_be_visible()
    page.keyboard.type("save")
    expect(page.get_by_role("dialog").get_by_role("option", selected=True)).to_have_text("Save draft")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The draft is saved.")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_the_menu_is_a_row_of_icons_for_who_wants_it_so(page):
    page.keyboard.press("m")
    expect(page.get_by_role("complementary", name="Menu")).to_have_css("width", "56px")
    page.wait_for_load_state("networkidle")
    page.goto("/cms/brands/")
    expect(page.get_by_role("complementary", name="Menu")).to_have_css("width", "56px")
    page.get_by_role("link", name="Categories").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Categories")
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_nothing_of_a_list_lies_over_the_menu_behind_ones_name(page):
    for number in range(16):
        now_deal(title=f"Brass lamp {number}")
    page.goto("/cms/deals/", wait_until="networkidle")
    page.locator(".me").click()
    over = page.locator(".side .popup-panel").evaluate(
        """(panel) => {
          const box = panel.getBoundingClientRect(), over = [];
          for (let x = box.left + 8; x < box.right - 8; x += 6)
            for (let y = box.top + 8; y < box.bottom - 8; y += 6) {
              const there = document.elementFromPoint(x, y);
              if (!panel.contains(there)) over.push(there.className);
            }
          return over;
        }"""
    )
    assert over == []
