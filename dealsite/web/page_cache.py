"""Public pages: kept for a moment, since they are the same for all who are not signed in; and the forms on them.

A busy front page is asked for many times a second. Two seconds (DEALSITE_PAGE_CACHE_SECONDS) of one process's memory
help more than any cache further away. It is made once, whoever asks for it meanwhile, and compressed once. While the
table is away, a page of the last five minutes (DEALSITE_STALE_SECONDS) stands in for the one that cannot be made, and
says so.

Such a page can hold no secret: a form's CSRF token would be one visitor's. Every browser says with a POST where the
page stood that sent it: in Sec-Fetch-Site, older ones in Origin. A page of another site cannot change either, and who
says neither is refused. For forms that do little harm only; all others carry the token.
"""

import hashlib
import math
import re
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import structlog
from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.request import split_domain_port
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.vary import vary_on_cookie

from dealsite.accounts import locales, requests
from dealsite.accounts.requests import SiteRequest
from dealsite.accounts.security_log import note
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table.errors import Unavailable
from dealsite.web import counting
from dealsite.web.compression import SMALL_BYTES, best_encoding, compress
from dealsite.web.counting import route_of

MAX_ADDRESS = 500  # characters of what a page depends on; a longer address is not worth keeping
MAX_BYTES = 32_000_000  # in one process
ENTRY_BYTES = 2_000  # of a page's headers and its place here
PLACE = b"<!-- not current -->"  # where base.html has room for the line that says so
TOKEN = re.compile(rb'name="token" value="\w*"')  # of a form, another one each time (see `form_token`)
SHARED_SECONDS = 1.0  # for which all are shown what was read for one of them
SHARED = 64  # answers of each function of the data layer, of 25 cards at most
REVALIDATING = 10  # seconds for which a cache further away may show a page while it asks for the next

clock: Callable[[], float] = time.monotonic
logger = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]


class MessageCookie(CookieStorage):
    """Notes for the next page: Django's own cookie, nearly as large as browsers keep (4,096 bytes with its attributes).

    What does not fit is lost without a word: a long title and the address of a filtered list need more than 2,048.
    """

    cookie_name = settings.SESSION_COOKIE_NAME.replace("session", "messages")  # with its prefix
    max_cookie_size = 3_600


class Query:
    """A query string that knows which of its names were read: a page depends on these, and on no others."""

    def __init__(self, given: QueryDict) -> None:
        self._given = given
        self.names: set[str] = set()
        self.is_read_whole = False

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._given[name]  # type: ignore[return-value]

    def __contains__(self, name: str) -> bool:
        self.names.add(name)
        return name in self._given

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return self._given.get(name, default)

    def getlist(self, name: str, default: Any = None) -> list[str]:
        self.names.add(name)
        return self._given.getlist(name, default)

    def values_of(self, names: Iterable[str]) -> "Values":
        """Return what is given for some names."""
        return tuple((name, *self._given.getlist(name)) for name in sorted(names) if name in self._given)

    def __len__(self) -> int:
        self.is_read_whole = True
        return len(self._given)

    def __iter__(self) -> Iterator[str]:
        self.is_read_whole = True
        return iter(self._given)

    def __getattr__(self, attribute: str) -> Any:
        self.is_read_whole = True
        return getattr(self._given, attribute)


Values = tuple[tuple[str, ...], ...]  # each a name, and behind it what is given for it


class PageKey(NamedTuple):
    """What a page depends on. Ports are not part of it: nobody could make room for more pages by naming them."""

    view: str
    scheme: str
    host: str
    path: str
    query: Values  # of the names that the view has read so far, in whatever request
    is_part: bool  # what htmx asks for
    has_cart: bool  # such a visitor's page asks how many deals are in it
    look: str  # of its lists, one of four

    @property
    def length(self) -> int:
        """Return how many characters of the address the page depends on."""
        return len(self.path) + sum(len(word) for values in self.query for word in values)

    @property
    def is_plain(self) -> bool:
        """Whether caches that know nothing of cookies and of htmx may show the page, too."""
        return not self.is_part and not self.has_cart and self.look == requests.LOOKS[0]


