"""python -m benchmarks.soak [--minutes 10]: a mixed load on a whole site; fails if anything grows that should not.

The site runs as `manage.py run` on a data folder and a port of its own. After a warm-up of a fifth of the time, it is
looked at; again in the middle, and at the end. What may have grown by then is in BOUNDS.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.soak_load import CONTROL, Load, Sample, seed
from benchmarks.soak_readings import Latency, Reading, latencies, read

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 60
WARM_UP, WINDOW = 0.2, 0.2  # of the time
MOST_REFUSED = 0.01  # of the requests may be told that the site is busy (503); nothing else may go wrong
SLOWER, SLOWER_BY = 3.0, 100.0  # p95 at the end: at most so many times that of the start, and so many ms

# Measures that must not grow with time, and by how much they may: what caches and buffers take until they are full.
# The table, pictures and exported files grow with what is stored, so nothing bounds their bytes.
BOUNDS = {
    "launcher: MB": 10,
    "engine: MB": 40,
    "web processes: MB": 40,
    "worker: MB": 40,
    "launcher: threads": 1,
    "engine: threads": 10,
    "web processes: threads": 10,
    "worker: threads": 8,
    "launcher: open files": 2,
    "engine: open files": 20,
    "web processes: open files": 20,
    "worker: open files": 10,
    "search/: files": 60,
    "other/: files": 5,
    "engine.log/: MB": 1,
}


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="dealsite-soak-") as folder:
        var = Path(folder) / "var"
        with _site(var, options.port, Path(folder) / "log") as launcher:
            print(
                f"The site runs, process {launcher}. Soaking for {options.minutes:g} minutes ...", flush=True
            )
            load, readings, moments = _soak(launcher, var, options)
        log = (Path(folder) / "log").read_text("utf-8", "replace")
    return report(load.samples, readings, moments, log, options.bounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bound", action="append", default=[], help='another bound: "worker: MB=0"')
    options = parser.parse_args()
    given = [text.rpartition("=") for text in options.bound]
    options.bounds = BOUNDS | {name: float(most) for name, _, most in given}
    return options


@contextmanager
def _site(var: Path, port: int, log: Path) -> Iterator[int]:
    """Run a whole site; its launcher's process id. This process joins its engine."""
    from dealsite.engine.server import free_port

    for name in [one for one in os.environ if one.startswith(("AWS_", "DYNAMODB_", "DEALSITE_", "STRIPE_"))]:
        del os.environ[name]  # never another table than that of the site's own engine
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "dealsite.settings",
        "DEALSITE_VAR": str(var),
        "DEALSITE_DEMO": "no",
    }
    os.environ["PORT"] = str(port or free_port())
    os.environ["DEALSITE_LOG_FORMAT"] = "text"  # as it is read here
    os.environ["DEALSITE_LIMITS"] = _no_limits()
    with log.open("wb") as output:
        site = subprocess.Popen(
            [sys.executable, "manage.py", "run"], cwd=ROOT, stdout=output, stderr=output, process_group=0
        )
    try:
        end = time.monotonic() + READY_SECONDS
        while "runs at" not in log.read_text("utf-8", "replace"):
            if site.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"The site does not start.\n{log.read_text('utf-8', 'replace')}")
            time.sleep(0.1)
        yield site.pid
    finally:
        site.send_signal(signal.SIGTERM)
        site.wait(60)


def _no_limits() -> str:
    """What nobody does so often: one user does here what a thousand do elsewhere."""
    from dealsite.accounts import limit_table

    return " ".join(f"{name}=1000000/1m" for name in limit_table.read(""))


def _soak(launcher: int, var: Path, options: argparse.Namespace) -> tuple[Load, list[Reading], list[float]]:
    import django

    django.setup()
    from django.conf import settings

    from dealsite.lake import snapshots

    load = Load(settings.PORT, seed(datetime.now(UTC)))
    with snapshots.making(now=datetime.now(UTC)):  # for questions
        pass
    seconds = options.minutes * 60
    began = time.monotonic()
    load.start()
    readings, moments = [], [began + seconds * share for share in (WARM_UP, (1 + WARM_UP) / 2, 1)]
    for moment in moments:
        time.sleep(max(0.0, moment - time.monotonic()))
        readings.append(read(launcher, var))
    load.stop()
    return load, readings, [began, *moments]


