"""The ready questions over a lake of real orders: how long each takes, with its process and all."""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

FILE = "orders.jsonl.gz"
LIMIT = 1.0  # seconds
PORTION = 5_000  # changes a commit


@dataclass(frozen=True, slots=True)
class Asking:
    """What one question takes, in seconds, and how many rows it answers."""

    question: str
    median: float
    longest: float
    rows: int


def measure(root: Path, named: Path | None, times: int = 9) -> list[Asking]:
    """Write a lake from the orders, then ask every ready question so many times; [] where there are no orders."""
    from django.conf import settings

    from benchmarks.content import FOLDER_VARIABLE
    from benchmarks.story import Story
    from dealsite.ask import numbers, runs
    from dealsite.lake.projection import Lake
    from dealsite.stream.projection import Checkpoint

    folder = named or Path(os.environ.get(FOLDER_VARIABLE) or root.parent / "shared" / "data")
    if not (folder / FILE).is_file():
        print(f"{folder / FILE} is not there: the ready questions are not measured.")
        return []
    now = datetime.now(UTC)
    print("Writing a lake of orders ...", flush=True)
    story, lake = Story(folder / FILE, now=now), Lake()
    if lake.open() is None:
        lake.build([], Checkpoint("benchmark", now))
        lake.swap()
        lake.open()
    started = time.perf_counter()
    for first in range(0, len(story.changes), PORTION):
        lake.apply(story.changes[first : first + PORTION])
        lake.commit(Checkpoint("benchmark", now))
    lake.close()
    taken = time.perf_counter() - started
    print(
        f"{len(story.changes):,} changes in {taken:.1f} s, in {settings.VAR / 'lake'}. Asking ...", flush=True
    )
    asked = {question.title: question.sql for question in runs.ready_questions().values()}
    return [_ask(title, sql, times) for title, sql in (asked | {"Numbers of the CMS": numbers.SQL}).items()]


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


def table_of(askings: list[Asking]) -> str:
    """Return the results as a Markdown table."""
    lines = ["| question to the lake | ms (median) | ms (longest) | rows |", "|---|---:|---:|---:|"]
    lines += [
        f"| {one.question} | {one.median * 1000:.0f} | {one.longest * 1000:.0f} | {one.rows:,} |"
        for one in askings
    ]
    return "\n".join(lines)


def slow(askings: list[Asking]) -> list[str]:
    """Return a sentence for each question that takes longer than a second."""
    return [
        f"The question {one.question!r} takes {one.median:.1f} s, more than {LIMIT:g} s."
        for one in askings
        if one.median > LIMIT
    ]
