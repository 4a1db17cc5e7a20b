"""Imports in a browser: drop a file, choose the columns, import what is not rejected; by keyboard alone, too."""

from __future__ import annotations

import base64
from decimal import Decimal

import pytest
from django.core.files.storage import FileSystemStorage
from django.utils import timezone
from playwright.sync_api import FilePayload, expect

from dealsite.data import table
from dealsite.data.catalogue import deals
from dealsite.worker import exports
from tests import import_files
from tests.builders import make_deal
from tests.jobs import run_next


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(exports, "storage", lambda: storage)


def work():
    while run_next(now=timezone.now()):
        pass


def stored():
    return sorted(item["card"]["title"] for item in table.scan_all() if item["type"] == "Draft")


CONTENT = import_files.content(3, ["Stuhl;Vela;Home & Furniture;x;https://shop.example/s;"]).encode("cp1252")
FILE: FilePayload = {"name": "angebote.csv", "mimeType": "text/csv", "buffer": CONTENT}


def test_a_file_is_dropped_its_rejected_row_fixed_in_its_file_and_all_imported(editor_window):
    page = editor_window()
    page.goto("/cms/imports/")
    data = page.evaluate_handle(
        """(content) => {
            const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
            const dropped = new DataTransfer();
            dropped.items.add(new File([bytes], "angebote.csv", { type: "text/csv" }));
            return dropped;
        }""",
        base64.b64encode(CONTENT).decode(),
    )
    page.dispatch_event("form[data-drop]", "dragover", {"dataTransfer": data})
    expect(page.locator("form[data-drop][data-over]")).to_be_visible()
    page.dispatch_event("form[data-drop]", "drop", {"dataTransfer": data})
    expect(page.get_by_role("heading", name="angebote.csv")).to_be_visible()
    expect(page.get_by_label("Artikel")).to_have_value("title")
    page.get_by_role("button", name="Check 4 rows").click()
    expect(page.get_by_text("It is waiting to start.")).to_be_visible()
    work()
    page.get_by_role("button", name="Import 3 drafts").click()
    work()
    page.reload()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download rejected rows").click()
    fixed = download.value.path().read_bytes().replace(b",x,", b',"49,90",')
    page.get_by_role("link", name="Upload a file").click()
    page.get_by_label("CSV file").set_input_files({"name": "r.csv", "mimeType": "text/csv", "buffer": fixed})
    page.get_by_role("button", name="Check 1 row").click()
    work()
    page.reload()
    page.get_by_role("button", name="Import 1 draft").click()
    work()
    page.reload()
    page.get_by_role("link", name="To the drafts").click()
    expect(page.get_by_role("link", name="Stuhl").first).to_be_visible()
    assert stored() == ["Lampe 0", "Lampe 1", "Lampe 2", "Stuhl"]


@pytest.mark.sample(quick=0, whole=3)
def test_a_file_that_is_too_large_is_not_sent(editor_window, tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(50_000_001)
    page = editor_window()
    page.goto("/cms/imports/")
    note, field = page.get_by_text("The file is larger than 50 MB."), page.get_by_label("CSV file")
    field.set_input_files(large)
    expect(note).to_be_visible()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    field.set_input_files(FILE)
    expect(page.get_by_label("Artikel")).to_have_value("title")


def test_a_file_is_chosen_and_sent_by_a_button_where_there_is_no_script(editor_window):
    page = editor_window(script=False)
    page.goto("/cms/imports/")
    page.get_by_label("CSV file").set_input_files(FILE)
    page.get_by_role("button", name="Choose the columns").click()
    expect(page.get_by_label("Artikel")).to_have_value("title")
    how = page.get_by_role("complementary", name="How rows are read")
    expect(how.get_by_label("Separator")).to_be_hidden()
    page.get_by_text("Change, how the file is written").click()
    how.get_by_label("Separator").select_option("Comma")
    page.get_by_role("button", name="Read it again").click()
    expect(page.get_by_text("1 of 1 recognised")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_rows_are_pasted_and_imported_by_keyboard_alone(editor_window):
    page = editor_window()
    page.goto("/cms/imports/")
    page.get_by_label("Rows of a spreadsheet").focus()
    rows = (
        "Titel\tMarke\tKategorie\tPreis\tLink\nLampe\tVela\tHome & Furniture\t12,50\thttps://shop.example/1\n"
    )
    page.keyboard.insert_text(rows)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Pasted rows")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("It is waiting to start.")).to_be_visible()
    work()
    button = page.get_by_role("button", name="Import 1 draft")
    button.wait_for()
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Being imported")).to_be_visible()
    work()
    expect(page.get_by_role("link", name="To the drafts")).to_be_visible()
    assert stored() == ["Lampe"]


@pytest.mark.sample(quick=0, whole=1)
def test_a_row_is_left_out_by_its_tick_on_whatever_tab_the_import_starts(editor_window):
    made = [make_deal(title=f"Stuhl {n}", price=Decimal("30.00")) for n in range(2)]
    content = "id;Preis\n" + "".join(f"{deal.id};25\n" for deal in made)
    page = editor_window()
    page.goto("/cms/imports/")
    file: FilePayload = {"name": "a.csv", "mimeType": "text/csv", "buffer": content.encode()}
    page.get_by_label("CSV file").set_input_files(file)
    page.locator("[name=update][value=prices]").check()
    page.get_by_role("button", name="Check 2 rows").click()
    work()
    page.reload()
    expect(page.get_by_role("button", name="Import 2 rows")).to_be_visible()
    page.get_by_label("Import line 3").uncheck()
    expect(page.get_by_role("button", name="Import 1 row")).to_be_visible()
    page.get_by_role("link", name="As it is").click()
    page.get_by_role("button", name="Import 1 row").click()
    work()
    assert [deals.get(deal.id).content.price for deal in made] == [25, 30]


@pytest.mark.sample(quick=0, whole=1)
def test_on_a_phone_a_reason_stands_below_its_head_where_a_value_is_empty(editor_window):
    page = editor_window(width=390)
    page.goto("/cms/imports/")
    content = b"Artikel;Marke;Warengruppe;Preis\n;Vela;Computers;20,00\n"
    page.get_by_label("CSV file").set_input_files(
        {"name": "a.csv", "mimeType": "text/csv", "buffer": content}
    )
    page.get_by_role("button", name="Check 1 row").click()
    work()
    page.reload()
    head, cell = (
        page.locator(".check-rows th").last.bounding_box(),
        page.locator(".check-rows td").last.bounding_box(),
    )
    assert page.locator(".check-rows td").nth(2).inner_text() == ""
    assert head["x"] == cell["x"]
