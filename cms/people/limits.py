"""The limits of the site: how far they are used just now, and who was stopped by one lately."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import role
from dealsite.accounts.limit_table import ROWS
from dealsite.data.people import security_events, throttles
from dealsite.data.people.throttles import Limit
from dealsite.text.lazy import Text
from dealsite.web.pages import page

NEAR = 0.8  # of a limit


@dataclass(frozen=True)
class LimitUse:
    """A limit as its list shows it; `used` is how often it was, on the whole site, None where that is not counted."""

    name: str
    limit: Limit
    used: int | None

    @property
    def is_near(self) -> bool:
        return self.used is not None and self.used >= NEAR * self.limit.tries

    @property
    def is_reached(self) -> bool:
        return self.used is not None and self.used >= self.limit.tries

    @property
    def span(self) -> str:
        return throttles.in_words(int(self.limit.span.total_seconds()))


@page("1 batch get + 1 query")
@role("admin")
@require_safe
def limit_list(request: EditorRequest) -> HttpResponse:
    """Show every limit with its use, and who was stopped lately. 1 batch get + 1 query."""
    now = timezone.now()
    in_all = {name for row in ROWS for name in row.limits if name.endswith("-total")} | {"sign-in-unknown"}
    stored = throttles.uses(map(limits.limit, in_all), limits.EVERYBODY, now=now)
    here = {f"{row.name}-total" for row in ROWS if row.in_memory}
    used = stored | {name: limits.used_here(name, now=now) for name in here}
    rows = [
        (row, [LimitUse(name, limits.limit(name), used.get(name)) for name in row.limits]) for row in ROWS
    ]
    context = {
        "rows": rows,
        "near": [row for row, uses in rows if any(use.is_near for use in uses)],
        "stopped": [(event, _what(event.detail)) for event in security_events.page(event="throttled").events],
    }
    return render(request, "cms/people/limits.html", context)


def _what(name: str) -> Text:
    """Return what a limit counts; its name where it is none of the table's."""
    return next((row.what for row in ROWS if name in row.limits), name)
