"""What the log says of a request: its id in every line, and never its address, in which a token may stand."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import structlog
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import resolve

from dealsite.data.table.ids import is_ulid
from dealsite.middleware import REQUEST_ID as HEADER
from dealsite.middleware import RequestIdMiddleware
from dealsite.web.request_log import RequestFilter, current_id

PATH = "/account/password-reset/ada/s3cret-token/"


def filtered(name: str, text: str, *args: Any, **more: Any) -> str:
    """What the log's filter leaves of a line."""
    record = logging.LogRecord(name, logging.ERROR, "", 1, text, args, None)
    vars(record).update(more)
    assert RequestFilter().filter(record)
    return record.getMessage()


@pytest.fixture
def request_(rf: RequestFactory) -> HttpRequest:
    made = rf.get(PATH)
    made.resolver_match = resolve(PATH)
    return made


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
        seen.append(filtered("django.request", "Odd: %s", "x"))
        return HttpResponse()

    request_id = RequestIdMiddleware(view)(rf.get("/"))[HEADER]
    assert caplog.messages == [f"event='sung' request_id='{request_id}'"]
    assert seen == [f"Odd: x request_id='{request_id}'"]
    assert current_id() == ""
    structlog.get_logger("dealsite.test").info("sung")
    assert caplog.messages[1] == "event='sung'"


def test_djangos_lines_name_the_pattern_of_an_address_instead_of_it(request_: HttpRequest):
    request_.request_id = "R1"  # type: ignore[attr-defined]
    line = filtered("django.request", "Internal Server Error: %s", PATH, request=request_)
    assert line == (
        "Internal Server Error: /account/password-reset/<str:username>/<str:token>/ request_id='R1'"
    )
    line = filtered("django.security.csrf", "Forbidden (%s): %s", "No token.", PATH, request=request_)
    assert PATH not in line
    assert "No token." in line


def test_lines_of_others_stay_as_they_are():
    assert filtered("elsewhere", "x %s", PATH) == f"x {PATH}"
    assert filtered("django", "x") == "x"


def test_the_logs_handler_has_the_filter(settings: Any):
    assert settings.LOGGING["handlers"]["console"]["filters"] == ["request"]
    assert settings.LOGGING["filters"]["request"] == {"()": "dealsite.web.request_log.RequestFilter"}
