"""Every metric of /metrics, once: its name, what it says, and by which labels.

No label holds what a visitor types: they are names of this code, of the settings, or of this machine's parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


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
    "dealsite_processes",
    "processes that run: `web`, `worker`, and `feeder`, a worker that feeds projections only",
    ("part",),
    Kind.GAUGE,
    Source.MACHINE,
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
