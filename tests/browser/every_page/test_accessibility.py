"""Every page of the site, for everyone who may see it: axe finds nothing, and nothing sticks out on a phone.

In German, nothing English is left of what the site itself says, and long words stick out nowhere.

The pages are those of the URLconf whose views say that they are some, at the addresses that they give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Page

from dealsite.data.catalogue import deals
from dealsite.data.table import errors
from tests.browser.conftest import thorough
from tests.browser.deal_form import field
from tests.browser.every_page.german import flaws_in_german
from tests.browser.flaws import DESK, EVERYTHING, FIRST_VIEWS, OTHER_VIEWS, PHONE, View, flaws
from tests.builders import EDITOR
from tests.pages import PAGES
from tests.seeded import ADMIN, SHOPPER, VISITOR

# A report is in the language of whoever had the file checked, which was English here.
REPORTS = {"cms_import", "cms_fix_import"}


def flaws_of(page: Page, settings: Any, name: str, paths: list[str], views: Sequence[View]) -> list[str]:
    """Return what is wrong with a page at some addresses, as English and as German people see it."""
    found = []
    for path in paths:
        settings.LANGUAGE_CODE = "en-gb"
        page.goto(path)
        found += flaws(page, views)
        settings.LANGUAGE_CODE = "de"
        found += flaws_in_german(page, path, reads_german=name not in REPORTS)
    return found


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_has_no_flaw(look, content, name):
    who, addresses = PAGES[name]
    page: Page = look(who, width=390)
    page.goto(addresses(content)[0])
    assert flaws(page, FIRST_VIEWS) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_has_no_flaw_in_other_looks_in_german_and_at_further_addresses(look, content, settings, name):
    who, addresses = PAGES[name]
    first, *further = addresses(content)
    page: Page = look(who, width=390)
    found = flaws_of(page, settings, name, [first], OTHER_VIEWS)
    assert found + flaws_of(page, settings, name, further, [PHONE, DESK]) == []


@pytest.mark.parametrize("who", [VISITOR, ADMIN, *thorough(SHOPPER, EDITOR)])
def test_every_menu_is_as_good_open(look, who, views):
    page: Page = look(who)
    page.goto("/editors-choice/")
    found = []
    for view in views:
        page.set_viewport_size({"width": view[0], "height": 844})
        for menu in page.locator("header summary:visible").all():
            menu.click()
            found += flaws(page, [(*view[:2], EVERYTHING)])
    assert found == []


@pytest.mark.parametrize(
    ("path", "button"),
    [
        ("/account/sign-in/", "Sign in"),
        ("/cms/deals/new/", "Publish now"),
        *thorough(("/account/sign-up/", "Create my account"), ("/cms/brands/new/", "Create the brand")),
    ],
)
def test_a_form_with_errors_is_as_good(look, path, button, views):
    page: Page = look(EDITOR)
    page.goto(path)
    page.get_by_role("main").get_by_role("button", name=button).click()
    page.get_by_role("alert").filter(has_text="Please check the form").wait_for()
    assert flaws(page, views) == []


def test_results_under_the_search_box_are_as_good(look, views):
    page: Page = look(VISITOR)
    found = []
    for view in views:
        page.set_viewport_size({"width": view[0], "height": 844})
        page.goto("/brands/")
        page.locator("[data-search-box] input:visible").press_sequentially("deal numbr")
        page.get_by_role("link", name="Show all").wait_for()
        found += flaws(page, [view])
    assert found == []


def test_a_conflict_about_a_deal_is_as_good(look, content, views):
    page: Page = look(EDITOR)
    page.goto(f"/cms/deals/{content.id('live')}/")
    page.locator("#edit-form [name=version]").evaluate(
        "input => { input.value = 99; }"
    )  # first: the form saves itself
    for label, text in {"Title": "Another", "Price": "5", "Description": "Other *words*"}.items():
        field(page, label).fill(text)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").filter(has_text="changed this deal").wait_for()
    assert flaws(page, views) == []


@pytest.mark.thorough
def test_a_conflict_about_a_featured_list_is_as_good(look, content, views):
    page: Page = look(EDITOR)
    page.goto("/cms/featured/front/")
    page.get_by_role("button", name="Move Soon up").click()
    page.locator("[name=version]").evaluate("input => { input.value = 99; }")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").filter(has_text="saved this list").wait_for()
    assert flaws(page, views) == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, errors.NotFound("There is no such deal.")),
        (503, errors.Unavailable()),
        *thorough(
            (400, errors.BadCursor("This is no page of the list.")),
            (403, errors.Forbidden("Not for you.")),
            (409, errors.VersionConflict()),
            (429, errors.TooManyRequests()),
            (500, ZeroDivisionError()),
        ),
    ],
)
def test_an_error_page_is_as_good(look, content, troubles, monkeypatch, status, error, views):
    def refuse(*_: object, **__: object) -> None:
        raise error

    troubles.allowed.add(status)
    monkeypatch.setattr(deals, "get_visible", refuse)
    page: Page = look(SHOPPER)
    assert page.goto(content.deal("live")).status == status
    assert flaws(page, views) == []


@pytest.mark.thorough
def test_a_question_that_is_worked_on_is_as_good(look, content, views):
    page: Page = look(ADMIN)
    page.goto("/cms/ask/")
    page.get_by_role("textbox", name="Question").fill(
        "SELECT sum(a.range * b.range) FROM range(9999999) a, range(9999999) b"
    )
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("progressbar").wait_for()
    assert flaws(page, views) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("This question was cancelled.").wait_for()
    assert flaws(page, views) == []


def test_the_numbers_are_as_good_with_their_tables_open(look, content, views):
    page: Page = look(EDITOR)
    page.goto("/cms/numbers/")
    page.locator("#numbers [data-drawn]").nth(3).wait_for()
    page.locator("#numbers summary").first.click()
    assert flaws(page, views) == []


def test_the_tables_of_the_lake_are_as_good_open(look, content, views):
    page: Page = look(ADMIN)
    page.goto("/cms/ask/")
    page.locator("summary", has_text="cart_lines").click()
    page.locator("summary", has_text="Save this question").click()
    assert flaws(page, views) == []
