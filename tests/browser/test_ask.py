"""A question of the back office from the ready list to the file for a spreadsheet, with a chart in between."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ask import lakes
from tests.browser.conftest import make_user

FOREVER = "SELECT sum(a.range * b.range) FROM range(9999999) a, range(9999999) b"


@pytest.fixture
def lake(settings: Any, tmp_path: Path) -> None:
    """A data folder with a snapshot."""
    settings.VAR, settings.DEALSITE_LAKE = tmp_path / "var", ""
    lakes.write(settings.VAR / "lake", lakes.shop())


@pytest.fixture
def office(site: str, lake: None, window: Callable[..., Page]) -> Callable[..., Page]:
    """A function that opens a window of somebody of the back office."""
    user = make_user("bea", roles=["editor", "back office"])
    return lambda **options: window(user, **options)


def editor(page: Page):
    return page.get_by_role("textbox", name="Question")


def table(page: Page) -> list[list[str]]:
    rows = page.get_by_role("region", name="Rows of the answer").get_by_role("row").all()
    return [row.get_by_role("cell").all_inner_texts() for row in rows[1:]]


@pytest.mark.sample(quick=0, whole=3)
def test_from_a_ready_question_to_a_file_for_a_spreadsheet(office):
    page = office()
    page.goto("/cms/")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_role("link", name="Orders by country").click()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="Orders by country")).to_be_visible()
    assert table(page) == [["FR", "1", "240.00", "240.00", "1"], ["DE", "1", "120.00", "120.00", "1"]]
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    text = download.value.path().read_text("utf-8-sig")
    assert [row[0] for row in csv.reader(text.splitlines())] == ["country", "FR", "DE"]


@pytest.mark.sample(quick=0, whole=3)
def test_a_long_question_is_followed_and_cancelled(office):
    page = office()
    page.goto("/cms/ask/")
    editor(page).fill(FOREVER)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("This question was cancelled.")).to_be_visible()
    assert editor(page).input_value() == FOREVER


@pytest.mark.sample(quick=0, whole=3)
def test_an_answer_that_takes_a_while_comes_by_itself_and_is_announced(office, monkeypatch):
    monkeypatch.setattr("cms.ask.PATIENCE", 0.0)
    page = office()
    page.goto("/cms/ask/")
    editor(page).fill("SELECT country, sum(total) AS money FROM orders GROUP BY 1 ORDER BY 1")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#announce")).to_have_text("The answer is there: 2 rows.")
    expect(page.locator("[data-drawn]")).to_be_visible()


def test_a_chart_is_drawn_with_its_words_and_again_in_the_dark(office):
    page = office()
    page.goto("/cms/ask/?ready=best-selling-deals")
    page.get_by_role("button", name="Ask", exact=True).click()
    chart = page.get_by_role("img", name="Bar chart by title")
    expect(chart).to_be_visible()
    expect(chart.locator("canvas")).to_be_visible()
    light = colours(page)
    page.locator(".me").click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function("light => document.querySelector('canvas').toDataURL() !== light", arg=light)


def colours(page: Page) -> str:
    picture: str = page.locator("canvas").first.evaluate("canvas => canvas.toDataURL()")
    return picture


def test_a_columns_name_goes_where_the_cursor_is_and_ctrl_enter_asks(office):
    page = office()
    page.goto("/cms/ask/")
    editor(page).fill("SELECT FROM brands")
    editor(page).evaluate("area => area.setSelectionRange(7, 7)")
    page.locator("summary", has_text="brands").last.click()
    page.get_by_role("button", name="slug", exact=True).click()
    assert editor(page).input_value() == "SELECT slugFROM brands"
    editor(page).fill("SELECT 40 + 2 AS n")
    editor(page).press("Control+Enter")
    expect(page.get_by_role("cell", name="42")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_the_first_page_draws_the_last_two_weeks_and_leads_to_all_numbers(office):
    page = office()
    page.goto("/cms/")
    expect(page.locator("#two-weeks [data-drawn]")).to_be_visible()
    expect(page.locator("#two-weeks")).to_contain_text("€360.00")
    page.get_by_role("link", name="All numbers").click()
    expect(page.locator("#numbers [data-drawn]")).to_have_count(8)
    expect(page.get_by_role("img", name="Line chart by day, 30 values")).to_have_count(8)
    page.locator("#numbers summary").first.click()
    expect(page.get_by_role("region", name="Orders, day by day")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_the_numbers_are_a_page_away(office):
    page = office(script=False)
    page.goto("/cms/")
    page.get_by_role("link", name="Numbers", exact=True).first.click()
    expect(page.get_by_text("€360.00")).to_be_visible()
    expect(page.locator("canvas")).to_have_count(0)
