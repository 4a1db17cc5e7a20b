import gzip
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import brotli
import pytest
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from dealsite.accounts import requests
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table.errors import NotFound
from dealsite.web import page_cache
from dealsite.web.page_cache import MessageCookie


@pytest.fixture(autouse=True)
def clock(settings, monkeypatch):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2
    settings.ALLOWED_HOSTS = ["*"]
    page_cache.forget()
    monkeypatch.setattr(category_names, "has_failed", False)
    times = [100.0]
    monkeypatch.setattr(page_cache, "clock", lambda: times[0])
    yield times
    page_cache.forget()


@pytest.fixture
def view():
    made = []

    @page_cache.for_visitors
    def view(request):
        made.append([request.GET.get("after"), request.GET.get("n")])
        return HttpResponse(f"page {len(made)}", headers={"Vary": "HX-Request"})

    return view


def ask(path="/", cookies=None, secure=False, **headers):
    request = RequestFactory().get(path, headers=headers, secure=secure)
    request.COOKIES.update(cookies or {})
    request.htmx = HtmxDetails(request)  # type: ignore[attr-defined]
    return request


def body(view, path="/", cookies=None, secure=False, **headers):
    return view(ask(path, cookies, secure, **headers)).content.decode()


def kept():
    return [key for pages in page_cache._pages._groups.values() for key in pages]


def test_visitors_share_a_page_for_two_seconds(view, clock):
    assert body(view) == "page 1"
    clock[0] += 1.9
    assert body(view) == "page 1"
    clock[0] += 0.1
    assert body(view) == "page 2"


def test_headers_are_kept_with_the_page_and_say_that_it_varies_by_cookie(view):
    assert [view(ask())["Vary"] for _ in range(2)] == ["HX-Request, Accept-Encoding, Cookie"] * 2


def test_another_address_scheme_host_or_part_is_another_page(view):
    pages = [
        body(view),
        body(view, "/?after=1"),
        body(view, HX_Request="true"),
        body(view, Host="other.example"),
        body(view, secure=True),
    ]
    assert pages == ["page 1", "page 2", "page 3", "page 4", "page 5"]


@pytest.mark.parametrize("cookie", ["dealsite_session", MessageCookie.cookie_name])
def test_who_is_signed_in_or_has_a_message_waiting_gets_a_page_of_his_own(view, settings, cookie):
    settings.SESSION_COOKIE_NAME = "dealsite_session"
    assert body(view) == "page 1"
    assert body(view, cookies={cookie: "x"}) == "page 2"
    assert body(view) == "page 1"


def test_a_page_that_sets_a_cookie_has_a_form_or_failed_is_not_kept():
    @page_cache.for_visitors
    def view(request):
        response = HttpResponse("x", status=int(request.GET.get("status", 200)))
        if "cookie" in request.GET:
            response.set_cookie("a", "b")
        if "form" in request.GET:
            get_token(request)
        return response

    for path in ("/?cookie=1", "/?form=1", "/?status=404"):
        body(view, path)
    assert not kept()


def test_a_page_is_not_kept_while_the_names_of_its_categories_cannot_be_read(view, monkeypatch):
    monkeypatch.setattr(category_names, "has_failed", True)
    assert [body(view), body(view)] == ["page 1", "page 2"]


def test_the_look_of_lists_is_a_page_of_its_own_and_nothing_else_in_its_cookie_is(view, settings):
    name = settings.SESSION_COOKIE_NAME.replace("session", "look")
    looks = ["cards", "list", "cards.all", "list.all", "list.all.more", "<x>", ""]
    pages = [body(view, cookies={name: look}) for look in looks]
    assert pages == ["page 1", "page 2", "page 3", "page 4", "page 1", "page 1", "page 1"]
    assert len(kept()) == 4


def test_a_change_of_the_answer_does_not_reach_the_kept_page(view):
    view(ask())["X-Mine"] = "1"
    assert "X-Mine" not in view(ask())


def test_ports_and_other_words_in_headers_are_no_pages_of_their_own(view):
    first = [body(view), body(view, HX_Request="true")]
    for again in ({"Host": "testserver:81"}, {"HX_Request": "yes"}):
        assert body(view, **again) == first[0]
    assert body(view, HX_Request="%74rue", HX_Request_URI_AutoEncoded="true") == first[1]


ROOM_FOR = 5 * (page_cache.ENTRY_BYTES + 12)  # five pages of this view


