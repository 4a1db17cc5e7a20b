"""What this web process answers: a line of the log, counts for /metrics, and those of the last hour.

The hour's are of requests, of the slowest pages, and of why it answered 503. They go by the name of the view, so that
there are no more of them than views. The hour is made of spans of five minutes, the oldest of which is dropped.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from dealsite.data.entities.operations import MOST_PAGES
from dealsite.data.jobs.processes import PageTimes
from dealsite.data.table import errors
from dealsite.metrics import chart, counting
from dealsite.web.request_log import log_answer, method_of, view_of

PROBES = ("/healthz", "/readyz", "/metrics")  # what machines ask
SPAN_SECONDS, SPANS = 300.0, 12
NO_VIEW = ""  # an address that leads nowhere
THREADS, SHORTAGE, CLOSED = "threads", "shortage", "closed"  # causes that are not the table's


@dataclass
class Span:
    """The counts of five minutes: of each view how many requests, their milliseconds, and the slowest."""

    began: float
    views: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)


class Traffic:
    """The counts of this process."""

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks, self._lock = ticks, threading.Lock()
        self._spans: deque[Span] = deque(maxlen=SPANS)

    def note(self, view: str, seconds: float) -> None:
        """Count a request that a view answered."""
        milliseconds = round(seconds * 1000)
        with self._lock:
            views = self._span().views
            requests, in_all, slowest = views.get(view, (0, 0, 0))
            views[view] = (requests + 1, in_all + milliseconds, max(slowest, milliseconds))

    def refuse(self, cause: str) -> None:
        """Count a request that was answered 503."""
        with self._lock:
            self._span().refused[cause] += 1

    def last_hour(self) -> dict[str, Any]:
        """Return what a process says of its traffic: `requests`, `pages` and `refused`."""
        views, refused = dict[str, PageTimes](), Counter[str]()
        with self._lock:
            oldest = self._ticks() - SPAN_SECONDS * SPANS
            for span in self._spans:
                if span.began >= oldest:
                    refused += span.refused
                    for view, counts in span.views.items():
                        views[view] = merged(views.get(view), PageTimes(view, *counts))
        in_all = sum(one.requests for one in views.values())
        views.pop(NO_VIEW, None)
        slowest = sorted(views.values(), key=lambda one: -one.mean)[:MOST_PAGES]
        return {"requests": in_all, "pages": tuple(slowest), "refused": dict(refused)}

    def _span(self) -> Span:
        now = self._ticks()
        if not self._spans or now - self._spans[-1].began >= SPAN_SECONDS:
            self._spans.append(Span(now))
        return self._spans[-1]


def merged(one: PageTimes | None, other: PageTimes) -> PageTimes:
    """Return the times of a view in two spans, or two processes."""
    if one is None:
        return other
    return PageTimes(
        one.view,
        one.requests + other.requests,
        one.milliseconds + other.milliseconds,
        max(one.slowest, other.slowest),
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
    counting.add(chart.REQUESTS, view or "other", method, status)
    counting.took(chart.REQUEST_SECONDS, view or "other", method, seconds=seconds)
    if not is_probe:
        of_process.note(view, seconds)
        if cause:
            counting.add(chart.UNAVAILABLE, cause)
        if cause not in ("", CLOSED):
            of_process.refuse(cause)
    if not is_file(request, status) and not (is_probe and status < 400):
        log_answer(request, status, milliseconds=seconds * 1000, **({"cause": cause} if cause else {}))


of_process = Traffic()
