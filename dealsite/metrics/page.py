"""/metrics: what the processes of this machine counted, and what is found out about it, as Prometheus reads it."""

from collections.abc import Iterable, Iterator

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from dealsite.metrics import counting, machine
from dealsite.metrics.chart import Kind, Metric
from dealsite.web.health import may_see_details
from dealsite.web.pages import CLOSED, feed, open_while


@feed("none")
@open_while(*CLOSED)
@never_cache
@require_safe
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
        for metric, labels, value in machine.samples(timezone.now()):
            family = families.get(metric)
            if family is None:
                made = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
                family = families[metric] = made(metric.name, metric.about, labels=metric.labels)
            family.add_metric(labels, value)
        yield from families.values()
