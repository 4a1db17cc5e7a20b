"""What OpenTelemetry does for tracing.py: makes spans, and sends them in batches from a thread of its own.

Its own variables hold, too: OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS, OTEL_BSP_MAX_QUEUE_SIZE and so on.
"""

import logging
import time
from collections.abc import Sequence

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dealsite import __version__
from dealsite.data.table.meters import Call

ANSWERED = ("answered", "condition")  # a condition that does not hold is an answer, too
PROPAGATOR = TraceContextTextMapPropagator()
logger = structlog.get_logger(__name__)


class Reasons(logging.Handler):
    """Keeps the first line of OpenTelemetry's own log since it was last asked: the others say the same again."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._first = ""

    def emit(self, record: logging.LogRecord) -> None:
        self._first = self._first or record.getMessage()

    def take(self) -> str:
        """Return that line, and wait for the next one."""
        first, self._first = self._first, ""
        return first


class Exporter(OTLPSpanExporter):
    """Sends spans; says in one line that the collector takes none, and in one that it does again."""

    def __init__(self, url: str, reasons: Reasons) -> None:
        super().__init__(f"{url}/v1/traces")
        self._url, self._reasons, self._fails = url, reasons, False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._reasons.take()
        result = super().export(spans)
        fails = result is not SpanExportResult.SUCCESS
        if fails and not self._fails:
            logger.warning("traces_not_sent", collector=self._url, reason=self._reasons.take())
        elif self._fails and not fails:
            logger.info("traces_sent_again", collector=self._url)
        self._fails = fails
        return result


class Collector:
    """Where this process sends its spans. Those that do not fit into the queue are lost."""

    def __init__(self, url: str, part: str) -> None:
        reasons = Reasons()
        resource = Resource.create({"service.name": f"dealsite-{part}", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(Exporter(url, reasons)))
        self._tracer = self._provider.get_tracer("dealsite")
        log = logging.getLogger("opentelemetry")
        log.handlers, log.propagate = [reasons], False

    def end(self) -> None:
        """Send what is left, and end."""
        self._provider.shutdown()

    def span(self, name: str, parent: str) -> Span:
        """Begin the span of a request or job; `parent` is a traceparent, or nothing of sense."""
        context = PROPAGATOR.extract({"traceparent": parent}, Context()) if parent else Context()
        kind = SpanKind.SERVER if name == "request" else SpanKind.CONSUMER
        return self._tracer.start_span(name, context, kind)

    def call(self, parent: Span, call: Call) -> None:
        """Add a table call that has just ended."""
        ended = time.time_ns()
        said: dict[str, str | float] = {
            "db.system.name": "aws.dynamodb",
            "db.operation.name": call.operation,
            "dealsite.outcome": call.outcome,
            "dealsite.units": call.units,
            "dealsite.retries": call.retries,
        }
        if call.index:
            said["dealsite.index"] = call.index
        began = ended - int(call.seconds * 1e9)
        context = set_span_in_context(parent, Context())
        span = self._tracer.start_span(call.operation, context, SpanKind.CLIENT, said, start_time=began)
        if call.outcome not in ANSWERED:
            self.failed(span)
        span.end(ended)

    def failed(self, span: Span) -> None:
        """Mark a span as one of what failed."""
        span.set_status(StatusCode.ERROR)

    def trace_id(self, span: Span) -> str:
        """Return the id of a span's trace."""
        return f"{span.get_span_context().trace_id:032x}"

    def traceparent(self, span: Span) -> str:
        """Return what names a span to others, as the W3C writes it."""
        said = span.get_span_context()
        return f"00-{said.trace_id:032x}-{said.span_id:016x}-{said.trace_flags:02x}"
