"""What a view says of its page: what showing it costs, and at which addresses tests open it.

Each view has one of these four decorators, above all others. From them come the list of pages in
docs/access-patterns.md, the tests of what pages cost and who may see them, and the pages that a browser visits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from django.http import HttpResponseBase

from dealsite.data.entities.operations import CLOSED_FOR_MAINTENANCE, READ_ONLY, SwitchState

CLOSED = READ_ONLY, CLOSED_FOR_MAINTENANCE
View = TypeVar("View", bound=Callable[..., HttpResponseBase])


@dataclass(frozen=True, slots=True)
class Page:
    """One page. Who may see it is what @signed_in or @role say."""

    kind: Literal["page", "part", "feed", "action"]
    requests: str  # of a GET: at its first address; after ` or `, at most at others. Who is signed in costs a batch get
    at: tuple[str, ...] = ("",)
    seen_by: str = ""


def page(requests: str, *, at: str | tuple[str, ...] = "", seen_by: str = "") -> Callable[[View], View]:
    """Declare a page that people look at.

    `at` names addresses that show what the page can be: "" is the one of its route, filled in by the content of the
    tests, "?..." the same with a query, "/..." any other; `{live.id}` and the like stand for that content, too.
    `seen_by` names the user of the tests who sees most of it, where its role allows for several.
    """
    return _declare(Page("page", requests, _several(at), seen_by))


def part(requests: str, *, at: str | tuple[str, ...] = "", seen_by: str = "") -> Callable[[View], View]:
    """Declare what a page fetches or offers: a part of it, an answer in JSON, a file."""
    return _declare(Page("part", requests, _several(at), seen_by))


def feed(requests: str, *, at: str | tuple[str, ...] = "") -> Callable[[View], View]:
    """Declare what machines read."""
    return _declare(Page("feed", requests, _several(at)))


def action(view: View) -> View:
    """Declare a view that answers POST alone: what it does is a question of the data layer, with its own row."""
    return _declare(Page("action", "none"))(view)


def open_while(*states: SwitchState) -> Callable[[View], View]:
    """Declare a view that works although the site's switch says otherwise: it changes nothing of the shop."""

    def declare(view: View) -> View:
        view.open_while = frozenset(states)  # type: ignore[attr-defined]
        return view

    return declare


def page_of(view: Callable[..., HttpResponseBase]) -> Page | None:
    """Return what a view says of its page."""
    return getattr(view, "page", None)


def _several(at: str | tuple[str, ...]) -> tuple[str, ...]:
    return (at,) if isinstance(at, str) else at


def _declare(page: Page) -> Callable[[View], View]:
    def declare(view: View) -> View:
        view.page = page  # type: ignore[attr-defined]
        return view

    return declare
