"""CSV that no spreadsheet takes for formulas, and the chart that suits an answer."""

from __future__ import annotations

import csv
import json

from dealsite.ask import charts
from dealsite.ask.runs import Answer, Column, as_csv


def answer(columns, rows):
    return Answer([Column(*column.split(":")) for column in columns], rows, False, 1)


def test_csv_has_a_head_and_every_row():
    found = answer(["a:VARCHAR", "n:BIGINT"], [['say "x", y', 1], ["two\nlines", None]])
    text = "".join(as_csv(found))
    assert text.startswith("\ufeff")
    assert list(csv.reader(text[1:].splitlines(keepends=True))) == [
        ["a", "n"],
        ['say "x", y', "1"],
        ["two\nlines", ""],
    ]


def test_no_cell_of_a_csv_is_a_formula(subtests):
    for text in ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1", "=HYPERLINK(1)"]:
        with subtests.test(text=text):
            found = answer(["a:VARCHAR", f"{text}:VARCHAR"], [[text, "x"]])
            for row in csv.reader("".join(as_csv(found))[1:].splitlines(keepends=True)):
                assert all(cell == f"'{text}" for cell in row if text in cell)


def test_a_negative_number_stays_a_number_in_a_csv():
    assert "".join(as_csv(answer(["n:DECIMAL(12,2)"], [["-5.00"]]))).endswith("\r\n-5.00\r\n")


def test_numbers_over_days_are_lines_in_their_order():
    chart = charts.chart_of(answer(["day:DATE", "n:BIGINT"], [["2026-11-02", 5], ["2026-11-01", None]]))
    assert (chart.kind, chart.labels) == ("line", ["2026-11-01", "2026-11-02"])
    assert chart.series == [charts.Series("n", [None, 5.0])]
    assert json.loads(chart.as_json)["series"] == [{"name": "n", "values": [None, 5.0], "is_dashed": False}]


def test_months_in_words_are_times_too():
    chart = charts.chart_of(answer(["month:VARCHAR", "n:HUGEINT"], [["2026-10", 1], ["2026-11", 2]]))
    assert chart.kind == "line"


def test_numbers_over_names_are_bars_and_said_in_words():
    chart = charts.chart_of(
        answer(["brand:VARCHAR", "pieces:BIGINT"], [["Aurora", 1200], ["Nordlicht", 3], [None, 7]])
    )
    assert (chart.kind, chart.labels) == ("bar", ["Aurora", "Nordlicht", "–"])
    assert chart.text == (
        "Bar chart by brand, 3 values from Aurora to –. pieces: at most 1,200 (Aurora), at least 3 (Nordlicht)."
    )


def test_money_and_pieces_do_not_share_an_axis_nor_do_thousands_and_a_few():
    columns = ["a:VARCHAR", "money:DECIMAL(38,2)", "pieces:BIGINT", "more:DECIMAL(12,2)", "tiny:DOUBLE"]
    chart = charts.chart_of(
        answer(columns, [["x", "900.00", 5, "800.00", 0.5], ["y", "1.00", 2, "2.00", 0.1]])
    )
    assert [series.name for series in chart.series] == ["money", "more"]


def test_what_makes_no_picture_has_no_chart(subtests):
    for columns, rows in [
        (["a:VARCHAR", "n:BIGINT"], []),
        (["a:VARCHAR", "n:BIGINT"], [["x", 1]]),
        (["n:BIGINT", "m:BIGINT"], [[1, 2], [3, 4]]),
        (["a:VARCHAR", "b:VARCHAR"], [["x", "y"], ["z", "w"]]),
        (["a:VARCHAR", "n:BIGINT"], [["x", 1], ["x", 2]]),
        (["a:VARCHAR", "n:BIGINT"], [["x", None], ["y", None]]),
        (["a:VARCHAR", "n:BIGINT"], [[f"x{n}", n] for n in range(41)]),
    ]:
        with subtests.test(columns=columns, rows=rows):
            assert charts.chart_of(answer(columns, rows)) is None


def test_numbers_that_are_none_are_left_out_of_a_chart():
    chart = charts.chart_of(answer(["a:VARCHAR", "n:DOUBLE"], [["x", "nan"], ["y", 2.5], ["z", "inf"]]))
    assert chart.series[0].values == [None, 2.5, None]
    assert "NaN" not in chart.as_json
