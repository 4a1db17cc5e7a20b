"""The form of a deal refuses without losing anything, and offers brands while one types."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from cms.deals import while_typing
from dealsite.imports.product_page import ProductPage
from tests.browser.content import now_deal
from tests.browser.deal_form import (
    CATEGORY,
    TEXTS,
    brand_field,
    category_field,
    choose_category,
    choose_picture,
    field,
    fill_in,
    is_paste_taken,
    said,
)
from tests.browser.flaws import flaws
from tests.builders import make_brand


@pytest.fixture(autouse=True)
def brand(site: str) -> None:
    """A brand that can be chosen."""
    make_brand("Ochsenkopf")


def focused_id(page: Page) -> str:
    """Return the id of what has the focus."""
    found: str = page.evaluate("document.activeElement.id")
    return found


def test_a_new_deal_is_published_by_keys_and_the_next_one_begun(editor_window):
    page: Page = editor_window()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/cms/deals/new/")
    title, publish = field(page, "Title"), page.locator("[data-publish]").first
    lacks = page.get_by_role("region", name="To publish")
    expect(title).to_be_focused()
    expect(publish).to_be_in_viewport(ratio=1)
    expect(lacks).to_contain_text("0 / 5")
    stops = 0
    while not publish.evaluate("button => button === document.activeElement"):
        page.keyboard.press("Shift+Tab")
        stops += 1
    assert stops < 6  # the link to the shop and Read stand before the title
    fill_in(page, brand="Ochsenkopf", category=CATEGORY)
    expect(lacks).to_contain_text("6 / 6")
    ends = page.get_by_label("Ends")
    for button in ("+1 day", "+1 week"):
        page.get_by_role("button", name=button).click()
    in_eight_days = date.fromisoformat(ends.input_value()[:10]) - datetime.now(UTC).date()
    assert in_eight_days.days in (7, 8)  # midnight may pass
    page.get_by_role("button", name="No end").click()
    expect(ends).to_have_value("")
    page.get_by_label("Goes live").fill("2030-01-01T09:00")
    expect(publish).to_have_text("Schedule")
    page.get_by_label("Goes live").fill("")
    expect(publish).to_have_text("Publish now")
    title.press("Control+Shift+Enter")
    expect(said(page, "The deal is published.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("New deal")
    expect(title).to_be_focused()
    expect(title).to_have_value("")


def test_what_is_missing_is_listed_and_leads_to_its_field_and_nothing_typed_is_lost(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    typed = TEXTS | {"Link to the shop": "", "Price": "eighty"}
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

    field(page, "Link to the shop").fill("https://shop.example/drill")
    choose_category(page, CATEGORY)
    page.get_by_role("button", name="Publish now").click()
    expect(said(page, "The deal is published.")).to_be_visible()
    page.get_by_title("More", exact=True).click()
    page.get_by_role("link", name="Open its page in the shop").click()
    expect(page.get_by_role("main")).to_contain_text("€80.00")
    expect(page.get_by_alt_text("A drill in its case")).to_be_visible()


def test_a_brand_with_a_typo_is_found_and_taken_by_keyboard_alone(editor_window, search_index):
    search_index()
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    brand_field(page).press_sequentially("ochsenkpof")
    expect(page.get_by_role("option")).to_have_text([re.compile("Ochsenkopf\\s+near"), "Create “ochsenkpof”"])
    expect(brand_field(page)).to_have_attribute("aria-expanded", "true")
    for key in ("Escape", "Alt+ArrowDown"):
        brand_field(page).press(key)
        expect(page.get_by_role("listbox")).to_be_visible(visible=key != "Escape")
    brand_field(page).press("ArrowDown")
    active = page.get_by_role("option", selected=True).get_attribute("id")
    expect(brand_field(page)).to_have_attribute("aria-activedescendant", str(active))
    brand_field(page).press("Enter")
    expect(brand_field(page)).to_have_value("Ochsenkopf")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(page.get_by_text("Will be created")).to_be_hidden()
    brand_field(page).fill("ochsen")
    expect(page.get_by_role("option")).to_have_count(2)
    brand_field(page).press("Tab")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(brand_field(page)).to_have_value("ochsen")
    expect(page.get_by_role("region", name="To publish")).to_contain_text("0 / 5")
    brand_field(page).fill("ochse")
    expect(page.get_by_role("listbox")).to_be_visible()
    assert flaws(page) == []


@pytest.mark.parametrize("way", ["keyboard", "mouse"])
def test_a_brand_is_created_in_place(editor_window, way):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    fill_in(page, brand="Tonrausch", category=CATEGORY)
    page.get_by_role("button", name="Publish now").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no brand “Tonrausch”.")
    expect(page.get_by_label("This is a new brand")).to_be_hidden()
    brand_field(page).focus()  # an error opens the list
    create = page.get_by_role("option", name="Create “Tonrausch”")
    expect(create).to_be_visible()
    if way == "mouse":
        create.click()
    else:
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Will be created")).to_be_visible()
    brand_field(page).press("x")
    expect(page.get_by_text("Will be created")).to_be_hidden()
    brand_field(page).press("Backspace")
    create.click()
    page.get_by_role("button", name="Publish now").click()
    expect(said(page, "The deal is published.")).to_be_visible()
    expect(brand_field(page)).to_have_value("Tonrausch")


def test_a_category_is_chosen_by_typing(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    field(page, "Title").fill("Lamp")
    category_field(page).press_sequentially("hom")
    expect(page.get_by_role("option", selected=True)).to_have_text(CATEGORY)
    category_field(page).press("Enter")
    expect(category_field(page)).to_have_value(CATEGORY)
    category_field(page).fill("nothing such")
    expect(page.get_by_role("listbox")).to_be_hidden()
    category_field(page).press("Tab")
    expect(category_field(page)).to_have_value(CATEGORY)
    category_field(page).click()
    expect(page.get_by_role("option")).to_have_count(8)
    page.get_by_role("option", name="Toys & Hobbies").click()
    page.get_by_role("button", name="Save draft").click()
    expect(said(page, "The draft is saved.")).to_be_visible()
    expect(category_field(page)).to_have_value("Toys & Hobbies")
    category_field(page).fill("")
    category_field(page).press("Tab")
    page.get_by_role("button", name="Save draft").click()
    expect(category_field(page)).to_have_value("")
    category_field(page).click()
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_a_brand_is_typed_and_a_category_chosen(editor_window):
    page: Page = editor_window(script=False)
    page.goto("/cms/deals/new/")
    page.get_by_role("textbox", name="Brand").fill("Tonrausch")
    page.get_by_label("This is a new brand").check()
    choose_category(page, CATEGORY)
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_role("textbox", name="Brand")).to_have_value("Tonrausch")


@pytest.mark.sample(quick=0, whole=3)
@pytest.mark.parametrize(
    "path",
    [
        "/cms/deals/",
        "/cms/brands/ochsenkopf/merge/",
        "/cms/featured/front/",
        "/cms/deals/bulk/?action=brand&deal=ID",
    ],
)
def test_every_field_for_a_brand_offers_brands_and_creates_none(editor_window, search_index, path):
    search_index()
    page: Page = editor_window()
    page.goto(path.replace("ID", now_deal().id))
    options = page.get_by_role("listbox").get_by_role("option")
    if path in ("/cms/deals/", "/cms/featured/front/"):
        page.locator("summary").filter(has_text="Filter").click()
    brand = page.locator("[data-combobox]")
    brand.fill("ochsenkpof")
    expect(options).to_have_count(1)
    brand.press("ArrowDown")
    brand.press("Enter")
    expect(brand).to_have_value("Ochsenkopf")
    brand.press("ArrowDown")
    expect(options).to_have_count(1)
    brand.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(brand).to_be_visible()


def test_the_form_asks_for_what_the_seller_has_and_hides_nothing_that_is_filled(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    link, code, stock = (
        field(page, "Link to the shop"),
        field(page, "Voucher code"),
        page.get_by_label("Stock"),
    )
    for seller, shown in (("Sold here", [stock]), ("At a shop, with a code", [link, code])):
        page.get_by_label(seller, exact=True).check()
        assert [one for one in (link, code, stock) if one.is_visible()] == shown
    link.fill("https://shop.example/drill")
    code.fill("DRILL18")
    page.get_by_label("Sold here", exact=True).check()
    assert all(one.is_visible() for one in (link, code, stock))
    expect(page.get_by_text("It is kept aside: shoppers do not see it.")).to_be_visible()
    code.fill("")
    page.get_by_label("At a shop", exact=True).check()
    assert [one for one in (link, code, stock) if one.is_visible()] == [link]


@pytest.fixture
def lamp(monkeypatch) -> None:
    sources = dict.fromkeys(("title", "brand", "price"), "JSON-LD")
    page = ProductPage(title="Desk lamp", brand="Ochsenkop", price=Decimal("79.90"), sources=sources)
    monkeypatch.setattr(while_typing, "fetch_product", {"https://shop.example/lamp": page}.__getitem__)


def test_a_link_that_is_pasted_for_a_title_is_read_at_once(editor_window, lamp):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    title, link = field(page, "Title"), field(page, "Link to the shop")
    assert not is_paste_taken(title, "Lamp of https://shop.example/lamp")
    assert is_paste_taken(title, "https://shop.example/lamp ")
    expect(title).to_have_value("Desk lamp")
    said_of_it = re.compile("Read at .*: title, price and brand from JSON-LD.")
    expect(brand_field(page)).to_be_focused()
    expect(brand_field(page)).to_have_accessible_description(said_of_it)
    expect(link).to_have_value("https://shop.example/lamp")
    assert not is_paste_taken(link, "https://shop.example/other")
    expect(page.get_by_role("region", name="To publish")).to_contain_text("3 / 5")
    page.get_by_role("option", name="Ochsenkopf").click()
    page.get_by_role("button", name="Read again").click()
    expect(page.get_by_text("it says nothing that was missing here")).to_be_visible()
    expect(brand_field(page)).to_have_value("Ochsenkopf")
    now_deal(title="Desk lamp, steel", link="https://shop.example/steel")
    link.fill("https://shop.example/steel?utm_source=x")
    expect(page.get_by_role("link", name="Open it : Desk lamp, steel")).to_be_visible()
    assert flaws(page) == []
