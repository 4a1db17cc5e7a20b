"""Arranging featured deals: by button, number, mouse and keys, beside the page as it will look; and by two at once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Dialog, Locator, Page, Route, expect

from dealsite.data.catalogue import featured
from dealsite.data.catalogue.deals import Deal
from tests.browser.content import feature, now_deal
from tests.browser.deal_form import said
from tests.browser.flaws import flaws

NAMES = ["Ash", "Birch", "Cedar", "Douglas fir"]
# Half a second is as good as a frame: Chromium now and then draws none for a window.
NEXT_FRAME = "() => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 500); })"
ADDRESS = "/cms/featured/front/"
ADD_ELM = re.compile("^Add( to mine)? ?: Elm$")
CHANGES = "[data-changes]"


@pytest.fixture(autouse=True)
def trees(site: str, search_index) -> dict[str, Deal]:
    """Four featured deals, in the order of their names, and one that is not featured."""
    made = {name: now_deal(title=name) for name in [*NAMES, "Elm"]}
    feature("front", [made[name] for name in NAMES])
    search_index()
    return made


def rows(page: Page) -> list[str]:
    """Return the titles of the list, in order."""
    return page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.dataset.title)")


def row(page: Page, name: str) -> Locator:
    return page.locator(f'[data-row][data-title="{name}"]')


def status(page: Page) -> Locator:
    """Return the line that says what was done last."""
    return page.locator("[data-status]")


def stored() -> list[str]:
    return [card.title for card in featured.get("front").cards]


def save(page: Page) -> None:
    page.get_by_role("button", name="Save the list").click()
    expect(said(page, "the featured deals are saved")).to_be_visible()


def test_a_list_is_made_by_keys_alone_beside_the_page_as_it_will_look(editor_window):
    page: Page = editor_window(width=1280)
    page.goto(ADDRESS)
    strip = page.frame_locator("[data-preview] iframe").locator(".strip .offer-link")
    expect(strip).to_have_text(NAMES)
    page.keyboard.press("/")
    page.keyboard.type("elm")
    page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("“Elm” is added at position 5.")
    expect(page.get_by_label("Words, id or link")).to_be_focused()
    page.get_by_label("Position of Cedar").focus()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    expect(status(page)).to_contain_text("“Cedar” is at the top already.")
    expect(page.get_by_label("Position of Cedar")).to_be_focused()
    expect(row(page, "Cedar")).to_contain_text("was at 3")
    expect(row(page, "Ash")).not_to_contain_text("was at")
    page.keyboard.press("Tab")
    page.keyboard.press("Delete")
    expect(row(page, "Cedar")).to_have_count(0)
    expect(page.locator(CHANGES)).to_have_text("2 changes not saved")
    expect(strip).to_have_text(["Ash", "Birch", "Douglas fir", "Elm"])
    assert stored() == NAMES
    page.keyboard.press("Control+s")
    expect(said(page, "the featured deals are saved")).to_be_visible()
    expect(page.locator(CHANGES)).to_be_hidden()
    assert stored() == ["Ash", "Birch", "Douglas fir", "Elm"]
    assert flaws(page) == []


def test_a_deal_is_moved_by_its_buttons_which_keep_the_focus(editor_window):
    page: Page = editor_window()
    page.goto(ADDRESS)
    row(page, "Cedar").hover()
    up = page.get_by_role("button", name="Move Cedar up")
    up.focus()
    page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("“Cedar” is now at position 2 of 4.")
    expect(up).to_be_focused()
    page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("“Cedar” is now at position 1 of 4.")
    expect(up).to_be_focused()
    save(page)
    assert stored() == ["Cedar", "Ash", "Birch", "Douglas fir"]


@pytest.mark.sample(quick=0, whole=3)
def test_a_deal_is_moved_by_its_number(editor_window):
    page: Page = editor_window()
    page.goto(ADDRESS)
    number = page.get_by_label("Position of Douglas fir")
    number.fill("2")
    number.press("Enter")
    expect(status(page)).to_contain_text("“Douglas fir” is now at position 2 of 4.")
    assert rows(page) == ["Ash", "Douglas fir", "Birch", "Cedar"]
    page.get_by_label("Position of Ash").fill("no number")
    page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("“Ash” stays where it was.")
    assert rows(page) == ["Ash", "Douglas fir", "Birch", "Cedar"]
    save(page)
    assert stored() == ["Ash", "Douglas fir", "Birch", "Cedar"]


@pytest.mark.sample(quick=0, whole=3)
def test_a_deal_is_dragged_to_its_place(editor_window):
    page: Page = editor_window(reduced_motion="reduce")  # the mouse need not wait for rows that glide
    page.goto(ADDRESS)
    grip = row(page, "Douglas fir").locator("[data-grip]").bounding_box()
    goal = row(page, "Ash").bounding_box()
    page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
    page.mouse.down()
    for n in range(1, 21):
        page.mouse.move(grip["x"], grip["y"] + (goal["y"] + 5 - grip["y"]) * n / 20)
        page.evaluate(NEXT_FRAME)
    page.mouse.up()
    expect(status(page)).to_contain_text("“Douglas fir” is now at position 1 of 4.")
    assert rows(page) == ["Douglas fir", "Ash", "Birch", "Cedar"]
    expect(page.get_by_label("Position of Cedar")).to_have_value("4")
    expect(page.locator("#announce")).to_have_text("“Douglas fir” is now at position 1 of 4.")
    save(page)
    assert stored() == ["Douglas fir", "Ash", "Birch", "Cedar"]


@pytest.mark.sample(quick=0, whole=3)
def test_a_deal_is_dragged_from_those_to_choose_from(editor_window):
    page: Page = editor_window(reduced_motion="reduce", width=1280)
    page.goto(ADDRESS)
    elm = page.locator("[data-choices] [data-id]").filter(has_text="Elm").bounding_box()
    goal = row(page, "Birch").bounding_box()
    page.mouse.move(elm["x"] + 80, elm["y"] + 10)
    page.mouse.down()
    for n in range(1, 21):
        page.mouse.move(
            elm["x"] + 80 + (goal["x"] + 60 - elm["x"]) * n / 20,
            elm["y"] + 10 + (goal["y"] - elm["y"] - 5) * n / 20,
        )
        page.evaluate(NEXT_FRAME)
    page.mouse.up()
    expect(status(page)).to_contain_text("“Elm” is added at position 2.")
    assert rows(page) == ["Ash", "Elm", "Birch", "Cedar", "Douglas fir"]


@pytest.mark.sample(quick=0, whole=3)
def test_who_leaves_with_changes_is_asked(editor_window):
    page: Page = editor_window()
    page.goto(ADDRESS)
    page.get_by_role("button", name="Take Birch out", exact=True).click()
    expect(page.locator(CHANGES)).to_have_text("1 change not saved")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.get_by_role("link", name="Discard").click()
    expect(row(page, "Birch")).to_have_count(0)
    assert asked == ["beforeunload"]


@pytest.mark.sample(quick=0, whole=3)
def test_deals_are_taken_out_and_added_from_the_latest_and_by_a_link(editor_window, trees):
    page: Page = editor_window()
    page.goto(ADDRESS)
    page.get_by_role("button", name="Take Birch out", exact=True).click()
    expect(row(page, "Birch")).to_have_count(0)
    page.get_by_role("button", name=ADD_ELM).click()
    expect(status(page)).to_contain_text("“Elm” is added at position 4.")
    birch = trees["Birch"]
    page.get_by_label("Words, id or link").fill(f"https://deals.example/deals/{birch.id}/birch/")
    page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("“Birch” is added at position 5.")
    page.get_by_label("Words, id or link").fill("")
    page.get_by_label("State", exact=True).select_option("Scheduled")
    expect(page.get_by_text("There are no such deals.")).to_be_visible()
    assert rows(page) == ["Ash", "Cedar", "Douglas fir", "Elm", "Birch"]
    assert stored() == NAMES
    save(page)
    assert stored() == ["Ash", "Cedar", "Douglas fir", "Elm", "Birch"]


@pytest.mark.sample(quick=0, whole=3)
def test_after_a_deal_is_taken_out_the_focus_is_on_the_next(editor_window):
    page: Page = editor_window()
    page.goto(ADDRESS)
    page.get_by_role("button", name="Take Birch out", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Take Cedar out", exact=True)).to_be_focused()
    for name in ("Cedar", "Douglas fir", "Ash"):
        page.get_by_role("button", name=f"Take {name} out", exact=True).press("Enter")
    expect(page.get_by_label("Words, id or link")).to_be_focused()
    expect(page.get_by_text("Nothing is featured here.")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_of_two_editors_the_second_is_shown_the_conflict_and_loses_nothing(editor_window, trees):
    eve: Page = editor_window("eve")
    oscar: Page = editor_window("oscar")
    eve.goto(ADDRESS)
    oscar.goto(ADDRESS)
    eve.get_by_role("button", name="Take Ash out", exact=True).click()
    expect(row(eve, "Ash")).to_have_count(0)
    eve.get_by_role("button", name=ADD_ELM).click()
    expect(status(eve)).to_contain_text("“Elm” is added at position 4.")
    save(eve)

    row(oscar, "Cedar").hover()
    oscar.get_by_role("button", name="Move Cedar up").click()
    expect(status(oscar)).to_contain_text("“Cedar” is now at position 2 of 4.")
    oscar.get_by_role("button", name="Save the list").click()
    conflict = oscar.get_by_role("alert").filter(has_text="eve saved this list while you worked on it")
    expect(conflict).to_be_focused()
    assert rows(oscar) == ["Ash", "Cedar", "Birch", "Douglas fir"]
    assert stored() == ["Birch", "Cedar", "Douglas fir", "Elm"]
    conflict.get_by_role("button", name=ADD_ELM).click()
    expect(status(oscar)).to_contain_text("“Elm” is added at position 5.")
    save(oscar)
    assert stored() == ["Ash", "Cedar", "Birch", "Douglas fir", "Elm"]


@pytest.mark.sample(quick=0, whole=3)
def test_what_is_done_while_an_answer_is_on_its_way_is_kept(editor_window):
    page: Page = editor_window()
    page.goto(ADDRESS)
    held: list[Route] = []
    page.route(f"**{ADDRESS}", lambda route: held.append(route), times=1)
    with page.expect_request(f"**{ADDRESS}"):
        page.get_by_role("button", name=ADD_ELM).click()
    page.get_by_role("button", name="Take Birch out", exact=True).click()
    row(page, "Cedar").hover()
    page.get_by_role("button", name="Move Cedar up").click()
    page.get_by_role("button", name="Save the list").click()
    assert stored() == NAMES
    held[0].continue_()
    expect(said(page, "the featured deals are saved")).to_be_visible()
    assert stored() == ["Cedar", "Ash", "Douglas fir", "Elm"]


@pytest.mark.sample(quick=0, whole=3)
def test_on_a_phone_the_filter_of_the_choices_stands_within_the_page(editor_window):
    page: Page = editor_window(width=390)
    page.goto(ADDRESS)
    page.get_by_text("Filter", exact=True).click()
    box = page.locator(".popup-panel:visible").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert flaws(page) == []