def report(
    samples: list[Sample],
    readings: list[Reading],
    moments: list[float],
    log: str,
    bounds: Mapping[str, float],
) -> int:
    """Print what was measured and what is wrong with it; the exit status."""
    began, start, _, end = moments
    window = (end - began) * WINDOW
    counted = [sample for sample in samples if sample.at >= start]
    first = latencies(sample for sample in counted if sample.at < start + window)
    last = latencies(sample for sample in counted if sample.at >= end - window)
    print(_readings_table(readings), _latency_table(first, last), sep="\n\n")
    wrong = [*grown(readings, bounds), *slower(first, last), *errors(counted, log)]
    print(f"\n{len(counted):,} requests after the warm-up, {len(wrong)} found wrong.")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def grown(readings: list[Reading], bounds: Mapping[str, float]) -> list[str]:
    """Return a sentence for each measure that grew beyond its bound."""
    first, last = readings[0].values, readings[-1].values
    return [
        f"{name}: {first.get(name, 0):,.0f} at the start, {last.get(name, 0):,.0f} at the end; +{most:g} is the bound."
        for name, most in bounds.items()
        if last.get(name, 0) - first.get(name, 0) > most
    ]


def slower(first: Mapping[str, Latency], last: Mapping[str, Latency]) -> list[str]:
    """Return a sentence for each kind of request that takes longer at the end, by more than the machine got busier."""
    busier = max(1.0, last[CONTROL].p95 / first[CONTROL].p95) if CONTROL in first and CONTROL in last else 1.0
    return [
        f"{kind}: p95 {before.p95:,.0f} ms at the start, {last[kind].p95:,.0f} ms at the end."
        for kind, before in first.items()
        if kind in last and last[kind].p95 > busier * max(before.p95 * SLOWER, before.p95 + SLOWER_BY)
    ]


def errors(samples: list[Sample], log: str) -> list[str]:
    """Return a sentence for each kind of wrong answer, and for what the log calls an error."""
    wrong = Counter((sample.kind, sample.wrong) for sample in samples if sample.wrong)
    busy = sum(times for (_, status), times in wrong.items() if status == 503)
    found = [
        f"{kind}: {times} x {status}" for (kind, status), times in sorted(wrong.items()) if status != 503
    ]
    if busy > len(samples) * MOST_REFUSED:
        found.append(f"{busy} requests of {len(samples)} were answered by 503.")
    errors_of_log = re.findall(
        r"(?:ERROR|CRITICAL) (?!django.request: Service Unavailable).*", log
    )  # those are counted
    lines = Counter(line.partition("request_id")[0] for line in errors_of_log)
    return found + [f"{times} x in the log: {line[:200]}" for line, times in lines.items()]


def _readings_table(readings: list[Reading]) -> str:
    names = dict.fromkeys(name for reading in readings for name in reading.values if not name.startswith(":"))
    lines = ["| held | start | middle | end |", "|---|---:|---:|---:|"]
    for name in names:
        values = " | ".join(f"{reading.values.get(name, 0):,.1f}".removesuffix(".0") for reading in readings)
        lines.append(f"| {name} | {values} |")
    return "\n".join(lines)


def _latency_table(first: Mapping[str, Latency], last: Mapping[str, Latency]) -> str:
    lines = ["| ms: p50, p95, worst | at the start | at the end | requests |", "|---|---:|---:|---:|"]
    for kind in dict.fromkeys([*first, *last]):
        cells = [
            f"{one.p50:,.0f}, {one.p95:,.0f}, {one.worst:,.0f}" if (one := part.get(kind)) else ""
            for part in (first, last)
        ]
        times = sum(part[kind].times for part in (first, last) if kind in part)
        lines.append(f"| {kind} | {' | '.join(cells)} | {times:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
