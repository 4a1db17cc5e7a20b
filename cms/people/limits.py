"""The limits of the site: how far they are used just now, and who was stopped by one in the last day."""

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import role
from dealsite.accounts.limit_table import ROWS, LimitRow
from dealsite.data.people import throttles
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


@dataclass(frozen=True)
class Refusal:
    """Somebody who was stopped in an hour; `username` is '' for a visitor."""

    hour: datetime
    name: str
    what: Text
    username: str
    network: str


@page("1 batch get")
@role("admin")
@require_safe
def limit_list(request: EditorRequest) -> HttpResponse:
    """Show every limit with its use, and whom one stopped in the last day. 1 batch get."""
    now = timezone.now()
    in_all = {name for row in ROWS for name in row.limits if name.endswith("-total")} | {"sign-in-unknown"}
    stored, refused = throttles.overview(map(limits.limit, in_all), limits.EVERYBODY, now=now)
    here = {f"{row.name}-total" for row in ROWS if row.in_memory}
    used = stored | {name: limits.used_here(name, now=now) for name in here}
    rows = [
        (row, [LimitUse(name, limits.limit(name), used.get(name)) for name in row.limits]) for row in ROWS
    ]
    context = {
        "rows": rows,
        "near": [row for row, uses in rows if any(use.is_near for use in uses)],
        "refusals": [_refusal(hour, text) for hour in refused for text in sorted(refused[hour])],
    }
    return render(request, "cms/people/limits.html", context)


def _refusal(hour: datetime, text: str) -> Refusal:
    name, username, network = text.split(" ")
    return Refusal(hour, name, _row_of(name).what, username.removeprefix("-"), network)


def _row_of(name: str) -> LimitRow:
    return next(row for row in ROWS if name in row.limits)