@dataclass(frozen=True)
class KeptPage:
    """A page; when it was made, and until when it may stand in for a new one (both as the cache's clock says)."""

    content: bytes
    headers: dict[str, str]
    made_at: float
    good_until: float
    _compressed: dict[str, bytes] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def size(self) -> int:
        """Return the bytes that it takes, compressed copies included."""
        return len(self.content) * 4 // 3 + ENTRY_BYTES

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the page as a browser takes it: compressed, or not at all where it has this very page."""
        encoding = best_encoding(request) if len(self.content) >= SMALL_BYTES else ""
        answer = HttpResponse(self._body(encoding), headers=self.headers)
        if encoding:
            answer["Content-Encoding"] = encoding
        if tag := self.headers.get("ETag"):
            return get_conditional_response(request, etag=tag, response=answer) or answer
        return answer

    def _body(self, encoding: str) -> bytes:
        if not encoding:
            return self.content
        with self._lock:
            if encoding not in self._compressed:
                self._compressed[encoding] = compress(self.content, encoding)
            return self._compressed[encoding]


class KeptPages:
    """The pages of one process, MAX_BYTES at most, in groups: a view's without a query string, and those with one.

    Where there is no room, the group that takes most of it loses what was not asked for longest. So whoever asks for
    thousands of addresses pushes out pages of the same kind, and never the front page.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, bool], OrderedDict[PageKey, KeptPage]] = {}
        self._sizes: dict[tuple[str, bool], int] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._turns: dict[PageKey, threading.Event] = {}
        self._lock = threading.Lock()

    def names_of(self, view: str) -> frozenset[str]:
        """Return the names of a query string that a view has read so far."""
        return self._names.get(view, frozenset())

    def learn(self, view: str, names: set[str]) -> None:
        """Take in which names a view has read."""
        with self._lock:
            self._names[view] = self.names_of(view) | names

    @contextmanager
    def turn(self, key: PageKey) -> Iterator[None]:
        """Let one request at a time make a page; those that come meanwhile go on, all at once, when it is made."""
        with self._lock:
            is_made = self._turns.get(key)
            mine = None if is_made else self._turns.setdefault(key, threading.Event())
        if is_made:
            is_made.wait()
        try:
            yield
        finally:
            if mine:
                with self._lock:
                    del self._turns[key]
                mine.set()

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
# By what reads them: so nothing pushes out the front page, however many deals are looked at.
_shared: dict[Callable[..., Any], OrderedDict[Any, tuple[float, Future[Any]]]] = defaultdict(OrderedDict)
_shared_lock = threading.Lock()
Answer = TypeVar("Answer")


