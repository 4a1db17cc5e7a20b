"""Questions to the table, measured where their own tests ask them.

    deal = measured(editing.edit)(deal, ...)

The call has to send the requests that the function's @access_pattern says. On the embedded engine its units, and the
lines of the key chart that it touches, are kept for docs/access-patterns.md, which `make docs` writes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import threading
from collections.abc import Iterable
from functools import cache
from inspect import isgenerator
from pathlib import Path
from typing import Any, TypeVar

from dealsite import data
from dealsite.data import keys
from dealsite.data.entities.entity import pattern
from dealsite.data.table.key_templates import Entry
from dealsite.data.table.meters import ACCESS_PATTERNS
from tests.capacity import Units, recorded
from tests.questions import ROOT, Function, budget, in_words, name_of

AsCalled = TypeVar("AsCalled", bound=Function)
engine_kind = ""  # of the test that runs,
asked: set[str] = set()  # and what it measured: the first call is kept


def measured(function: AsCalled) -> AsCalled:
    """Return a function of the data layer as one that is held to the requests that it says."""

    name = name_of(function)

    @functools.wraps(function)
    def ask(*arguments: Any, **named: Any) -> Any:
        if engine_kind != "native" or threading.current_thread() is not threading.main_thread():
            return function(*arguments, **named)
        with recorded() as units:
            answer = function(*arguments, **named)
            if isgenerator(answer):
                answer = iter(list(answer))
        said = ACCESS_PATTERNS[function].requests
        assert units.operations == budget(said), f"{name} says {said}; sent: {in_words(units.operations)}"
        assert (units.read, units.write + units.index) == (units.reported_read, units.reported_write)
        if name not in asked:
            asked.add(name)
            _keep(name, units)
        return answer

    return ask  # type: ignore[return-value]  # of the same signature


def _keep(name: str, units: Units) -> None:
    cells = [_in_words(units.touched), f"{units.read:g}", f"{units.write} + {units.index}"]
    folder = measured_here()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(cells), "utf-8")


@cache
def measured_here() -> Path:
    """Return the folder for what questions cost as the data layer is now."""
    sources = [path.read_bytes() for path in sorted(Path(data.__path__[0]).rglob("*.py"))]
    return ROOT / "build" / "measured" / hashlib.sha256(b"".join(sources)).hexdigest()[:16]


def _in_words(touched: Iterable[tuple[str, str, str | None]]) -> str:
    """Say which lines of the key chart are touched, each partition once: `DEAL#{deal}`, GSI1 `DEALS#{day}` / ..."""
    found = {line for row in touched for line in _lines(*row)}
    partitions: dict[tuple[str, str], list[str]] = {}
    for entry in (line.entry for line in keys.CHART.values()):
        if entry in found:
            sorts = partitions.setdefault((entry.index, _plain(entry.partition)), [])
            if (sort := _plain(entry.sort)) not in sorts:
                sorts.append(sort)
    whole = {f"all of {index or 'the table'}" for index, partition, _ in touched if not partition}
    return "; ".join([*sorted(whole), *(_partition(*where, sorts) for where, sorts in partitions.items())])


def _lines(index: str, partition: str, sort: str | None) -> list[Entry]:
    entries = [line.entry for line in keys.CHART.values() if line.entry.index == index]
    if sort is None:
        return [one for one in entries if pattern((one.partition_pieces, ())).fullmatch(f"{partition}\n")]
    text = f"{partition}\n{sort}"
    return [one for one in entries if pattern((one.partition_pieces, one.sort_pieces)).fullmatch(text)][:1]


def _plain(template: str) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", r"{\1}", template)


def _partition(index: str, partition: str, sorts: list[str]) -> str:
    others = ", ".join("itself" if sort == partition else f"`{sort}`" for sort in sorts if sort)
    alone = sorts in ([partition], [""])
    return f"{index} `{partition}`".strip() + ("" if alone else f" / {others}")
