import pytest
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from dealsite.data.catalogue.display_names import category_names
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
        made.append(request.get_full_path())
        return HttpResponse(f"page {len(made)}", headers={"Vary": "HX-Request"})

    return view


def ask(path="/", cookies=None, **headers):
    request = RequestFactory().get(path, headers=headers)
    request.COOKIES.update(cookies or {})
    request.htmx = HtmxDetails(request)  # type: ignore[attr-defined]
    return request


def body(view, path="/", cookies=None, **headers):
    return view(ask(path, cookies, **headers)).content.decode()


def kept():
    return [key for pages in page_cache._pages._groups.values() for key in pages]


def test_visitors_share_a_page_for_two_seconds(view, clock):
    assert body(view) == "page 1"
    clock[0] += 1.9
    assert body(view) == "page 1"
    clock[0] += 0.1
    assert body(view) == "page 2"


def test_headers_are_kept_with_the_page_and_say_that_it_varies_by_cookie(view):
    assert [view(ask())["Vary"] for _ in range(2)] == ["HX-Request, Cookie"] * 2


def test_another_address_host_or_part_is_another_page(view):
    pages = [
        body(view),
        body(view, "/?after=1"),
        body(view, HX_Request="true"),
        body(view, Host="other.example"),
    ]
    assert pages == ["page 1", "page 2", "page 3", "page 4"]


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


ROOM_FOR = 5 * (page_cache.ENTRY_BYTES + 10)  # five pages of this view


def test_the_cache_does_not_grow_without_end(view, monkeypatch):
    monkeypatch.setattr(page_cache, "MAX_BYTES", ROOM_FOR)
    for number in range(9):
        body(view, f"/?n={number}")
    assert [key.query for key in kept()] == ["n=4", "n=5", "n=6", "n=7", "n=8"]
    body(view, "/?n=5")
    body(view, "/?n=9")
    assert [key.query for key in kept()] == ["n=6", "n=7", "n=8", "n=5", "n=9"]
    assert sum(page_cache._pages._sizes.values()) <= ROOM_FOR
    before = kept()
    body(view, "/?long=" + "x" * 600)
    assert kept() == before


def test_a_page_that_is_larger_than_all_room_is_not_kept(view, monkeypatch):
    monkeypatch.setattr(page_cache, "MAX_BYTES", page_cache.ENTRY_BYTES)
    assert [body(view), body(view)] == ["page 1", "page 2"]
    assert page_cache._pages._sizes == {next(iter(page_cache._pages._sizes)): 0}


def test_a_page_that_is_made_again_takes_the_room_of_the_one_before(view, clock):
    for _ in range(3):
        body(view)
        clock[0] += 2
    assert list(page_cache._pages._sizes.values()) == [page_cache.ENTRY_BYTES + 6]


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
