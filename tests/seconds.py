"""Where the time of the tests goes: `--seconds=FILE` adds each folder's seconds to a table in a file.

Two runs with the same file are summed. A test's processor seconds are those of its own process and of the engines,
browsers and commands below it, so they hardly depend on what else the machine does.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

HEADER = "| folder | tests | seconds | processor seconds |\n|---|---:|---:|---:|\n"
TICKS = os.sysconf("SC_CLK_TCK")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seconds", type=Path, help="the file whose table of seconds by folder this run adds to"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("seconds"):
        return
    config.pluginmanager.register(Meter())
    if not hasattr(config, "workerinput"):  # not one of the processes of -n 2
        config.pluginmanager.register(Table(config.getoption("seconds")))


class Meter:
    """Notes on the last report of each test what it took of the processors."""

    def __init__(self) -> None:
        self.before = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo) -> Generator[None, Any, Any]:
        report = yield
        if call.when == "teardown":
            now = processor_seconds()
            report.processor_seconds, self.before = now - self.before, now
        return report


class Table:
    """Sums the reports by folder, and what the file says of an earlier run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = self.rows[report.nodeid.partition("::")[0].rpartition("/")[0]]
        row[0] += report.when == "teardown"
        row[1] += report.duration
        row[2] += getattr(report, "processor_seconds", 0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.path.exists():
            for line in self.path.read_text("utf-8").splitlines()[2:-1]:
                folder, *numbers = (cell.strip() for cell in line.strip("|").split("|"))
                self.rows[folder] = [
                    old + float(one) for old, one in zip(self.rows[folder], numbers, strict=True)
                ]
        largest_first = sorted(self.rows.items(), key=lambda row: -row[1][2])
        total = [sum(column) for column in zip(*self.rows.values(), strict=True)] or [0, 0, 0]
        lines = [
            f"| {name} | {tests:.0f} | {seconds:.1f} | {spent:.1f} |"
            for name, (tests, seconds, spent) in [*largest_first, ("all", total)]
        ]
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(HEADER + "\n".join(lines) + "\n", "utf-8")
        terminalreporter.section(f"seconds by folder, also in {self.path}")
        terminalreporter.write(self.path.read_text("utf-8"))


def processor_seconds() -> float:
    """What this process, and those that it started, have taken of the processors until now."""
    times = os.times()
    ended = times.children_user + times.children_system
    return times.user + times.system + ended + sum(map(_seconds_of, _below(os.getpid())))


def _below(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = [int(child) for child in children.read_text().split()]
        except OSError:  # the thread ended meanwhile
            continue
        for child in found:
            yield child
            yield from _below(child)


def _seconds_of(pid: int) -> float:
    """What a process has taken, together with those of its children that ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15])) / TICKS
