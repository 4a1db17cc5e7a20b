"""What surrounds every view: counting and limiting its data calls, and turning data errors into pages."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render

from dealsite.data import table
from dealsite.data.table import errors

# No call starts later than this many seconds into a request. The last one may take 1.5 s (connect and
# answer), so that a visitor waits for less than 3 s, whatever the engine does.
DATA_SECONDS = 1.4
# More is not even read, whoever sends it: the largest file that a form takes has half of it.
MOST_BYTES = 100_000_000
PAGES = {400, 403, 404, 409, 429, 503}

# Features that no page of this site uses; a script that got in could not use them either.
DENIED = (
    *("accelerometer", "autoplay", "camera", "clipboard-read", "display-capture", "encrypted-media"),
    *("fullscreen", "geolocation", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer"),
    *("microphone", "midi", "otp-credentials", "payment", "picture-in-picture", "screen-wake-lock", "serial"),
    *("storage-access", "sync-xhr", "usb", "window-management", "xr-spatial-tracking"),
)
# Vouchers and links are copied; passkeys are made and used.
OWN = ("clipboard-write", "publickey-credentials-create", "publickey-credentials-get")
PERMISSIONS = ", ".join([*(f"{name}=()" for name in DENIED), *(f"{name}=(self)" for name in OWN)])

GetResponse = Callable[[HttpRequest], HttpResponse]
logger = structlog.get_logger(__name__)


class MeterMiddleware:
    """Gives each request its `meter` (calls, units, milliseconds) and a deadline for data calls."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with table.metered() as meter, table.deadline(DATA_SECONDS):
            request.meter = meter  # type: ignore[attr-defined]
            return self.get_response(request)


class ErrorsMiddleware:
    """Turns what `dealsite.data.table.errors` says into the page of its HTTP status."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return error_page(request, error) if isinstance(error, errors.DataError) else None


class BodyMiddleware:
    """Takes in what a visitor sends; a slow line counts nothing towards the deadline for data calls."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST":
            length = request.META.get("CONTENT_LENGTH") or ""
            if length.isascii() and length.isdigit() and (len(length) > 9 or int(length) > MOST_BYTES):
                raise RequestDataTooBig("More than any form of this site takes.")
            with table.working(), contextlib.suppress(UnreadablePostError):
                request.POST.keys()  # reads form and files; what does not come is missed by the view
        return self.get_response(request)


class BrowserHeadersMiddleware:
    """Keeps other sites from loading pages as parts of theirs, and pages from what they need not do.

    Pictures and static files stay as they are: a deal's picture may be shown elsewhere.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_file = response.status_code < 400 and request.path_info.startswith(
            (settings.STATIC_URL, settings.MEDIA_URL)
        )
        if not is_file:
            response.headers.setdefault("Permissions-Policy", PERMISSIONS)
            response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


def error_page(request: HttpRequest, error: errors.DataError, **more: Any) -> HttpResponse | None:
    """Return the page for a data error; None for one that is a mistake of ours and belongs in the log as such.

    `more` is for its template.
    """
    if error.status not in PAGES:
        return None
    if error.status == 503:
        logger.warning("data_unavailable", path=request.path, reason=repr(error.__cause__ or error))
    response = render(request, f"{error.status}.html", {"error": error, **more}, status=error.status)
    if isinstance(error, errors.TooManyRequests):
        response["Retry-After"] = str(error.retry_after)
    if isinstance(error, errors.Unavailable):
        response["Retry-After"] = "5"
    response["Cache-Control"] = "no-store"
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what went wrong outside a view: a data error gets its own page, all else the 500 page."""
    error = sys.exc_info()[1]
    response = error_page(request, error) if isinstance(error, errors.DataError) else None
    return response or render(request, "500.html", status=500)
