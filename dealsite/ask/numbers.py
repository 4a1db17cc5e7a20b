"""The important numbers of the last 30 days, for the CMS: counted as a snapshot is made, and kept beside its files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.ask.charts import Chart, Series, line_chart
from dealsite.lake.entities import ENTITIES
from dealsite.lake.snapshots import query

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
FILE = "numbers.json"
MEMORY = "500MB"


@dataclass(frozen=True, slots=True)
class Day:
    """A number of a day (UTC)."""

    day: date
    value: Decimal = Decimal()


@dataclass(frozen=True, slots=True)
class Number:
    """One number of each of the 30 days before a snapshot's."""

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
        return self.last.value if self.is_level else _sum(self.days)

    @property
    def last(self) -> Day:
        return self.days[-1]

    @property
    def before(self) -> Day:
        """What the last day is measured by: a level by the day before, else the same day of the week before."""
        return self.days[-2 if self.is_level else -1 - WEEK]

    @property
    def two_weeks(self) -> tuple[Decimal, Decimal]:
        """The sum of the last two weeks, and of the two before them."""
        return _sum(self.days[-SPAN:]), _sum(self.days[-2 * SPAN : -SPAN])

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


def write(snapshot: Path, *, last: date) -> None:
    """Count the numbers of the 30 days (UTC) until `last` in a snapshot, and keep them in its folder."""
    import duckdb  # which no page needs

    with duckdb.connect(config={"memory_limit": MEMORY, "threads": "1", "temp_directory": ""}) as connection:
        for entity in ENTITIES:
            connection.execute(f'CREATE VIEW "{entity.table}" AS {query(snapshot, entity)}')
        rows = connection.execute(SQL, {"last": last}).fetchall()
    counted = [[name, (last - day).days, value] for name, day, value in rows]
    (snapshot / FILE).write_text(json.dumps({"last": last.isoformat(), "counted": counted}), "ascii")


def of(snapshot: Path) -> dict[str, Number]:
    """Return the numbers of a snapshot by their names; none if it has none. No requests."""
    try:
        kept = json.loads((snapshot / FILE).read_text("ascii"))
    except FileNotFoundError:
        return {}
    last = date.fromisoformat(kept["last"])
    found = {name: [Day(last - timedelta(days=ago)) for ago in reversed(range(DAYS))] for name in NUMBERS}
    for name, ago, value in kept["counted"]:
        days = found[name]
        days[-1 - ago] = Day(days[-1 - ago].day, _exact(name, value))
    return {name: Number(name, days) for name, days in found.items()}


def _exact(name: str, text: str) -> Decimal:
    return Decimal(text) if name == "revenue" else Decimal(int(Decimal(text)))  # beside money, all have cents
