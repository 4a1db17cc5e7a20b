"""The important numbers of the last 30 days, for the CMS's first page; asked at most once a minute."""

import threading
import time
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from dealsite.ask import charts, runs
from dealsite.ask.answers import Answer
from dealsite.ask.charts import Chart
from dealsite.ask.lake import Lake
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import new_ulid

SQL = (Path(__file__).parent / "numbers.sql").read_text("utf-8")
NUMBERS = {
    "orders": _("Orders"),
    "revenue": _("Revenue"),
    "sign_ups": _("Sign-ups"),
    "cart_lines": _("Put into carts"),
    "new_deals": _("New deals"),
    "interests": _("Likes and watches"),
    "messages": _("Messages delivered"),
}
OF_EDITORS = ("new_deals", "cart_lines", "interests", "messages")  # the others are the back office's
FRESH = 60.0  # seconds
PATIENCE = 2.5  # seconds; a page waits no longer
SITE = " site"  # asks in nobody's name: no user name has a space


@dataclass(frozen=True, slots=True)
class Number:
    """One number of each of the last 30 days, and their sum."""

    name: str
    title: Promise
    total: Decimal
    today: Decimal
    days: list[tuple[str, Decimal]]
    chart: Chart | None

    @property
    def is_money(self) -> bool:
        return self.name == "revenue"


_lock = threading.Lock()
# By lake and language: charts say in words what they show.
_known: dict[tuple[Path, str | None], tuple[float, list[Number]]] = {}


def last_30_days(lake: Lake, *, now: datetime) -> list[Number]:
    """Return the numbers, up to a minute old; an empty list if the lake does not give them in time."""
    kept = lake.folder, get_language()
    with _lock:
        asked_at, numbers = _known.get(kept, (-FRESH, []))
        if numbers and time.monotonic() - asked_at < FRESH:
            return numbers
        try:
            run = runs.start(SQL, run_id=new_ulid(now), by=SITE, lake=lake, patience=PATIENCE)
            numbers = _numbers(run.answer())
        except DataError:
            return []
        runs.forget(run)
        _known[kept] = time.monotonic(), numbers
        return numbers


def forget() -> None:
    """Ask again next time."""
    with _lock:
        _known.clear()


def _numbers(answer: Answer) -> list[Number]:
    place = {column.name: n for n, column in enumerate(answer.columns)}
    found = []
    for name, title in NUMBERS.items():
        days = [(str(row[place["day"]]), Decimal(str(row[place[name]]))) for row in answer.rows]
        chart = charts.chart_of_column(answer, "day", name)
        found.append(Number(name, title, sum((n for _day, n in days), Decimal()), days[-1][1], days, chart))
    return found
