"""Every page of the site, for everyone who may see it: axe finds nothing, and nothing sticks out on a phone.

The pages are those of the URLconf: one that is not named here fails a test.
"""

from __future__ import annotations

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from playwright.sync_api import Page

from dealsite.data import (
    deals,
    errors,
)
from tests.browser.deal_form import field
from tests.browser.every_page.furnished import ADMIN, SHOPPER, VISITOR
from tests.browser.every_page.pages import NO_PAGES, PAGES
from tests.browser.looking import DESK, PHONE, flaws
from tests.builders import EDITOR


def url_names(patterns: list[URLPattern | URLResolver] | None = None) -> set[str | None]:
    """Return the name of every address of the site."""
    found: set[str | None] = set()
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            found |= url_names(pattern.url_patterns)
        else:
            found.add(pattern.name)
    return found


def test_every_address_is_looked_at_or_is_no_page():
    assert url_names() == PAGES.keys() | NO_PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_axe_finds_nothing_and_nothing_sticks_out(look, content, name):
    who, addresses = PAGES[name]
    page: Page = look(who)
    found = []
    for path in addresses(content):
        page.goto(path)
        found += flaws(page)
    assert found == []


@pytest.mark.parametrize("who", [VISITOR, SHOPPER, EDITOR, ADMIN])
def test_every_menu_is_as_good_open(look, who):
    page: Page = look(who)
    page.goto("/editors-choice/")
    found = []
    for view in (PHONE, DESK):
        page.set_viewport_size({"width": view[0], "height": 844})
        for menu in page.locator("header summary:visible").all():
            menu.click()
            found += flaws(page, [view])
    assert found == []


@pytest.mark.parametrize(
    ("path", "button"),
    [
        ("/account/sign-in/", "Sign in"),
        ("/account/sign-up/", "Make my account"),
        ("/cms/deals/new/", "Publish now"),
        ("/cms/brands/new/", "Create the brand"),
    ],
)
def test_a_form_with_errors_is_as_good(look, path, button):
    page: Page = look(EDITOR)
    page.goto(path)
    page.get_by_role("main").get_by_role("button", name=button).click()
    page.get_by_role("alert").filter(has_text="Please check the form").wait_for()
    assert flaws(page) == []


def test_results_under_the_search_box_are_as_good(look):
    page: Page = look(VISITOR)
    found = []
    for view in (PHONE, DESK):
        page.set_viewport_size({"width": view[0], "height": 844})
        page.goto("/brands/")
        page.locator("[data-search-box] input:visible").press_sequentially("deal numbr")
        page.get_by_role("link", name="Show all").wait_for()
        found += flaws(page, [view])
    assert found == []


def test_a_conflict_about_a_deal_is_as_good(look, content):
    page: Page = look(EDITOR)
    page.goto(f"/cms/deals/{content.id('live')}/")
    page.locator("#edit-form [name=version]").evaluate(
        "input => { input.value = 99; }"
    )  # first: the form saves itself
    for label, text in {"Title": "Another", "Price": "5", "Description": "Other *words*"}.items():
        field(page, label).fill(text)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").filter(has_text="changed this deal").wait_for()
    assert flaws(page) == []


def test_a_conflict_about_a_featured_list_is_as_good(look, content):
    page: Page = look(EDITOR)
    page.goto("/cms/featured/front/")
    page.get_by_role("button", name="Move Soon up").click()
    page.locator("[name=version]").evaluate("input => { input.value = 99; }")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").filter(has_text="saved this list").wait_for()
    assert flaws(page) == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, errors.BadCursor("This is no page of the list.")),
        (403, errors.Forbidden("Not for you.")),
        (404, errors.NotFound("There is no such deal.")),
        (409, errors.VersionConflict()),
        (429, errors.TooManyRequests()),
        (500, ZeroDivisionError()),
        (503, errors.Unavailable()),
    ],
)
def test_an_error_page_is_as_good(look, content, troubles, monkeypatch, status, error):
    def refuse(*_: object, **__: object) -> None:
        raise error

    troubles.allowed.add(status)
    monkeypatch.setattr(deals, "get_visible", refuse)
    page: Page = look(SHOPPER)
    assert page.goto(content.deal("live")).status == status
    assert flaws(page) == []


def test_a_question_that_is_worked_on_is_as_good(look, content):
    page: Page = look(ADMIN)
    page.goto("/cms/ask/")
    page.get_by_role("textbox", name="Question").fill(
        "SELECT sum(a.range * b.range) FROM range(9999999) a, range(9999999) b"
    )
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("progressbar").wait_for()
    assert flaws(page) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("This question was cancelled.").wait_for()
    assert flaws(page) == []


def test_the_numbers_are_as_good_with_their_tables_open(look, content):
    page: Page = look(EDITOR)
    page.goto("/cms/numbers/")
    page.locator("#numbers [data-drawn]").nth(3).wait_for()
    page.locator("#numbers summary").first.click()
    assert flaws(page) == []


def test_the_tables_of_the_lake_are_as_good_open(look, content):
    page: Page = look(ADMIN)
    page.goto("/cms/ask/")
    page.locator("summary", has_text="cart_lines").click()
    page.locator("summary", has_text="Save this question").click()
    assert flaws(page) == []
