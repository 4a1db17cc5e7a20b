"""Likes of brands and categories."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from dealsite.data.relations import BRAND_LIKE, CATEGORY_LIKE
from shopping.buttons import press


@require_POST
def like_brand(request: HttpRequest, slug: str) -> HttpResponse:
    """Like a brand."""
    return press(request, BRAND_LIKE, slug, held=True)


@require_POST
def unlike_brand(request: HttpRequest, slug: str) -> HttpResponse:
    """Take a like of a brand back."""
    return press(request, BRAND_LIKE, slug, held=False)


@require_POST
def like_category(request: HttpRequest, slug: str) -> HttpResponse:
    """Like a category."""
    return press(request, CATEGORY_LIKE, slug, held=True)


@require_POST
def unlike_category(request: HttpRequest, slug: str) -> HttpResponse:
    """Take a like of a category back."""
    return press(request, CATEGORY_LIKE, slug, held=False)
