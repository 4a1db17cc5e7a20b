"""Which tests a run takes: `--run=quick` is make test, `thorough` what make test-all adds, `release` make test-release.

Without `--run`, every test runs. Of tests marked `sample(quick=4, whole=2)`, make test takes one in four and make
test-all one in two: others each day, the same again with `SEED=` of that day, which heads of runs and failures say.
Of the tests of some folders, make test takes one in so many, unless the last change touched what they are about.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

RUNS = ("quick", "thorough", "release")
PARTS = 12  # of the thorough tests: CI runs one of them
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {  # of whose tests make test takes one in so many; money, sign-in, roles and caches are tried each time
    **dict.fromkeys(("ask", "backups", "demo", "lake", "pictures", "setup"), 4),
    **dict.fromkeys(("cms/ask", "cms/jobs", "front_door", "upgrading"), 3),
    **dict.fromkeys(("attacks", "browser", "deploy", "faults", "imports", "search", "stream"), 2),
    **dict.fromkeys(("cms/bulk", "cms/deals", "cms/featured", "cms/home", "cms/imports", "cms/lists"), 2),
    **dict.fromkeys(("cms/messages", "cms/operations", "cms/orders", "cms/people", "cms/taxonomy"), 2),
    **dict.fromkeys(("data/catalogue", "data/editing", "data/integrity", "data/table"), 2),
    **dict.fromkeys(("shopping/catalogue", "shopping/my"), 2),
}


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
    rates.append({"quick": rate_of(item.path.parent.relative_to(ROOT / "tests").as_posix())})
    strictest = {run: _rarest([rate.get(run, 1) for rate in rates]) for run in ("quick", "whole")}
    return is_due(item.nodeid, **strictest)


@functools.cache
def rate_of(folder: str) -> int:
    """Return of how many tests of a folder make test takes one: of one, where the last change touched their subject."""
    if any(f"{where}/".startswith(f"{folder}/") for where, _ in changed()):
        return 1
    return FOLDERS.get(folder, 1)


@functools.cache
def changed() -> set[tuple[str, str]]:
    """Return folders and names of what differs from main, or on main from the commit before; nothing without git."""
    base = _git("merge-base", "main", "HEAD")
    if base in ([], _git("rev-parse", "HEAD")):
        base = ["HEAD~1"]
    files = _git("diff", "--name-only", *base) + _git("ls-files", "--others", "--exclude-standard")
    return {
        (
            re.sub("^(dealsite|static|templates|tests)(/|$)", "", path.parent.as_posix()),
            path.stem.removeprefix("_"),
        )
        for path in map(Path, files)
    }


def _git(*arguments: str) -> list[str]:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def _rarest(rates: list[int]) -> int:
    return 0 if 0 in rates else max(rates, default=1)
