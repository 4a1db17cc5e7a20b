"""A snapshot of a table of real orders, and the ready questions to it: what each takes, with its process and all."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import two_columns

FILE = "orders.jsonl.gz"
LIMIT = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Asking:
    """What one question takes, in seconds, and how many rows it answers."""

    question: str
    median: float
    longest: float
    rows: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A snapshot of so many items: the seconds that it takes, its MB, the MB of its process; and what was asked."""

    items: int
    seconds: float
    megabytes: float
    memory: float
    askings: list[Asking]


def measure(root: Path, named: Path | None, folder: Path, times: int = 9) -> Asked | None:
    """Make a snapshot of the orders, then ask every ready question so many times; None where there are no orders."""
    from django.conf import settings

    from benchmarks.content import FOLDER_VARIABLE
    from benchmarks.story import Story
    from dealsite.ask import runs
    from dealsite.data import table
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine
    from dealsite.lake import snapshots

    file = (named or Path(os.environ.get(FOLDER_VARIABLE) or root.parent / "shared" / "data")) / FILE
    if not file.is_file():
        print(f"{file} is not there: the ready questions are not measured.")
        return None
    with Engine(folder) as engine:
        settings.DYNAMODB_ENDPOINT_URL = engine.url
        table.reset()
        schema.create_table()
        items = Story(file, now=datetime.now(UTC)).items
        print(f"Writing {len(items):,} items of orders ...", flush=True)
        table.insert(items)
        print("Making a snapshot ...", flush=True)
        seconds, memory = _make(root, engine.url)
        table.reset()
    made = snapshots.newest()
    assert made is not None  # noqa: S101
    size = sum(path.stat().st_size for path in made.rglob("*.parquet"))
    print("Asking ...", flush=True)
    askings = [_ask(question.title, question.sql, times) for question in runs.ready_questions().values()]
    return Asked(len(items), seconds, size / 1e6, memory, askings)


def _make(root: Path, endpoint_url: str) -> tuple[float, float]:
    """Run the command; return the seconds that it took, and the most MB of memory that it had."""
    started = time.perf_counter()
    made = subprocess.Popen(
        [sys.executable, "manage.py", "snapshot"],
        cwd=root,
        env=os.environ | {"DYNAMODB_ENDPOINT_URL": endpoint_url},
    )
    _, status, used = os.wait4(made.pid, 0)
    made.returncode = os.waitstatus_to_exitcode(status)
    if made.returncode:
        raise SystemExit("The snapshot was not made.")
    return time.perf_counter() - started, used.ru_maxrss / 1024


def _ask(title: str, sql: str, times: int) -> Asking:
    from dealsite.ask import runs
    from dealsite.ask.lake import open_lake
    from dealsite.data.table.ids import new_ulid

    taken, rows = [], 0
    for _ in range(times):
        started = time.perf_counter()
        lake = open_lake({"admin"})
        assert lake is not None  # noqa: S101
        run = runs.start(sql, run_id=new_ulid(datetime.now(UTC)), by="benchmark", lake=lake, patience=30)
        if run.state != "answered":
            raise SystemExit(f"{title}: {run.state}. {run.why}")
        rows = len(run.answer().rows)
        taken.append(time.perf_counter() - started)
    return Asking(title, statistics.median(taken), max(taken), rows)


def tables_of(asked: Asked) -> str:
    """Return the results as Markdown tables."""
    made = [
        ("items", f"{asked.items:,}"),
        ("seconds, with its process", f"{asked.seconds:.1f}"),
        ("items a second", f"{asked.items / asked.seconds:,.0f}"),
        ("its size, MB", f"{asked.megabytes:.1f}"),
        ("its process, at most, MB", f"{asked.memory:,.0f}"),
    ]
    lines = [two_columns("a snapshot", made), ""]
    lines += ["| question to the snapshot | ms (median) | ms (longest) | rows |", "|---|---:|---:|---:|"]
    lines += [
        f"| {one.question} | {one.median * 1000:.0f} | {one.longest * 1000:.0f} | {one.rows:,} |"
        for one in asked.askings
    ]
    return "\n".join(lines)


def slow(asked: Asked) -> list[str]:
    """Return a sentence for each question that takes longer than a second."""
    return [
        f"The question {one.question!r} takes {one.median:.1f} s, more than {LIMIT:g} s."
        for one in asked.askings
        if one.median > LIMIT
    ]
