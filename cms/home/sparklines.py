"""A number of the last days as a small line, drawn here, and the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from dealsite.ask.numbers import Number
from dealsite.templatetags.design import grouped, money

DAYS = 14
WIDTH, HEIGHT, EDGE = 260, 56, 4  # in the units of the drawing, which is stretched to its place


@dataclass(frozen=True)
class Sparkline:
    """What the page needs: `line` and `area` are paths, `words` say what is to be seen."""

    name: str
    title: Promise
    today: str
    total: str
    line: str
    area: str
    words: str

    width, height = WIDTH, HEIGHT


def sparkline(number: Number) -> Sparkline:
    """Return the line of a number's last 14 days, the last of which is today (UTC)."""
    days = number.days[-DAYS:]
    values = [value for _day, value in days]
    shown = money if number.is_money else _grouped
    line = path_of(values)
    best_day, best = max(days, key=lambda one: one[1])
    said = (
        _("%(today)s today, %(total)s in %(days)s days; the most was %(best)s on %(day)s.")
        if best
        else _("Nothing in %(days)s days.")
    )
    parts = {
        "today": shown(values[-1]),
        "total": shown(sum(values, Decimal())),
        "days": len(values),
        "best": shown(best),
        "day": formats.date_format(date.fromisoformat(best_day), "j M"),
    }
    return Sparkline(
        name=number.name,
        title=number.title,
        today=str(parts["today"]),
        total=str(parts["total"]),
        line=line,
        area=f"{line}V{HEIGHT}H0Z",
        words=said % parts,
    )


def path_of(values: Sequence[Decimal]) -> str:
    """Return the path of a line through some values, from the left edge to the right; none is below zero."""
    highest = max(values, default=Decimal()) or Decimal(1)
    step = WIDTH / max(len(values) - 1, 1)
    points = [
        f"{round(number * step)} {EDGE + round(float(1 - value / highest) * (HEIGHT - 2 * EDGE))}"
        for number, value in enumerate(values)
    ]
    return "M" + "L".join(points)


def _grouped(value: Decimal) -> str:
    return grouped(int(value))