def test_the_cache_does_not_grow_without_end(view, monkeypatch):
    monkeypatch.setattr(page_cache, "MAX_BYTES", ROOM_FOR)
    for number in range(9):
        body(view, f"/?n={number}")
    assert [key.query[0][1] for key in kept()] == ["4", "5", "6", "7", "8"]
    body(view, "/?n=5")
    body(view, "/?n=9")
    assert [key.query[0][1] for key in kept()] == ["6", "7", "8", "5", "9"]
    assert sum(page_cache._pages._sizes.values()) <= ROOM_FOR
    before = kept()
    body(view, "/?n=" + "x" * 600)
    assert kept() == before


def test_a_page_that_is_larger_than_all_room_is_not_kept(view, monkeypatch):
    monkeypatch.setattr(page_cache, "MAX_BYTES", page_cache.ENTRY_BYTES)
    assert [body(view), body(view)] == ["page 1", "page 2"]
    assert page_cache._pages._sizes == {next(iter(page_cache._pages._sizes)): 0}


def test_a_page_that_is_made_again_takes_the_room_of_the_one_before(view, clock):
    for _ in range(3):
        body(view)
        clock[0] += 2
    assert list(page_cache._pages._sizes.values()) == [page_cache.ENTRY_BYTES + 8]


def test_a_flood_of_addresses_pushes_out_pages_of_its_own_kind_alone(view, monkeypatch):
    monkeypatch.setattr(page_cache, "MAX_BYTES", ROOM_FOR)

    @page_cache.for_visitors
    def deal(request):
        return HttpResponse("a deal")

    body(view)
    for number in range(50):
        body(view, f"/?n={number}")
        body(deal, f"/deals/{number}/")
        body(deal, f"/deals/1/?n={number}")
    assert body(view) == "page 1"


def test_nothing_is_kept_when_the_setting_is_zero(view, settings):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 0
    assert [body(view), body(view)] == ["page 1", "page 2"]
    assert not kept()


# What is sent along in the address


TRACKING = [
    "fbclid=1",
    "utm_source=a&utm_medium=b",
    "gclid=x",
    "N=1",
    "nn=1",
    "n%00=1",
    "fbclid=" + "x" * 900,
]


@pytest.mark.parametrize("query", TRACKING)
def test_what_no_page_reads_neither_misses_nor_fills_the_cache(view, query):
    assert [body(view, "/?n=5"), body(view, f"/?n=5&{query}"), body(view, f"/?{query}&n=5")] == ["page 1"] * 3
    assert [key.query for key in kept()] == [(("n", "5"),)]


def test_all_values_of_a_name_and_none_at_all_are_different_pages(view):
    queries = ["", "?n=", "?n=1", "?n=1&n=2", "?n=2&n=1", "?n=1,2", "?n=1&after=2", "?after=1&n=2"]
    pages = [body(view, f"/{query}") for query in queries]
    assert len(set(pages)) == len(queries)
    assert [body(view, f"/{query}") for query in queries] == pages
    assert body(view, "/?after=2&n=1") == body(view, "/?n=1&after=2")


def test_a_name_that_is_read_on_one_page_alone_is_part_of_that_one():
    @page_cache.for_visitors
    def view(request):
        is_small = request.GET.get("size") == "small"
        return HttpResponse(f"small {request.GET.get('colour')}" if is_small else "large")

    pages = {
        query: body(view, f"/?{query}")
        for query in ("colour=red", "size=small&colour=red", "", "colour=blue")
    }
    assert pages == {
        "colour=red": "large",
        "size=small&colour=red": "small red",
        "": "large",
        "colour=blue": "large",
    }
    assert body(view, "/?size=small&colour=blue") == "small blue"
    assert {query: body(view, f"/?{query}") for query in pages} == pages


@pytest.mark.parametrize(
    "read",
    [
        dict,
        list,
        len,
        lambda query: query.urlencode(),
        lambda query: query.copy(),
        lambda query: query.items(),
    ],
)
def test_a_page_that_reads_the_query_string_as_a_whole_is_not_kept(read):
    @page_cache.for_visitors
    def view(request):
        read(request.GET)
        return HttpResponse("x")

    body(view, "/?a=1")
    assert not kept()


# Made once


class Gate:
    """A view whose page is made when the test says so."""

    def __init__(self, answer=lambda request: HttpResponse("x")):
        self.made: list[str | None] = []
        self.is_open, self.has_begun = threading.Event(), threading.Event()

        @page_cache.for_visitors
        def view(request):
            self.made.append(request.GET.get("n"))
            self.has_begun.set()
            assert self.is_open.wait(10)
            return answer(request)

        self.view = view


