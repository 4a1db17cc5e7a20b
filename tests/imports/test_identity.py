"""Which deal or draft that is there a row of a file means."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, deal_changes
from dealsite.imports.publishing import DEALS, DRAFTS
from tests.builders import EDITOR, NOW, make_brand, make_category, make_deal, make_draft
from tests.imports.builders import as_csv, make_row, run_import, write_csv

pytestmark = pytest.mark.usefixtures("fresh_table")
LATER = NOW + timedelta(minutes=5)
LINK = "https://shop.example/lamp"


def again(folder, *rows, columns=None, **options):
    """Import some rows later on, as what was uploaded anew; return how many are new, there and refused."""
    make_category("home-furniture")
    made = [make_row(n, published_at="2026-11-21T12:05:00Z") | row for n, row in enumerate(rows)]
    content = as_csv(made, columns) if columns else as_csv(made)
    totals, remarks, _ = run_import(write_csv(folder, content), **{"now": LATER} | options)
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
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    assert again(tmp_path, {"id": deal.id, "url": "https://shop.example/new"}) == (1, 0, 0)


def test_drafts_are_found_where_rows_become_drafts(tmp_path):
    make_draft(title="Lamp", link=LINK)
    row = {"title": "Lamp", "url": LINK}
    assert again(tmp_path, row, target=DRAFTS) == (0, 1, 0)
    assert again(tmp_path, row) == (1, 0, 0)
    assert again(tmp_path, row, target=DRAFTS) == (0, 1, 0)


BY_NUMBER = [  # what is there: (article number, link, brand); the row; what becomes of it: new, there, refused
    ("moved", [("B-1", LINK, "A")], {"article_number": "b-1 "}, (0, 1, 0)),
    (
        "moved, www. and http",
        [("B-1", "http://www.shop.example/x", "A")],
        {"article_number": "B-1"},
        (0, 1, 0),
    ),
    ("another brand of this shop", [("B-1", LINK, "Z")], {"article_number": "B-1"}, (0, 1, 0)),
    ("another shop", [("B-1", "https://m.shop.example/lamp", "A")], {"article_number": "B-1"}, (1, 0, 0)),
    ("another port", [("B-1", "https://shop.example:8443/", "A")], {"article_number": "B-1"}, (1, 0, 0)),
    ("another number", [("B-01", LINK, "A"), ("", LINK, "A")], {"article_number": "B-1"}, (1, 0, 0)),
    ("none", [("-", LINK, "A"), ("", LINK, "A")], {"article_number": "-"}, (1, 0, 0)),
    (
        "no link",
        [("B-1", "https://a.example/", "A"), ("B-1", LINK, "Z")],
        {"article_number": "B-1", "url": ""},
        (0, 1, 0),
    ),
    ("no link, other brand", [("B-1", LINK, "Z")], {"article_number": "B-1", "url": ""}, (0, 0, 1)),
    ("no link, no brand", [("B-1", LINK, "A")], {"article_number": "B-1", "url": "", "brand": ""}, (0, 0, 1)),
    ("no usable link", [("B-1", LINK, "A")], {"article_number": "B-1", "url": "a..b"}, (0, 0, 1)),
    ("two", [("B-1", LINK, "A"), ("b-1", f"{LINK}/2", "A")], {"article_number": "B-1"}, (0, 0, 1)),
    (
        "two, one elsewhere",
        [("B-1", LINK, "A"), ("B-1", "https://a.example/", "A")],
        {"article_number": "B-1"},
        (0, 1, 0),
    ),
    (
        "its link first",
        [("B-1", LINK, "A"), ("B-2", f"{LINK}/2", "A")],
        {"article_number": "B-1", "url": f"{LINK}/2"},
        (0, 1, 0),
    ),
    (
        "two, and its link",
        [("B-1", LINK, "A"), ("B-1", f"{LINK}/2", "A")],
        {"article_number": "B-1", "url": LINK},
        (0, 1, 0),
    ),
]


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("there", "row", "right"), [case[1:] for case in BY_NUMBER], ids=[case[0] for case in BY_NUMBER]
)
def test_a_row_means_the_only_deal_of_its_shop_with_its_article_number(tmp_path, there, row, right, dry_run):
    for n, (number, link, brand) in enumerate(there):
        make_deal(title=f"Was {n}", article_number=number, link=link, brand=brand)
    row = {"title": "New", "brand": "A", "url": "https://shop.example/new"} | row
    assert again(tmp_path, row, dry_run=dry_run) == right


def test_a_refused_row_says_which_number_stands_for_several(tmp_path):
    make_category("home-furniture")
    for n in range(3):
        make_deal(title=f"Was {n}", article_number="B-1", link=f"{LINK}/{n}")
    made = [make_row(1, article_number="b-1"), make_row(2, article_number="B-2"), make_row(1)]
    totals, remarks, steps = run_import(write_csv(tmp_path, made), now=LATER)
    assert (totals.imported, totals.refused, steps) == (2, 1, 3)
    assert [(one.line, one.reason) for one in remarks] == [
        (2, "3 deals have the article number b-1. Say by id or link which is meant.")
    ]


@pytest.mark.parametrize("window", [1, 100])
@pytest.mark.parametrize("target", [DEALS, DRAFTS], ids=["deals", "drafts"])
def test_rows_of_one_article_number_are_new_once(tmp_path, window, target):
    rows = [{"article_number": "B-1", "url": f"{LINK}/{n}", "title": f"Lamp {n}"} for n in range(3)]
    assert again(tmp_path, *rows[:2], window=window, target=target) == (2, 0, 0)  # variants
    assert again(tmp_path, *rows[:2], window=window, target=target) == (0, 2, 0)
    assert again(tmp_path, rows[2], window=window, target=target, now=NOW) == (0, 0, 1)


def test_a_number_that_is_no_longer_the_deals_or_stands_for_two_in_this_file_means_nothing(tmp_path):
    deal = make_deal(title="Lamp", link=LINK, article_number="B-1")
    row = {"article_number": "B-1", "title": "Lamp 2", "url": f"{LINK}/2"}
    assert again(tmp_path, {"title": "Lamp", "url": LINK}, row, dry_run=True) == (1, 1, 0)
    assert again(tmp_path, row, row | {"title": "Lamp 3", "url": f"{LINK}/3"}, dry_run=True) == (1, 1, 0)
    new = replace(deal.content, article_number="B-2")
    deal_changes.edit(deal, new, version=1, brand=brands.get("nordlicht"), by=EDITOR, now=NOW)
    assert again(tmp_path, row, dry_run=True) == (1, 0, 0)


def test_what_has_neither_link_nor_brand_is_of_no_shop(tmp_path):
    make_draft(title="Lamp", article_number="B-1")
    row = {"article_number": "B-1", "url": "", "brand": ""}
    assert again(tmp_path, row, target=DRAFTS) == (0, 0, 1)


def test_a_draft_that_was_published_is_found_once(tmp_path):
    draft = make_draft(title="Lamp", link=LINK, article_number="B-1", brand="Lampadine")
    make_deal(title="Lamp", link=LINK, article_number="B-1", brand="Lampadine", draft=draft)
    for row in ({"url": LINK, "title": "Other"}, {"article_number": "B-1", "url": f"{LINK}/new"}):
        assert again(tmp_path, row, target=DRAFTS) == (0, 1, 0)


def test_a_merged_brand_is_the_same_brand(tmp_path):
    make_deal(article_number="B-1", link=LINK, brand="Lampadine")
    make_brand("Vela", also=["Luce"])
    make_deal(article_number="B-2", link=LINK, brand="Vela")
    row = {"article_number": "B-2", "url": "", "brand": "Luce"}
    assert again(tmp_path, row, dry_run=True) == (0, 1, 0)


def test_a_file_without_article_numbers_costs_no_more_and_one_with_some_a_query_each(tmp_path):
    make_category("home-furniture")
    costs = []
    for number in ("", "B-1"):
        path = write_csv(tmp_path, [make_row(n, article_number=number and f"{number}{n}") for n in range(5)])
        with table.metered() as meter:
            run_import(path, dry_run=True)
        costs.append(Counter(operation for operation, _ in meter.log))
    assert costs[0]["Query"] == 5
    assert costs[1] - costs[0] == {"Query": 5}


def test_a_deal_that_was_deleted_is_not_meant(tmp_path):
    deal_changes.delete(make_deal(link=LINK), by=EDITOR, now=NOW)
    assert again(tmp_path, {"url": LINK}) == (1, 0, 0)


def test_an_import_that_goes_on_says_again_what_rows_lacked(tmp_path):
    make_deal(title="Lamp", link=LINK)
    rows = [{"url": "", "title": "a"}, {"url": LINK}, {"url": f"{LINK}/2"}, {"url": "", "title": "b"}]
    made = [make_row(n) | row for n, row in enumerate(rows)]
    totals, remarks, _ = run_import(write_csv(tmp_path, made), resumed=True, done=4)
    assert (totals.imported, totals.there, totals.refused) == (0, 0, 2)
    assert [remark.line for remark in remarks] == [2, 5]
