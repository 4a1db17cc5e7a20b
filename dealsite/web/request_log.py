"""What the log says of a request: its id in every line, and of its address the pattern, since addresses hold tokens.

And the one line that an event gets, whatever text it holds.
"""

import logging

import structlog
from django.http import HttpRequest


def current_id() -> str:
    """Return the id of the request that is being answered, '' outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def route_of(request: HttpRequest) -> str:
    """Return the pattern of a request's address, '' of one that leads nowhere: a reset link holds what is secret."""
    return f"/{request.resolver_match.route}" if request.resolver_match else ""


class RequestFilter(logging.Filter):
    """Puts the request's id into Django's own lines as well, and takes the address out of them."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] == "django" and not hasattr(
            record, "request_id"
        ):  # of another handler
            request = getattr(record, "request", None)
            if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
                route = route_of(request)
                record.args = tuple(route if arg == request.path else arg for arg in record.args)
            # Django logs the status of an answer when the middleware is through with it.
            request_id = getattr(request, "request_id", "") or current_id()
            vars(record)["request_id"] = request_id
            if request_id:
                record.msg = f"{record.msg} request_id={request_id!r}"
        return True


class OneLine(logging.Formatter):
    """Writes an event in one line: a traceback's line breaks, and whatever could pass for one, are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
