"""A port of the worker's own for /metrics, where no web process of its machine could answer."""

import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpResponse

from dealsite.metrics import page

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


def serve(number: int) -> WSGIServer | None:
    """Answer at a port of all addresses in a thread; None where another worker of this machine does already."""
    try:
        server = WSGIServer(("", number), _Silent)
    except OSError as error:
        logger.warning("metrics_port_taken", port=number, reason=repr(error))
        return None
    server.set_app(answer)
    threading.Thread(target=server.serve_forever, name="metrics-port", daemon=True).start()
    return server
