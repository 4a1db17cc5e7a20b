"""Figures: a number of today, what it is compared with, and its line, the greatest value on top."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from cms.numbers import HEIGHT, WIDTH, figure, path_of, two_weeks
from dealsite.ask.numbers import DAYS, Day, Number

FRIDAY = date(2026, 11, 27)


def number(name: str, values: dict[int, str], by_now: dict[int, str] | None = None) -> Number:
    """Return a number with some values, by how many days ago they were; until this time of the day there was half."""
    days = [
        Day(
            FRIDAY - timedelta(days=ago),
            Decimal(values.get(ago, 0)),
            Decimal((by_now or {}).get(ago, Decimal(values.get(ago, 0)) / 2)),
        )
        for ago in reversed(range(DAYS))
    ]
    return Number(name, days)


@pytest.mark.parametrize(
    ("values", "path"),
    [("0 5 10", f"M0 30L40 16L{WIDTH} 2"), ("0 0", f"M0 30L{WIDTH} 30"), ("7", "M0 2"), ("", "")],
)
def test_a_line_goes_from_edge_to_edge_with_its_greatest_value_on_top(values, path):
    numbers = [Decimal(value) for value in values.split()]
    assert path_of(numbers, max(numbers, default=Decimal()), Decimal()) == path


@pytest.mark.parametrize(
    ("today", "by_now", "said", "tone"),
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
def test_today_is_compared_with_the_same_day_of_last_week_until_this_time(today, by_now, said, tone):
    shown = figure(number("cart_lines", {0: today, 7: "999"}, {7: by_now}), "/x/")
    assert (shown.change.said, shown.change.tone) == (said, tone)
    assert shown.change.words == "on last Fri by this time"
    assert str(shown.title) == "Put into carts today"


def test_money_is_said_as_money_and_compared_by_percents():
    shown = figure(number("revenue", {0: "12.5", 7: "50"}, {7: "10"}), "/x/")
    assert (shown.value, shown.change.said) == ("€12.50", "+25 %")
    assert figure(number("revenue", {0: "12.5"}), "/x/").change.said == "+€12.50"


def test_how_many_there_are_is_compared_with_yesterday_and_has_one_line():
    shown = figure(number("live_deals", {0: "267", 1: "260", 20: "9000"}), "/x/")
    assert (shown.value, shown.change.said, shown.change.words) == ("267", "+3 %", "since yesterday")
    assert shown.line_before == ""
    assert number("live_deals", {0: "267", 1: "260"}).total == 267


def test_a_figure_has_a_line_of_two_weeks_and_one_of_the_two_before_on_one_scale():
    shown = figure(number("orders", {0: "10", 14: "5"}), "/x/")
    assert shown.line.count("L") == shown.line_before.count("L") == 13
    assert shown.line.endswith(f"L{WIDTH} 2")
    assert shown.line_before.endswith(f"L{WIDTH} 16")
    assert shown.area == f"{shown.line}V{HEIGHT}H0Z"


def test_two_weeks_are_compared_with_the_two_before_until_this_time_of_the_day():
    counted = number("orders", {0: "30", 13: "10", 14: "8", 27: "16", 28: "99"}, {14: "4"})
    assert [int(half) for half in counted.two_weeks] == [40, 20]
    assert two_weeks(counted).said == "+100 %"
    assert [int(day.value) for day in counted.pairs_of_days[0]] == [30, 8]
    chart = counted.chart_of_two_weeks
    assert chart.labels[-1] == "27 Nov"
    assert [(one.is_dashed, one.values[-1]) for one in chart.series] == [(False, 30.0), (True, 8.0)]
