"""Counts what was asked of this web process, and how long it took."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from dealsite.data.table.errors import Busy, Misconfigured, Unavailable
from dealsite.metrics import chart, counting
from dealsite.middleware import WAITED

METHODS = {"GET", "HEAD", "POST", "OPTIONS"}
OTHER = "other"  # in place of a method that a visitor made up, or an address that leads nowhere


class MetricsMiddleware:
    """Counts each request by its view, method and status: around all others, so that none is left out."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self.get_response(request)
        taken = time.perf_counter() - started + request.META.get(WAITED, 0)
        view = request.resolver_match.view_name if request.resolver_match else OTHER
        method = request.method if request.method in METHODS else OTHER
        counting.add(chart.REQUESTS, view, method, response.status_code)
        counting.took(chart.REQUEST_SECONDS, view, method, seconds=taken)
        if response.status_code == 503:
            counting.add(chart.UNAVAILABLE, _cause(request))
        return response


def _cause(request: HttpRequest) -> str:
    meter = getattr(request, "meter", None)
    match meter and meter.failure:
        case Busy():
            return "busy"
        case Misconfigured():
            return "misconfigured"
        case Unavailable():
            return "table"
    return OTHER
