"""Every page of the site, in one look a day: axe finds nothing, nothing sticks out, and all is said in German.

The pages are those of the URLconf whose views say that they are some, at the addresses that they give.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from dealsite.data.catalogue import deals
from dealsite.data.table import errors
from tests.browser.deal_form import field
from tests.browser.every_page.due import every_page
from tests.browser.every_page.german import english_texts
from tests.browser.flaws import OVERHANG, drawn, flaws, lay_out
from tests.builders import EDITOR
from tests.pages import PAGES
from tests.seeded import ADMIN, SHOPPER, VISITOR

# A report is in the language of whoever had the file checked, which was English here.
REPORTS = {"cms_import"}


@every_page
def test_a_page_has_no_flaw(look, content, settings, name):
    settings.LANGUAGE_CODE = "de"  # whose words are longer
    who, addresses = PAGES[name]
    page: Page = look(who)
    paths = addresses(content)
    page.goto(paths[drawn(name, len(paths))])
    assert flaws(page) == []
    assert name in REPORTS or english_texts(page) == []


@pytest.mark.sample(quick=4, whole=2)
@pytest.mark.parametrize("language", ["en-gb", "de"])
def test_no_page_of_the_shop_scrolls_sideways_on_the_smallest_phone(look, content, settings, language):
    settings.LANGUAGE_CODE = language
    page: Page = look(SHOPPER, width=320)
    found = []
    for name, (_, addresses) in PAGES.items():
        for path in () if name.startswith("cms_") else addresses(content):
            page.goto(path)
            lay_out(page, 320, "light")
            if (overhang := page.evaluate(OVERHANG)) > 0:
                found.append(f"{path}: {overhang} pixels")
    assert "\n".join(found) == ""


@pytest.mark.sample(quick=4, whole=2)
@pytest.mark.parametrize("who", [VISITOR, ADMIN, SHOPPER, EDITOR])
def test_every_menu_is_as_good_open(look, who, width):
    page: Page = look(who, width=width)
    page.goto("/editors-choice/")
    found = []
    for menu in page.locator("header summary:visible").all():
        menu.click()
        found += [flaw for flaw in flaws(page) if "target-size" not in flaw]  # of what it covers in part
    assert found == []


@pytest.mark.sample(quick=4, whole=2)
@pytest.mark.parametrize(
    ("path", "button"),
    [
        ("/account/sign-in/", "Sign in"),
        ("/cms/deals/new/", "Publish now"),
        ("/account/sign-up/", "Create my account"),
        ("/cms/brands/new/", "Create the brand"),
    ],
)
def test_a_form_with_errors_is_as_good(look, path, button):
    page: Page = look(EDITOR)
    page.goto(path)
    page.get_by_role("main").get_by_role("button", name=button).click()
    page.get_by_role("alert").filter(has_text="Please check the form").wait_for()
    assert flaws(page) == []


@pytest.mark.sample(quick=4, whole=2)
def test_results_under_the_search_box_are_as_good(look, width):
    page: Page = look(VISITOR, width=width)
    page.goto("/brands/")
    page.locator("[data-search-box] input:visible").press_sequentially("deal numbr")
    page.get_by_role("link", name="Show all").wait_for()
    assert flaws(page) == []


@pytest.mark.sample(quick=4, whole=2)
def test_a_conflict_about_a_deal_is_as_good(look, content):
    page: Page = look(EDITOR)
    page.goto(f"/cms/deals/{content.id('live')}/")
    page.locator("#edit-form").evaluate(
        "form => { form.elements.version.value = 99; form.elements.seen.value = ''; }"
    )  # first: the form saves itself
    for label, text in {"Title": "Another", "Price": "5", "Description": "Other *words*"}.items():
        field(page, label).fill(text)
    page.get_by_role("button", name="Publish changes").click()
    page.get_by_role("alert").filter(has_text="changed this deal").wait_for()
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_a_conflict_about_a_featured_list_is_as_good(look, content):
    page: Page = look(EDITOR)
    page.goto("/cms/featured/front/")
    page.get_by_role("button", name="Move Soon up").click()
    page.locator("[name=version]").evaluate("input => { input.value = 99; }")
    page.get_by_role("button", name="Save the list").click()
    page.get_by_role("alert").filter(has_text="saved this list").wait_for()
    assert flaws(page) == []


@pytest.mark.sample(quick=4, whole=2)
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, errors.NotFound("There is no such deal.")),
        (503, errors.Unavailable()),
        (400, errors.BadCursor("This is no page of the list.")),
        (403, errors.Forbidden("Not for you.")),
        (409, errors.VersionConflict()),
        (429, errors.TooManyRequests()),
        (500, ZeroDivisionError()),
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


@pytest.mark.sample(quick=0, whole=3)
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


@pytest.mark.sample(quick=4, whole=2)
def test_the_numbers_are_as_good_with_their_tables_open(look, content):
    page: Page = look(EDITOR)
    page.goto("/cms/numbers/")
    page.locator("#numbers [data-drawn]").nth(3).wait_for()
    page.locator("#numbers summary").first.click()
    assert flaws(page) == []


@pytest.mark.sample(quick=4, whole=2)
def test_the_tables_of_the_lake_are_as_good_open(look, content):
    page: Page = look(ADMIN)
    page.goto("/cms/ask/")
    page.locator("summary", has_text="cart_lines").click()
    page.locator("summary", has_text="Save this question").click()
    assert flaws(page) == []