def for_visitors(view: View) -> View:
    """Let a view answer visitors without a session from memory while its page is fresh, and all while it cannot."""
    name = f"{view.__module__}.{view.__qualname__}"

    @vary_on_cookie
    @wraps(view)
    def cached(request: SiteRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        fresh, is_personal = settings.DEALSITE_PAGE_CACHE_SECONDS, _is_personal(request)
        request.GET = query = Query(request.GET)  # type: ignore[assignment]

        def key() -> PageKey:
            return _key_of(name, request, query)

        def from_memory() -> HttpResponse | None:
            kept = None if is_personal else _pages.get(key())
            if kept is None or clock() >= kept.made_at + fresh:
                return None
            counting.add(counting.PAGE_CACHE, "kept")
            return kept.answer(request)

        if answer := from_memory():
            return answer
        with nullcontext() if is_personal or not fresh else _pages.turn(key()):
            if answer := from_memory():  # another request has made it meanwhile
                return answer
            now = clock()
            try:
                response = view(request, *args, **kwargs)
            except Unavailable as error:
                return _instead_of(key(), request, error)
            counting.add(counting.PAGE_CACHE, "personal" if is_personal else "made")
            if is_personal or query.is_read_whole or not _is_shareable(request, response):
                return response
            _pages.learn(name, query.names)
            return _keep(key(), response, now).answer(request)

    return cached


def shared(
    read: Callable[..., Answer], *args: Any, for_seconds: float = SHARED_SECONDS, **asked: Any
) -> Answer:
    """Return what `read` returns, or returned a moment ago to whoever asked the same; the time (`now`) aside.

    So who is signed in waits for what is theirs alone, and for the rest as little as others. One of them reads at a
    time: who asks meanwhile gets the same answer, or error. `for_seconds` is for what takes longer the more deals there
    are.
    """
    key = (args, tuple((name, value) for name, value in asked.items() if name != "now"))
    began, seconds = clock(), for_seconds * min(1.0, settings.DEALSITE_PAGE_CACHE_SECONDS)
    if not seconds:
        return read(*args, **asked)
    mine: Future[Answer] = Future()
    with _shared_lock:
        answers = _shared[read]
        until, answer = answers.get(key, (began, None))
        if answer is None or (answer.done() and began >= until):
            until, answer = began + seconds, mine
        answers[key] = (until, answer)
        answers.move_to_end(key)
        if len(answers) > SHARED:
            answers.popitem(last=False)
    if answer is mine:
        try:
            answer.set_result(read(*args, **asked))
        except BaseException as error:
            with _shared_lock:
                answers.pop(key, None)
            answer.set_exception(error)
            raise
    return answer.result()


def _keep(key: PageKey, response: HttpResponse, now: float) -> KeptPage:
    """Keep a page that was begun at `now`, where that makes sense, and say to all on its way how long they may."""
    fresh, stale = settings.DEALSITE_PAGE_CACHE_SECONDS, settings.DEALSITE_STALE_SECONDS
    ends_in: float = getattr(response, "ends_in", math.inf)
    if fresh and not response.has_header("Cache-Control"):
        if key.is_plain:
            _say_how_long(response, fresh, ends_in - fresh)
        else:
            patch_cache_control(response, private=True)
    if not key.has_cart:  # else a form without script would come back with the token that was used
        same = TOKEN.sub(b"", response.content)
        response["ETag"] = f'W/"{hashlib.blake2b(same, digest_size=16).hexdigest()}"'
    patch_vary_headers(response, ["Accept-Encoding"])
    page = KeptPage(response.content, dict(response.items()), now, now + min(stale, ends_in))
    if (fresh or stale) and key.length <= MAX_ADDRESS:
        _pages.put(key, page)
    return page


def _instead_of(key: PageKey, request: SiteRequest, error: Unavailable) -> HttpResponse:
    """Return an older page in place of one that cannot be made."""
    plain = key._replace(has_cart=False)
    kept = _pages.get(plain) or _pages.get(plain._replace(look=requests.LOOKS[0]))
    if kept is None or clock() >= kept.good_until:
        raise error
    logger.warning("page_from_memory", page=route_of(request), reason=repr(error.__cause__ or error))
    counting.add(counting.PAGE_CACHE, "stale")
    return _stale(request, kept)


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
    _shared.clear()


def _key_of(view: str, request: SiteRequest, query: Query) -> PageKey:
    host, values = split_domain_port(request.get_host())[0], query.values_of(_pages.names_of(view))
    has_cart, look = bool(requests.cart(request)), requests.look(request)
    return PageKey(view, request.scheme or "", host, request.path, values, bool(request.htmx), has_cart, look)


def _say_how_long(response: HttpResponse, fresh: float, left: float) -> None:
    """Let caches further away show a page for as long as this one, and while they ask for the next; seconds are whole.

    In all for what is `left` at most: then one of its deals ends.
    """
    seconds = int(max(0, min(fresh, left)))
    patch_cache_control(response, public=True, max_age=seconds)
    if left >= seconds + 1:
        patch_cache_control(response, stale_while_revalidate=int(min(REVALIDATING, left - seconds)))


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


def _stale(request: SiteRequest, kept: KeptPage) -> HttpResponse:
    """Return what visitors saw, with how old it is; nobody between here and the reader is to keep it."""
    locales.show_as_to_visitors()
    request.META.pop("CSRF_COOKIE_NEEDS_UPDATE", None)  # of the page that could not be finished
    age = int(clock() - kept.made_at)
    line = render_to_string("_not_current.html", {"when": timezone.now() - timedelta(seconds=age)})
    headers = {name: value for name, value in kept.headers.items() if name != "ETag"}
    answer = HttpResponse(kept.content.replace(PLACE, line.encode(), 1), headers=headers)
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
