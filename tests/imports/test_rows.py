"""What a row must be, and which deal it becomes."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from dealsite.data.catalogue.content import DealContent
from dealsite.data.table.ids import time_of
from dealsite.imports.csv_files import BadFile
from dealsite.imports.layout import FIELDS
from dealsite.imports.rows import NewDeal, Remark, shown
from tests.imports.builders import as_csv, check_file, make_row, write_csv


def only(folder, made):
    """What comes of a file with one row."""
    (result,) = check_file(write_csv(folder, made if isinstance(made, bytes) else [made]))
    return result


def test_a_row_becomes_a_deal(tmp_path):
    row = make_row(
        was_price="20",
        expires_at="2026-12-24T20:00:00+01:00",
        image_url="https://images.example/1.jpg",
        brand=" Lampadine  & Söhne ",
    )
    new = only(tmp_path, row)
    assert new == NewDeal(
        line=2,
        id=new.id,
        content=DealContent(
            title="Lamp 0",
            brand="lampadine-sohne",
            category="home-furniture",
            price=Decimal("12.50"),
            was_price=Decimal("20"),
            link="https://shop.example/0",
            description="A *lamp*.",
            expires_at=datetime(2026, 12, 24, 19, 0, tzinfo=UTC),
        ),
        brand_name="Lampadine & Söhne",
        image_url="https://images.example/1.jpg",
        says=new.says,
    )
    assert time_of(new.id) == datetime(2026, 11, 1, 8, 0, tzinfo=UTC)


def test_the_id_is_made_of_time_link_and_title_alone(tmp_path):
    ids = {
        only(tmp_path, make_row(**cells)).id
        for cells in (
            {},
            {"price": "9"},
            {"description": "x"},
            {"brand": "Other"},
            {"title": "  Lamp   0 "},
            {"title": "La\u200dmp 0"},
        )
    }
    assert ids == {"01M6B1YQ00GD9BHG5PNAJQ4MA0"}  # another id would import every old file once more
    for cells in (
        {"title": "Lamp"},
        {"url": "https://shop.example/x"},
        {"published_at": "2026-11-01T08:00:01Z"},
    ):
        assert only(tmp_path, make_row(**cells)).id not in ids


def test_a_category_may_be_given_by_its_name(tmp_path):
    assert only(tmp_path, make_row(category="Home & Furniture")).content.category == "home-furniture"


def test_columns_may_stand_in_any_order_and_optional_ones_be_missing(tmp_path):
    columns = ("published_at", "url", "price", "category", "brand", "title")
    assert only(tmp_path, as_csv([make_row()], columns)).content.title == "Lamp 0"


def test_control_characters_in_texts_become_spaces_and_what_nobody_sees_goes(tmp_path):
    row = make_row(
        title="A\x07 lamp\u200b", description="One\r\ntwo\x1b[31m\u202e", voucher_code="SA\u00adVE"
    )
    content = only(tmp_path, row).content
    assert (content.title, content.description, content.voucher_code) == ("A lamp", "One\ntwo [31m", "SAVE")


def test_a_long_title_is_shortened_and_noted(tmp_path):
    note, new = check_file(write_csv(tmp_path, [make_row(title="long word " * 40)]))
    assert (note.refused, note.column, note.reason) == (False, "title", "Shortened to 300 characters.")
    assert new.content.title == "long word " * 29 + "long…"


REFUSED = [
    ({"title": ""}, "title", "", "Enter a title."),
    ({"title": "\u200b"}, "title", "\\u200b", "Enter a title."),
    ({"brand": ""}, "brand", "", "Choose a brand, or enter a new one."),
    ({"brand": "---"}, "brand", "---", "The name needs a letter or a digit."),
    ({"brand": "x" * 81}, "brand", "x" * 79 + "…", "Shorten the name to 80 characters."),
    ({"category": "garden"}, "category", "garden", "There is no such category. There are: "),
    ({"price": ""}, "price", "", "Enter the price, or what"),
    (
        {"price": "$ 12"},
        "price",
        "$ 12",
        "This is in AUD / CAD / HKD / MXN / NZD / SGD / USD; prices here are in EUR.",
    ),
    ({"currency": "USD"}, "currency", "USD", "This is in USD; prices here are in EUR."),
    ({"price": "-1"}, "price", "-1", "Write the amount as 1299.90."),
    ({"price": "1e3"}, "price", "1e3", "Write the amount as 1299.90."),
    ({"price": "NaN"}, "price", "NaN", "Write the amount as 1299.90."),
    ({"price": "١٢"}, "price", "١٢", "Write the amount as 1299.90."),
    ({"price": "99999999"}, "price", "99999999", "Enter an amount from 0 to"),
    ({"was_price": "12.40"}, "was_price", "12.40", "The amount to compare with must be above the price."),
    ({"url": ""}, "url", "", "Enter the link to the shop."),
    ({"url": "javascript:alert(1)"}, "url", "javascript:alert(1)", "Enter a full web address"),
    ({"url": "ftp://a.example"}, "url", "ftp://a.example", "Enter a full web address"),
    ({"url": "https://me:pw@a.example"}, "url", "https://me:pw@a.example", "Enter a full web address"),
    ({"description": "x" * 20_001}, "description", "x" * 79 + "…", "Shorten this to 20,000 characters"),
    ({"description": "a\x00b"}, "description", "a\\x00b", "This holds a NUL character."),
    ({"published_at": ""}, "published_at", "", "Enter the time of publication."),
    ({"published_at": "yesterday"}, "published_at", "yesterday", "Write the time as"),
    (
        {"published_at": "0001-01-01T00:00:00+14:00"},
        "published_at",
        "0001-01-01T00:00:00+14:00",
        "The year should",
    ),
    (
        {"published_at": "2000-01-01T00:30:00+01:00"},
        "published_at",
        "2000-01-01T00:30:00+01:00",
        "The year should be from 2000 to 2100.",
    ),
    (
        {"published_at": "0001-01-01T00:00:00+01:00"},
        "published_at",
        "0001-01-01T00:00:00+01:00",
        "The year should",
    ),
    (
        {"published_at": "9999-12-31T23:59:59-01:00"},
        "published_at",
        "9999-12-31T23:59:59-01:00",
        "The year should",
    ),
    ({"published_at": "9999-12-31T23:59:59Z"}, "published_at", "9999-12-31T23:59:59Z", "The year should"),
    (
        {"expires_at": "2026-11-01T08:00:00Z"},
        "expires_at",
        "2026-11-01T08:00:00Z",
        "The deal would expire before",
    ),
    (
        {"expires_at": "2026-10-01T08:00:00Z"},
        "expires_at",
        "2026-10-01T08:00:00Z",
        "The deal would expire before",
    ),
]


def test_a_wrong_cell_is_refused_with_line_column_value_and_reason(tmp_path, subtests):
    for cells, column, value, reason in REFUSED:
        with subtests.test(cells=cells, column=column, value=value, reason=reason):
            remark = only(tmp_path, make_row(**cells))
            assert isinstance(remark, Remark)
            assert (remark.line, remark.column, remark.value, remark.refused) == (2, column, value, True)
            assert remark.reason.startswith(reason)


def test_each_wrong_cell_of_a_row_is_reported(tmp_path):
    made = check_file(write_csv(tmp_path, [make_row(url="x", was_price="1")]))
    assert {remark.column for remark in made} == {"url", "was_price"}


def test_a_cell_that_is_not_utf8_is_refused(tmp_path):
    made = [make_row(title="Küche"), make_row(1, title="Cafe")]
    _, remark = check_file(write_csv(tmp_path, as_csv(made).replace(b"Cafe", b"Caf\xe9")))
    assert (remark.column, remark.value) == ("title", "Caf\\udce9")
    assert remark.reason == "This is not UTF-8. Save the file in UTF-8."


def test_a_file_is_the_same_however_it_was_saved(tmp_path, subtests):
    for first, newline in [("", "\n"), ("", "\r"), ("sep={}\r\n", "\r\n")]:
        for separator in [",", ";", "\t", "|"]:
            for encoding in ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"]:
                with subtests.test(encoding=encoding, separator=separator, first=first, newline=newline):
                    made = [make_row(title="Küche", description="a, b; c | d"), make_row(1, price="x")]
                    file = io.StringIO(newline="")
                    writer = csv.DictWriter(file, FIELDS, delimiter=separator, lineterminator=newline)
                    writer.writeheader()
                    writer.writerows(made)
                    text = first.format(separator) + file.getvalue()
                    new, remark = check_file(write_csv(tmp_path, text.encode(encoding)))
                    assert (new.content.title, new.content.description) == ("Küche", "a, b; c | d")
                    assert (remark.line, remark.column) == (4 if first else 3, "price")


def test_a_row_with_too_many_cells_is_refused_and_one_with_few_lacks_them(tmp_path):
    content = as_csv([make_row()]) + b"a,b\n" + b"x," * len(FIELDS) + b"x\n"
    _, *few, many = check_file(write_csv(tmp_path, content))
    assert {(one.line, one.column) for one in few} == {
        (3, n) for n in ("category", "price", "url", "published_at")
    }
    assert (many.line, many.reason) == (
        4,
        f"The row has {len(FIELDS) + 1} cells, the header has {len(FIELDS)}.",
    )


def test_the_line_is_that_where_the_row_begins(tmp_path):
    content = as_csv([make_row(description="one\ntwo\nthree"), make_row(1, price="x")])
    made = check_file(write_csv(tmp_path, content))
    assert [result.line for result in made] == [2, 5]


def test_wrong_columns_are_refused_at_once(tmp_path, subtests):
    for content, message in [
        (b"", "The file is empty."),
        (as_csv([]), "The file names its columns, and holds no row."),
        (b'"title,brand\n', "Line 1 should name the columns."),
    ]:
        with subtests.test(content=content, message=message), pytest.raises(BadFile, match=message):
            check_file(write_csv(tmp_path, content))


def test_a_value_is_shown_short_and_on_one_line():
    assert shown("a\nb\x1b[31m\u202e") == "a\\nb\\x1b[31m\\u202e"
    assert shown("x" * 200) == "x" * 79 + "…"


def test_a_row_says_who_sells_it_or_its_stock_and_code_do(tmp_path):
    for cells, sold, stock, is_ad in (
        ({}, "shop", None, False),
        ({"voucher_code": "X"}, "code", None, False),
        ({"stock": "3", "voucher_code": "X"}, "here", 3, False),
        ({"stock": "3", "url": ""}, "here", 3, False),
        ({"sold": "Sold here"}, "here", None, False),
        ({"sold": "Shop", "ad": "Ja"}, "shop", None, True),
        ({"sold": "shop", "voucher_code": "X"}, "code", None, False),
        ({"sold": "shop", "ad": "no"}, "shop", None, False),
    ):
        new = check_file(write_csv(tmp_path, [make_row(**cells)]))[-1]
        assert (new.content.sold, new.content.stock, new.content.is_ad) == (sold, stock, is_ad), cells
        assert new.lacks == {}


def test_a_row_of_what_a_shop_sells_may_have_a_condition_instead_of_a_price(tmp_path):
    free = make_row(price="", was_price="", instead_of_price="Free delivery")
    new = check_file(write_csv(tmp_path, [free]))[-1]
    assert (new.content.price, new.content.condition, new.lacks) == (None, "Free delivery", {})
    for cells, column in (
        ({"price": "12"}, "instead_of_price"),
        ({"stock": "3"}, "price"),
        ({"instead_of_price": ""}, "price"),
    ):
        assert only(tmp_path, free | cells).column == column


def test_a_condition_of_goods_as_other_files_have_it_is_not_one_instead_of_a_price(tmp_path):
    new = check_file(write_csv(tmp_path, [make_row(condition="new")]))[-1]
    assert (new.content.condition, new.lacks) == ("", {})


def test_what_a_row_says_of_its_seller_that_cannot_be_is_said(tmp_path):
    for cells, said in (
        ({"sold": "me"}, ("sold", "Enter here, shop or code.", True)),
        ({"ad": "maybe"}, ("ad", "Enter yes or no.", True)),
        (
            {"sold": "shop", "stock": "3"},
            ("stock", "Only what is sold here has a stock; it is left out.", False),
        ),
    ):
        remark = check_file(write_csv(tmp_path, [make_row(**cells)]))[0]
        assert (remark.column, remark.reason, remark.refused) == said
    assert only(tmp_path, make_row(sold="code")).reason == "Enter the code."
