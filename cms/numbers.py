"""The important numbers of the last days: as figures on the overview, as charts and tables on a page of their own.

Editors see what concerns deals; orders, revenue and sign-ups are the back office's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import staff
from dealsite.ask import numbers as lake_numbers
from dealsite.ask.lake import open_lake
from dealsite.ask.numbers import OF_EDITORS, SPAN, WEEK, Number
from dealsite.lake.entities import ADMIN
from dealsite.templatetags.design import grouped, money

WIDTH, HEIGHT, EDGE = 80, 32, 2  # of a figure's line, in the units of its drawing
FEW = 20  # fewer than that are compared by their difference, not by percents


@staff.page("none")
@vary_on_headers("HX-Request")
def numbers(request: EditorRequest) -> HttpResponse:
    """What happened in the last 30 days, day by day."""
    template = "cms/home/_numbers.html" if request.htmx else "cms/home/numbers.html"
    found = of_lake(wait=True)
    is_office = request.user.has_role("back office")
    shown = [number for number in found.values() if is_office or number.name in OF_EDITORS]
    return render(request, template, {"numbers": shown})


def of_lake(*, wait: bool) -> dict[str, Number]:
    """Return the numbers of the last 30 days; none where the lake gives none, or without `wait` not at once."""
    lake = open_lake({ADMIN})  # they are the same for all who see them
    if lake is None:
        return {}
    return lake_numbers.last_30_days(lake, now=timezone.now()) if wait else lake_numbers.known(lake)


@dataclass(frozen=True)
class Change:
    """How a value differs from the one before: `said` is "+12 %", `words` say since when."""

    said: str
    words: str
    tone: str = ""


@dataclass(frozen=True)
class Figure:
    """A number with its name, what it is compared with, and lines of its last two weeks and of the two before."""

    title: str | Promise
    value: str
    address: str
    change: Change
    line: str = ""
    line_before: str = ""

    width, height = WIDTH, HEIGHT

    @property
    def area(self) -> str:
        return f"{self.line}V{HEIGHT}H0Z"


def figure(number: Number, address: str) -> Figure:
    """Return a number of today, compared with the same day of last week by this time; a level with yesterday's."""
    values = [day.value for day in number.days]
    if number.is_level:
        before, now, top, bottom = [], values[-SPAN:], max(values), min(values)
        words, title = _("since yesterday"), str(number.title)
    else:
        before, now, top, bottom = (
            values[-2 * SPAN : -SPAN],
            values[-SPAN:],
            max(values[-2 * SPAN :]),
            Decimal(),
        )
        day = formats.date_format(number.days[-1 - WEEK].day, "D")
        words = _("on last %(day)s by this time") % {"day": day}
        title = _("%(number)s today") % {"number": number.title}
    return Figure(
        title,
        amount_of(number.today, number),
        address,
        _compared(number, number.today, number.before, words),
        path_of(now, top, bottom),
        path_of(before, top, bottom),
    )


def two_weeks(number: Number) -> Change:
    """Return how the last two weeks differ from the two before."""
    now, before = number.two_weeks
    return _compared(number, now, before, _("on the two weeks before"))


def amount_of(value: Decimal, number: Number) -> str:
    """Return a value of a number as its pages show it: as money, or as how many."""
    return money(value) if number.is_money else grouped(int(value))


def _compared(number: Number, now: Decimal, before: Decimal, words: str) -> Change:
    difference = now - before
    if not difference:
        return Change("±0", words)
    tone = "up" if difference > 0 else "down"
    if before >= FEW or (number.is_money and before):
        said = _("%(percent)s %%") % {"percent": f"{round(difference / before * 100):+d}".replace("-", "−")}
    else:
        said = f"{'+' if difference > 0 else '−'}{amount_of(abs(difference), number)}"
    return Change(said, words, tone)


def path_of(values: Sequence[Decimal], top: Decimal, bottom: Decimal) -> str:
    """Return the path of a line through some values, from the left edge to the right; '' for none."""
    if not values:
        return ""
    span = (top - bottom) or Decimal(1)
    step = WIDTH / max(len(values) - 1, 1)
    high = HEIGHT - 2 * EDGE
    points = [
        f"{round(number * step, 1):g} {HEIGHT - EDGE - round(float((value - bottom) / span) * high, 1):g}"
        for number, value in enumerate(values)
    ]
    return "M" + "L".join(points)
