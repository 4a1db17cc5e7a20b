"""What the log says of a request: its id in every line, and of its address the pattern, since addresses hold tokens."""

import logging
import re
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dealsite.data.table.ids import new_ulid

HEADER = "X-Request-ID"
FROM_PROXY = re.compile(r"[A-Za-z0-9._-]{1,64}")  # what may stand in a line of the log


class RequestIdMiddleware:
    """Gives each request an id, or keeps that of a trusted proxy; each line of the log and the answer say it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "") if settings.DEALSITE_TRUSTED_PROXIES else ""
        request_id = given if FROM_PROXY.fullmatch(given) else new_ulid(timezone.now())
        request.request_id = request_id  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
        response[HEADER] = request_id
        return response


def current_id() -> str:
    """Return the id of the request that is being answered, '' outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def route_of(request: HttpRequest) -> str:
    """Return the pattern of a request's address, '' of one that leads nowhere: a reset link holds what is secret."""
    return f"/{request.resolver_match.route}" if request.resolver_match else ""


class RequestFilter(logging.Filter):
    """Puts the request's id into Django's own lines as well, and takes the address out of them."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] == "django" and not hasattr(
            record, "request_id"
        ):  # of another handler
            request = getattr(record, "request", None)
            if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
                route = route_of(request)
                record.args = tuple(route if arg == request.path else arg for arg in record.args)
            # Django logs the status of an answer when the middleware is through with it.
            record.request_id = getattr(request, "request_id", "") or current_id()
            if record.request_id:
                record.msg = f"{record.msg} request_id={record.request_id!r}"
        return True
