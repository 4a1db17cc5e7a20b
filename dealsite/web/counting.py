"""What processes of this machine count, in files that they share and /metrics adds up; and the log of requests.

A process that counts has a name, as `web-1`: the first that no running one has. Who takes its place goes on with its
files, so that no count is lost or grows without bound by restarts. The first process of a machine begins anew.
Commands, tests and forked children count nothing: what they call here does nothing. What no process can count, workers
read from the table four times a minute.

Every metric is declared here, once. No label holds what a visitor types: they are names of this code, of the settings,
or of this machine's parts. Of a request's address the pattern stands in log and metrics, since addresses hold tokens;
its id stands in every line that is due to it.
"""

import contextlib
import fcntl
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import IO, Any, Final, Literal

import prometheus_client
import structlog
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from prometheus_client import CollectorRegistry, values

from dealsite.accounts.requests import Visit, client_address, network_of
from dealsite.data import table
from dealsite.data.jobs import jobs, queue
from dealsite.data.table import errors
from dealsite.data.table.meters import Call, Meter
from dealsite.processes.orphans import first_free


class Kind(Enum):
    """How a metric grows: a counter only upwards, a gauge both ways, a histogram counts values by their size."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Source(Enum):
    """Where a metric comes from."""

    COUNTED = "each process counts it as it happens"
    WORKER = "workers read it from the table every 15 seconds"
    MACHINE = "found out when somebody asks: files of this machine"


@dataclass(frozen=True, eq=False, slots=True)
class Metric:
    """One metric; `buckets` are the upper bounds of a histogram, in seconds."""

    name: str
    about: str
    labels: tuple[str, ...] = ()
    kind: Kind = Kind.COUNTER
    source: Source = Source.COUNTED
    buckets: tuple[float, ...] = ()


OF_PAGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
OF_CALLS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
OF_JOBS = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0)

# Pages

REQUESTS = Metric("dealsite_requests_total", "requests that were answered", ("view", "method", "status"))
REQUEST_SECONDS = Metric(
    "dealsite_request_seconds",
    "from when a request was whole until its answer, waiting for a thread included",
    ("view", "method"),
    Kind.HISTOGRAM,
    buckets=OF_PAGES,
)
UNAVAILABLE = Metric(
    "dealsite_unavailable_total",
    "answers with 503, by cause: `threads` (all were busy), `table` (no answer in time), `busy` (throttled or"
    " contended), `misconfigured` (no such table, or no right to it), `shortage` (of memory or"
    " disk), `closed` (by the site's switch)",
    ("cause",),
)
PAGE_CACHE = Metric(
    "dealsite_page_cache_total",
    "public pages: `kept` (from memory), `made`, `personal` (made for one visitor), `stale` (an old one stood in"
    " while the table was away)",
    ("result",),
)

# The table

TABLE_CALLS = Metric(
    "dealsite_table_calls_total",
    "requests to the table or its stream, each try counted, by how they ended: `answered`, `condition` (a condition"
    " did not hold), `conflict` (with another transaction), `throttled`, `failed` (an error of the table),"
    " `unanswered`, `unreadable` (no whole answer), `refused` (anything else)",
    ("operation", "outcome"),
)
TABLE_SECONDS = Metric(
    "dealsite_table_call_seconds", "how long they took", ("operation",), Kind.HISTOGRAM, buckets=OF_CALLS
)
TABLE_UNITS = Metric(
    "dealsite_table_units_total",
    "capacity units that answers named, `read` or `write`",
    ("operation", "kind"),
)
TABLE_RETRIES = Metric("dealsite_table_retries_total", "requests that were sent again")

# Jobs, messages, and what is made from the stream

JOBS_RUN = Metric(
    "dealsite_jobs_run_total",
    "turns at a job, by how they ended: `done`, `again` (goes on later), `failed` (is tried again, or given up),"
    " `left` (cancelled, handed over to a thread, or another worker's)",
    ("kind", "outcome"),
)
JOB_SECONDS = Metric(
    "dealsite_job_seconds", "how long a turn took", ("kind",), Kind.HISTOGRAM, buckets=OF_JOBS
)
MESSAGES = Metric("dealsite_messages_total", "messages that announcements delivered")
STREAM_RECORDS = Metric(
    "dealsite_stream_records_total", "records of the stream that a projection took", ("projection",)
)
JOBS = Metric(
    "dealsite_jobs",
    "jobs that are `due`, `later` (put off, or running), and of the newest 500 of this month and the last the"
    " `paused` and `failed` ones; of the open ones the first 1,000 are counted",
    ("kind", "state"),
    Kind.GAUGE,
    Source.WORKER,
)
JOB_WAITS = Metric(
    "dealsite_job_oldest_seconds",
    "for how long the oldest due job of a kind has waited; 0 if none is due",
    ("kind",),
    Kind.GAUGE,
    Source.WORKER,
)
READ_AT = Metric(
    "dealsite_table_read_timestamp_seconds",
    "when a worker of this machine last read these",
    (),
    Kind.GAUGE,
    Source.WORKER,
)

# This machine

BUILD = Metric(
    "dealsite_build_info", "1, with the version that answers", ("version",), Kind.GAUGE, Source.MACHINE
)
PROCESSES = Metric(
    "dealsite_processes", "processes that run: `web` and `worker`", ("part",), Kind.GAUGE, Source.MACHINE
)
PROCESS_MEMORY = Metric(
    "dealsite_process_memory_bytes", "memory that a process holds", ("process",), Kind.GAUGE, Source.MACHINE
)
PROCESS_CPU = Metric(
    "dealsite_process_cpu_seconds_total",
    "processor time of a process",
    ("process",),
    Kind.COUNTER,
    Source.MACHINE,
)
RESTARTS = Metric(
    "dealsite_part_restarts_total",
    "how often the launcher has started a part again",
    ("part",),
    Kind.COUNTER,
    Source.MACHINE,
)
PROJECTION = Metric(
    "dealsite_projection_state",
    "1 for the state of a projection on this machine: `following`, `building`, `failing`, `none` (nobody feeds it)",
    ("projection", "state"),
    Kind.GAUGE,
    Source.MACHINE,
)
PROJECTION_LAG = Metric(
    "dealsite_projection_lag_seconds",
    "by how much it is behind the table; missing while that is not known",
    ("projection",),
    Kind.GAUGE,
    Source.MACHINE,
)
PROJECTION_SKIPPED = Metric(
    "dealsite_projection_skipped",
    "changes that it could not take",
    ("projection",),
    Kind.GAUGE,
    Source.MACHINE,
)
SEARCH_BYTES = Metric(
    "dealsite_search_index_bytes", "size of the search index", (), Kind.GAUGE, Source.MACHINE
)
SEARCH_DEALS = Metric(
    "dealsite_search_index_deals", "deals in the search index", (), Kind.GAUGE, Source.MACHINE
)
DISK_FREE = Metric(
    "dealsite_disk_free_bytes",
    "free on the disk of the data folder (`data`), and of uploads if it is another",
    ("disk",),
    Kind.GAUGE,
    Source.MACHINE,
)
DISK_SHARE = Metric(
    "dealsite_disk_free_ratio", "the same as a share of the disk", ("disk",), Kind.GAUGE, Source.MACHINE
)
DISK_LITTLE = Metric(
    "dealsite_disk_little",
    "1 below three times DEALSITE_FREE_DISK_MB, 2 below it: then `/readyz` answers 503",
    ("disk",),
    Kind.GAUGE,
    Source.MACHINE,
)

CHART: Mapping[str, Metric] = {one.name: one for one in list(globals().values()) if isinstance(one, Metric)}


FOLDER = "metrics"  # in the data folder
MOST = 99  # processes of a part on a machine
NEWEST: Final = "livemostrecent"  # of several workers that read the same
# Bytes, twice what all views take, taken in advance: a mapped file that grows on a full disk would kill the process.
FILES = {"counter": 400_000, "histogram": 2_400_000, f"gauge_{NEWEST}": 100_000}

GAUGES_SECONDS = 60.0  # between two readings of the table

Part = Literal["web", "worker"]
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
    _made.update({one: _make(one, registry) for one in CHART.values() if one.source != Source.MACHINE})
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
            put(JOBS, kind, state, value=one.jobs[state] if one else 0)
        waits = (now - one.oldest).total_seconds() if one and one.oldest else 0
        put(JOB_WAITS, kind, value=waits)
    put(READ_AT, value=now.timestamp())


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
    add(TABLE_CALLS, call.operation, call.outcome)
    took(TABLE_SECONDS, call.operation, seconds=call.seconds)
    if call.units:
        add(TABLE_UNITS, call.operation, call.units_kind, by=call.units)


def _happened(what: str, amount: float) -> None:
    add({"retries": TABLE_RETRIES, "messages": MESSAGES}[what], by=amount)


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
PROBES = ("/healthz", "/readyz", "/metrics")  # what machines ask
THREADS, SHORTAGE, CLOSED = "threads", "shortage", "closed"  # causes of 503 that are not the table's


@contextlib.contextmanager
def due_to(request_id: str, **more: str) -> Iterator[None]:
    """Let lines of the log, and jobs that are added, name a request; "" for what nobody asked for."""
    said = ({"request_id": request_id} if request_id else {}) | more
    with structlog.contextvars.bound_contextvars(**said), jobs.caused_by(request_id):
        yield


def current_id() -> str:
    """Return the id of the request that is being answered, '' outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def route_of(request: HttpRequest) -> str:
    """Return the pattern of a request's address, '' of one that leads nowhere: a reset link holds what is secret."""
    return f"/{request.resolver_match.route}" if request.resolver_match else ""


