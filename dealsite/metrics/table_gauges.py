"""The worker's part of /metrics: four times a minute it reads from the table what no process can count."""

import threading
from collections.abc import Callable
from datetime import datetime

import structlog
from django.utils import timezone

from dealsite.data.jobs import queue
from dealsite.metrics import chart, counting

SECONDS = 15.0

logger = structlog.get_logger(__name__)


def keep(stop: threading.Event, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Read until `stop` is set; while the table is away, what was read last stays, and says of when it is."""
    seen: set[str] = set()
    while not stop.is_set():
        try:
            read(seen, now=clock())
        except Exception:  # the worker's loop says aloud why the table does not answer
            logger.debug("table_not_read", exc_info=True)
        stop.wait(SECONDS)


def read(seen: set[str], *, now: datetime) -> None:
    """Read the gauges; a kind that was `seen` before and is gone gets 0. 3 queries."""
    found = {one.kind: one for one in queue.read(now=now).kinds}
    seen.update(found)
    for kind in seen:
        one = found.get(kind)
        for state in queue.STATES:
            counting.put(chart.JOBS, kind, state, value=one.jobs[state] if one else 0)
        waits = (now - one.oldest).total_seconds() if one and one.oldest else 0
        counting.put(chart.JOB_WAITS, kind, value=waits)
    counting.put(chart.READ_AT, value=now.timestamp())
