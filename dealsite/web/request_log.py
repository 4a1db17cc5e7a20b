"""What the log and /metrics say of a request: when it is answered, and its id in every line that is due to it.

Of its address the pattern stands there, since addresses hold tokens; an event gets one line, whatever text it holds.
"""

import contextlib
import logging
from collections.abc import Iterator

import structlog
from django.conf import settings
from django.http import HttpRequest

from dealsite.accounts.requests import Visit, client_address, network_of
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from dealsite.data.table.meters import Meter
from dealsite.metrics import chart, counting

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
PROBES = ("/healthz", "/readyz", "/metrics")  # what machines ask
THREADS, SHORTAGE, CLOSED = "threads", "shortage", "closed"  # causes of 503 that are not the table's
logger = structlog.get_logger(__name__)


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
    counting.add(chart.REQUESTS, view or "other", method, status)
    counting.took(chart.REQUEST_SECONDS, view or "other", method, seconds=seconds)
    if cause and not is_probe:
        counting.add(chart.UNAVAILABLE, cause)
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
