"""Public pages: kept for a moment, since they are the same for all who are not signed in; and the forms on them.

A busy front page is asked for many times a second. Two seconds (DEALSITE_PAGE_CACHE_SECONDS) of one process's memory
help more than any cache further away. While the table is away, a page of the last five minutes (DEALSITE_STALE_SECONDS)
stands in for the one that cannot be made, and says so.

Such a page can hold no secret: a form's CSRF token would be one visitor's. Every browser says with a POST where the
page stood that sent it: in Sec-Fetch-Site, older ones in Origin. A page of another site cannot change either, and who
says neither is refused. For forms that do little harm only; all others carry the token.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import wraps
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.vary import vary_on_cookie

from dealsite.accounts import locales, requests
from dealsite.accounts.requests import SiteRequest
from dealsite.accounts.security_log import note
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table.errors import Unavailable
from dealsite.web import counting
from dealsite.web.counting import route_of

MAX_ADDRESS = 500  # characters; a longer address is not worth keeping
MAX_BYTES = 32_000_000  # in one process
ENTRY_BYTES = 2_000  # of a page's headers and its place here
PLACE = b"<!-- not current -->"  # where base.html has room for the line that says so

clock: Callable[[], float] = time.monotonic
logger = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]


class MessageCookie(CookieStorage):
    """Notes for the next page: Django's own cookie, nearly as large as browsers keep (4,096 bytes with its attributes).

    What does not fit is lost without a word: a long title and the address of a filtered list need more than 2,048.
    """

    cookie_name = settings.SESSION_COOKIE_NAME.replace("session", "messages")  # with its prefix
    max_cookie_size = 3_600


class PageKey(NamedTuple):
    """What a page depends on. Ports are not part of it: nobody could make room for more pages by naming them."""

    view: str
    scheme: str
    host: str
    path: str
    query: str
    is_part: bool  # what htmx asks for
    has_cart: bool  # such a visitor's page asks how many deals are in it
    look: str  # of its lists, one of four


class KeptPage(NamedTuple):
    """An answer; when it was made, and until when it may stand in for a new one (both as the cache's clock says)."""

    answer: HttpResponse
    made_at: float
    good_until: float

    @property
    def size(self) -> int:
        return len(self.answer.content) + ENTRY_BYTES


class KeptPages:
    """The pages of one process, MAX_BYTES at most, in groups: a view's without a query string, and those with one.

    Where there is no room, the group that takes most of it loses what was not asked for longest. So whoever asks for
    thousands of addresses pushes out pages of the same kind, and never the front page.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, bool], OrderedDict[PageKey, KeptPage]] = {}
        self._sizes: dict[tuple[str, bool], int] = {}
        self._lock = threading.Lock()

    def get(self, key: PageKey) -> KeptPage | None:
        """Return a page, however old."""
        with self._lock:
            pages = self._groups.get(_group_of(key), OrderedDict())
            if key in pages:
                pages.move_to_end(key)
            return pages.get(key)

    def put(self, key: PageKey, page: KeptPage) -> None:
        """Keep a page in place of the one before."""
        with self._lock:
            group = _group_of(key)
            pages = self._groups.setdefault(group, OrderedDict())
            before = pages.pop(key, None)
            pages[key] = page
            self._sizes[group] = self._sizes.get(group, 0) + page.size - (before.size if before else 0)
            while sum(self._sizes.values()) > MAX_BYTES:
                largest = max(self._sizes, key=self._sizes.__getitem__)
                _, oldest = self._groups[largest].popitem(last=False)
                self._sizes[largest] -= oldest.size

    def clear(self) -> None:
        with self._lock:
            self._groups.clear()
            self._sizes.clear()


def _group_of(key: PageKey) -> tuple[str, bool]:
    return key.view, bool(key.query)


_pages = KeptPages()


def for_visitors(view: View) -> View:
    """Let a view answer visitors without a session from memory while its page is fresh, and all while it cannot."""
    name = f"{view.__module__}.{view.__qualname__}"

    @vary_on_cookie
    @wraps(view)
    def cached(request: SiteRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        fresh, stale = settings.DEALSITE_PAGE_CACHE_SECONDS, settings.DEALSITE_STALE_SECONDS
        if request.method not in ("GET", "HEAD") or len(request.get_full_path()) > MAX_ADDRESS:
            return view(request, *args, **kwargs)
        key, is_personal, now = _key_of(name, request), _is_personal(request), clock()
        kept = None if is_personal else _pages.get(key)
        if kept is not None and now < kept.made_at + fresh:
            counting.add(counting.PAGE_CACHE, "kept")
            return _copy(kept.answer)
        try:
            response = view(request, *args, **kwargs)
        except Unavailable as error:
            plain = key._replace(has_cart=False)
            kept = _pages.get(plain) or _pages.get(plain._replace(look=requests.LOOKS[0]))
            if kept is None or clock() >= kept.good_until:
                raise
            logger.warning("page_from_memory", page=route_of(request), reason=repr(error.__cause__ or error))
            counting.add(counting.PAGE_CACHE, "stale")
            return _stale(request, kept)
        counting.add(counting.PAGE_CACHE, "personal" if is_personal else "made")
        if (fresh or stale) and not is_personal and _is_shareable(request, response):
            ends_in: float = getattr(response, "ends_in", stale)
            _pages.put(key, KeptPage(_copy(response), now, now + min(stale, ends_in)))
        return response

    return cached


def ending(response: HttpResponse, cards: Iterable[DealCard]) -> HttpResponse:
    """Note on an answer when the first of its deals ends: after that, no copy of it shows them as live."""
    now = timezone.now()
    ends = [card.expires_at for card in cards if card.expires_at and card.expires_at > now]
    if ends:
        response.ends_in = (min(ends) - now).total_seconds()  # type: ignore[attr-defined]
    return response


def forget() -> None:
    """Empty the cache."""
    _pages.clear()


def _key_of(view: str, request: SiteRequest) -> PageKey:
    path, _, query = request.get_full_path().partition("?")
    host = split_domain_port(request.get_host())[0]
    has_cart, look = bool(requests.cart(request)), requests.look(request)
    return PageKey(view, request.scheme or "", host, path, query, bool(request.htmx), has_cart, look)


def _is_personal(request: HttpRequest) -> bool:
    """Tell whether the page may show what is this visitor's alone: an account, or a message waiting for them."""
    return any(name in request.COOKIES for name in (settings.SESSION_COOKIE_NAME, MessageCookie.cookie_name))


def _is_shareable(request: HttpRequest, response: HttpResponse) -> bool:
    """Tell whether others may get this answer too: a page with a form holds a secret of its visitor.

    One whose categories' names could not be read is not what it should be.
    """
    has_form = "CSRF_COOKIE_NEEDS_UPDATE" in request.META
    is_whole = response.status_code == 200 and not category_names.has_failed
    return is_whole and not response.cookies and not response.streaming and not has_form


def _copy(response: HttpResponse) -> HttpResponse:
    return HttpResponse(response.content, status=response.status_code, headers=dict(response.items()))


def _stale(request: SiteRequest, kept: KeptPage) -> HttpResponse:
    """Return what visitors saw, with how old it is; nobody between here and the reader is to keep it."""
    locales.show_as_to_visitors()
    request.META.pop("CSRF_COOKIE_NEEDS_UPDATE", None)  # of the page that could not be finished
    age = int(clock() - kept.made_at)
    line = render_to_string("_not_current.html", {"when": timezone.now() - timedelta(seconds=age)})
    answer = _copy(kept.answer)
    answer.content = answer.content.replace(PLACE, line.encode(), 1)
    answer["Age"] = str(age)
    answer["Warning"] = '111 - "Revalidation Failed"'  # RFC 7234, as a cache of RFC 5861 would say it
    answer["Cache-Control"] = "no-store"
    return answer


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
