"""What a question was answered: columns, rows, and the same as CSV that spreadsheets may open."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dealsite.text.spreadsheets import safe_cell

NUMBERS = re.compile(r"(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U\w*INT|FLOAT|DOUBLE|DECIMAL.*)")
TIMES = re.compile(r"(DATE|TIMESTAMP.*)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer; `type` is DuckDB's."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        return NUMBERS.fullmatch(self.type) is not None

    @property
    def is_whole(self) -> bool:
        return self.is_number and "INT" in self.type

    @property
    def is_time(self) -> bool:
        return TIMES.fullmatch(self.type) is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """All rows of an answer as the child wrote them; `more` if there were more than an answer may have."""

    columns: list[Column]
    rows: list[list[Any]]
    more: bool
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question was not answered, in words for whoever asked; `again` if only files went meanwhile."""

    why: str
    again: bool = False


def read(path: Path) -> Answer | Refusal | None:
    """Return what a child has written, or None if it broke off."""
    try:
        lines = path.read_text("ascii").splitlines()
        parts = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return None
    if not parts or not isinstance(parts[-1], dict):
        return None
    if "refused" in parts[-1]:
        return Refusal(str(parts[-1]["refused"]), bool(parts[-1].get("again")))
    if "end" not in parts[-1] or "columns" not in parts[0]:
        return None
    columns = [Column(name, kind) for name, kind in parts[0]["columns"]]
    end = parts[-1]["end"]
    return Answer(columns, parts[1:-1], bool(end["more"]), int(end["milliseconds"]))


def as_csv(answer: Answer) -> Iterator[str]:
    """Yield an answer as CSV, line by line; no cell of it is a formula to a spreadsheet."""
    yield "\ufeff" + _csv_line([safe_cell(column.name) for column in answer.columns])
    for row in answer.rows:
        cells = zip(answer.columns, map(_text, row), strict=True)
        yield _csv_line([text if column.is_number else safe_cell(text) for column, text in cells])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _text(value: Any) -> str:
    return "" if value is None else str(value)
