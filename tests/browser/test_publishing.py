"""Drafts, publishing at a time, and the form that refuses without losing anything."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.accounts import locales
from tests.browser.conftest import titles
from tests.browser.content import now_deal
from tests.browser.deal_form import (
    CATEGORY,
    TEXTS,
    brand_field,
    category_field,
    choose_picture,
    field,
    fill_in,
    said,
)
from tests.browser.flaws import flaws
from tests.builders import make_brand

TITLE = TEXTS["Title"]


@pytest.fixture(autouse=True)
def brand(site: str) -> None:
    """A brand that can be chosen."""
    make_brand("Ochsenkopf")


def focused_id(page: Page) -> str:
    """Return the id of what has the focus."""
    found: str = page.evaluate("document.activeElement.id")
    return found


@pytest.mark.sample(quick=0, whole=3)
def test_a_draft_may_be_incomplete_and_is_found_again(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    field(page, "Title").fill(TITLE)
    page.get_by_role("button", name="Save as draft").click()
    expect(said(page, "The draft is saved.")).to_be_visible()
    page.goto("/cms/deals/?state=draft")
    page.get_by_role("link", name=TITLE, exact=True).click()
    expect(field(page, "Title")).to_have_value(TITLE)
    page.goto("/")
    assert titles(page) == []


def test_what_is_missing_is_listed_and_leads_to_its_field_and_nothing_typed_is_lost(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    typed = TEXTS | {"Link": "", "Price": "eighty"}
    fill_in(page, typed, brand="Ochsenkopf")
    choose_picture(page, "A drill in its case")
    page.get_by_role("button", name="Publish now").click()
    summary = page.get_by_role("alert").filter(has_text="Please check the form")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name=re.compile("^Price")).click()
    expect(field(page, "Price")).to_be_focused()
    expect(field(page, "Price")).to_have_accessible_description(re.compile("digits and a point"))
    field(page, "Price").fill("80")
    page.get_by_role("button", name="Publish now").click()

    for label in ("Category", "Link"):
        summary.get_by_role("link", name=re.compile(f"^{label}")).click()
        assert focused_id(page) == f"id_{label.lower()}"
    for label, text in (typed | {"Price": "80"}).items():
        expect(field(page, label)).to_have_value(text)
    expect(brand_field(page)).to_have_value("Ochsenkopf")
    expect(page.get_by_role("main").get_by_role("img", name="A drill in its case")).to_be_visible()

    field(page, "Link").fill("https://shop.example/drill")
    category_field(page).select_option(CATEGORY)
    page.get_by_role("button", name="Publish now").click()
    expect(said(page, "The deal is published.")).to_be_visible()
    page.get_by_role("link", name="Open its page in the shop").click()
    expect(page.get_by_role("main")).to_contain_text("€80.00")
    expect(page.get_by_alt_text("A drill in its case")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_a_scheduled_deal_is_not_to_be_seen_until_its_time(editor_window, window, monkeypatch):
    now_deal(title="Desk lamp")
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    fill_in(page, brand="Ochsenkopf", category=CATEGORY)
    live_at = (timezone.now() + timedelta(hours=3)).replace(second=0, microsecond=0)
    page.get_by_label("Publish at").fill(live_at.strftime("%Y-%m-%dT%H:%M"))
    expect(page.get_by_label("Publish at")).to_have_accessible_description("Time zone: UTC")
    page.get_by_role("button", name="Publish at this time").click()
    expect(said(page, "The deal is scheduled.")).to_be_visible()
    deal_id = page.url.rstrip("/").rpartition("/")[2]

    shopper: Page = window()
    shopper.goto("/")
    assert titles(shopper) == ["Desk lamp"]
    assert shopper.goto(f"/deals/{deal_id}/").status == 404
    monkeypatch.setattr(timezone, "now", lambda: live_at)
    shopper.goto("/")
    assert titles(shopper) == [TITLE, "Desk lamp"]
    assert shopper.goto(f"/deals/{deal_id}/").status == 200


@pytest.mark.sample(quick=0, whole=3)
def test_times_are_entered_in_the_editors_own_zone(editor_window, monkeypatch):
    page: Page = editor_window(timezone="America/New_York")
    page.goto("/cms/deals/new/")
    fill_in(page, brand="Ochsenkopf", category=CATEGORY)
    local = timezone.now().astimezone(locales.zone_of("America/New_York")) + timedelta(days=9)
    page.get_by_label("Expires").fill(local.strftime("%Y-%m-%dT09:00"))
    expect(page.get_by_label("Expires")).to_have_accessible_description("Time zone: America/New_York")
    page.get_by_role("button", name="Publish now").click()
    expect(said(page, "The deal is published.")).to_be_visible()
    expect(page.get_by_label("Expires")).to_have_value(local.strftime("%Y-%m-%dT09:00"))
    page.get_by_role("link", name="Open its page in the shop").click()
    expect(page.get_by_role("main")).to_contain_text(
        re.compile(f"until {local.day} {local:%b} {local.year}, 09:00 E[SD]T")
    )


@pytest.mark.sample(quick=0, whole=3)
def test_brands_are_offered_while_an_editor_types(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    brand_field(page).press_sequentially("ochs")
    expect(page.locator("#brand-names option")).to_have_attribute("value", "Ochsenkopf")


@pytest.mark.sample(quick=0, whole=3)
def test_a_deal_is_expired_and_deleted_and_both_are_undone(editor_window, window):
    deal = now_deal(title="Desk lamp")
    page: Page = editor_window()
    page.goto(f"/cms/deals/{deal.id}/")
    page.get_by_role("button", name="Expire now").click()
    expect(said(page, "The deal has expired.")).to_be_visible()
    shopper: Page = window()
    shopper.goto(f"/deals/{deal.id}/{deal.card.slug}/")
    expect(shopper.get_by_role("main")).to_contain_text("This deal expired on")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(said(page, "live again")).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(said(page, "is in the trash")).to_be_visible()
    assert shopper.reload().status == 404
    page.get_by_role("button", name="Undo").press("Enter")
    expect(said(page, "“Desk lamp” is back.")).to_be_visible()
    assert shopper.reload().status == 200
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("navigation", name="CMS").get_by_role("link", name="Trash").click()
    assert flaws(page) == []
    page.get_by_role("button", name="Delete for good Desk lamp").click()
    expect(said(page, "is deleted for good")).to_be_visible()
    expect(page.get_by_text("The trash is empty.")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_a_brand_is_renamed_with_a_logo_and_a_category_is_described(editor_window):
    page: Page = editor_window()
    page.goto("/cms/brands/")
    page.get_by_role("link", name="Ochsenkopf").click()
    field(page, "Name").fill("Ochsenkopf & Sons")
    choose_picture(page, "An ox", label="Text for the logo")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ochsenkopf & Sons")
    page.goto("/cms/categories/toys-hobbies/")
    field(page, "Description").fill("For rainy days.")
    page.get_by_role("button", name="Save").click()
    page.goto("/categories/toys-hobbies/")
    expect(page.get_by_role("main")).to_contain_text("For rainy days.")
    page.goto("/brands/ochsenkopf/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ochsenkopf & Sons")
