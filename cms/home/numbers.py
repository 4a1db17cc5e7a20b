"""The important numbers of the last days: small on the CMS's first page, as charts and tables on a page of their own.

Editors see what concerns deals; orders, revenue and sign-ups are the back office's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.ask import numbers as lake_numbers
from dealsite.ask.lake import open_lake
from dealsite.ask.numbers import OF_EDITORS, Number
from dealsite.lake.entities import ADMIN
from dealsite.templatetags.design import grouped, money
from dealsite.web.pages import page, part

DAYS = 14
WIDTH, HEIGHT, EDGE = 260, 56, 4  # in the units of the drawing, which is stretched to its place


@page("none")
@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def numbers(request: EditorRequest) -> HttpResponse:
    """What happened in the last 30 days, day by day."""
    template = "cms/home/_numbers.html" if request.htmx else "cms/home/numbers.html"
    return render(request, template, {"numbers": _numbers_for(request)})


@part("none")
@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def daily_numbers(request: EditorRequest) -> HttpResponse:
    """The same of the last two weeks as small lines: a part of the first page, which does not wait for it."""
    if not request.htmx:
        return redirect("cms_numbers")
    page = {"numbers": [sparkline(number) for number in _numbers_for(request) if number.days]}
    return render(request, "cms/home/_daily_numbers.html", page)


def _numbers_for(request: EditorRequest) -> list[Number]:
    """Return the numbers that somebody may see; none where the lake gives none in time."""
    lake = open_lake({ADMIN})  # they are the same for all who see them
    found = lake_numbers.last_30_days(lake, now=timezone.now()) if lake else []
    if request.user.has_role("back office"):
        return found
    return [number for number in found if number.name in OF_EDITORS]


@dataclass(frozen=True)
class Sparkline:
    """A number of the last days as a small line: `line` and `area` are paths, `words` say what is to be seen."""

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
    said = _("%(today)s today, %(total)s in %(days)s days; the most was %(best)s on %(day)s.")
    said = said if best else _("Nothing in %(days)s days.")
    today, total = shown(values[-1]), shown(sum(values, Decimal()))
    day = formats.date_format(date.fromisoformat(best_day), "j M")
    words = said % {"today": today, "total": total, "days": len(values), "best": shown(best), "day": day}
    return Sparkline(number.name, number.title, today, total, line, f"{line}V{HEIGHT}H0Z", words)


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
