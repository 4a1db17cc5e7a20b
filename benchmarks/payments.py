"""Payments of 8 KB: how fast a load inserts and counts them, beside what the model asks and what the engine can take.

`python -m benchmarks.payments [N]` (`make bench-payments`: 1,000,000) runs a whole load and tells rate and memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import two_columns

ROOT = Path(__file__).resolve().parent.parent
PAYMENTS = 20_000
BYTES = 8192
ASKED = 1_000_000 / 1800  # payments a second: a million in half an hour
PROCESSES = 2
WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Inserting:
    """Rates in payments a second, memory of all the load's processes in MB."""

    payments: int
    rate: float
    engine_rate: float
    memory_at_first: float
    memory_at_most: float

    @property
    def share(self) -> float:
        """The load's rate as a part of the engine's own."""
        return self.rate / self.engine_rate


def measure(folder: Path, count: int = PAYMENTS) -> Inserting:
    """Let the engine write payments as fast as it can, then load as many by `load_payments`, then the engine again."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine

    with Engine(folder) as engine:
        endpoint_url = engine.url
        settings.DYNAMODB_ENDPOINT_URL = endpoint_url
        table.reset()
        schema.create_table()
        print(f"Loading {count:,} payments ...", flush=True)
        before = _bare_rate(endpoint_url, "before", min(count // 4, PAYMENTS))
        seconds, memory = _load(endpoint_url, count)
        after = _bare_rate(endpoint_url, "after", min(count // 4, PAYMENTS))
        table.reset()
    return Inserting(
        count,
        count / seconds,
        2 / (1 / before + 1 / after),
        memory[len(memory) // 10],  # when all processes are there
        max(memory),
    )


def _load(endpoint_url: str, count: int) -> tuple[float, list[float]]:
    """Run `load_payments` in processes of its own; return its seconds, and its memory from time to time."""
    environ = {**os.environ, "DYNAMODB_ENDPOINT_URL": endpoint_url}
    sizes = [str(count), "--size", str(BYTES), "--processes", str(PROCESSES)]
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load_payments", *sizes], cwd=ROOT, env=environ
    ) as run:
        memory: list[float] = []
        stop = threading.Event()
        watch = threading.Thread(target=_watch, args=(run.pid, memory, stop))
        watch.start()
        status = run.wait()
        seconds = time.perf_counter() - started
        stop.set()
        watch.join()
    if status:
        raise SystemExit(f"load_payments ended with {status}.")
    return seconds, memory or [0.0]


def _watch(process: int, memory: list[float], stop: threading.Event) -> None:
    while not stop.wait(WATCH_SECONDS):
        memory.append(sum(map(_memory, [process, *_children(process)])))


def _children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text("ascii")
    except OSError:
        return []
    return [int(number) for number in text.split()]


def _memory(process: int) -> float:
    """The memory of a process in MB, what it shares with others divided among them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _bare_rate(endpoint_url: str, name: str, count: int) -> float:
    """Return how many such payments a second the engine takes by BatchWriteItem, from requests ready made."""
    from benchmarks.fan_out import post, requests
    from benchmarks.generated_payments import GeneratedSource
    from dealsite.data.commerce.payment_record import payment_item

    now = datetime.now(UTC).replace(microsecond=0)
    source = GeneratedSource(count, first=now, size=BYTES, method=name)  # other payments than the load's
    seconds = 0.0
    step = 1000  # payments made ready at once
    for first in range(0, count, step):
        end = min(first + step, count)
        bodies = list(requests(payment_item(payment) for payment, _, _ in source.payments(first, end)))
        started = time.perf_counter()
        post(endpoint_url, bodies)
        seconds += time.perf_counter() - started
    return count / seconds


def table_of(done: Inserting) -> str:
    """Return the results as a Markdown table."""
    rows = [
        ("payments", f"{done.payments:,}"),
        ("payments a second, inserted and counted", f"{done.rate:,.0f}"),
        ("asked for: a million in half an hour", f"{ASKED:,.0f}"),
        ("the engine's own rate, BatchWriteItem", f"{done.engine_rate:,.0f}"),
        ("share of it", f"{done.share:.0%}"),
        ("the load's memory at first, MB", f"{done.memory_at_first:.0f}"),
        ("the load's memory at most, MB", f"{done.memory_at_most:.0f}"),
    ]
    return two_columns("payments of 8 KB", rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.payments", description=__doc__)
    parser.add_argument("payments", nargs="?", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dealsite-benchmark-") as var:
        from benchmarks.__main__ import begin

        begin(Path(var))
        done = measure(Path(var) / "engine", options.payments)
    print(f"\n{table_of(done)}\n\n{options.payments / done.rate / 60:.1f} minutes in all.")
    return 0 if done.rate >= ASKED else 1


if __name__ == "__main__":
    sys.exit(main())
