"""The worker's heartbeat: a thread that says in the table, four times a minute, that this worker lives."""

import threading
from collections.abc import Callable
from datetime import datetime

import structlog
from django.utils import timezone

from dealsite.data.jobs import heartbeats

SECONDS = 15.0

logger = structlog.get_logger(__name__)


def keep(stop: threading.Event, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Write heartbeats until `stop` is set; while the table is away, none."""
    while not stop.is_set():
        try:
            heartbeats.write("worker", now=clock())
        except Exception:  # a worker that works must not look dead for good; its loop says why aloud
            logger.debug("heartbeat_not_written", exc_info=True)
        stop.wait(SECONDS)
