"""What the log says of a request: a line, its id in every other line, and no address, in which a token may stand."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
import structlog
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import resolve

from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table import errors
from dealsite.data.table.ids import is_ulid
from dealsite.middleware import REQUEST_ID as HEADER, WAITED, RequestIdMiddleware
from dealsite.web import log_lines
from dealsite.web.counting import RequestFilter, cause_of, current_id
from dealsite.web.log_lines import OneLine
from tests.people import make_user, signed_in

PATH = "/account/password-reset/ada/s3cret-token/"


def filtered(name: str, text: str, *args: Any, **more: Any) -> logging.LogRecord:
    """What the log's filter makes of a line."""
    record = logging.LogRecord(name, logging.ERROR, "", 1, text, args, None)
    vars(record).update(more)
    assert RequestFilter().filter(record)
    return record


def line(*args: Any, **more: Any) -> str:
    """The line as a terminal shows it."""
    return OneLine().format(filtered(*args, **more))


@pytest.fixture
def request_(rf: RequestFactory) -> HttpRequest:
    made = rf.get(PATH)
    made.resolver_match = resolve(PATH)
    return made


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """A function that returns the lines of requests so far, without the milliseconds that they took."""
    caplog.set_level(logging.INFO, logger="dealsite.web.counting")

    def of() -> list[str]:
        said = [text for text in caplog.messages if text.startswith("event='request'")]
        return [" ".join(part for part in text.split() if not part.startswith("ms=")) for text in said]

    return of


def test_each_answer_says_its_requests_id_which_is_a_new_one():
    ids = {Client().get("/healthz")[HEADER] for _ in range(3)}
    assert len(ids) == 3
    assert all(map(is_ulid, ids))


@pytest.mark.parametrize(
    ("proxies", "given", "is_kept"),
    [
        (0, "from-a-stranger", False),
        (1, "01ABC.def_-9", True),
        (1, "two\nlines", False),
        (1, "x" * 65, False),
        (1, "request_id='x' event=", False),
        (1, "", False),
    ],
)
def test_an_id_is_taken_from_a_trusted_proxy_alone(settings: Any, proxies: int, given: str, is_kept: bool):
    settings.DEALSITE_TRUSTED_PROXIES = proxies
    answer = Client().get("/healthz", headers={HEADER: given})
    assert (answer[HEADER] == given) == is_kept


