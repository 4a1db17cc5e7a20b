"""Two editors at one deal: the second chooses field by field, and nothing is lost."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from tests.browser.content import now_deal
from tests.browser.deal_form import choose_category, choose_picture, field, open_focal_point, said


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
    page.get_by_role("button", name="Publish changes").click()


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
    assert oscar.locator("[data-difference] > legend").all_inner_texts() == ["Title"]
    expect(oscar.get_by_role("list", name="taken over")).to_have_text(
        re.compile("Price\\s+79.90\\s+→\\s+70.00")
    )
    expect(oscar.get_by_text("Changed only by you, and kept: Description")).to_be_visible()
    expect(field(oscar, "Price")).to_have_value("70.00")
    expect(difference(oscar, "Title")).to_contain_text("Desk lamp, dimmable")
    expect(difference(oscar, "Title").get_by_label("Title: Result")).to_have_value("Desk lamp, bendable")
    expect(difference(oscar, "Title").get_by_label("Mine", exact=True)).to_be_checked()
    assert deals.get(lamp.id).content.description == "Bends."

    difference(oscar, "Title").get_by_label("Theirs").check()
    expect(difference(oscar, "Title").get_by_label("Title: Result")).to_have_value("Desk lamp, dimmable")
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
    title.get_by_label("Title: Result").fill("Desk lamp, bendable")
    expect(title.get_by_label("Mine", exact=True)).to_be_checked()
    title.get_by_label("Theirs").check()
    expect(title.get_by_label("Title: Result")).to_have_value("Desk lamp, dimmable")
    title.get_by_label("Mine", exact=True).check()
    expect(title.get_by_label("Title: Result")).to_have_value("Desk lamp, bendable")


@pytest.mark.sample(quick=0, whole=3)
def test_all_of_theirs_or_mine_is_put_into_the_fields_at_once(editors, lamp):
    eve, oscar = editors
    for page, title, text, shop in (
        (eve, "Theirs", "Their\ntext.", "Sold here"),
        (oscar, "Mine", "My\ntext.", "At a shop"),
    ):
        page.get_by_label(shop, exact=True).check()
        field(page, "Title").fill(title)
        field(page, "Description").fill(text)
        choose_category(page, "Toys & Hobbies" if page == eve else "Home & Furniture")
    save(eve)
    expect(said(eve, "The deal is saved.")).to_be_visible()
    save(oscar)
    expect(oscar.get_by_role("alert").filter(has_text="eve changed this deal")).to_be_focused()

    def results() -> list[str]:
        return [
            oscar.get_by_label("Title: Result").input_value(),
            oscar.get_by_label("Category: Result").input_value(),
            oscar.locator("[name=sold]:checked").get_attribute("value") or "",
            oscar.get_by_label("Description: Result").input_value(),
        ]

    mine = ["Mine", "Home & Furniture", "shop", "My\ntext."]
    assert results() == mine
    oscar.get_by_role("button", name="Take all of theirs").click()
    assert results() == ["Theirs", "Toys & Hobbies", "here", "Their\ntext."]
    oscar.get_by_role("button", name="Keep all of mine").click()
    assert results() == mine


@pytest.mark.sample(quick=0, whole=3)
def test_a_link_and_whether_it_is_an_ad_are_chosen_together_and_shown_as_chosen(editors, lamp):
    eve, oscar = editors
    eve.get_by_label("Ad link: we earn from it").check()
    save(eve)
    expect(said(eve, "The deal is saved.")).to_be_visible()
    field(oscar, "Link to the shop").fill("https://shop.example/other")
    save(oscar)
    ad = difference(oscar, "Ad link: we earn from it")
    expect(ad.get_by_label("Theirs")).to_be_checked()
    expect(ad.get_by_role("checkbox")).to_be_checked()
    ad.get_by_label("Mine", exact=True).check()
    expect(ad.get_by_role("checkbox")).not_to_be_checked()


@pytest.mark.sample(quick=0, whole=3)
def test_what_is_done_to_ones_own_picture_chooses_it(editors, lamp):
    eve, oscar = editors
    for page in editors:
        choose_picture(page, "A lamp")
        open_focal_point(page)
    eve.get_by_label("From the left, %").fill("20")
    save(eve)
    expect(said(eve, "The deal is saved.")).to_be_visible()
    save(oscar)
    picture = difference(oscar, "Picture")
    open_focal_point(oscar)
    for change in (
        lambda: oscar.get_by_label("From the left, %").fill("70"),
        lambda: choose_picture(oscar, "A lamp"),
    ):
        picture.get_by_label("Theirs").check()
        change()
        expect(picture.get_by_label("Mine", exact=True)).to_be_checked()
