"""Which chart suits an answer: lines over time, bars over names, or none."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal, InvalidOperation
from operator import itemgetter
from typing import Any

from django.utils.formats import get_format, number_format
from django.utils.translation import gettext as _

from dealsite.ask.runs import Answer

FEWEST, MOST_BARS, MOST_POINTS = 2, 40, 1_000
MOST_SERIES = 4
ALIKE = 25  # series whose greatest values differ by more than this factor do not share one axis
DAY_OR_MONTH = re.compile(r"\d{4}-\d{2}(-\d{2})?")


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one bar of each group; a value is None where the answer has none."""

    name: str
    values: Sequence[float | None]
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of kind `line` or `bar`, and in `text` what it shows, for who does not see it."""

    kind: str
    labels: list[str]
    series: list[Series]
    text: str = field(default="")

    @property
    def as_json(self) -> str:
        """What static/cms/shared/charts.js draws."""
        series = [asdict(one) for one in self.series]
        return json.dumps({"kind": self.kind, "labels": self.labels, "series": series})


def chart_of(answer: Answer) -> Chart | None:
    """Return the chart that suits an answer, or None: too little, too much, or nothing to count."""
    rows = answer.rows
    names = [n for n, column in enumerate(answer.columns) if not column.is_number]
    numbers = [n for n, column in enumerate(answer.columns) if column.is_number]
    if len(rows) < FEWEST or not names or not numbers:
        return None
    label = names[0]
    labels = [_label(row[label]) for row in rows]
    over_time = answer.columns[label].is_time or all(map(DAY_OR_MONTH.fullmatch, labels))
    if len(set(labels)) < len(labels) or len(rows) > (MOST_POINTS if over_time else MOST_BARS):
        return None
    if over_time:
        order = sorted(range(len(rows)), key=labels.__getitem__)
        rows, labels = [rows[n] for n in order], [labels[n] for n in order]
    # Pieces and money do not share an axis, nor do thousands and a few.
    whole = answer.columns[numbers[0]].is_whole
    numbers = [n for n in numbers if answer.columns[n].is_whole == whole]
    series = _alike([Series(answer.columns[n].name, [_number(row[n]) for row in rows]) for n in numbers])
    if not series:
        return None
    kind = "line" if over_time else "bar"
    return Chart(kind, labels, series, _said(kind, answer.columns[label].name, labels, series))


def line_chart(label: str, labels: list[str], series: list[Series]) -> Chart:
    """Return a chart of lines over what `label` names."""
    return Chart("line", labels, series, _said("line", label, labels, series))


def _label(value: Any) -> str:
    return "–" if value is None else str(value).removesuffix(" 00:00:00")


def _number(value: Any) -> float | None:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return float(number) if number.is_finite() else None


def _alike(series: list[Series]) -> list[Series]:
    """Return the first series and those that can be read beside it on one axis."""
    kept: list[Series] = []
    for one in series[:MOST_SERIES]:
        most = _most(one)
        if not kept:
            kept = [one] if any(value is not None for value in one.values) else []
        elif most and 1 / ALIKE <= most / (_most(kept[0]) or most) <= ALIKE:
            kept.append(one)
    return kept


def _most(series: Series) -> float:
    return max((abs(value) for value in series.values if value is not None), default=0.0)


def _said(kind: str, label: str, labels: list[str], series: list[Series]) -> str:
    """Say in words what the chart shows: its form, its span, and each series' extremes."""
    span = {"label": label, "count": len(labels), "first": labels[0], "last": labels[-1]}
    if kind == "bar":
        parts = [_("Bar chart by %(label)s, %(count)d values from %(first)s to %(last)s.") % span]
    else:
        parts = [_("Line chart by %(label)s, %(count)d values from %(first)s to %(last)s.") % span]
    for one in series:
        there = [(value, name) for value, name in zip(one.values, labels, strict=True) if value is not None]
        if there:
            (most, at_most), (least, at_least) = (pick(there, key=itemgetter(0)) for pick in (max, min))
            extremes = {"name": one.name, "at_most": at_most, "at_least": at_least}
            extremes |= {"most": _plain(most), "least": _plain(least)}
            parts.append(
                _("%(name)s: at most %(most)s (%(at_most)s), at least %(least)s (%(at_least)s).") % extremes
            )
    return " ".join(parts)


def _plain(number: float) -> str:
    written = number_format(number, 2, force_grouping=True)
    return written.rstrip("0").rstrip(get_format("DECIMAL_SEPARATOR"))
