"""The important numbers of the last days: as figures on the overview, as charts and tables on a page of their own.

Editors see what concerns deals; orders, revenue and sign-ups are the back office's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import staff
from dealsite.ask import numbers as snapshot_numbers
from dealsite.ask.numbers import OF_EDITORS, SPAN, Day, Number
from dealsite.lake import snapshots
from dealsite.text.writing import grouped, money

WIDTH, HEIGHT, EDGE = 80, 32, 2  # of a figure's line, in the units of its drawing
FEW = 20  # fewer than that are compared by their difference, not by percents


@staff.page("none")
def numbers(request: EditorRequest) -> HttpResponse:
    """What happened in the last 30 days, day by day."""
    is_office = request.user.has_role("back office")
    shown = [number for number in of_snapshot().values() if is_office or number.name in OF_EDITORS]
    return render(request, "cms/home/numbers.html", {"numbers": shown})


def of_snapshot() -> dict[str, Number]:
    """Return the numbers of the newest snapshot by their names; none if there is none. No requests."""
    folder = snapshots.newest()
    return snapshot_numbers.of(folder) if folder else {}


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


def figure(number: Number, address: str, *, today: date) -> Figure:
    """Return a number of its last day, compared with the same day of the week before; a level with the day before."""
    words = _("on %(day)s") % {"day": said_day(number.before)}
    said = {"number": number.title, "day": said_day(number.last)}
    is_yesterday = number.last.day == today - timedelta(days=1)
    title = _("%(number)s yesterday") % said if is_yesterday else _("%(number)s on %(day)s") % said
    change = _compared(number, number.last.value, number.before.value, words)
    return Figure(title, amount_of(number.last.value, number), address, change, *lines(number))


def figure_of_today(number: Number, today: Decimal, before: Decimal, day: date, address: str) -> Figure:
    """Return a number of today so far, compared with what there was by this time of a day of last week."""
    words = _("on last %(day)s by this time") % {"day": formats.date_format(day, "D")}
    title = _("%(number)s today") % {"number": number.title}
    change = _compared(number, today, before, words)
    return Figure(title, amount_of(today, number), address, change, *lines(number))


def said_day(day: Day) -> str:
    return formats.date_format(day.day, "D, j M")


def lines(number: Number) -> tuple[str, str]:
    """Return the lines of the last two weeks and of the two before; a level has the first alone."""
    if not number.days:
        return "", ""
    values = [day.value for day in number.days]
    if number.is_level:
        return path_of(values[-SPAN:], max(values), min(values)), ""
    before, top = values[-2 * SPAN : -SPAN], max(values[-2 * SPAN :])
    return path_of(values[-SPAN:], top, Decimal()), path_of(before, top, Decimal())


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
