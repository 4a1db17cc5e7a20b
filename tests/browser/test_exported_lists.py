"""A list of the CMS becomes a file, by keyboard alone."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from django.core.files.storage import FileSystemStorage
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from dealsite.worker import exports, loop
from tests.browser.content import now_deal


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(exports, "storage", lambda: storage)


def exported(page: Page, link: Locator) -> list[str]:
    """Ask by the keyboard for the list that is open, fetch its file by the link, and return the titles in it."""
    page.get_by_role("button", name="Export this list").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Waiting", exact=True)).to_be_visible()
    while loop.run_next(now=timezone.now()):
        pass
    link.wait_for()
    link.focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        return [row["title"] for row in csv.DictReader(file)]


@pytest.mark.sample(quick=0, whole=3)
def test_a_filtered_list_is_exported_and_fetched(editor_window):
    now_deal(title="Lamp", category="home-furniture")
    now_deal(title="Puzzle", category="toys-hobbies")
    page = editor_window()
    page.goto("/cms/deals/?category=toys-hobbies")
    assert exported(page, page.get_by_role("link", name="toys-hobbies")) == ["Puzzle"]
