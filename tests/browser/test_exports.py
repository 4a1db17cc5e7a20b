"""A list of the CMS becomes a file, by keyboard alone."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.browser.content import now_deal


@pytest.mark.sample(quick=0, whole=3)
def test_a_filtered_list_is_exported(editor_window):
    now_deal(title="Lamp", category="home-furniture")
    now_deal(title="Puzzle", category="toys-hobbies")
    page = editor_window()
    page.goto("/cms/deals/?category=toys-hobbies")
    page.get_by_role("button", name="Export as CSV").focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        assert [row["title"] for row in csv.DictReader(file)] == ["Puzzle"]
