"""The table away: pages say so within three seconds, keep what was typed, and recover by themselves."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dealsite import middleware
from dealsite.data import table
from dealsite.data.table import client
from dealsite.engine.server import free_port
from tests.browser.conftest import make_user, titles
from tests.browser.content import feature, now_deal
from tests.browser.deal_form import field, fill_in, said
from tests.browser.troubles import Troubles

SECONDS = 3.0
READ_TIMEOUT, DATA_SECONDS = client.READ_TIMEOUT, middleware.DATA_SECONDS  # other tests are more patient
NOTHING_LISTENS, NOTHING_ANSWERS = "nothing listens", "nothing answers"


@pytest.fixture
def break_table(site: str, settings: Any, troubles: Troubles) -> Iterator[Callable[..., Callable[[], None]]]:
    """A function that takes the table away and returns the one that brings it back."""
    troubles.allowed = {503}
    there = settings.DYNAMODB_ENDPOINT_URL
    limits = pytest.MonkeyPatch()  # a site's own, while its table is away; tests are more patient otherwise
    with socket.create_server(("127.0.0.1", 0), backlog=128) as silent:

        def repair() -> None:
            limits.undo()
            settings.DYNAMODB_ENDPOINT_URL = there
            table.reset()

        def break_it(how: str = NOTHING_LISTENS) -> Callable[[], None]:
            limits.setattr(client, "READ_TIMEOUT", READ_TIMEOUT)
            limits.setattr(middleware, "DATA_SECONDS", DATA_SECONDS)
            port = silent.getsockname()[1] if how == NOTHING_ANSWERS else free_port()
            settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{port}"
            table.reset()
            return repair

        yield break_it
        repair()


@pytest.mark.parametrize(
    "how", [NOTHING_ANSWERS, pytest.param(NOTHING_LISTENS, marks=pytest.mark.sample(quick=0, whole=3))]
)
def test_a_page_says_so_in_time_and_comes_back_by_itself(window, break_table, how):
    now_deal(title="Desk lamp")
    page: Page = window(make_user("ada"))
    page.goto("/")
    repair = break_table(how)
    for address in ("/", "/brands/nordlicht/", "/account/"):
        answer = page.goto(address)
        assert answer.status == 503
        timing = answer.request.timing
        assert timing["responseStart"] - timing["requestStart"] < SECONDS * 1000
        expect(page.get_by_role("heading", level=1)).to_have_text("One moment, please")
    repair()
    assert page.goto("/").status == 200
    assert titles(page) == ["Desk lamp"]


@pytest.mark.sample(quick=0, whole=3)
def test_a_page_that_somebody_has_just_seen_stands_in_and_says_so(window, break_table, settings):
    settings.DEALSITE_STALE_SECONDS = 300
    now_deal(title="Desk lamp")
    user: Page = window(make_user("ada"))
    visitor: Page = window(width=390)
    visitor.goto("/")
    repair = break_table()
    for page in (visitor, user):
        assert page.goto("/").status == 200
        line = (
            page.get_by_role("main").get_by_role("status").filter(has_text="The site cannot reach its data")
        )
        expect(line).to_be_visible()
        expect(line).to_contain_text(re.compile(r"\d\d:\d\d (UTC|GMT)"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert titles(page) == ["Desk lamp"]
    expect(user.get_by_role("link", name="Sign in")).to_be_visible()
    repair()
    for page in (visitor, user):
        page.goto("/")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("The site cannot reach its data")).to_have_count(0)
    expect(user.get_by_text("ada", exact=True)).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
@pytest.mark.parametrize("how", [NOTHING_ANSWERS, NOTHING_LISTENS])
def test_a_form_that_could_not_be_saved_is_sent_again_by_reloading(editor_window, break_table, how):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    fill_in(page)
    repair = break_table(how)
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_role("main")).to_contain_text("what you sent is sent again")
    repair()
    page.reload()
    expect(said(page, "The draft is saved.")).to_be_visible()
    expect(field(page, "Title")).to_have_value("Cordless drill, 18 V")
    expect(field(page, "Description")).to_have_value("Two batteries, **one** charger.")


@pytest.mark.sample(quick=0, whole=3)
def test_a_part_that_cannot_be_loaded_leaves_the_page_as_it_is_with_a_note(
    editor_window, break_table, search_index
):
    feature("front", [now_deal(title="Ash"), now_deal(title="Birch")])
    now_deal(title="Elm")
    search_index()
    page: Page = editor_window()
    page.goto("/cms/featured/front/")
    page.get_by_role("button", name="Move Birch up").click()
    repair = break_table()
    page.get_by_role("button", name="Add: Elm").click()
    note = page.get_by_role("alert").filter(visible=True)
    expect(note).to_contain_text("try again")
    rows = page.locator("[data-row]")
    assert rows.evaluate_all("rows => rows.map(row => row.dataset.title)") == ["Birch", "Ash"]
    repair()
    page.get_by_role("button", name="Add: Elm").press("Enter")
    expect(rows).to_have_count(3)
    expect(note).to_be_hidden()
