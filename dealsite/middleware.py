"""What surrounds every view: counting and limiting its data calls, and turning data errors into pages."""

import re
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.middleware.common import CommonMiddleware
from django.shortcuts import render
from django.utils import timezone

from dealsite.data import table
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.processes.heartbeat import end_if_out_of_memory, is_shortage
from dealsite.web.counting import PROBES, cause_of, due_to, is_file, note_answer, route_of

# No call waits beyond this many seconds into a view, so that a visitor waits for less than 3 s in all,
# whatever the engine does. It holds two attempts of `client.READ_TIMEOUT` and the pause between them.
DATA_SECONDS = 2.4
# What the web process says of a request: seconds that it waited for a thread, that its body was not read, and how
# large a file may be that its visitor sends there.
WAITED, IS_TOO_LARGE, FILE_BYTES = "dealsite.waited", "dealsite.is_too_large", "dealsite.file_bytes"
REQUEST_ID = "X-Request-ID"
RETRY_AFTER = "5"  # seconds
FROM_PROXY = re.compile(r"[A-Za-z0-9._-]{1,64}")  # what may stand in a line of the log
ESCAPED_TWICE = re.compile("%25([89A-F][0-9A-F])")  # by Django: first what is no UTF-8, then the sign of that
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


class Middleware:
    """What surrounds every view; one that only answers in place of views passes requests on."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class RequestIdMiddleware(Middleware):
    """Gives each request an id, or keeps that of a trusted proxy; each line of the log and the answer say it.

    Each gets a line of its own, but for files, probes that succeed, and what the site asks itself while it warms up.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info in PROBES:  # load balancers ask by a machine's address
            request.META["HTTP_HOST"] = urlsplit(settings.DEALSITE_URL).netloc
        given = request.headers.get(REQUEST_ID, "") if settings.DEALSITE_TRUSTED_PROXIES else ""
        request_id = given if FROM_PROXY.fullmatch(given) else new_ulid(timezone.now())
        request.request_id = request_id  # type: ignore[attr-defined]
        began = time.perf_counter() - request.META.get(WAITED, 0)
        with due_to(request_id):
            response = self.get_response(request)
            if "REMOTE_ADDR" in request.META:
                note_answer(
                    request,
                    response.status_code,
                    seconds=time.perf_counter() - began,
                    cause=_cause(request, response),
                )
        if not is_file(request, response.status_code):
            response[REQUEST_ID] = request_id
        return response


def _cause(request: HttpRequest, response: HttpResponse) -> str:
    """Return the word for why a page was answered 503."""
    if response.status_code != 503:
        return ""
    failure = getattr(getattr(request, "meter", None), "failure", None)  # none where a file could not be read
    return getattr(response, "cause", "") or cause_of(failure)


class MeterMiddleware(Middleware):
    """Gives each request its `meter` (calls, units, milliseconds) and a deadline for data calls.

    That counts from where the view begins, less what the request waited for a thread: what the site itself does before,
    such as reading a large form or importing views, is not the table's time.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with table.metered() as meter, table.deadline(DATA_SECONDS):
            request.meter = meter  # type: ignore[attr-defined]
            response = self.get_response(request)
        if response.status_code == 503:
            _say_unavailable(request, response, meter.failure)
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> None:
        waited: float = request.META.get(WAITED, 0)
        table.restart_deadline(DATA_SECONDS - waited)


class ErrorsMiddleware(Middleware):
    """Turns what `dealsite.data.table.errors` says into the page of its HTTP status, and an empty 405 into one."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if (
            response.status_code == 405 and request.method == "GET"
        ):  # of a form's address that somebody opened
            allowed = response["Allow"]
            response = render(request, "405.html", status=405)
            response["Allow"], response["Cache-Control"] = allowed, "no-store"
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        found = as_data_error(error)
        return error_page(request, found) if found else None


class SlashMiddleware(CommonMiddleware):
    """Adds a slash to an address that lacks it."""

    def get_full_path_with_slash(self, request: HttpRequest) -> str:
        """Return the path as it was sent, and the slash."""
        path, mark, query = super().get_full_path_with_slash(request).partition("?")
        return ESCAPED_TWICE.sub(r"%\1", path) + mark + query


class BodyMiddleware(Middleware):
    """Takes apart what a visitor sends, before the deadline for data calls begins with the view.

    What is too large is refused in place of the view, in the language of whoever sent it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and not request.META.get(IS_TOO_LARGE):
            try:
                request.POST.keys()  # reads form and files; what does not come is missed by the view
            except UnreadablePostError:
                pass
            except RequestDataTooBig:
                request.META |= {IS_TOO_LARGE: True, FILE_BYTES: 0}  # its texts are, not a file
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        if not request.META.get(IS_TOO_LARGE):
            return None
        back = "" if "HX-Request" in request.headers else request.path
        context = {"megabytes": request.META.get(FILE_BYTES, 0) // 1_000_000, "back": back}
        return render(request, "413.html", context, status=413)


class BrowserHeadersMiddleware(Middleware):
    """Keeps other sites from loading pages as parts of theirs, and pages from what they need not do.

    Pictures and static files stay as they are: a deal's picture may be shown elsewhere.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not is_file(request, response.status_code):
            response.headers.setdefault("Permissions-Policy", PERMISSIONS)
            response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


def error_page(request: HttpRequest, error: errors.DataError, **more: Any) -> HttpResponse | None:
    """Return the page for a data error; None for one that is a mistake of ours and belongs in the log as such.

    `more` is for its template.
    """
    if error.status not in PAGES:
        return None
    response = render(request, f"{error.status}.html", {"error": error, **more}, status=error.status)
    if isinstance(error, errors.TooManyRequests):
        response["Retry-After"] = str(error.retry_after)
    if isinstance(error, errors.Unavailable):
        _say_unavailable(request, response, error)
    response["Cache-Control"] = "no-store"
    return response


def as_data_error(error: BaseException | None) -> errors.DataError | None:
    """Return a data error as it is, Unavailable for a full disk and the like, None for a mistake of ours."""
    if error is not None and is_shortage(error):
        end_if_out_of_memory(error)
        return errors.Unavailable(reason=error)
    return error if isinstance(error, errors.DataError) else None


def _say_unavailable(request: HttpRequest, response: HttpResponse, error: errors.Unavailable | None) -> None:
    """Tell the visitor when to come back, and operators why, in one line unless the log has said it already."""
    response.headers.setdefault("Retry-After", RETRY_AFTER)
    if getattr(response, "_has_been_logged", False):
        return
    response._has_been_logged = True  # type: ignore[attr-defined] # by Django, in a line that gives no reason
    if error is None or not error.is_said:
        reason = error and (error.reason or repr(error.__cause__ or error))
        logger.warning("data_unavailable", page=route_of(request), reason=reason)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what makes no sense before a view sees it; Django's own page would know nothing of the request."""
    return render(request, "400.html", status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what went wrong outside a view: a data error gets its own page, all else the 500 page."""
    error = as_data_error(sys.exc_info()[1])
    response = error_page(request, error) if error else None
    return response or render(request, "500.html", status=500)
