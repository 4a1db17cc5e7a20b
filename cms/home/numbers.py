"""The important numbers of the last days: small on the CMS's first page, as charts and tables on a page of their own.

Editors see what concerns deals; orders, revenue and sign-ups are the back office's.
"""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from cms.home.sparklines import sparkline
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.ask import numbers as lake_numbers
from dealsite.ask.lake import open_lake
from dealsite.ask.numbers import OF_EDITORS, Number
from dealsite.web.pages import page, part


@page("none")
@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def numbers(request: EditorRequest) -> HttpResponse:
    """What happened in the last 30 days, day by day."""
    template = "cms/home/_numbers.html" if request.htmx else "cms/home/numbers.html"
    return render(request, template, {"numbers": _numbers_for(request)})


@part("none")
@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def daily_numbers(request: EditorRequest) -> HttpResponse:
    """The same of the last two weeks as small lines: a part of the first page, which does not wait for it."""
    if not request.htmx:
        return redirect("cms_numbers")
    page = {"numbers": [sparkline(number) for number in _numbers_for(request) if number.days]}
    return render(request, "cms/home/_daily_numbers.html", page)


def _numbers_for(request: EditorRequest) -> list[Number]:
    """Return the numbers that somebody may see; none where the lake gives none in time."""
    lake = open_lake()
    found = lake_numbers.last_30_days(lake, now=timezone.now()) if lake else []
    if request.user.has_role("back office"):
        return found
    return [number for number in found if number.name in OF_EDITORS]
