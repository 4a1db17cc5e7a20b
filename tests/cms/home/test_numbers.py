"""Small lines: from the left edge to the right, the greatest value on top, and the same in words."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cms.home.numbers import DAYS, HEIGHT, WIDTH, path_of, sparkline
from dealsite.ask.numbers import NUMBERS, Number


def number(name: str, *values: str) -> Number:
    days = [(f"2026-11-{day:02d}", Decimal(value)) for day, value in enumerate(values, 1)]
    total = sum((value for _day, value in days), Decimal())
    return Number(name, NUMBERS[name], total, days[-1][1], days, None)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ("0 5 10", f"M0 52L130 28L{WIDTH} 4"),
        ("3 3", f"M0 4L{WIDTH} 4"),
        ("0 0", f"M0 52L{WIDTH} 52"),
        ("7", "M0 4"),
        ("", "M"),
    ],
)
def test_a_line_goes_from_edge_to_edge_with_its_greatest_value_on_top(values, path):
    assert path_of([Decimal(value) for value in values.split()]) == path


def test_words_say_what_is_to_be_seen():
    line = sparkline(number("new_deals", "1", "1200", "3"))
    assert line.words == "3 today, 1,204 in 3 days; the most was 1,200 on 2 Nov."
    assert (line.today, line.total, str(line.title)) == ("3", "1,204", "New deals")
    assert line.area == f"{line.line}V{HEIGHT}H0Z"


def test_money_is_said_as_money():
    assert sparkline(number("revenue", "0", "12.5")).words == (
        "€12.50 today, €12.50 in 2 days; the most was €12.50 on 2 Nov."
    )


def test_nothing_is_said_to_be_nothing():
    assert sparkline(number("orders", *["0"] * 20)).words == f"Nothing in {DAYS} days."


def test_only_the_last_days_are_drawn():
    line = sparkline(number("orders", *map(str, range(1, 31))))
    assert line.line.count("L") == DAYS - 1
    assert line.total == str(sum(range(17, 31)))
