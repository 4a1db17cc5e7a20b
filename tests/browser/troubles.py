"""Notes what no window of the site may do: script errors, refused content, failed requests, calls elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

PAGES = ("document", "xhr", "fetch")  # what may answer with a 4xx that belongs to the story
SAID_BY_STATUS = ("Failed to load resource", "Response Status Error Code")  # Chromium's words, and htmx's
GIVEN_UP = "net::ERR_ABORTED"  # the visitor went on before it was loaded


class Troubles:
    """Collects sentences in `found`; `allowed` holds the statuses from 500 on that a test brings about."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.allowed: set[int] = set()
        self.found: list[str] = []

    def watch(self, context: BrowserContext) -> None:
        """Note what goes wrong in the windows of a browser."""
        for event, note in self._notes().items():
            context.on(event, note)  # type: ignore[call-overload]

    def leave(self, context: BrowserContext) -> None:
        """Note no more of what happens in the windows of a browser."""
        for event, note in self._notes().items():
            context.remove_listener(event, note)

    def _notes(self) -> dict[str, Callable[[Any], None]]:
        return {
            "weberror": self._error,
            "console": self._message,
            "request": self._request,
            "requestfailed": self._failure,
            "response": self._response,
        }

    def _error(self, error: WebError) -> None:
        self.found.append(f"Script error: {error.error}")

    def _message(self, message: ConsoleMessage) -> None:
        # What does not load is noted with its status below; violations of the policy are errors, too.
        if message.type in ("error", "warning") and not message.text.startswith(SAID_BY_STATUS):
            self.found.append(f"{message.type} on {message.location.get('url', '')}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.found.append(f"A call elsewhere: {request.url}")

    def _failure(self, request: Request) -> None:
        if request.failure != GIVEN_UP:
            self.found.append(f"{request.url} failed: {request.failure}")

    def _response(self, response: Response) -> None:
        may_refuse = response.request.resource_type in PAGES
        if response.status >= (500 if may_refuse else 400) and response.status not in self.allowed:
            self.found.append(f"{response.status} for {response.url}")
