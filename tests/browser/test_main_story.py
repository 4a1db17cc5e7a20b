"""The story that the site exists for: an editor publishes a deal, shoppers see it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import make_user, sign_in_by_form, titles
from tests.browser.content import feature, now_deal
from tests.browser.deal_form import CATEGORY, choose_picture, create_brand, fill_in, said

TITLE = "Cordless drill, 18 V"


def is_loaded(page: Page, alt: str) -> bool:
    """Tell whether the first picture with this text is there and not broken."""
    picture = page.get_by_alt_text(alt).first
    picture.scroll_into_view_if_needed()
    loaded: bool = picture.evaluate("image => image.decode().then(() => image.naturalWidth > 0)")
    return loaded


@pytest.mark.parametrize(
    "script",
    [pytest.param(True, id="script"), pytest.param(False, id="no script", marks=pytest.mark.thorough)],
)
def test_an_editor_publishes_a_deal_and_features_it_first_and_a_shopper_sees_it_there(site, window, script):
    make_user("eve", roles=["editor"])
    feature("front", [now_deal(title="Desk lamp"), now_deal(title="Office chair")])

    page: Page = window(script=script)
    page.goto("/cms/")
    sign_in_by_form(page, "eve")
    page.get_by_role("link", name="New deal").click()
    fill_in(page, category=CATEGORY)
    create_brand(page, "Ochsenkopf")
    choose_picture(page, "A drill in its case")
    page.get_by_role("button", name="Publish now").click()
    expect(said(page, "The deal is published.")).to_be_visible()

    page.get_by_text("Feature it on …").click()
    page.get_by_role("link", name="Front page", exact=True).click()
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name=f"Move {TITLE} up").click()
    expect(rows.nth(1)).to_contain_text(TITLE)
    page.get_by_role("button", name=f"Move {TITLE} up").click()
    expect(rows.nth(0)).to_contain_text(TITLE)
    page.get_by_role("button", name="Save the list").click()
    expect(said(page, "Front page: the featured deals are saved.")).to_be_visible()

    shopper: Page = window(script=script)
    shopper.goto("/")
    assert titles(shopper, "[aria-labelledby=featured-title]") == [TITLE, "Desk lamp", "Office chair"]
    assert is_loaded(shopper, "A drill in its case")
    shopper.get_by_role("link", name=TITLE).first.click()
    expect(shopper.get_by_role("heading", level=1)).to_have_text(TITLE)
    main = shopper.get_by_role("main")
    for text in ("€89.90", "RRP €149.00", "DRILL18"):
        expect(main).to_contain_text(text)
    way = main.get_by_role("link", name="Go to shop.example")
    expect(way).to_have_attribute("href", re.compile("^/go/"))
    expect(main.locator("strong")).to_have_text("one")
    assert is_loaded(shopper, "A drill in its case")
    main.get_by_role("link", name="Ochsenkopf").click()
    expect(shopper.get_by_role("heading", level=1)).to_have_text("Ochsenkopf")
    assert titles(shopper) == [TITLE]
