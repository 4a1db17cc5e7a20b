"""Which deal or draft that is there a row of a file means."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data.catalogue.deal import deleting
from dealsite.imports.publishing import DRAFTS
from tests.builders import EDITOR, NOW, make_category, make_deal, make_draft
from tests.imports.builders import as_csv, make_row, run_import, write_csv

pytestmark = pytest.mark.usefixtures("fresh_table")
LATER = NOW + timedelta(minutes=5)
LINK = "https://shop.example/lamp"


def again(folder, *rows, columns=None, **options):
    """Import some rows later on, as what was uploaded anew; return how many are new, there and refused."""
    make_category("home-furniture")
    made = [make_row(n, published_at="2026-11-21T12:05:00Z") | row for n, row in enumerate(rows)]
    content = as_csv(made, columns) if columns else as_csv(made)
    totals, remarks, _ = run_import(write_csv(folder, content), now=LATER, **options)
    assert totals.refused == len({remark.line for remark in remarks if remark.refused})
    return totals.imported, totals.there, totals.refused


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_row_means_the_deal_with_its_link_whenever_it_was_published(tmp_path, dry_run):
    make_deal(title="Lamp", link=LINK)
    same = {"title": "Lamp", "url": "http://www.shop.example/lamp/?utm_source=x"}
    other = {"title": "Lamp, now dearer", "url": LINK}
    assert again(tmp_path, same, dry_run=dry_run) == (0, 1, 0)
    assert again(tmp_path, other, dry_run=dry_run) == (0, 1, 0)
    assert again(tmp_path, other, same, dry_run=dry_run) == (1, 1, 0)  # the link stands for two in this file


def test_where_a_link_stands_for_many_the_title_tells(tmp_path):
    rows = [{"title": f"Lamp {n}", "url": LINK} for n in range(3)]
    assert again(tmp_path, *rows[:2]) == (2, 0, 0)
    assert again(tmp_path, *rows, window=2) == (1, 2, 0)
    assert again(tmp_path, *(row | {"title": row["title"].upper()} for row in rows)) == (0, 3, 0)
    home = {"title": "A", "url": "https://other.example/"}
    assert again(tmp_path, home) == (1, 0, 0)
    assert again(tmp_path, home | {"title": "B"}) == (1, 0, 0)  # the link of a whole shop says nothing


@pytest.mark.parametrize("window", [1, 100])
def test_a_row_that_repeats_another_one_is_there_unless_it_is_of_another_time(tmp_path, window):
    rows = [{"url": f"{LINK}{end}", "title": "Lamp"} for end in ("", "/", "#x")]
    assert again(tmp_path, *rows, window=window) == (1, 2, 0)
    other = [row | {"url": "https://other.example/a"} for row in rows]
    other = [row | {"published_at": f"2026-11-2{n}T12:00:00Z"} for n, row in enumerate(other)]
    assert again(tmp_path, *other, window=window) == (3, 0, 0)
    assert again(tmp_path, *other, window=window) == (0, 3, 0)


def test_a_row_may_mean_a_deal_by_its_id_and_hold_nothing_else(tmp_path):
    deal = make_deal(link=LINK)
    columns = ("id", "title", "price")
    rows = {"id": deal.id.lower(), "price": "1"}, {"id": "4711"}
    assert again(tmp_path, *rows, columns=columns) == (0, 1, 1)
    assert again(tmp_path, *rows, columns=columns, dry_run=True) == (0, 1, 1)
    deleting.delete(deal, by=EDITOR, now=NOW)
    assert again(tmp_path, {"id": deal.id, "url": "https://shop.example/new"}) == (1, 0, 0)


def test_drafts_are_found_where_rows_become_drafts(tmp_path):
    make_draft(title="Lamp", link=LINK)
    row = {"title": "Lamp", "url": LINK}
    assert again(tmp_path, row, target=DRAFTS) == (0, 1, 0)
    assert again(tmp_path, row) == (1, 0, 0)
    assert again(tmp_path, row, target=DRAFTS) == (0, 1, 0)


def test_a_deal_that_was_deleted_is_not_meant(tmp_path):
    deleting.delete(make_deal(link=LINK), by=EDITOR, now=NOW)
    assert again(tmp_path, {"url": LINK}) == (1, 0, 0)


def test_an_import_that_goes_on_says_again_what_rows_lacked(tmp_path):
    make_deal(title="Lamp", link=LINK)
    rows = [{"url": "", "title": "a"}, {"url": LINK}, {"url": f"{LINK}/2"}, {"url": "", "title": "b"}]
    made = [make_row(n) | row for n, row in enumerate(rows)]
    totals, remarks, _ = run_import(write_csv(tmp_path, made), resumed=True, done=4)
    assert (totals.imported, totals.there, totals.refused) == (0, 0, 2)
    assert [remark.line for remark in remarks] == [2, 5]
