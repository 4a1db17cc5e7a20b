"""Forms on pages that are the same for all visitors: they can hold no secret, so what browsers say must do.

Such a page is kept for a moment and shown to everybody (`page_cache`), a form's CSRF token would be one visitor's.
Every browser says with a POST where the page stood that sent it: in Sec-Fetch-Site, older ones in Origin. A page of
another site cannot change either, and who says neither is refused. For forms that do little harm only; all others
carry the token.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

View = Callable[..., HttpResponse]


def from_this_site(view: View) -> View:
    """Take a form from this site's own pages alone, in place of the CSRF token; others get 403."""

    @csrf_exempt
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not is_from_this_site(request):
            return render(request, "403_csrf.html", status=403)
        return view(request, *args, **kwargs)

    return checked


def is_from_this_site(request: HttpRequest) -> bool:
    """Tell whether a browser says that a page of this very origin sent the request."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    own = f"{request.scheme}://{request.get_host()}"
    return request.headers.get("Origin") in (own, *settings.CSRF_TRUSTED_ORIGINS)
