"""What is found out about this machine when somebody asks: its processes, projections, search index and disks."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, get_args

import orjson

import dealsite
from dealsite.metrics import chart, counting
from dealsite.metrics.chart import Metric
from dealsite.search import folder as search_folder
from dealsite.web import node

TICKS, PAGE_BYTES = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")

Sample = tuple[Metric, tuple[str, ...], float]


def samples(now: datetime) -> Iterator[Sample]:
    """Yield each metric of this machine with its labels and value; what cannot be found out is left out."""
    yield chart.BUILD, (dealsite.__version__,), 1
    yield from _processes()
    for part, one in node.parts().items():
        yield chart.RESTARTS, (part,), one["restarts"]
    for name, one in node.projections(now).items():
        yield chart.PROJECTION, (name, one["state"]), 1
        yield chart.PROJECTION_SKIPPED, (name,), one["skipped"]
        if one["lag_seconds"] is not None:
            yield chart.PROJECTION_LAG, (name,), one["lag_seconds"]
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        yield from _search_index()
    with contextlib.suppress(OSError):
        for name, disk in node.disks().items():
            yield chart.DISK_FREE, (name,), disk["free_bytes"]
            yield chart.DISK_SHARE, (name,), disk["free_share"]
            yield chart.DISK_LITTLE, (name,), disk["little"] + disk["too_little"]


def _processes() -> Iterator[Sample]:
    running = counting.running()
    parts = Counter(name.partition("-")[0] for name in running)
    for part in get_args(counting.Part):
        yield chart.PROCESSES, (part,), parts[part]
    for name, pid in running.items():
        with contextlib.suppress(OSError, ValueError, LookupError):
            # After the command's name, in brackets: utime, stime and rss are fields 14, 15 and 24 of proc(5).
            stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            yield chart.PROCESS_CPU, (name,), (int(stat[11]) + int(stat[12])) / TICKS
            yield chart.PROCESS_MEMORY, (name,), int(stat[21]) * PAGE_BYTES


def _read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123 - a path of the system's own, not of ours
        return file.read()


def _search_index() -> Iterator[Sample]:
    generation = search_folder.current(search_folder.root())
    if generation is None:
        return
    yield chart.SEARCH_BYTES, (), sum(one.stat().st_size for one in generation.iterdir())
    segments: list[dict[str, Any]] = orjson.loads((generation / "meta.json").read_bytes())["segments"]
    deleted = sum((one["deletes"] or {}).get("num_deleted_docs", 0) for one in segments)
    yield chart.SEARCH_DEALS, (), sum(one["max_doc"] for one in segments) - deleted
