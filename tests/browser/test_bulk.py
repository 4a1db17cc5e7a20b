"""Changing many deals at once: by mouse and by keyboard alone; stopped, and taken back."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from dealsite.worker import loop
from tests.browser.content import now_deal
from tests.builders import make_category

TOYS = "toys-hobbies"
TITLE = "Change category to Toys & Hobbies"


@pytest.fixture(autouse=True)
def made(site: str) -> list[Deal]:
    """Four deals, the newest first."""
    make_category(TOYS)
    return [now_deal(title=name) for name in ("Ash", "Birch", "Cedar", "Douglas fir")]


@pytest.fixture
def working() -> Iterator[None]:
    """A worker that runs jobs as they come."""
    stop = threading.Event()
    thread = threading.Thread(target=loop.run, args=(stop,), kwargs={"expire": False})
    thread.start()
    yield
    stop.set()
    thread.join(30)


def categories(made: list[Deal]) -> list[bool]:
    """Tell of each deal whether it is among the toys."""
    return [deals.get(deal.id).content.category == TOYS for deal in made]


def more(page: Page, verb: str) -> None:
    """Press one of the buttons under *More* in the bar of the selection."""
    page.locator("#bulk summary").click()
    page.locator("#bulk").get_by_role("button", name=verb).click()


def test_chosen_deals_are_changed_and_changed_back(editor_window, made):
    page: Page = editor_window()
    page.goto("/cms/deals/")
    page.get_by_label("Choose Ash").check()
    page.get_by_label("Choose Cedar").check()
    expect(page.get_by_text("2 chosen")).to_be_visible()
    more(page, "Change category")
    page.get_by_label("New category").select_option("Toys & Hobbies")
    page.get_by_role("button", name="See what will change").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    expect(page.get_by_text("2 deals are chosen.")).to_be_visible()
    page.get_by_role("button", name=TITLE).click()
    expect(page.get_by_text(f"{TITLE}: 2 changed.")).to_be_visible()
    assert categories(made) == [True, False, True, False]
    page.keyboard.press("Control+z")
    expect(page.get_by_text(f"Undone: {TITLE}.")).to_be_visible()
    assert categories(made) == [False] * 4


def test_a_selection_ends_with_one_button_and_comes_back_with_one(editor_window, made):
    page: Page = editor_window()
    page.goto("/cms/deals/")
    page.get_by_label("Choose Ash").check()
    page.locator("#bulk").get_by_role("button", name="Expire now").click()
    expect(page.get_by_text("“Ash” has ended.")).to_be_visible()
    assert deals.get(made[0].id).content.expires_at is not None
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("“Ash” is as it was before.")).to_be_visible()
    assert deals.get(made[0].id).content.expires_at is None


@pytest.mark.sample(quick=0, whole=3)
def test_all_of_a_list_are_changed_by_keyboard_alone(editor_window, made, working):
    page: Page = editor_window()
    page.goto("/cms/deals/?state=live")
    expect(page.get_by_label("All that match")).to_be_hidden()  # before something is ticked
    page.get_by_label("Choose Ash").check()
    page.get_by_label("All that match").focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("All that match are chosen")).to_be_visible()
    tab_to(page, page.locator("#bulk summary"))
    page.keyboard.press("Enter")
    tab_to(page, page.locator("#bulk").get_by_role("button", name="Change category"))
    page.keyboard.press("Enter")
    page.get_by_label("New category").focus()
    page.keyboard.type("Toys")
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("button", name="See what will change"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    tab_to(page, page.get_by_role("button", name=TITLE))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Done")).to_be_visible()
    assert categories(made) == [True] * 4


def tab_to(page: Page, wanted: Locator) -> None:
    for _ in range(60):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab never comes there.")


@pytest.mark.sample(quick=0, whole=3)
def test_boxes_are_ticked_all_at_once_and_in_ranges(editor_window, made):
    page: Page = editor_window()
    page.goto("/cms/deals/")
    page.get_by_label("Choose all of this page").check()
    expect(page.get_by_text("4 chosen")).to_be_visible()
    page.get_by_label("Choose Birch").uncheck()
    expect(page.get_by_text("3 chosen")).to_be_visible()
    page.get_by_label("Choose all of this page").check()
    page.get_by_label("Choose all of this page").uncheck()
    expect(page.locator("#bulk")).to_be_hidden()
    page.get_by_label("Choose Ash").check()
    page.get_by_label("Choose Cedar").click(modifiers=["Shift"])
    expect(page.get_by_text("3 chosen")).to_be_visible()
    page.get_by_role("button", name="Choose none").click()
    expect(page.locator("#bulk")).to_be_hidden()


@pytest.mark.sample(quick=0, whole=3)
def test_rows_that_come_by_themselves_can_be_chosen(editor_window, made, search_index):
    search_index()
    page: Page = editor_window()
    page.goto("/cms/deals/")
    page.get_by_label("Words, id or link").fill("Birch")
    expect(page.get_by_label("Choose Ash")).to_have_count(0)
    page.get_by_label("Choose Birch").check()
    expect(page.get_by_text("1 chosen")).to_be_visible()
    page.get_by_label("The 1 deal that matches").check()
    page.locator("#bulk").get_by_role("button", name="Expire now").click()
    expect(page.get_by_role("link", name="Birch")).to_be_visible()
    expect(page.get_by_role("link", name="Ash", exact=True)).to_have_count(0)
