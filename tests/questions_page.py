"""The tables of questions in docs/access-patterns.md: what each is, and the capacity units that its example takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby

from dealsite.data.table.access_patterns import ACCESS_PATTERNS
from tests.questions import QUESTIONS, ROOT, room_of

PAGE = ROOT / "docs" / "access-patterns.md"
HOW_TO_WRITE = (
    "UPDATE_DOCS=1 pytest tests/site/test_questions.py tests/site/test_capacity.py writes the tables"
)
COLUMNS = ("question", "partition", "sort key", "function", "requests", "read units", "write units")
KEY = re.compile(r"[^\s,;()]*#[^\s,;()]*|\b[A-Z]{4,}\b")


def _parts() -> tuple[str, str, str]:
    """Return the page's text before the tables, the tables, and what follows them."""
    before, heading, rest = PAGE.read_text("utf-8").partition("## Questions\n")
    intro, first, rest = rest.partition("\n### ")
    tables, last, after = rest.partition("\n## ")
    return before + heading + intro, (first + tables).removeprefix("\n"), last + after


def listed() -> str:
    """Return the tables as the page has them."""
    return _parts()[1]


def units() -> dict[str, list[str]]:
    """Return the read and write units of each question, as the page has them."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in listed().splitlines()]
    return {row[3].strip("`"): row[5:] for row in rows if len(row) == len(COLUMNS) and row[3][0] == "`"}


def tables(measured: Mapping[str, list[str]]) -> str:
    """Return the tables as the code says them: a table for each room, with the units that were measured."""
    head = f"| {' | '.join(COLUMNS)} |\n|---|---|---|---|---|---:|---:|\n"
    return "\n".join(
        f"### {room.capitalize()}\n\n{head}"
        + "".join(_row(name, measured.get(name, ["", ""])) for name in names)
        for room, names in groupby(QUESTIONS, lambda name: room_of(QUESTIONS[name]))
    )


def _row(name: str, measured: list[str]) -> str:
    pattern = ACCESS_PATTERNS[QUESTIONS[name]]
    partition, _, sort = KEY.sub(r"`\g<0>`", pattern.keys).partition(" / ")
    cells = [pattern.question, partition, sort or "itself", f"`{name}`", pattern.requests, *measured]
    return f"| {' | '.join(cells)} |\n"


def write(measured: Mapping[str, list[str]]) -> None:
    """Write the tables anew."""
    before, _, after = _parts()
    PAGE.write_text(f"{before}\n{tables(measured)}{after}", "utf-8")
