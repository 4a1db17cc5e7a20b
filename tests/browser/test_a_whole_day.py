"""A whole day of an editor in the CMS, from a file of fifty deals in the morning to a conflict in the evening."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.files.storage import FileSystemStorage
from django.utils import timezone
from playwright.sync_api import FilePayload, Page, expect

from dealsite.data.catalogue import deal_lists, deals, featured
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.catalogue.deals import Deal
from dealsite.worker import exports, loop
from tests.browser.deal_form import field, said
from tests.searching import index_table

DEALS = 50
COLUMNS = "title,brand,category,price,was_price,url"
TITLES = [f"Lamp number {number}" for number in range(DEALS)]


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for the files that are uploaded."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(exports, "storage", lambda: storage)


def file_of_deals() -> FilePayload:
    """Return fifty deals, two of which will be refused: a price in letters, and a category that does not exist."""
    rows = []
    for number, title in enumerate(TITLES):
        price = "cheap" if number == 10 else f"{10 + number}.90"
        category = "Lamps" if number == 20 else "home-furniture"
        rows.append(f"{title},Vela,{category},{price},{100 + number}.00,https://shop.example/{number}")
    content = "\n".join([COLUMNS, *rows, ""]).encode()
    return {"name": "morning.csv", "mimeType": "text/csv", "buffer": content}


def work(page: Page) -> None:
    """Let the worker do all that is to be done, and look at the page again."""
    for turn in range(200):
        if not loop.run_next(now=timezone.now() + timedelta(seconds=turn)):
            break
    page.reload()


def listed(state: str) -> list[str]:
    """Return the titles of all deals of a state."""
    found, after = [], None
    while True:
        page = deal_lists.cms_list(DealFilter(state), now=timezone.now(), after=after)
        found += [card.title for card in page.cards]
        after = page.after
        if after is None:
            return found


def the_deal(title: str) -> Deal:
    """Return the live deal with a title."""
    found, after = None, None
    while found is None:
        page = deal_lists.cms_list(DealFilter("live"), now=timezone.now(), after=after)
        found = next((card.id for card in page.cards if card.title == title), None)
        after = page.after
    return deals.get(found)


@pytest.mark.usefixtures("search_index")
@pytest.mark.sample(quick=0, whole=4)
def test_a_whole_day_of_an_editor(editor_window):
    page: Page = editor_window("eve")
    page.goto("/cms/", wait_until="networkidle")
    import_fifty_deals(page)
    fix_the_rejected_rows(page)
    schedule_one(page)
    publish_all_others(page)
    feature_two(page)
    correct_a_price_and_take_it_back(page)
    restore_a_version(page)
    answer_a_conflict(page, editor_window("oscar"))


def import_fifty_deals(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("import")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Import")
    page.keyboard.press("Enter")
    page.get_by_label("CSV file").set_input_files(file_of_deals())
    page.get_by_role("button", name="Upload the file").click()
    page.get_by_role("button", name="Check the rows").click()
    expect(page.get_by_text("It is waiting to start.")).to_be_visible()
    work(page)


def fix_the_rejected_rows(page: Page) -> None:
    page.get_by_role("link", name="Fix rejected rows").click()
    page.get_by_label("price, 12", exact=True).fill("20.90")
    page.get_by_label("category, 22").fill("Home & Furniture")
    page.get_by_role("button", name="Check these rows again").click()
    work(page)
    page.get_by_role("button", name="Import 2 drafts").click()
    work(page)
    page.get_by_role("link", name="fixed rows of another import").click()
    page.get_by_role("button", name="Import 48 drafts").click()
    work(page)
    assert sorted(listed("draft")) == sorted(TITLES)


def schedule_one(page: Page) -> None:
    index_table()
    page.goto("/cms/deals/?state=draft&q=number 7", wait_until="networkidle")
    page.get_by_role("link", name=TITLES[7], exact=True).click()
    tomorrow = timezone.now() + timedelta(days=1)
    page.get_by_label("Publish at").fill(f"{tomorrow:%Y-%m-%dT%H:%M}")
    page.get_by_role("button", name="Publish at this time").click()
    expect(said(page, "The deal is scheduled.")).to_be_visible()
    assert listed("scheduled") == [TITLES[7]]


def publish_all_others(page: Page) -> None:
    page.goto("/cms/deals/?state=draft", wait_until="networkidle")
    page.get_by_label(re.compile("that match")).check()
    page.get_by_label("What to do").select_option("Publish")
    page.get_by_role("button", name="See what will change").click()
    page.get_by_role("main").get_by_role("button", name=re.compile("^Publish")).click()
    expect(page.get_by_text("Waiting")).to_be_visible()
    work(page)
    expect(page.get_by_text("Done", exact=True).first).to_be_visible()
    assert listed("draft") == []
    assert len(listed("live")) == DEALS - 1


def feature_two(page: Page) -> None:
    for title in (TITLES[3], TITLES[5]):
        page.goto(f"/cms/deals/{the_deal(title).id}/")
        page.get_by_text("Feature it on …").click()
        page.get_by_role("link", name="Front page", exact=True).click()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(said(page, "the featured deals are saved")).to_be_visible()
    assert [card.title for card in featured.get("front").cards] == [TITLES[3], TITLES[5]]


def correct_a_price_and_take_it_back(page: Page) -> None:
    index_table()
    page.goto("/cms/deals/?q=number 3", wait_until="networkidle")
    page.get_by_role("link", name=f"Change price and expiry of {TITLES[3]}", exact=True).press("Enter")
    expect(page.get_by_role("textbox", name="Price", exact=True)).to_be_focused()
    page.get_by_role("textbox", name="Price", exact=True).fill("9.90")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo").first).to_be_visible()
    assert the_deal(TITLES[3]).content.price == Decimal("9.90")
    page.get_by_role("button", name="Undo").first.press("Enter")
    expect(page.get_by_role("main").get_by_text("€13.90").first).to_be_visible()
    assert the_deal(TITLES[3]).content.price == Decimal("13.90")


def restore_a_version(page: Page) -> None:
    deal = the_deal(TITLES[5])
    page.goto(f"/cms/deals/{deal.id}/")
    field(page, "Title").fill("A slip of the finger")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(said(page, "The deal is saved.")).to_be_visible()
    page.get_by_role("link", name="History").first.click()
    page.get_by_role("link", name=re.compile("Look at it, restore it")).first.click()
    expect(page.get_by_role("table")).to_contain_text("A slip of the finger")
    page.get_by_role("button", name=re.compile("^Restore version")).click()
    expect(said(page, "Version 1 is restored.")).to_be_visible()
    assert the_deal(TITLES[5]).id == deal.id
    assert [card.title for card in featured.get("front").cards] == [TITLES[3], TITLES[5]]


def answer_a_conflict(eve: Page, oscar: Page) -> None:
    deal = the_deal(TITLES[9])
    for page in (eve, oscar):
        page.goto(f"/cms/deals/{deal.id}/")
    field(oscar, "Title").fill("Lamp number nine")
    oscar.get_by_role("button", name="Save", exact=True).click()
    expect(said(oscar, "The deal is saved.")).to_be_visible()
    field(eve, "Price").fill("18.50")
    eve.keyboard.press("Control+s")
    expect(eve.get_by_role("alert").filter(has_text="oscar changed this deal")).to_be_focused()
    eve.keyboard.press("Control+s")
    expect(said(eve, "The deal is saved.")).to_be_visible()
    content = deals.get(deal.id).content
    assert (content.title, content.price) == ("Lamp number nine", Decimal("18.50"))
