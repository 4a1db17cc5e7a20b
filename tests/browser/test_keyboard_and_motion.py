"""Without a mouse, and without motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PASSWORD, make_user
from tests.browser.content import feature, now_deal
from tests.browser.deal_form import TEXTS, brand_field, category_field, field, said
from tests.builders import make_brand

MOVING = """() => {
    const found = [];
    for (const element of document.querySelectorAll("*"))
        for (const part of [null, "::before", "::after"]) {
            const style = getComputedStyle(element, part);
            const moves = style.transitionDuration !== "0s" && style.transitionProperty !== "none"
                || style.animationName !== "none" || style.scrollBehavior === "smooth";
            if (moves) found.push(element.outerHTML.slice(0, 100));
        }
    return found;
}"""


def tab_to(page: Page, goal: Locator) -> None:
    """Press Tab until the focus is there."""
    for _ in range(80):
        if goal.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    expect(goal).to_be_focused()


@pytest.mark.sample(quick=0, whole=3)
def test_an_editor_signs_in_and_publishes_with_the_keyboard_alone(site, window):
    make_user("eve", roles=["editor"])
    make_brand("Ochsenkopf")
    page: Page = window()
    page.goto("/cms/")
    tab_to(page, page.get_by_label("User name or e-mail"))
    page.keyboard.type("eve")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    tab_to(page, page.get_by_role("link", name="New deal"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("New deal")
    for goal, text in (
        (field(page, "Title"), TEXTS["Title"]),
        (brand_field(page), "Ochsenkopf"),
        (category_field(page), "Home\n"),
        (field(page, "Link to the shop"), TEXTS["Link to the shop"]),
        (field(page, "Price"), TEXTS["Price"]),
    ):
        tab_to(page, goal)
        page.keyboard.type(text)
    tab_to(page, page.get_by_role("button", name="Publish now"))
    page.keyboard.press("Enter")
    expect(said(page, "The deal is published.")).to_be_visible()
    expect(category_field(page)).to_have_value("Home & Furniture")


@pytest.mark.sample(quick=0, whole=3)
def test_enter_in_a_field_of_a_deal_saves_and_never_publishes(editor_window, window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    field(page, "Title").fill(TEXTS["Title"])
    page.keyboard.press("Enter")
    expect(said(page, "The draft is saved.")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
@pytest.mark.parametrize("path", ["/", "/cms/featured/front/", "deal", "/cms/deals/new/"])
def test_nothing_moves_for_those_who_do_not_want_it(editor_window, path):
    deal = now_deal(voucher_code="SAVE")
    feature("front", [deal, now_deal(), now_deal()])
    page: Page = editor_window(reduced_motion="reduce")
    page.goto(f"/deals/{deal.id}/{deal.card.slug}/" if path == "deal" else path)
    assert page.evaluate(MOVING) == []
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) != []
