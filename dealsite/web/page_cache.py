"""Public pages: kept for a moment, since they are the same for all who are not signed in; and the forms on them.

A busy front page is asked for many times a second. Two seconds (DEALSITE_PAGE_CACHE_SECONDS) of one process's memory
help more than any cache further away.

Such a page can hold no secret: a form's CSRF token would be one visitor's. Every browser says with a POST where the
page stood that sent it: in Sec-Fetch-Site, older ones in Origin. A page of another site cannot change either, and who
says neither is refused. For forms that do little harm only; all others carry the token.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from dealsite.accounts import cookies
from dealsite.accounts.security_log import note
from dealsite.web.message_cookie import MessageCookie

MAX_PAGES = 400
MAX_ADDRESS = 500  # characters; a longer address is not worth keeping

clock: Callable[[], float] = time.monotonic
_pages: OrderedDict[tuple[str, ...], tuple[float, HttpResponse]] = OrderedDict()
_lock = threading.Lock()

View = Callable[..., HttpResponse]


def for_visitors(view: View) -> View:
    """Let a view answer visitors without a session from memory while its page is fresh."""

    @wraps(view)
    def cached(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        seconds = settings.DEALSITE_PAGE_CACHE_SECONDS
        address = request.get_full_path()
        if (
            not seconds
            or request.method not in ("GET", "HEAD")
            or len(address) > MAX_ADDRESS
            or _is_personal(request)
        ):
            return view(request, *args, **kwargs)
        key = (
            request.scheme or "",
            request.get_host(),
            address,
            request.headers.get("HX-Request", ""),
            "has a cart" if cookies.cart(request) else "",  # whose page asks how many deals are in it
        )
        now = clock()
        with _lock:
            kept = _pages.get(key)
        if kept is not None and kept[0] > now:
            return _copy(kept[1])
        response = view(request, *args, **kwargs)
        if _is_shareable(request, response):
            with _lock:
                _pages[key] = (now + seconds, _copy(response))
                _pages.move_to_end(key)
                while len(_pages) > MAX_PAGES:
                    _pages.popitem(last=False)
        return response

    return cached


def forget() -> None:
    """Empty the cache."""
    with _lock:
        _pages.clear()


def _is_personal(request: HttpRequest) -> bool:
    """Tell whether the page may show what is this visitor's alone: an account, or a message waiting for them."""
    return any(name in request.COOKIES for name in (settings.SESSION_COOKIE_NAME, MessageCookie.cookie_name))


def _is_shareable(request: HttpRequest, response: HttpResponse) -> bool:
    """Tell whether others may get this answer too: a page with a form holds a secret of its visitor."""
    has_form = "CSRF_COOKIE_NEEDS_UPDATE" in request.META
    return response.status_code == 200 and not response.cookies and not response.streaming and not has_form


def _copy(response: HttpResponse) -> HttpResponse:
    return HttpResponse(response.content, status=response.status_code, headers=dict(response.items()))


def from_this_site(view: View) -> View:
    """Take a form from this site's own pages alone, in place of the CSRF token; others get 403."""

    @csrf_exempt
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not is_from_this_site(request):
            note(request, "csrf_refused", detail="from another site")
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