def at_once(gate, paths):
    """Ask for pages at once, the first of them first; return what came."""
    found = {}
    threads = [
        threading.Thread(
            target=lambda number=number, path=path: found.update({number: body(gate.view, path)})
        )
        for number, path in enumerate(paths)
    ]
    threads[0].start()
    assert gate.has_begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    for thread in threads[1:]:
        thread.join(0.05)  # as long as they would take
    gate.is_open.set()
    for thread in threads:
        thread.join(10)
    return [found.get(number) for number in range(len(paths))]


def test_a_page_that_many_ask_for_is_made_once(clock):
    gate = Gate()
    assert at_once(gate, ["/"] * 5) == ["x"] * 5
    assert len(gate.made) == 1
    clock[0] += 2
    gate.is_open.clear()
    gate.has_begun.clear()
    assert at_once(gate, ["/", "/?fbclid=1", "/"]) == ["x"] * 3
    assert len(gate.made) == 2


def test_who_waited_for_another_page_gets_their_own():
    """Before the first page is made, nobody knows that `n` matters."""
    gate = Gate(lambda request: HttpResponse(request.GET["n"]))
    assert at_once(gate, ["/?n=1", "/?n=2", "/?n=1"]) == ["1", "2", "1"]
    assert sorted(gate.made) == ["1", "2"]


def test_who_waited_for_a_page_that_failed_tries_for_themselves():
    gate = Gate(lambda request: HttpResponse("none", status=404))
    assert at_once(gate, ["/"] * 3) == ["none"] * 3
    assert len(gate.made) == 3
    assert not page_cache._pages._turns


# How it is sent


LONG = "a page of some length, " * 50


@pytest.fixture
def long_page():
    @page_cache.for_visitors
    def view(request):
        token = request.GET.get("token", "01")
        return HttpResponse(f'{LONG}<input name="token" value="{token}">{request.GET.get("n")}')

    return view


def test_a_page_is_compressed_once_as_each_browser_takes_it(long_page, monkeypatch):
    compressed = []

    def compress(content, encoding):
        compressed.append(encoding)
        return {"br": brotli.compress, "gzip": gzip.compress}[encoding](content)

    monkeypatch.setattr(page_cache, "compress", compress)
    plain = long_page(ask())
    for _ in range(3):
        for encoding, unpack in [("br", brotli.decompress), ("gzip", gzip.decompress)]:
            answer = long_page(ask(Accept_Encoding=encoding))
            assert (answer["Content-Encoding"], unpack(answer.content)) == (encoding, plain.content)
            assert "Accept-Encoding" in answer["Vary"]
    assert compressed == ["br", "gzip"]
    assert "Content-Encoding" not in plain


def test_who_has_a_page_is_not_sent_it_again(long_page, clock):
    tag = long_page(ask())["ETag"]
    clock[0] += 5
    for asked in (tag, f'"x", {tag}', "*"):
        again = long_page(ask("/?token=02", If_None_Match=asked, Accept_Encoding="br"))
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
        assert {"Cache-Control", "Vary"} <= set(again.headers)
    assert long_page(ask("/?n=1", If_None_Match=tag)).status_code == 200
    with_cart = {requests._name("cart"): "x" * 43}
    assert "ETag" not in long_page(ask(cookies=with_cart))


@pytest.mark.parametrize(
    ("ends_in", "wanted"),
    [
        (None, {"public", "max-age=2", "stale-while-revalidate=10"}),
        (60, {"public", "max-age=2", "stale-while-revalidate=10"}),
        (9.5, {"public", "max-age=2", "stale-while-revalidate=5"}),
        (4.5, {"public", "max-age=2"}),
        (3.5, {"public", "max-age=1"}),
        (1, {"public", "max-age=0"}),
    ],
)
def test_caches_further_away_show_no_deal_beyond_its_end(ends_in, wanted):
    @page_cache.for_visitors
    def view(request):
        response = HttpResponse("x")
        if ends_in is not None:
            response.ends_in = ends_in  # type: ignore[attr-defined]
        return response

    for _ in range(2):
        assert set(view(ask())["Cache-Control"].split(", ")) == wanted


def test_caches_further_away_keep_what_depends_on_nothing_but_the_address(view, settings):
    look = settings.SESSION_COOKIE_NAME.replace("session", "look")
    own = [
        ask(HX_Request="true"),
        ask(cookies={look: "list"}),
        ask(cookies={requests._name("cart"): "x" * 43}),
    ]
    assert [view(request)["Cache-Control"] for request in own * 2] == ["private"] * 6
    assert "public" in view(ask(cookies={look: "nonsense", "utm": "1"}))["Cache-Control"]


@pytest.fixture
def read():
    times = []

    def read(slug, *, now=None, after=None):
        if slug == "nobody":
            raise NotFound
        times.append(now)
        return len(times), now

    return read


