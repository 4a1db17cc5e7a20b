"""Two editors at one deal: the second chooses field by field, and nothing is lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from tests.browser.content import now_deal
from tests.browser.deal_form import field, said


@pytest.fixture(autouse=True)
def lamp(site: str) -> Deal:
    """The deal that both edit."""
    return now_deal(title="Desk lamp", description="Bends.", voucher_code="LAMP")


@pytest.fixture
def editors(editor_window, lamp: Deal) -> tuple[Page, Page]:
    """Eve and Oscar, each with the deal's form open."""
    pages = editor_window("eve"), editor_window("oscar")
    for page in pages:
        page.goto(f"/cms/deals/{lamp.id}/")
    return pages


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


def difference(page: Page, label: str) -> Locator:
    """Return the part of the page that shows both texts of a field."""
    return page.get_by_role("group", name=label, exact=True)


def test_the_second_editor_chooses_field_by_field_and_saves_on_top(editors, lamp):
    eve, oscar = editors
    field(eve, "Title").fill("Desk lamp, dimmable")
    field(eve, "Price").fill("70.00")
    save(eve)
    expect(said(eve, "The deal is saved.")).to_be_visible()

    field(oscar, "Title").fill("Desk lamp, bendable")
    field(oscar, "Description").fill("Bends and bends.")
    save(oscar)
    expect(oscar.get_by_role("alert").filter(has_text="eve changed this deal")).to_be_focused()
    assert oscar.locator("[data-difference] legend").all_inner_texts() == ["Title", "Price", "Description"]
    expect(difference(oscar, "Title")).to_contain_text("Desk lamp, dimmable")
    expect(difference(oscar, "Title").get_by_label("Title, mine")).to_have_value("Desk lamp, bendable")
    expect(difference(oscar, "Title").get_by_label("Mine", exact=True)).to_be_checked()
    expect(difference(oscar, "Price").get_by_label("Theirs")).to_be_checked()
    expect(difference(oscar, "Description").get_by_label("Mine", exact=True)).to_be_checked()
    assert deals.get(lamp.id).content.description == "Bends."

    difference(oscar, "Title").get_by_label("Theirs").check()
    save(oscar)
    expect(said(oscar, "The deal is saved.")).to_be_visible()
    content = deals.get(lamp.id).content
    assert (content.title, str(content.price), content.description) == (
        "Desk lamp, dimmable",
        "70.00",
        "Bends and bends.",
    )
    assert content.voucher_code == "LAMP"


def test_what_only_one_of_them_changed_is_saved_with_the_others(editors, lamp):
    eve, oscar = editors
    field(eve, "Title").fill("Desk lamp, dimmable")
    save(eve)
    expect(said(eve, "The deal is saved.")).to_be_visible()
    field(oscar, "Description").fill("Bends and bends.")
    save(oscar)
    expect(said(oscar, "What eve changed meanwhile stays: Title.")).to_be_visible()
    content = deals.get(lamp.id).content
    assert (content.title, content.description) == ("Desk lamp, dimmable", "Bends and bends.")


@pytest.mark.sample(quick=0, whole=3)
def test_typing_into_ones_own_text_chooses_it(editors, lamp):
    eve, oscar = editors
    field(eve, "Title").fill("Desk lamp, dimmable")
    save(eve)
    field(oscar, "Title").fill("Desk lamp, bent")
    save(oscar)
    title = difference(oscar, "Title")
    title.get_by_label("Theirs").check()
    title.get_by_label("Title, mine").fill("Desk lamp, bendable")
    expect(title.get_by_label("Mine", exact=True)).to_be_checked()
