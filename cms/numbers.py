"""The important numbers of the last days as charts: a part of the CMS's first page, and a page of its own."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from cms.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.ask import numbers as lake_numbers
from dealsite.ask.lake import open_lake


@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def numbers(request: EditorRequest) -> HttpResponse:
    """Orders, revenue, sign-ups and what was put into carts, day by day."""
    lake = open_lake()
    found = lake_numbers.last_30_days(lake, now=timezone.now()) if lake else []
    template = "cms/_numbers.html" if request.htmx else "cms/numbers.html"
    return render(request, template, {"numbers": found})
