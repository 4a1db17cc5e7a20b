"""What this process counts, in files that all processes of the machine share: /metrics adds them up.

A process that counts has a name, as `web-1`: the first that no running one has. Who takes its place goes on with its
files, so that no count is lost or grows without bound by restarts. The first process of a machine begins anew.
Commands, tests and forked children count nothing: what they call here does nothing. What no process can count, workers
read from the table four times a minute.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, Literal

import prometheus_client
import structlog
from django.conf import settings
from django.utils import timezone
from prometheus_client import CollectorRegistry, values

from dealsite.data import table
from dealsite.data.jobs import queue
from dealsite.data.table.meters import Call
from dealsite.metrics import chart
from dealsite.metrics.chart import Kind, Metric, Source
from dealsite.processes.shared_files import first_free

FOLDER = "metrics"  # in the data folder
MOST = 99  # processes of a part on a machine
NEWEST: Final = "livemostrecent"  # of several workers that read the same
# Bytes, twice what all views take, taken in advance: a mapped file that grows on a full disk would kill the process.
FILES = {"counter": 400_000, "histogram": 2_400_000, f"gauge_{NEWEST}": 100_000}

GAUGES_SECONDS = 15.0  # between two readings of the table

Part = Literal["web", "worker", "feeder"]
logger = structlog.get_logger(__name__)
_made: dict[Metric, Any] = {}  # empty in processes that count nothing
_ones: dict[tuple[Metric, tuple[object, ...]], Any] = {}  # since finding these takes longer than counting
_slot: IO[str] | None = None  # held until the process ends


def folder() -> Path:
    """Return the folder of the counts."""
    return Path(settings.VAR) / FOLDER


def begin(part: Part) -> None:
    """Count from now on; where the disk has no room for it, go on without."""
    try:
        name = _take_name(part)
        for kind, size in FILES.items():
            with (folder() / f"{kind}_{name}.db").open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        logger.warning("not_counted", reason=repr(error))
        return
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder())
    values.ValueClass = values.MultiProcessValue(lambda: name)  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    _made.update({one: _make(one, registry) for one in chart.CHART.values() if one.source != Source.MACHINE})
    table.observe(_called, _happened)
    os.register_at_fork(after_in_child=end)


def end() -> None:
    """Count nothing any more: two processes that write to the same files would damage them."""
    _made.clear()
    _ones.clear()


def add(metric: Metric, *labels: object, by: float = 1) -> None:
    """Add to a counter."""
    if (one := _one(metric, labels)) is not None:
        one.inc(by)


def took(metric: Metric, *labels: object, seconds: float) -> None:
    """Note in a histogram how long something took."""
    if (one := _one(metric, labels)) is not None:
        one.observe(seconds)


def put(metric: Metric, *labels: object, value: float) -> None:
    """Give a gauge its value."""
    if (one := _one(metric, labels)) is not None:
        one.set(value)


def keep_gauges(stop: threading.Event, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Read until `stop` is set; while the table is away, what was read last stays, and says of when it is."""
    seen: set[str] = set()
    while not stop.is_set():
        try:
            read_gauges(seen, now=clock())
        except Exception:  # the worker's loop says aloud why the table does not answer
            logger.debug("table_not_read", exc_info=True)
        stop.wait(GAUGES_SECONDS)


def read_gauges(seen: set[str], *, now: datetime) -> None:
    """Read the gauges; a kind that was `seen` before and is gone gets 0. 3 queries."""
    found = {one.kind: one for one in queue.read(now=now).kinds}
    seen.update(found)
    for kind in seen:
        one = found.get(kind)
        for state in queue.STATES:
            put(chart.JOBS, kind, state, value=one.jobs[state] if one else 0)
        waits = (now - one.oldest).total_seconds() if one and one.oldest else 0
        put(chart.JOB_WAITS, kind, value=waits)
    put(chart.READ_AT, value=now.timestamp())


def running() -> dict[str, int]:
    """Return the processes of this machine that count and run: their ids by their names."""
    found = {}
    for file in sorted(folder().glob("*.slot")):
        with contextlib.suppress(OSError, ValueError), file.open("r+") as slot:
            try:
                fcntl.flock(slot, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found[file.stem] = int(slot.read())
    return found


def files() -> Iterator[Path]:
    """Yield the files of all processes; what one read of the table counts as long as it runs."""
    alive = running()
    for file in sorted(folder().glob("*.db")):
        kind, _, name = file.stem.rpartition("_")
        if (name in alive or kind in ("counter", "histogram")) and file.stat().st_size:
            yield file


def _take_name(part: Part) -> str:
    global _slot
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not running():
            for file in folder().glob("*.db"):
                file.unlink()
        names = [f"{part}-{number}" for number in range(1, MOST + 1)]
        slot = first_free(folder(), [f"{name}.slot" for name in names])
        if slot is None:
            raise OSError(f"{MOST} processes count already.")
        slot.truncate(0)
        slot.write(str(os.getpid()))
        slot.flush()
    _slot = slot
    return Path(slot.name).stem


def _make(metric: Metric, registry: CollectorRegistry) -> Any:
    more: dict[str, Any] = {"registry": registry, "labelnames": metric.labels}
    if metric.kind is Kind.COUNTER:
        return prometheus_client.Counter(metric.name, metric.about, **more)
    if metric.kind is Kind.GAUGE:
        return prometheus_client.Gauge(metric.name, metric.about, multiprocess_mode=NEWEST, **more)
    return prometheus_client.Histogram(metric.name, metric.about, buckets=metric.buckets, **more)


def _one(metric: Metric, labels: tuple[object, ...]) -> Any:
    """Return what counts a metric with some labels; None if this process counts nothing."""
    one = _ones.get((metric, labels))
    if one is None and (made := _made.get(metric)) is not None:
        one = _ones[metric, labels] = made.labels(*labels) if labels else made
    return one


def _called(call: Call) -> None:
    add(chart.TABLE_CALLS, call.operation, call.outcome)
    took(chart.TABLE_SECONDS, call.operation, seconds=call.seconds)
    if call.units:
        add(chart.TABLE_UNITS, call.operation, call.units_kind, by=call.units)


def _happened(what: str, amount: float) -> None:
    add({"retries": chart.TABLE_RETRIES, "messages": chart.MESSAGES}[what], by=amount)
