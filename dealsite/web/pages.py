"""What a view says of its page: whom it is for, what showing it costs, and at which addresses tests open it.

Each view says so in one line, `@everyone.page("1 query")` or, where accounts are known, `@editors.action`. From these
come the list of pages in docs/access-patterns.md, the tests of what pages cost and who may see them, and the pages that
a browser visits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.http import HttpResponseBase
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealsite.data.entities.operations import CLOSED_FOR_MAINTENANCE, READ_ONLY, SwitchState

CLOSED = READ_ONLY, CLOSED_FOR_MAINTENANCE
Kind = Literal["page", "part", "feed", "action"]
View = Callable[..., HttpResponseBase]
Guard = Callable[[View], View]


@dataclass(frozen=True, slots=True)
class Page:
    """One page."""

    kind: Kind
    requests: str  # of a GET: at its first address; after ` or `, at most at others. Who is signed in costs a batch get
    at: tuple[str, ...]
    seen_by: str


At = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audience:
    """Whom views are for: `guard` makes one that turns everybody else away.

    `at` names addresses that show what a page can be: "" is the one of its route, filled in by the content of the
    tests, "?..." the same with a query, "/..." any other; `{live.id}` and the like stand for that content, too.
    `seen_by` names the user of the tests who sees most of it, where its role allows for several.
    """

    guard: Guard

    def page(self, requests: str, *, at: At = "", seen_by: str = "") -> Guard:
        """Declare a page that people look at."""
        return self._declare("page", require_safe, requests, at, seen_by)

    def form(self, requests: str, *, at: At = "", seen_by: str = "") -> Guard:
        """Declare a page whose form is sent to the page itself."""
        return self._declare("page", _reads_and_forms, requests, at, seen_by)

    def part(self, requests: str, *, at: At = "", seen_by: str = "") -> Guard:
        """Declare what a page fetches or offers: a part of it, an answer in JSON, a file."""
        return self._declare("part", require_safe, requests, at, seen_by)

    def feed(self, requests: str, *, at: At = "") -> Guard:
        """Declare what machines read."""
        return self._declare("feed", require_safe, requests, at)

    def action(self, view: View) -> View:
        """Declare a view that answers POST alone: what it does is a question of the data layer, with its own row."""
        return self._declare("action", require_POST, "none")(view)

    def _declare(self, kind: Kind, methods: Guard, requests: str, at: At = "", seen_by: str = "") -> Guard:
        def declare(view: View) -> View:
            guarded = self.guard(methods(view))
            guarded.page = Page(kind, requests, (at,) if isinstance(at, str) else at, seen_by)  # type: ignore[attr-defined]
            return guarded

        return declare


_reads_and_forms = require_http_methods(["GET", "HEAD", "POST"])
everyone = Audience(lambda view: view)


def open_while(*states: SwitchState) -> Guard:
    """Declare a view that works although the site's switch says otherwise: it changes nothing of the shop."""

    def declare(view: View) -> View:
        view.open_while = frozenset(states)  # type: ignore[attr-defined]
        return view

    return declare


def page_of(view: View) -> Page | None:
    """Return what a view says of its page."""
    return getattr(view, "page", None)
