"""What a running site holds: memory, threads and open files of its processes, files of its folder, stream records."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak_load import Sample

MB = 2**20
# What a part of the data folder is called in a reading, by the first name in its path.
STORED = ("engine.db", "lake", "search", "media", "private", "ask", "engine.log")


@dataclass(frozen=True)
class Reading:
    """Each measure by its name, in MB, files, descriptors, threads or records, as the name says."""

    values: dict[str, float]


def read(launcher: int, var: Path) -> Reading:
    """Look at a site from outside; what has just ended counts nothing."""
    machine = {"machine: load": os.getloadavg()[0]}
    return Reading({**_processes(launcher), **_folder(var), **_stream(var / "engine.db"), **machine})


def _processes(launcher: int) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for pid in (launcher, *_descendants(launcher)):
        with contextlib.suppress(OSError):
            name, status = _name(pid, launcher), Path(f"/proc/{pid}/status").read_text()
            lines = dict(line.split(":", 1) for line in status.splitlines())
            if "VmRSS" not in lines:
                continue  # it has ended
            found[f"{name}: MB"] += int(lines["VmRSS"].split()[0]) / 1024
            found[f"{name}: threads"] += int(lines["Threads"])
            found[f"{name}: open files"] += len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return dict(found)


def _name(pid: int, launcher: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
    kinds = {"front_door": "web processes", "dealsite worker": "worker", "engine.db": "engine"}
    return "launcher" if pid == launcher else next((kinds[word] for word in kinds if word in command), "")


def _descendants(pid: int) -> Iterable[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, children.read_text().split()):
                yield child
                yield from _descendants(child)


def _folder(var: Path) -> dict[str, float]:
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for folder, _, names in os.walk(var):
        for name in names:
            path = Path(folder) / name
            top = path.relative_to(var).parts[0]
            part = next((one for one in STORED if top.startswith(one)), "other")
            with contextlib.suppress(OSError):
                sizes[part] += path.stat().st_size
                files[part] += 1
    return {f"{part}/: files": files[part] for part in sorted(files)} | {
        f"{part}/: MB": sizes[part] / MB for part in sorted(sizes)
    }


def _stream(database: Path) -> dict[str, float]:
    with contextlib.closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        (records,) = connection.execute("SELECT count(*) FROM _stream_records").fetchone()
    return {"stream: records": records}


@dataclass(frozen=True)
class Latency:
    """Of one kind of request in one stretch of time: how many, and milliseconds."""

    times: int
    p50: float
    p95: float
    worst: float


def latencies(samples: Iterable[Sample]) -> dict[str, Latency]:
    """Return latencies by kind, of what was answered."""
    by_kind: dict[str, list[float]] = {}
    for sample in samples:
        if not sample.wrong:
            by_kind.setdefault(sample.kind, []).append(sample.seconds * 1000)
    return {
        kind: Latency(len(taken), statistics.median(taken), _share(taken, 0.95), max(taken))
        for kind, taken in sorted(by_kind.items())
    }


def _share(taken: list[float], share: float) -> float:
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * share))]
