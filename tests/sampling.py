"""Which tests a run takes: `--run=quick` is make test, `thorough` what make test-all adds, `release` make test-release.

Without `--run`, every test runs. Of tests marked `sample(quick=4, whole=2)`, make test takes one in four and make
test-all one in two: others each day, the same again with `SEED=` of that day, which heads of runs and failures say.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import pytest

RUNS = ("quick", "thorough", "release")
PARTS = 12  # of the thorough tests: CI runs one of them


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--run",
        choices=RUNS,
        help="the tests of make test, those that make test-all adds, or make test-release",
    )
    parser.addoption(
        "--part", type=int, help=f"of {PARTS} parts of the tests that this run would take, the one to take"
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("SEED", datetime.now(UTC).date().isoformat())  # which the workers inherit
    os.environ["TESTS_RUN"] = config.getoption("run") or ""


def pytest_report_header(config: pytest.Config) -> str:
    return f"samples: SEED={os.environ['SEED']} --run={config.getoption('run')} --part={config.getoption('part')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = config.getoption("part")
    taken = [
        item for item in items if _is_taken(item) and part in (None, crc32(item.nodeid.encode()) % PARTS)
    ]
    if len(taken) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in set(taken)])
        items[:] = taken


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    report = yield
    if report.failed:
        report.sections.append(("sample", f"SEED={os.environ['SEED']}"))
    return report


def is_due(name: str, *, quick: int = 1, whole: int = 1) -> bool:
    """Tell whether this run takes a case: one in `quick` (0: none) for make test, one in `whole` for make test-all."""
    run = os.environ["TESTS_RUN"]
    in_quick, in_whole = (_is_drawn(name, of) for of in (quick, whole))
    return {"": True, "quick": in_quick, "thorough": in_whole and not in_quick, "release": not whole}[run]


def _is_drawn(name: str, of: int) -> bool:
    return bool(of) and crc32(f"{name} {os.environ['SEED']}".encode()) % of == 0


def _is_taken(item: pytest.Item) -> bool:
    if item.get_closest_marker("each_run"):
        return os.environ["TESTS_RUN"] != "release"
    rates = [mark.kwargs for mark in item.iter_markers("sample")]
    rates += [{"quick": 0} for _ in item.iter_markers("thorough")]
    rates += [{"quick": 0, "whole": 0} for _ in item.iter_markers("release")]
    strictest = {run: _rarest([rate.get(run, 1) for rate in rates]) for run in ("quick", "whole")}
    return is_due(item.nodeid, **strictest)


def _rarest(rates: list[int]) -> int:
    return 0 if 0 in rates else max(rates, default=1)
