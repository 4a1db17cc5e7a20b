"""The important numbers of the last 30 days, for the CMS's overview; asked at most once a minute."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.ask import runs
from dealsite.ask.charts import Chart, Series, line_chart
from dealsite.ask.lake import Lake
from dealsite.ask.runs import Answer
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import new_ulid

SQL = (Path(__file__).parent / "numbers.sql").read_text("utf-8")
NUMBERS = {
    "orders": gettext_lazy("Orders"),
    "revenue": gettext_lazy("Revenue"),
    "sign_ups": gettext_lazy("Sign-ups"),
    "live_deals": gettext_lazy("Live deals"),
    "interests": gettext_lazy("Likes and watches"),
    "cart_lines": gettext_lazy("Put into carts"),
    "new_deals": gettext_lazy("New deals"),
    "messages": gettext_lazy("Messages delivered"),
}
OF_EDITORS = (
    "live_deals",
    "interests",
    "cart_lines",
    "new_deals",
    "messages",
)  # others are the back office's
DAYS, SPAN, WEEK = 30, 14, 7
FRESH = 60.0  # seconds
PATIENCE = 2.5  # seconds; a page waits no longer
SITE = " site"  # asks in nobody's name: no user name has a space


@dataclass(frozen=True, slots=True)
class Day:
    """A number of a day (UTC), and how much of it there was by this time of the day."""

    day: date
    value: Decimal = Decimal()
    by_now: Decimal = Decimal()


@dataclass(frozen=True, slots=True)
class Number:
    """One number of each of the last 30 days, the last of which is today."""

    name: str
    days: Sequence[Day]

    @property
    def title(self) -> Promise:
        return NUMBERS[self.name]

    @property
    def is_money(self) -> bool:
        return self.name == "revenue"

    @property
    def is_level(self) -> bool:
        """Whether it says how many there are, so that days do not add up."""
        return self.name == "live_deals"

    @property
    def total(self) -> Decimal:
        return self.today if self.is_level else _sum(self.days)

    @property
    def today(self) -> Decimal:
        return self.days[-1].value

    @property
    def before(self) -> Decimal:
        """What today is measured by: a level by yesterday's, else the same day of last week by this time of the day."""
        return self.days[-2].value if self.is_level else self.days[-1 - WEEK].by_now

    @property
    def two_weeks(self) -> tuple[Decimal, Decimal]:
        """The sum of the last two weeks, and of the two before them until this time of the day."""
        *earlier, last = self.days[-2 * SPAN : -SPAN]
        return _sum(self.days[-SPAN:]), _sum(earlier) + last.by_now

    @property
    def pairs_of_days(self) -> list[tuple[Day, Day]]:
        """Each day of the last two weeks with the one two weeks before, the last one first."""
        return list(zip(self.days[-SPAN:], self.days[-2 * SPAN : -SPAN], strict=True))[::-1]

    @property
    def chart(self) -> Chart:
        """All days as one line."""
        series = Series(str(self.title), [float(day.value) for day in self.days])
        return line_chart(_("day"), [str(day.day) for day in self.days], [series])

    @property
    def chart_of_two_weeks(self) -> Chart:
        """The last two weeks, and the two before them as a dashed line."""
        labels = [formats.date_format(day.day, "j M") for day in self.days[-SPAN:]]
        lines = [
            Series(name, [float(day.value) for day in days], is_dashed=is_dashed)
            for name, days, is_dashed in (
                (str(self.title), self.days[-SPAN:], False),
                (_("two weeks before"), self.days[-2 * SPAN : -SPAN], True),
            )
        ]
        return line_chart(_("day"), labels, lines)


def _sum(days: Sequence[Day]) -> Decimal:
    return sum((day.value for day in days), Decimal())


_lock = threading.Lock()
_known: dict[Path, tuple[float, dict[str, Number]]] = {}


def known(lake: Lake) -> dict[str, Number]:
    """Return the numbers by their names if they were asked for within a minute, else none."""
    asked_at, numbers = _known.get(lake.folder, (-FRESH, {}))
    return numbers if time.monotonic() - asked_at < FRESH else {}


def last_30_days(lake: Lake, *, now: datetime) -> dict[str, Number]:
    """Return the numbers by their names, up to a minute old; none if the lake does not give them in time."""
    with _lock:
        if numbers := known(lake):
            return numbers
        try:
            run = runs.start(SQL, run_id=new_ulid(now), by=SITE, lake=lake, patience=PATIENCE)
            numbers = _numbers(run.answer(), now.date())
        except DataError:
            return {}
        runs.forget(run)
        _known[lake.folder] = time.monotonic(), numbers
        return numbers


def forget() -> None:
    """Ask again next time."""
    with _lock:
        _known.clear()


def _numbers(answer: Answer, today: date) -> dict[str, Number]:
    found = {name: [Day(today - timedelta(days=ago)) for ago in reversed(range(DAYS))] for name in NUMBERS}
    for name, ago, *values in answer.rows:
        read = Decimal if name == "revenue" else _whole
        days = found[name]
        days[-1 - int(ago)] = Day(days[-1 - int(ago)].day, *(read(str(value)) for value in values))
    return {name: Number(name, days) for name, days in found.items()}


def _whole(text: str) -> Decimal:
    return Decimal(int(Decimal(text)))  # beside money, the lake gives all of them cents
