"""A collector of traces on this machine, and this process as one that sends them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from dealsite.data.table import meters
from dealsite.traces import tracing


class TraceCollector(ThreadingHTTPServer):
    """Takes what is sent by OTLP over HTTP; `status` is what it answers, once `open` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.status, self.open = 200, threading.Event()
        self.open.set()
        self.sent: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def spans(self) -> list[Span]:
        """What was sent so far, in the order of its beginnings."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.sent]
        found = [
            span
            for one in requests
            for of_resource in one.resource_spans
            for of_scope in of_resource.scope_spans
            for span in of_scope.spans
        ]
        return sorted(found, key=lambda span: span.start_time_unix_nano)


class Receiver(BaseHTTPRequestHandler):
    server: TraceCollector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.open.wait(30)
        if self.path == "/v1/traces" and self.server.status == 200:
            self.server.sent.append(body)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def trace_collector() -> Iterator[TraceCollector]:
    """A collector that runs."""
    server = TraceCollector()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.open.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def begin(
    settings: Any, monkeypatch: pytest.MonkeyPatch, trace_collector: TraceCollector
) -> Iterator[Callable[[str], None]]:
    """A function that makes this process one that sends traces to an address, until the test ends."""
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    monkeypatch.setattr(meters, "_called", meters._called)
    log = logging.getLogger("opentelemetry")
    before, propagates = log.handlers, log.propagate

    def begin_at(url: str) -> None:
        settings.DEALSITE_TRACES_URL = url
        tracing.begin("web")

    yield begin_at
    trace_collector.open.set()
    threads = tracing.ending() + [one for one in threading.enumerate() if one.name == "traces-end"]
    for (
        thread
    ) in threads:  # what goes on sending draws random numbers, which Hypothesis forbids in later tests
        thread.join()
    log.handlers, log.propagate = before, propagates


@pytest.fixture
def traced(begin: Callable[[str], None], trace_collector: TraceCollector) -> Callable[[], list[Span]]:
    """This process sends traces; a function that ends that and returns all that came."""
    begin(trace_collector.url)

    def all_spans() -> list[Span]:
        tracing.end()
        return trace_collector.spans

    return all_spans


def said(span: Span) -> dict[str, Any]:
    """Return the attributes of a span."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
