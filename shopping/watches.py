"""Watches of brands and categories."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from dealsite.data.relations import BRAND_WATCH, CATEGORY_WATCH
from shopping.buttons import press


@require_POST
def watch_brand(request: HttpRequest, slug: str) -> HttpResponse:
    """Watch a brand."""
    return press(request, BRAND_WATCH, slug, held=True)


@require_POST
def unwatch_brand(request: HttpRequest, slug: str) -> HttpResponse:
    """Stop watching a brand."""
    return press(request, BRAND_WATCH, slug, held=False)


@require_POST
def watch_category(request: HttpRequest, slug: str) -> HttpResponse:
    """Watch a category."""
    return press(request, CATEGORY_WATCH, slug, held=True)


@require_POST
def unwatch_category(request: HttpRequest, slug: str) -> HttpResponse:
    """Stop watching a category."""
    return press(request, CATEGORY_WATCH, slug, held=False)