def test_every_line_of_a_request_has_its_id_and_no_other_line_has(
    rf: RequestFactory, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    seen = []

    def view(request: HttpRequest) -> HttpResponse:
        structlog.get_logger("dealsite.test").info("sung")
        seen.append(line("django.request", "Odd: %s", "x"))
        return HttpResponse()

    request_id = RequestIdMiddleware(view)(rf.get("/"))[HEADER]
    assert caplog.messages[0] == f"event='sung' request_id='{request_id}'"
    assert seen == [f"Odd: x request_id='{request_id}'"]
    assert current_id() == ""
    structlog.get_logger("dealsite.test").info("sung")
    assert caplog.messages[-1] == "event='sung'"


def test_a_request_gets_one_line_that_says_what_it_was_and_what_it_cost(
    fresh_table: None, lines: Callable[[], list[str]]
):
    category_names.names()
    answer = Client().get("/brands/?page=2", REMOTE_ADDR="2001:db8::7")
    assert lines() == [
        "event='request' view='brands' method='GET' status=200 calls=1 read_units=0.5 write_units=0.0"
        f" user='' network='2001:db8::/64' request_id='{answer[HEADER]}'"
    ]


def test_the_line_names_who_is_signed_in_where_the_answer_depended_on_it(
    fresh_table: None, lines: Callable[[], list[str]]
):
    browser = signed_in(make_user("ada"))
    browser.get("/account/sessions/")
    browser.get("/nowhere/")
    Client().post("/account/sign-in/", {"name": "ada", "password": "wrong"})
    said = [
        (text.split(" view=")[1].split(" calls")[0], text.split("user=")[1].split()[0]) for text in lines()
    ]
    assert said == [
        ("'sessions' method='GET' status=200", "'ada'"),
        ("'' method='GET' status=404", "'ada'"),  # in whose language the page is
        ("'sign_in' method='POST' status=422", "''"),
    ]


def test_files_and_probes_that_succeed_get_no_line(lines: Callable[[], list[str]]):
    Client().get("/healthz")
    Client().get("/static/img/logo.svg").close()
    assert lines() == []
    Client().get("/static/nowhere.svg")
    assert [text.count("status=404") for text in lines()] == [1]


def test_what_the_site_asks_itself_gets_no_line(rf: RequestFactory, lines: Callable[[], list[str]]):
    request = rf.get("/")
    del request.META["REMOTE_ADDR"]
    RequestIdMiddleware(lambda _: HttpResponse())(request)
    assert lines() == []


def test_a_method_that_is_none_is_not_repeated(rf: RequestFactory, lines: Callable[[], list[str]]):
    RequestIdMiddleware(lambda _: HttpResponse())(rf.generic("S3CRET", "/"))
    assert "method='other'" in lines()[0]


def test_the_time_that_a_request_waited_for_a_thread_counts(
    rf: RequestFactory, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, logger="dealsite.web.counting")
    request = rf.get("/")
    request.META[WAITED] = 2.0
    RequestIdMiddleware(lambda _: HttpResponse())(request)
    (said,) = caplog.messages
    assert 2000 <= float(said.partition("ms=")[2].split()[0]) < 2900


def test_djangos_lines_name_the_pattern_of_an_address_instead_of_it(request_: HttpRequest):
    request_.request_id = "R1"  # type: ignore[attr-defined]
    said = line("django.request", "Internal Server Error: %s", PATH, request=request_)
    assert said == (
        "Internal Server Error: /account/password-reset/<str:username>/<str:token>/ request_id='R1'"
    )
    said = line("django.security.csrf", "Forbidden (%s): %s", "No token.", PATH, request=request_)
    assert PATH not in said
    assert "No token." in said


def test_djangos_lines_in_json_have_the_id_beside_the_words(request_: HttpRequest):
    request_.request_id = "R1"  # type: ignore[attr-defined]
    made = log_lines.formatter("json")
    formatter = made.pop("()")(**made)
    said = json.loads(formatter.format(filtered("django.request", "Gone: %s", PATH, request=request_)))
    assert (said["event"], said["request_id"]) == (
        "Gone: /account/password-reset/<str:username>/<str:token>/",
        "R1",
    )
    assert PATH not in str(said)


def test_lines_of_others_stay_as_they_are():
    assert line("elsewhere", "x %s", PATH) == f"x {PATH}"
    assert line("django", "x") == "x"


def test_the_logs_handler_has_the_filter(settings: Any):
    assert settings.LOGGING["handlers"]["console"]["filters"] == ["request"]
    assert settings.LOGGING["filters"]["request"] == {"()": "dealsite.web.counting.RequestFilter"}


@pytest.mark.parametrize("path", ["/nowhere/", "/brands/nobody-knows/", "/?after=odd", "/cms/deals/"])
def test_an_error_page_says_its_requests_id(fresh_table: None, path: str):
    answer = signed_in(make_user("ada")).get(path)
    assert answer.status_code >= 400
    assert f"{answer[HEADER]}</code>" in answer.content.decode()


def test_a_page_for_a_wrong_host_says_it_too(settings: Any):
    settings.ALLOWED_HOSTS = ["deals.example"]
    answer = Client().get("/", headers={"host": "elsewhere.example"})
    assert answer.status_code == 400
    assert f"{answer[HEADER]}</code>" in answer.content.decode()


def test_a_page_without_an_error_says_none(fresh_table: None):
    answer = Client().get("/brands/")
    assert answer[HEADER] not in answer.content.decode()


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (errors.Unavailable(), "table"),
        (errors.Busy(), "busy"),
        (errors.Misconfigured(), "misconfigured"),
        (None, "shortage"),
    ],
)
def test_each_refusal_has_a_cause(failure: errors.Unavailable | None, cause: str):
    assert cause_of(failure) == cause
