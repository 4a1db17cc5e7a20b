"""A port of the worker's own for /metrics, where no web process of its machine could answer."""

import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpResponse

from dealsite.metrics import page

RETRY_SECONDS = 10.0
CLIENT_SECONDS = 5.0  # for a request, since one is answered at a time

logger = structlog.get_logger(__name__)


class _Silent(WSGIRequestHandler):
    timeout = CLIENT_SECONDS

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer /metrics as the site does, and nothing else."""
    try:
        if environ["PATH_INFO"] != "/metrics":
            raise Http404
        response = page.metrics(WSGIRequest(environ))
    except Http404:
        response = HttpResponse("Not found\n", status=404, content_type="text/plain")
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


def keep(stop: threading.Event, number: int) -> None:
    """Answer at a port as soon as no other worker of this machine does, such as the one that this one replaces."""
    is_said = False
    while not stop.is_set():
        try:
            serve(number)
            return
        except OSError as error:
            if not is_said:
                logger.warning("metrics_port_taken", port=number, reason=repr(error))
            is_said = True
        stop.wait(RETRY_SECONDS)


def serve(number: int) -> WSGIServer:
    """Answer at a port of all addresses in a thread; OSError where that is taken."""
    server = WSGIServer(("", number), _Silent)
    server.set_app(answer)
    threading.Thread(target=server.serve_forever, name="metrics-port", daemon=True).start()
    return server
