"""Amounts and times as spreadsheets hold them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from dealsite.imports import formats
from dealsite.imports.formats import COMMA, DAY_FIRST, MONTH_FIRST, POINT, Unreadable

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "decimal", "read"),
    [
        ("12", POINT, "12"),
        ("12.5", POINT, "12.5"),
        ("1,299.90", POINT, "1299.90"),
        ("$1,299.90", POINT, "1299.90"),
        ("1'299.90 CHF", POINT, "1299.90"),
        ("1,299", POINT, "1299"),
        ("12,50", COMMA, "12.50"),
        ("1.299,90 €", COMMA, "1299.90"),
        ("EUR 1.299,90", COMMA, "1299.90"),
        ("1 299,90", COMMA, "1299.90"),
        ("1\u00a0299,90\u00a0€", COMMA, "1299.90"),
        ("12,-", COMMA, "12"),
        ("12,--", COMMA, "12"),
        ("1.299", COMMA, "1299"),
    ],
)
def test_an_amount_is_read_however_it_is_written(text, decimal, read):
    assert formats.amount(text, decimal) == read


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        *(("12,50", POINT), ("12.50", COMMA), ("1,29", POINT), ("1.29", COMMA), ("", POINT), ("-5", POINT)),
        *(
            ("1e3", POINT),
            ("NaN", COMMA),
            ("١٢", POINT),
            ("=1+1", POINT),
            ("1,2,3", COMMA),
            ("12 apples", POINT),
        ),
        ("9" * 400_000, POINT),
    ],
    ids=str,
)
def test_what_is_no_amount_is_said_so(text, decimal):
    with pytest.raises(Unreadable, match="Write the amount as 1299"):
        formats.amount(text, decimal)


@pytest.mark.parametrize(
    ("texts", "decimal"),
    [
        (["12,50", "9,99"], COMMA),
        (["12.50", "1,299.00"], POINT),
        (["1.299,00 €"], COMMA),
        (["12", "15"], POINT),
        ([], POINT),
        (["12,-"], COMMA),
    ],
)
def test_what_stands_before_the_cents_is_guessed(texts, decimal):
    assert formats.guess_decimal(texts) == decimal


@pytest.mark.parametrize(
    ("text", "dates", "hour"),
    [
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
    ],
)
def test_a_time_is_of_the_zone_unless_it_names_one(text, dates, hour):
    moment = formats.moment(text, dates, BERLIN)
    assert (moment.astimezone(UTC) - datetime(2026, 11, 21, tzinfo=UTC)).total_seconds() // 3600 == hour


def test_a_day_without_a_time_ends_with_its_last_second():
    assert formats.moment("21.11.2026", DAY_FIRST, BERLIN, ends=True) == datetime(
        2026, 11, 21, 22, 59, 59, tzinfo=UTC
    )
    assert formats.moment("2026-11-21", DAY_FIRST, BERLIN, ends=True).hour == 22
    assert formats.moment("20261121", DAY_FIRST, BERLIN, ends=True).hour == 22
    assert formats.moment("2026-11-21 00:00", DAY_FIRST, BERLIN, ends=True).hour == 23


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "31.02.2026", "32.01.2026", "21.11.2026 25:00", "21.13.2026", "21.11.2026 13:00 pm"),
        *("١٢.١١.2026", "=NOW()", "0", "21.11.2026" * 50_000),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_time_is_said_so(text):
    with pytest.raises(Unreadable):
        formats.moment(text, DAY_FIRST, BERLIN)


@pytest.mark.parametrize("text", ["2026-03-29 02:30", "25.10.2026 02:30"])
def test_a_time_that_clocks_skip_or_show_twice_is_refused(text):
    with pytest.raises(Unreadable, match="Clocks in Europe/Berlin are changed"):
        formats.moment(text, DAY_FIRST, BERLIN)


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["21.11.2026", "01.02.2026"], DAY_FIRST),
        (["11/21/2026"], MONTH_FIRST),
        (["01/02/2026 9:00 AM"], MONTH_FIRST),
        (["01/02/2026"], DAY_FIRST),
        (["2026-11-21"], DAY_FIRST),
        ([], DAY_FIRST),
    ],
)
def test_whether_the_day_comes_first_is_guessed(texts, dates):
    assert formats.guess_dates(texts) == dates
