"""Which column is which field, amounts and times as spreadsheets hold them, and what becomes of a row read so."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.table.ids import iso
from dealsite.imports import cells, csv_files, layout, rows
from dealsite.imports.cells import COMMA, DAY_FIRST, MONTH_FIRST, POINT, Unreadable
from dealsite.imports.csv_files import CsvFormat, Record
from dealsite.imports.layout import FIELDS, Layout
from dealsite.imports.rows import NewDeal, Remark
from tests.imports.builders import as_new

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TITLES = ("Artikel", "Marke", "Preis", "UVP", "Link", "Ab", "Notiz")
GERMAN = Layout(
    titles=TITLES,
    columns=("title", "brand", "price", "was_price", "url", "published_at", ""),
    decimal=",",
    dates="day",
    zone="Europe/Berlin",
    moment=NOW,
    category="home-furniture",
    drafts=False,
)
ROW = ("Küchenlampe", "Lampadine", "1.299,90 €", "1.500", "https://shop.example/1", "20.11.2026 09:00", "x")


def check(*made, chosen=GERMAN, raw=""):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";").writerows([chosen.titles, *made])
    content = (text.getvalue() + raw).encode("utf-8", "surrogatepass")
    return list(as_new(rows.check(csv_files.records(io.BytesIO(content), CsvFormat("utf-8", ";")), chosen)))


def changed(**cells):
    fields = dict(zip(GERMAN.columns, ROW, strict=True)) | cells
    return tuple(fields[name] for name in GERMAN.columns)


def test_a_row_of_another_layout_becomes_a_deal():
    (new,) = check(ROW)
    assert isinstance(new, NewDeal)
    assert (new.content.title, new.brand_name, new.content.category) == (
        "Küchenlampe",
        "Lampadine",
        "home-furniture",
    )
    assert (new.content.price, new.content.was_price) == (Decimal("1299.90"), Decimal("1500"))
    assert new.id == rows.deal_id(
        "https://shop.example/1", "Küchenlampe", datetime(2026, 11, 20, 8, tzinfo=UTC)
    )


def test_remarks_use_the_words_of_the_file():
    made = check(changed(price="12.50"), changed(url="shop", was_price="1"))
    assert sorted((one.line, one.column, one.value) for one in made) == [
        (2, "Preis", "12.50"),
        (3, "Link", "shop"),
        (3, "UVP", "1"),
    ]
    assert made[0].reason == "Write the amount as 1299,90."


def test_every_unreadable_cell_of_a_row_is_named():
    made = check(changed(price="x", was_price="y", published_at="z"))
    assert [one.column for one in made] == ["Preis", "UVP", "Ab"]


def test_a_row_without_a_time_is_refused_or_published_at_once():
    (remark,) = check(changed(published_at=""))
    assert (remark.column, remark.reason) == ("Ab", "Enter the time of publication.")
    (new,) = check(changed(published_at=""), chosen=replace(GERMAN, at_once=True))
    assert new.id == rows.deal_id(new.content.link, new.content.title, NOW)
    (draft,) = check(changed(published_at=""), chosen=replace(GERMAN, drafts=True))
    assert draft == new


def test_a_row_without_a_brand_gets_the_one_that_was_chosen():
    (remark,) = check(changed(brand=""))
    assert (remark.column, remark.reason) == ("Marke", "Choose a brand, or enter a new one.")
    (new,) = check(changed(brand=" "), chosen=replace(GERMAN, brand="Vela"))
    assert new.brand_name == "Vela"


def test_empty_rows_are_passed_over_and_the_first_line_again_is_left_out():
    made = check(("", "", "", "", "", "", ""), TITLES, ROW)
    assert [(type(one), getattr(one, "refused", None)) for one in made] == [(Remark, False), (NewDeal, None)]
    assert made[0].reason == "This row repeats the first line; it is left out."


def test_cells_too_many_are_refused_unless_they_are_empty():
    fine, few, many = check((*ROW, "", " "), ROW[:6], (*ROW, "more"))
    assert isinstance(fine, NewDeal)
    assert isinstance(few, NewDeal)
    assert many.reason == "The row has 8 cells, the header has 7."


def test_a_broken_row_is_shown_as_it_stands():
    remark, new = check(raw='"open;x\n' + ";".join(ROW) + "\n")
    assert remark.value.startswith('"open;x')
    assert remark.reason == "A quote is opened here and never closed."
    assert isinstance(new, NewDeal)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("a\x00b", "This holds a NUL character."),
        ("\ud800", "This is not UTF-8. Save the file in UTF-8."),
        ("\u202e", "Enter a title."),
    ],
    ids=["nul", "surrogate", "right to left"],
)
def test_hostile_titles_are_refused_alone(cell, reason):
    remark, new = check(changed(title=cell), ROW)
    assert (remark.column, remark.reason) == ("Artikel", reason)
    assert isinstance(new, NewDeal)


def test_a_cell_of_400_kb_costs_its_row_alone():
    remark, new = check(changed(title="x" * 400_000), ROW)
    assert remark.reason == "A cell is longer than 131,072 characters."
    assert isinstance(new, NewDeal)


def test_emoji_and_scripts_of_the_world_are_kept():
    (new,) = check(changed(title="Lampe 👩‍🎨 مصباح 灯"))
    assert new.content.title.startswith("Lampe 👩")
    assert "مصباح 灯" in new.content.title


def test_the_mark_that_keeps_a_cell_from_being_a_formula_is_taken_off(subtests):
    for cell in ["=1+1", "+1", "-1", "@x", "'@x"]:
        with subtests.test(cell=cell):
            (new,) = check(changed(title=f"'{cell}"))
            assert new.content.title == cell


def test_columns_are_guessed_by_their_titles(subtests):
    for titles, columns in [
        (FIELDS, FIELDS),
        (
            ["Artikel", "Hersteller", "Warengruppe", "Preis (€)", "UVP", "Produkt-URL", "Gültig bis"],
            ["title", "brand", "category", "price", "was_price", "url", "expires_at"],
        ),
        (["Name", "NAME", "Sale price", "List Price"], ["title", "", "price", "was_price"]),
        (["Price", "Sale price"], ["was_price", "price"]),
        (["Sale price", "Price", "RRP"], ["price", "", "was_price"]),
        (["price_eur", "Start [UTC]", "ends_gmt"], ["price", "published_at", "expires_at"]),
        (["Stückzahl", "Gutscheincode", "Veröffentlicht am"], ["stock", "voucher_code", "published_at"]),
        (["SKU", "Art.-Nr.", "Artikel"], ["article_number", "", "title"]),
        (["Artikel-Nr.", "Artikelname"], ["article_number", "title"]),
        (["published_at (Europe/Berlin)", "Price (EUR)"], ["published_at", "price"]),
        (["", "?", "👩"], ["", "", ""]),
    ]:
        with subtests.test(titles=titles, columns=columns):
            assert layout.guess_columns(titles) == list(columns)


def test_columns_are_guessed_by_their_first_cells_as_well():
    titles = [
        "Name",
        "Published",
        "Link",
        "Picture",
        "Price",
        "Stock",
        "Date",
        "Column 8",
        "Column 9",
        "Column 10",
    ]
    rows = [
        [
            "A",
            "true",
            "https://a.example/1",
            "1",
            "x",
            "yes",
            "21.11.2026",
            "12,50 €",
            "https://a.example/1.jpg",
            "0",
        ],
        ["B", "1", "https://a.example/2", "0", "y", "no", "", "9,00 €", "https://a.example/2.jpg", "1"],
    ]
    assert layout.guess_columns(titles, rows) == [
        "title", "", "url", "", "price", "", "published_at", "", "image_url", "",
    ]  # fmt: skip
    assert layout.guess_columns(titles[:-4], rows)[5] == ""
    assert layout.guess_columns(["Name", "Column 2", "Column 3"], [[row[0], *row[7:9]] for row in rows]) == [
        "title", "price", "image_url",
    ]  # fmt: skip


def test_an_only_price_that_is_called_the_one_before_stays_that():
    assert layout.guess_columns(["Title", "Was-price", "Id"]) == ["title", "was_price", "id"]


def test_no_cell_holds_up_an_import(subtests):
    """Each took minutes or hours as a pattern that is tried again from every letter."""
    for cell in (
        "a" * 100_000,
        " " * 100_000 + "x",
        "x" + " ," * 50_000 + "x",
        "https://a.example/" + "." * 100_000,
    ):
        with subtests.test(cell=cell[:10]):
            assert layout.guess_columns(["?"], [[cell]])
            titles = ("Title", "Category", "Image", "Price", "Publish at", "Link")
            chosen = layout.guessed(titles, [], zone="UTC", moment=NOW)
            made = as_new(rows.check([Record(1, list(titles)), Record(2, [cell] * len(titles))], chosen))
            assert [one.line for one in made]


def test_a_layout_is_stored_and_read_again():
    assert payload_from_item(Layout, payload_to_item(GERMAN)) == GERMAN


def test_files_with_the_same_first_line_are_known_again():
    assert layout.fingerprint(TITLES) == layout.fingerprint([title.upper() for title in TITLES])
    assert layout.fingerprint(TITLES) != layout.fingerprint(TITLES[1:])
    assert layout.fingerprint(["\ud800"])


BERLIN = ZoneInfo("Europe/Berlin")


def test_an_amount_is_read_however_it_is_written(subtests):
    for text, decimal, read in [
        ("12", POINT, "12"),
        ("12.5", POINT, "12.5"),
        ("1,299.90", POINT, "1299.90"),
        ("€1,299.90", POINT, "1299.90"),
        ("1'299.90 eur", POINT, "1299.90"),
        ("14.0000", POINT, "14"),
        ("14.500", POINT, "14.5"),
        (".5000", POINT, "0.5"),
        ("１２.５０", POINT, "12.5"),
        ("1,299", POINT, "1299"),
        ("12,50", COMMA, "12.50"),
        ("1.299,90 €", COMMA, "1299.90"),
        ("EUR 1.299,90", COMMA, "1299.90"),
        ("1 299,90", COMMA, "1299.90"),
        ("1\u00a0299,90\u00a0€", COMMA, "1299.90"),
        ("12,-", COMMA, "12"),
        ("12,--", COMMA, "12"),
        ("1.299", COMMA, "1299"),
    ]:
        with subtests.test(text=text, decimal=decimal, read=read):
            assert cells.amount(text, decimal) == Decimal(read)


def test_what_is_no_amount_is_said_so(subtests):
    for text, decimal in [
        *(
            ("12 50", POINT),
            ("14.005", POINT),
            ("12,50", POINT),
            ("12.50", COMMA),
            ("1,29", POINT),
            ("1.29", COMMA),
            ("", POINT),
            ("-5", POINT),
        ),
        *(
            ("1e3", POINT),
            ("NaN", COMMA),
            ("١٢", POINT),
            ("=1+1", POINT),
            ("1,2,3", COMMA),
            ("12 apples", POINT),
            ("from 12 €", POINT),
        ),
        ("9" * 400_000, POINT),
        (" ".join(["123"] * 11), POINT),
    ]:
        with (
            subtests.test(text=text, decimal=decimal),
            pytest.raises(Unreadable, match="Write the amount as 1299"),
        ):
            cells.amount(text, decimal)


def test_what_stands_before_the_cents_is_guessed(subtests):
    for texts, decimal in [
        (["12,50", "9,99"], COMMA),
        (["12.50", "1,299.00"], POINT),
        (["1.299,00 €"], COMMA),
        (["12", "15"], POINT),
        ([], POINT),
        (["12,-"], COMMA),
        (["14.0000", "1.0000"], POINT),
        (["1.299", "2.450 €"], COMMA),
        (["1.000"], POINT),
    ]:
        with subtests.test(texts=texts, decimal=decimal):
            assert cells.guess_decimal(texts) == decimal


def test_a_time_is_of_the_zone_unless_it_names_one(subtests):
    for text, dates, hour in [
        ("2026-11-21T08:00:00Z", DAY_FIRST, 8),
        ("2026-11-21T09:00:00+01:00", MONTH_FIRST, 8),
        ("2026-11-21 09:00", DAY_FIRST, 8),
        ("2026-11-21 09:00", MONTH_FIRST, 8),
        ("21.11.2026 09:00", DAY_FIRST, 8),
        ("21.11.26, 09:00 Uhr", DAY_FIRST, 8),
        ("21/11/2026 9:00", DAY_FIRST, 8),
        ("11/21/2026 9:00 AM", MONTH_FIRST, 8),
        ("11/21/2026 12:30 am", MONTH_FIRST, -1),
        ("11/21/2026 9:00 PM", MONTH_FIRST, 20),
        ("21.11.2026", DAY_FIRST, -1),
        ("2026-11-21 9:00", DAY_FIRST, 8),
        ("2026/11/21 9:00", DAY_FIRST, 8),
        ("21 Nov 2026", DAY_FIRST, -1),
        ("21. November 2026, 9:00 Uhr", DAY_FIRST, 8),
        ("Nov 21st, 2026 9:00 am", DAY_FIRST, 8),
        ("Sat, 21 Nov 2026 09:00:00 +0000", DAY_FIRST, 9),
        ("21.11.2026 09:00+03:00", DAY_FIRST, 6),
        ("11/21/2026 9:00 AM UTC", MONTH_FIRST, 9),
        ("2026-11-21T09:00-0500/2026-11-28T09:00-0500", DAY_FIRST, 14),
    ]:
        with subtests.test(text=text, dates=dates, hour=hour):
            moment = cells.moment(text, dates, BERLIN)
            assert (
                moment.astimezone(UTC) - datetime(2026, 11, 21, tzinfo=UTC)
            ).total_seconds() // 3600 == hour


def test_a_day_without_a_time_ends_with_its_last_second():
    assert cells.moment("21.11.2026", DAY_FIRST, BERLIN, ends=True) == datetime(
        2026, 11, 21, 22, 59, 59, tzinfo=UTC
    )
    assert cells.moment("2026-11-21", DAY_FIRST, BERLIN, ends=True).hour == 22
    assert cells.moment("20261121", DAY_FIRST, BERLIN, ends=True).hour == 22
    assert cells.moment("2026-11-21 00:00", DAY_FIRST, BERLIN, ends=True).hour == 23


def test_what_is_no_time_is_said_so(subtests):
    for text in [
        *("", "soon", "31.02.2026", "32.01.2026", "21.11.2026 25:00", "21.13.2026", "21.11.2026 13:00 pm"),
        *("١٢.١١.2026", "=NOW()", "0", "21.11.2026" * 50_000),
    ]:
        with subtests.test(text=text), pytest.raises(Unreadable):
            cells.moment(text, DAY_FIRST, BERLIN)


def test_a_day_begins_and_ends_where_clocks_are_changed_over_midnight():
    cairo, havana = ZoneInfo("Africa/Cairo"), ZoneInfo("America/Havana")
    for text, zone, first, last in [
        ("2027-04-30", cairo, "2027-04-29T22:00:00.000Z", "2027-04-30T20:59:59.000Z"),
        (
            "2026-11-01",
            havana,
            "2026-11-01T04:00:00.000Z",
            "2026-11-02T04:59:59.000Z",
        ),  # its first hour comes twice
    ]:
        assert iso(cells.moment(text, DAY_FIRST, zone)) == first
        assert iso(cells.moment(text, DAY_FIRST, zone, ends=True)) == last


@pytest.mark.parametrize("text", ["2026-03-29 02:30", "25.10.2026 02:30"])
def test_a_time_that_clocks_skip_or_show_twice_is_refused(text):
    with pytest.raises(Unreadable, match="Clocks in Europe/Berlin are changed"):
        cells.moment(text, DAY_FIRST, BERLIN)


def test_whether_the_day_comes_first_is_guessed(subtests):
    for texts, dates in [
        (["21.11.2026", "01.02.2026"], DAY_FIRST),
        (["11/21/2026"], MONTH_FIRST),
        (["01/02/2026 9:00 AM"], MONTH_FIRST),
        (["01/02/2026"], DAY_FIRST),
        (["2026-11-21"], DAY_FIRST),
        ([], DAY_FIRST),
    ]:
        with subtests.test(texts=texts, dates=dates):
            assert cells.guess_dates(texts) == dates


def test_a_column_of_other_things_says_nothing_of_who_sells():
    titles, wanted = ["Title", "Sold", "Anzeige"], ["title", "", ""]
    assert (
        layout.guess_columns(titles, [["A lamp", "12", "Buy it!"], ["A chair", "7", "Now or never"]])
        == wanted
    )
    named = [["A lamp", "here", "yes"], ["A chair", "At a shop", ""]]
    assert layout.guess_columns(titles, named) == ["title", "sold", "ad"]
