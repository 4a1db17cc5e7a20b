"""One trace from a request over its table calls to the jobs that it causes; a job that nobody asked for begins its own.

Nothing here imports OpenTelemetry: a process that was not told to trace pays a comparison for each request and job.
What a trace holds is named here and in collector.py: patterns of addresses, and nothing that a visitor typed.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from dealsite.data import table
from dealsite.data.jobs import causes
from dealsite.data.jobs.jobs import Job
from dealsite.data.table.meters import Call
from dealsite.web.request_log import method_of, route_of, view_of
from dealsite.web.traffic import PROBES

if TYPE_CHECKING:
    from dealsite.traces.collector import Collector

HEADER = "traceparent"
MOST_CALLS = 200  # of the table that a request or job shows; an announcement to everybody makes thousands
END_SECONDS = 1.0  # for what is not sent yet, when the process ends: all has to be over in ten
MISSING = "DEALSITE_TRACES_URL is set, and the packages of OpenTelemetry are not installed."

Part = Literal["web", "worker"]
logger = structlog.get_logger(__name__)
_collector: "Collector | None" = None  # in processes that trace nothing


@dataclass(slots=True)
class Doing:
    """A request or job that is traced, and how often it called the table so far."""

    span: Any
    calls: int = 0


_doing: ContextVar[Doing | None] = ContextVar("doing", default=None)


def can_begin() -> bool:
    """Tell whether what sends traces is installed."""
    try:
        import dealsite.traces.collector  # noqa: F401 - takes 0.2 s, which nobody else has to wait
    except ImportError:
        return False
    return True


def begin(part: Part) -> None:
    """Trace from now on what this process does, if the settings say where to send that."""
    global _collector
    if not settings.DEALSITE_TRACES_URL:
        return
    if not can_begin():
        logger.warning("not_traced", reason=MISSING)
        return
    from dealsite.traces.collector import Collector

    _collector = Collector(settings.DEALSITE_TRACES_URL, part)
    table.observe(_called)
    os.register_at_fork(after_in_child=_forget)


def end() -> None:
    """Trace nothing any more; what is not sent within a second is lost."""
    for thread in ending():
        thread.join(END_SECONDS)


def ending() -> list[threading.Thread]:
    """Trace nothing any more; return the thread that sends what is left, for who waits for others, too."""
    if (collector := _collector) is None:
        return []
    _forget()
    thread = threading.Thread(target=collector.end, name="traces-end", daemon=True)
    thread.start()
    return [thread]


def _forget() -> None:
    global _collector
    _collector = None


def _nothing(_: object) -> None:
    pass


@contextlib.contextmanager
def of_request(request: HttpRequest) -> Iterator[Callable[[HttpResponse], None]]:
    """Trace a request; yields what to tell of its answer. Files and probes are left out."""
    if (collector := _collector) is None or request.path_info.startswith(
        (*PROBES, settings.STATIC_URL, settings.MEDIA_URL)
    ):
        yield _nothing
        return
    given = request.headers.get(HEADER, "") if settings.DEALSITE_TRUSTED_PROXIES else ""
    with _traced(collector, "request", given) as span:

        def answered(response: HttpResponse) -> None:
            if span.is_recording():
                method, route, status = method_of(request), route_of(request), response.status_code
                span.update_name(f"{method} {route}".strip())
                said = {
                    "http.request.method": method,
                    "http.route": route,
                    "http.response.status_code": status,
                }
                request_id = request.request_id  # type: ignore[attr-defined]
                span.set_attributes(
                    said | {"dealsite.view": view_of(request), "dealsite.request": request_id}
                )
                if status >= 500:
                    collector.failed(span)

        yield answered


@contextlib.contextmanager
def of_job(job: Job) -> Iterator[Callable[[str], None]]:
    """Trace a run of a job, in the trace of the request that caused it; yields what to tell of its outcome."""
    if (collector := _collector) is None:
        yield _nothing
        return
    with _traced(collector, job.kind, job.traceparent) as span:

        def ended(outcome: str) -> None:
            said = {"dealsite.job": job.id, "dealsite.kind": job.kind, "dealsite.outcome": outcome}
            span.set_attributes(said | {"dealsite.request": job.request})
            if outcome == "failed":
                collector.failed(span)

        yield ended


@contextlib.contextmanager
def _traced(collector: "Collector", name: str, parent: str) -> Iterator[Any]:
    """Let table calls and jobs of the block belong to a new span, and its lines of the log name the trace."""
    span = collector.span(name, parent)
    doing = Doing(span)
    token = _doing.set(doing)
    seen = {"trace_id": collector.trace_id(span)} if span.is_recording() else {}
    try:
        with causes.traced(collector.traceparent(span)), structlog.contextvars.bound_contextvars(**seen):
            yield span
    finally:
        _doing.reset(token)
        span.set_attribute("dealsite.table_calls", doing.calls)
        span.end()


def _called(call: Call) -> None:
    """Add an attempt of a table call to the request or job that made it."""
    doing, collector = _doing.get(), _collector
    if doing is None or collector is None or not doing.span.get_span_context().trace_flags.sampled:
        return
    doing.calls += 1
    if doing.calls <= MOST_CALLS:
        collector.call(doing.span, call)
