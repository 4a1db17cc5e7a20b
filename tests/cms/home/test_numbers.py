"""Figures: a number of a day, what it is compared with, and its line, the greatest value on top."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from cms.numbers import HEIGHT, WIDTH, figure, figure_of_today, path_of, two_weeks
from dealsite.ask.numbers import DAYS, Day, Number

FRIDAY = date(2026, 11, 27)
TODAY = FRIDAY + timedelta(days=1)


def number(name: str, values: dict[int, str]) -> Number:
    """Return a number with some values, by how many days ago they were."""
    days = [Day(FRIDAY - timedelta(days=ago), Decimal(values.get(ago, 0))) for ago in reversed(range(DAYS))]
    return Number(name, days)


@pytest.mark.parametrize(
    ("values", "path"),
    [("0 5 10", f"M0 30L40 16L{WIDTH} 2"), ("0 0", f"M0 30L{WIDTH} 30"), ("7", "M0 2"), ("", "")],
)
def test_a_line_goes_from_edge_to_edge_with_its_greatest_value_on_top(values, path):
    numbers = [Decimal(value) for value in values.split()]
    assert path_of(numbers, max(numbers, default=Decimal()), Decimal()) == path


@pytest.mark.parametrize(
    ("value", "before", "said", "tone"),
    [
        ("3", "2", "+1", "up"),
        ("2", "5", "−3", "down"),
        ("5", "5", "±0", ""),
        ("0", "0", "±0", ""),
        ("30", "20", "+50 %", "up"),
        ("15", "20", "−25 %", "down"),
        ("1204", "0", "+1,204", "up"),
    ],
)
def test_a_day_is_compared_with_the_same_day_of_the_week_before(value, before, said, tone):
    shown = figure(number("cart_lines", {0: value, 7: before}), "/x/", today=TODAY)
    assert (shown.change.said, shown.change.tone) == (said, tone)
    assert shown.change.words == "on Fri, 20 Nov"
    assert str(shown.title) == "Put into carts yesterday"
    later = figure(number("cart_lines", {0: value}), "/x/", today=TODAY + timedelta(days=1))
    assert str(later.title) == "Put into carts on Fri, 27 Nov"


def test_today_is_compared_with_the_same_day_of_last_week_by_this_time():
    found = number("revenue", {0: "70"})
    shown = figure_of_today(found, Decimal("12.5"), Decimal(10), FRIDAY, "/x/")
    assert (shown.title, shown.value, shown.change.said) == ("Revenue today", "€12.50", "+25 %")
    assert shown.change.words == "on last Fri by this time"
    assert figure_of_today(found, Decimal("12.5"), Decimal(), FRIDAY, "/x/").change.said == "+€12.50"
    assert figure_of_today(Number("orders", ()), Decimal(3), Decimal(2), FRIDAY, "/x/").line == ""


def test_how_many_there_are_is_compared_with_the_day_before_and_has_one_line():
    shown = figure(number("live_deals", {0: "267", 1: "260", 20: "9000"}), "/x/", today=TODAY)
    assert (shown.value, shown.change.said, shown.change.words) == ("267", "+3 %", "on Thu, 26 Nov")
    assert shown.line_before == ""
    assert number("live_deals", {0: "267", 1: "260"}).total == 267


def test_a_figure_has_a_line_of_two_weeks_and_one_of_the_two_before_on_one_scale():
    shown = figure(number("orders", {0: "10", 14: "5"}), "/x/", today=TODAY)
    assert shown.line.count("L") == shown.line_before.count("L") == 13
    assert shown.line.endswith(f"L{WIDTH} 2")
    assert shown.line_before.endswith(f"L{WIDTH} 16")
    assert shown.area == f"{shown.line}V{HEIGHT}H0Z"


def test_two_weeks_are_compared_with_the_two_before():
    counted = number("orders", {0: "30", 13: "10", 14: "8", 27: "12", 28: "99"})
    assert [int(half) for half in counted.two_weeks] == [40, 20]
    assert two_weeks(counted).said == "+100 %"
    assert [int(day.value) for day in counted.pairs_of_days[0]] == [30, 8]
    chart = counted.chart_of_two_weeks
    assert chart.labels[-1] == "27 Nov"
    assert [(one.is_dashed, one.values[-1]) for one in chart.series] == [(False, 30.0), (True, 8.0)]