def test_what_was_read_for_one_is_shown_to_all_for_a_second(read, clock):
    assert [page_cache.shared(read, "shoes", now=now) for now in (1, 2)] == [(1, 1), (1, 1)]
    clock[0] += 1
    assert [page_cache.shared(read, "shoes", now=now) for now in (3, 4)] == [(2, 3), (2, 3)]


def test_what_takes_long_is_shared_for_longer(read, clock):
    assert page_cache.shared(read, "all", for_seconds=60.0)[0] == 1
    clock[0] += 59.9
    assert page_cache.shared(read, "all", for_seconds=60.0)[0] == 1
    clock[0] += 0.1
    assert page_cache.shared(read, "all", for_seconds=60.0)[0] == 2


def test_who_asks_something_else_gets_their_own_answer(read):
    asked: list[tuple[str, dict[str, Any]]] = [
        ("shoes", {}),
        ("bags", {}),
        ("shoes", {"after": "x"}),
        ("shoes", {"after": "y"}),
    ]
    assert [page_cache.shared(read, slug, **more)[0] for slug, more in asked * 2] == [1, 2, 3, 4] * 2
    assert page_cache.shared(lambda slug: slug, "shoes") == "shoes"


def test_what_is_not_there_is_looked_for_again(read):
    for _ in range(2):
        with pytest.raises(NotFound):
            page_cache.shared(read, "nobody")


def test_what_is_shared_does_not_grow_without_end_and_what_is_asked_for_stays(read):
    front_page = threading.Lock  # whatever it returns is another one each time
    shown = page_cache.shared(front_page)
    for number in range(2 * page_cache.SHARED):
        page_cache.shared(read, str(number))
        assert page_cache.shared(read, "0")[0] == 1
    assert len(page_cache._shared[read]) == page_cache.SHARED
    assert page_cache.shared(read, str(number))[0] == number + 1
    assert page_cache.shared(read, "1")[0] == number + 2
    assert page_cache.shared(front_page) is shown


class Reader:
    """Reads something when the test says so; `at_once` asks for it."""

    def __init__(self, error=None):
        self.asked, self.error = [], error
        self.is_open, self.has_begun = threading.Event(), threading.Event()

    def __call__(self, slug, now=None):
        self.asked.append(slug)
        self.has_begun.set()
        assert self.is_open.wait(10)
        if self.error:
            raise self.error
        return f"{slug} {len(self.asked)}"

    def at_once(self, *slugs):
        """Let one ask, and when it is being read, the others; return what came."""
        with ThreadPoolExecutor(len(slugs)) as threads:
            first = threads.submit(page_cache.shared, self, slugs[0])
            assert self.has_begun.wait(10)
            others = [threads.submit(page_cache.shared, self, slug) for slug in slugs[1:]]
            wait(others, 0.05)  # as long as they would take
            self.is_open.set()
            return [one.exception() or one.result() for one in (first, *others)]


def test_one_reads_for_all_who_ask_at_the_same_time():
    assert Reader().at_once(*["shoes"] * 5) == ["shoes 1"] * 5
    assert Reader().at_once("shoes", "bags", "shoes") == ["shoes 2", "bags 2", "shoes 2"]


def test_what_could_not_be_read_is_told_to_all_who_waited_and_read_again_for_the_next():
    reader = Reader(NotFound("none"))
    assert reader.at_once(*["shoes"] * 5) == [reader.error] * 5
    assert len(reader.asked) == 1
    reader.error = None
    assert page_cache.shared(reader, "shoes") == "shoes 2"


def test_who_asks_while_it_is_read_slowly_waits_for_it_too(clock):
    reader = Reader()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(page_cache.shared, reader, "shoes")
        assert reader.has_begun.wait(10)
        clock[0] += 3
        second = threads.submit(page_cache.shared, reader, "shoes")
        wait([second], 0.05)
        reader.is_open.set()
        assert (first.result(), second.result()) == ("shoes 1", "shoes 1")
    assert page_cache.shared(reader, "shoes") == "shoes 2"


@pytest.mark.parametrize(
    ("seconds", "age", "read_again"), [(0, 0, True), (0.5, 0.4, False), (0.5, 0.5, True)]
)
def test_the_setting_bounds_how_long_what_was_read_is_shown(read, settings, clock, seconds, age, read_again):
    settings.DEALSITE_PAGE_CACHE_SECONDS = seconds
    page_cache.shared(read, "shoes")
    clock[0] += age
    assert page_cache.shared(read, "shoes")[0] == 1 + read_again