def view_of(request: HttpRequest) -> str:
    """Return the name of the view that answers a request, '' where none does."""
    return str(request.resolver_match.view_name or "") if request.resolver_match else ""


def method_of(request: HttpRequest) -> str:
    """Return the method of a request; whatever else may stand there is `other`."""
    return request.method if request.method in METHODS else "other"


def log_answer(request: HttpRequest, status: int, *, milliseconds: float, **more: str) -> None:
    """Write the line of a request that is answered. Who made it stands there where the answer depended on that."""
    meter: Meter = getattr(request, "meter", None) or Meter()
    visit: Visit | None = getattr(request, "visit", None)
    logger.info(
        "request",
        view=view_of(request),
        method=method_of(request),
        status=status,
        ms=round(milliseconds, 1),
        calls=meter.calls,
        read_units=meter.read_units,
        write_units=meter.write_units,
        user=visit.username if visit else "",
        network=network_of(client_address(request)),
        **more,
    )


def cause_of(failure: errors.Unavailable | None) -> str:
    """Return the word for why a page was answered 503; without a failure of the table, it was the machine's."""
    match failure:
        case None:
            return SHORTAGE
        case errors.Misconfigured():
            return "misconfigured"
        case errors.Busy():
            return "busy"
    return "table"


def is_file(request: HttpRequest, status: int) -> bool:
    """Tell whether an answer is a picture or static file, the same for everybody, which says nothing of its request."""
    return status < 400 and request.path_info.startswith((settings.STATIC_URL, settings.MEDIA_URL))


def note_answer(request: HttpRequest, status: int, *, seconds: float, cause: str) -> None:
    """Note an answer wherever it is to be seen; `cause` is the word for why it is a 503.

    The log has no line of a file, nor of a probe that goes well.
    """
    is_probe, view, method = request.path_info in PROBES, view_of(request), method_of(request)
    add(REQUESTS, view or "other", method, status)
    took(REQUEST_SECONDS, view or "other", method, seconds=seconds)
    if cause and not is_probe:
        add(UNAVAILABLE, cause)
    if not is_file(request, status) and not (is_probe and status < 400):
        log_answer(request, status, milliseconds=seconds * 1000, **({"cause": cause} if cause else {}))


class RequestFilter(logging.Filter):
    """Gives Django's own lines their request's id as well, and takes the address out of them."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] == "django":
            request = getattr(record, "request", None)
            if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
                route = route_of(request)
                record.args = tuple(route if arg == request.path else arg for arg in record.args)
            # Django logs the status of an answer when the middleware is through with it.
            if request_id := getattr(request, "request_id", "") or current_id():
                vars(record)["request_id"] = request_id
        return True
