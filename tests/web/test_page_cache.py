import pytest
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.test import RequestFactory

from dealsite.web import page_cache
from dealsite.web.message_cookie import MessageCookie


@pytest.fixture(autouse=True)
def clock(settings, monkeypatch):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2
    settings.ALLOWED_HOSTS = ["*"]
    page_cache.forget()
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


def body(view, path="/", cookies=None, **headers):
    request = RequestFactory().get(path, headers=headers)
    request.COOKIES.update(cookies or {})
    return view(request).content.decode()


def test_visitors_share_a_page_for_two_seconds(view, clock):
    assert body(view) == "page 1"
    clock[0] += 1.9
    assert body(view) == "page 1"
    clock[0] += 0.1
    assert body(view) == "page 2"


def test_headers_are_kept_with_the_page(view):
    body(view)
    assert view(RequestFactory().get("/"))["Vary"] == "HX-Request"


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
    assert not page_cache._pages


def test_a_change_of_the_answer_does_not_reach_the_kept_page(view):
    view(RequestFactory().get("/"))["X-Mine"] = "1"
    assert "X-Mine" not in view(RequestFactory().get("/"))


def test_the_cache_does_not_grow_without_end(view, monkeypatch):
    monkeypatch.setattr(page_cache, "MAX_PAGES", 3)
    for number in range(5):
        body(view, f"/?n={number}")
    assert [key[2] for key in page_cache._pages] == ["/?n=2", "/?n=3", "/?n=4"]
    body(view, "/?long=" + "x" * 600)
    assert len(page_cache._pages) == 3


def test_nothing_is_kept_when_the_setting_is_zero(view, settings):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 0
    assert [body(view), body(view)] == ["page 1", "page 2"]
