"""What a 503 says: to the visitor when to come back, to operators why, in one line."""

from __future__ import annotations

import logging
from typing import Any

import boto3
import pytest
from django.http import HttpResponse
from django.test import Client

from dealsite.data import table
from dealsite.data.table import client, client as table_client, connection, errors
from dealsite.middleware import MeterMiddleware
from dealsite.web import page_cache
from tests.data.conftest import wire as wire
from tests.data.table.wire import Wire, raw, whole

HTML = b"<html><body>It works!</body></html>"
FULL = whole({"__type": "com.amazonaws#InternalServerError", "message": "database or disk is full"}, "500 Oh")


@pytest.fixture
def visitor() -> Client:
    page_cache.forget()
    return Client(raise_request_exception=False)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


SAID = {
    "disk full": (FULL, "InternalServerError: database or disk is full"),
    "another program": (raw(HTML), "JSON is malformed: invalid character (byte 0): b'<html>"),
    "the end": (b"", "closed"),
}


@pytest.mark.parametrize(("said", "reason"), SAID.values(), ids=SAID)
def test_a_503_is_one_line_that_says_why_in_the_engines_words(
    wire: Wire, visitor: Client, caplog: pytest.LogCaptureFixture, said: bytes, reason: str
):
    wire.say = lambda operation, body: said
    answer = visitor.get("/brands/")
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert reason not in answer.content.decode()
    (line,) = lines(caplog)
    assert "data_unavailable" in line
    assert reason in line
    assert "page='/brands/'" in line


KEYS = {
    "no such key": (
        "400 Bad Request",
        {"__type": "a#UnrecognizedClientException", "message": "The token is invalid."},
    ),
    "an old key": (
        "400 Bad Request",
        {"__type": "a#ExpiredTokenException", "message": "The token is invalid."},
    ),
    "no right to it": (
        "400 Bad Request",
        {"__type": "a#AccessDeniedException", "message": "The token is invalid."},
    ),
    "an unknown code": (
        "418 I am a teapot",
        {"__type": "a#TeapotException", "message": "The token is invalid."},
    ),
    "no table": (
        "400 Bad Request",
        {"__type": "a#ResourceNotFoundException", "message": "The token is invalid."},
    ),
}


@pytest.mark.parametrize(("status", "said"), KEYS.values(), ids=KEYS)
def test_the_wrong_place_or_key_is_a_503_and_a_loud_line(
    wire: Wire, visitor: Client, caplog: pytest.LogCaptureFixture, status: str, said: dict[str, Any]
):
    wire.say = lambda operation, body: whole(said, status)
    for page in ("/brands/", "/", "/deals.atom"):
        answer = visitor.get(page)
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert b"token is invalid" not in answer.content
    code = said["__type"].partition("#")[2]
    (loud,) = [line for line in lines(caplog) if "table_misconfigured" in line]
    assert f"code={code!r}" in loud
    assert "The token is invalid." in loud


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect"])
def test_a_redirect_is_followed_by_nobody(wire: Wire, status: str):
    elsewhere = f"http://127.0.0.1:{wire.port}/elsewhere"
    wire.say = lambda operation, body: raw(HTML, status, Location=elsewhere)
    with pytest.raises(errors.Misconfigured) as error:
        table.get(("A", "A"))
    assert elsewhere in error.value.reason
    assert len(wire.requests) == 1


def test_no_credentials_are_a_503_too(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "on_this_machine", lambda endpoint_url: False)
    monkeypatch.setattr(boto3.Session, "get_credentials", lambda session: None)
    table.reset()
    with pytest.raises(errors.Misconfigured) as error:
        table.get(("A", "A"))
    assert "NoCredentials" in error.value.reason
    assert wire.requests == []


def test_what_is_our_mistake_stays_one(wire: Wire):
    wire.say = lambda operation, body: whole(
        {"__type": "a#ValidationException", "message": "No."}, "400 Bad Request"
    )
    with pytest.raises(errors.DataError) as error:
        table.get(("A", "A"))
    assert type(error.value) is errors.DataError


def test_the_loud_line_comes_once_a_minute_for_each_code(caplog: pytest.LogCaptureFixture):
    client._said.clear()
    for now in (100.0, 130.0, 159.9, 160.0, 161.0):
        assert client.report_misconfigured("One", "A.", now=now) == "One: A."
    client.report_misconfigured("Two", "B.", now=161.0)
    assert [line.partition(" ")[2] for line in lines(caplog)] == [
        "code='One' message='A.'",
        "code='One' message='A.'",
        "code='Two' message='B.'",
    ]
    client._said.clear()


@pytest.mark.parametrize(
    "secret",
    [
        "Credential=AKIAIOSFODNN7EXAMPLE/2026/eu",
        "the key ASIAIOSFODNN7EXAMPLE",
        "token: IQoJb3JpZ2luX2Vj",
        "Not this.\nx-amz-security-token:IQoJb3JpZ2luX2Vj",
        "Signature=5d672d79c15b13162d9279b0855cfba6",
    ],
)
def test_no_credential_gets_into_the_line(caplog: pytest.LogCaptureFixture, secret: str):
    client._said.clear()
    client.report_misconfigured("InvalidSignatureException", f"Refused: {secret}", now=100.0)
    for part in ("IOSFODNN7", "IQoJ", "5d672d79"):
        assert part not in lines(caplog)[0]
    client._said.clear()


def test_while_the_gate_is_shut_a_503_has_no_line(
    wire: Wire, visitor: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    kept = table_client.connect().gate
    for number in range(3):
        kept.failed("no answer", now=100.0 + number)
    caplog.clear()
    for _ in range(5):
        answer = visitor.get("/brands/")
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert lines(caplog) == []


def test_a_view_that_answers_503_by_itself_says_the_same(
    rf: Any, wire: Wire, caplog: pytest.LogCaptureFixture
):
    wire.say = lambda operation, body: raw(HTML)

    def view(request: Any) -> HttpResponse:
        with pytest.raises(errors.Unavailable):
            table.get(("A", "A"))
        return HttpResponse("Not saved.", status=503)

    answer = MeterMiddleware(view)(rf.post("/"))
    assert answer["Retry-After"] == "5"
    assert answer._has_been_logged  # type: ignore[attr-defined] # so that Django has no line of its own
    (line,) = lines(caplog)
    assert "JSON is malformed" in line
