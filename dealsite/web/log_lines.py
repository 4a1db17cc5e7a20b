"""What a line of the log looks like: one for each event, on the standard error output, whatever text an event holds.

Whoever runs the site lets journald, Docker or a file's rotation keep them: docs/operations.md says how.
"""

import logging
import sys
import threading
from typing import Any

import structlog
from structlog.typing import Processor

FORMATS = ("text", "json")
SHARED: list[Processor] = [structlog.contextvars.merge_contextvars, structlog.processors.format_exc_info]


def is_terminal() -> bool:
    """Tell whether people watch the log, rather than something that collects its lines."""
    return sys.stderr is not None and sys.stderr.isatty()


def usual_format() -> str:
    """Return the format of a log that nobody chose one for: text for people, JSON for what collects lines."""
    return "text" if is_terminal() else "json"


def level_of_work(level: str) -> str:
    """Return the level for lines of the worker: at a terminal its daily work is told only to who asks for DEBUG."""
    return "WARNING" if level == "INFO" and is_terminal() else level


def formatter(log_format: str) -> dict[str, Any]:
    """Return what Django's LOGGING makes the formatter of."""
    if log_format != "json":
        return {
            "()": "dealsite.web.log_lines.OneLine",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    processors: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper("iso"),
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.JSONRenderer(),
    ]
    formatter = structlog.stdlib.ProcessorFormatter
    foreign = [*SHARED, structlog.stdlib.ExtraAdder(["request_id"])]
    return {"()": formatter, "foreign_pre_chain": foreign, "processors": processors}


def configure_events(log_format: str) -> None:
    """Let events and their values go where Django's own log goes."""
    as_text = structlog.processors.KeyValueRenderer(key_order=["event"])
    as_json = structlog.stdlib.ProcessorFormatter.wrap_for_formatter
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *SHARED, as_json if log_format == "json" else as_text],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


class OneLine(logging.Formatter):
    """Writes an event in one line: a traceback's line breaks, and whatever could pass for one, are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        request_id = getattr(record, "request_id", "")
        return super().formatMessage(record) + (f" request_id={request_id!r}" if request_id else "")


def printable(text: str) -> str:
    """Return a text whose control characters are spelled out: they must not steer the terminal of who reads it."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def note_uncaught() -> None:
    """Let an error that ends a thread be an event like others."""
    logger = structlog.get_logger(__name__)

    def note(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and args.exc_type is not SystemExit:
            name = args.thread.name if args.thread else ""
            logger.error("thread_ended", thread=name, exc_info=args.exc_value)

    threading.excepthook = note
