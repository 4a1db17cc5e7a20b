"""/metrics: what the processes of this machine counted, and what is found out about it, as Prometheus reads it.

A worker answers it at a port of its own, where no web process of its machine could.
"""

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, get_args
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import orjson
import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

import dealsite
from dealsite.search import reader as search_folder
from dealsite.web import counting, readiness
from dealsite.web.counting import Kind, Metric
from dealsite.web.pages import CLOSED, everyone, open_while
from dealsite.web.readiness import may_see_details

TICKS, PAGE_BYTES = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE")

Sample = tuple[Metric, tuple[str, ...], float]
RETRY_SECONDS = 10.0
CLIENT_SECONDS = 5.0  # for a request, since one is answered at a time

logger = structlog.get_logger(__name__)


@everyone.feed("none")
@open_while(*CLOSED)
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """To the machine itself and who sends the token; strangers learn not even that there is such a page."""
    if not may_see_details(request):
        raise Http404
    return HttpResponse(text(), content_type=CONTENT_TYPE_LATEST)


def text() -> bytes:
    """Return all metrics of this machine. No requests."""
    all_processes = CollectorRegistry()
    all_processes.register(_AllProcesses())
    return generate_latest(all_processes)


class _AllProcesses(Collector):
    """What prometheus_client asks for its metrics."""

    def describe(self) -> Iterable[Family]:
        return ()

    def collect(self) -> Iterator[Family]:
        files = [str(file) for file in counting.files()]
        yield from MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        families: dict[Metric, CounterMetricFamily | GaugeMetricFamily] = {}
        for metric, labels, value in samples(timezone.now()):
            family = families.get(metric)
            if family is None:
                made = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
                family = families[metric] = made(metric.name, metric.about, labels=metric.labels)
            family.add_metric(labels, value)
        yield from families.values()


def samples(now: datetime) -> Iterator[Sample]:
    """Yield each metric of this machine with its labels and value; what cannot be found out is left out."""
    yield counting.BUILD, (dealsite.__version__,), 1
    yield from _processes()
    for part, one in readiness.parts_now().items():
        yield counting.RESTARTS, (part,), one["restarts"]
    for name, one in readiness.projections_now(now).items():
        yield counting.PROJECTION, (name, one["state"]), 1
        yield counting.PROJECTION_SKIPPED, (name,), one["skipped"]
        if one["lag_seconds"] is not None:
            yield counting.PROJECTION_LAG, (name,), one["lag_seconds"]
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        yield from _search_index()
    with contextlib.suppress(OSError):
        for name, disk in readiness.disks_now().items():
            yield counting.DISK_FREE, (name,), disk["free_bytes"]
            yield counting.DISK_SHARE, (name,), disk["free_share"]
            yield counting.DISK_LITTLE, (name,), disk["little"] + disk["too_little"]


def _processes() -> Iterator[Sample]:
    running = counting.running()
    parts = Counter(name.partition("-")[0] for name in running)
    for part in get_args(counting.Part):
        yield counting.PROCESSES, (part,), parts[part]
    for name, pid in running.items():
        with contextlib.suppress(OSError, ValueError, LookupError):
            # After the command's name, in brackets: utime, stime and rss are fields 14, 15 and 24 of proc(5).
            stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
            yield counting.PROCESS_CPU, (name,), (int(stat[11]) + int(stat[12])) / TICKS
            yield counting.PROCESS_MEMORY, (name,), int(stat[21]) * PAGE_BYTES


def _read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123 - a path of the system's own, not of ours
        return file.read()


def _search_index() -> Iterator[Sample]:
    generation = search_folder.current_generation(search_folder.index_root())
    if generation is None:
        return
    yield counting.SEARCH_BYTES, (), sum(one.stat().st_size for one in generation.iterdir())
    segments: list[dict[str, Any]] = orjson.loads((generation / "meta.json").read_bytes())["segments"]
    deleted = sum((one["deletes"] or {}).get("num_deleted_docs", 0) for one in segments)
    yield counting.SEARCH_DEALS, (), sum(one["max_doc"] for one in segments) - deleted


class _Silent(WSGIRequestHandler):
    timeout = CLIENT_SECONDS

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer /metrics as the site does, and nothing else."""
    try:
        if environ["PATH_INFO"] != "/metrics":
            raise Http404
        response: Any = metrics(WSGIRequest(environ))
    except Http404:
        response = HttpResponse("Not found\n", status=404, content_type="text/plain")
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


def keep_port(stop: threading.Event, number: int) -> None:
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
