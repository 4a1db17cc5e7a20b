"""The worker's part of /metrics: four times a minute it reads from the table what no process can count."""

import threading
from collections.abc import Callable
from datetime import datetime

import structlog
from django.utils import timezone

from dealsite.data.jobs import job_counts
from dealsite.metrics import chart, counting

SECONDS = 15.0

logger = structlog.get_logger(__name__)


def keep(stop: threading.Event, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Read until `stop` is set; while the table is away, what was read last stays, and says of when it is."""
    seen: set[tuple[str, str]] = set()
    while not stop.is_set():
        try:
            read(seen, now=clock())
        except Exception:  # the worker's loop says aloud why the table does not answer
            logger.debug("table_not_read", exc_info=True)
        stop.wait(SECONDS)


def read(seen: set[tuple[str, str]], *, now: datetime) -> None:
    """Read the gauges; what was `seen` before and is gone gets 0. 2 queries."""
    found = job_counts.read(now=now)
    seen.update(found.jobs)
    for kind, state in seen:
        counting.put(chart.JOBS, kind, state, value=found.jobs.get((kind, state), 0))
        counting.put(chart.JOB_WAITS, kind, value=found.waits.get(kind, 0))
    counting.put(chart.READ_AT, value=now.timestamp())
