"""A trace holds a request, its table calls and the jobs that it caused, and nothing that a visitor typed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time

import pytest
import structlog
from django.test import Client
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from dealsite import checks
from dealsite.data.jobs import causes, jobs
from dealsite.data.table import meters
from dealsite.data.table.errors import Refused
from dealsite.traces import tracing
from dealsite.worker import loop
from tests.builders import NOW, make_id
from tests.people import make_user
from tests.traces.conftest import said

TRACE, PARENT = "4b" * 16, "5c" * 8
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


def called(number: int = 1) -> None:
    for _ in range(number):
        with meters.timed("GetItem", None):
            pass


def refuse(message: str) -> None:
    with meters.timed("PutItem", None) as call:
        call.outcome = "throttled"
        raise Refused("ThrottlingException", message, [])


def test_one_trace_leads_from_a_request_over_its_table_calls_to_the_job_that_it_caused(
    fresh_table, traced, monkeypatch
):
    make_user("ada", email="ada@deals.example")
    client = Client()
    client.get("/account/password-reset/")
    sent = client.post("/account/password-reset/", {"email": "ada@deals.example"})
    assert sent.status_code == 302
    while loop.run_next(now=NOW.replace(year=2100)):
        pass
    spans = traced()
    request = next(span for span in spans if span.name == "POST /account/password-reset/")
    of_trace = [span for span in spans if span.trace_id == request.trace_id]
    job = next(span for span in of_trace if span.kind == Span.SPAN_KIND_CONSUMER)
    assert job.parent_span_id == request.span_id
    calls = [span for span in of_trace if span.kind == Span.SPAN_KIND_CLIENT]
    assert len(calls) == len(of_trace) - 2
    assert {span.parent_span_id for span in calls} == {request.span_id, job.span_id}
    assert said(request)["dealsite.request"] == said(job)["dealsite.request"] == sent["X-Request-ID"]
    assert said(request)["dealsite.table_calls"] == sum(
        span.parent_span_id == request.span_id for span in calls
    )
    assert (said(request)["http.response.status_code"], said(job)["dealsite.outcome"]) == (302, "done")


def test_a_span_of_a_request_names_its_view_and_holds_nothing_of_its_address_or_form(fresh_table, traced):
    secret = "seven-quiet-trams"
    client = Client(headers={"cookie": f"theme={secret}", "user-agent": secret, "traceparent": TRACEPARENT})
    client.get(f"/account/password-reset/ada/{secret}/?q={secret}")
    client.post("/account/sign-in/", {"username": secret, "password": secret})
    client.get(f"/{secret}/")
    client.generic(secret, "/")
    spans = traced()
    assert len([span for span in spans if span.kind == Span.SPAN_KIND_SERVER]) == 4
    assert secret not in "".join(map(str, spans))
    assert "GET /account/password-reset/<str:username>/<str:token>/" in {span.name for span in spans}


def request_span(spans: list[Span]) -> Span:
    return next(span for span in spans if span.kind == Span.SPAN_KIND_SERVER)


def not_found(**headers: str) -> None:
    Client().get("/there/is/no/such/page", headers=headers)


@pytest.mark.parametrize(("proxies", "is_kept"), [(0, False), (1, True)])
def test_a_trace_goes_on_from_a_trusted_proxy_alone(settings, traced, proxies, is_kept):
    settings.DEALSITE_TRUSTED_PROXIES = proxies
    not_found(traceparent=TRACEPARENT)
    span = request_span(traced())
    assert (span.trace_id.hex() == TRACE, span.parent_span_id.hex() == PARENT) == (is_kept, is_kept)


@pytest.mark.parametrize("given", ["", "nonsense", f"00-{'0' * 32}-{PARENT}-01", "ä" * 55])
def test_what_is_no_traceparent_begins_a_trace(settings, traced, given):
    settings.DEALSITE_TRUSTED_PROXIES = 1
    not_found(traceparent=given)
    assert request_span(traced()).parent_span_id == b""


def test_what_a_proxy_does_not_trace_is_not_traced_here_nor_are_its_jobs(settings, traced):
    settings.DEALSITE_TRUSTED_PROXIES = 1
    not_found(traceparent=TRACEPARENT[:-1] + "0")
    with tracing.of_job(jobs.Job(make_id(), "sing", {}, traceparent=TRACEPARENT[:-1] + "0")):
        called()
        assert causes.attributes()["traceparent"][-2:] == "00"
        assert "trace_id" not in structlog.contextvars.get_contextvars()
    assert traced() == []


def test_files_and_probes_are_not_traced(traced):
    Client().get("/healthz")
    Client().get("/static/nothing.css")
    assert traced() == []


def test_a_job_that_nobody_asked_for_begins_a_trace_and_what_it_causes_belongs_there(traced):
    with tracing.of_job(jobs.Job(make_id(), "sing", {})) as ended:
        inner = causes.attributes()["traceparent"]
        ended("failed")
    with tracing.of_job(jobs.Job(make_id(), "dance", {}, traceparent=inner)) as ended:
        ended("done")
    first, second = traced()
    assert first.parent_span_id == b""
    assert (second.trace_id, second.parent_span_id) == (first.trace_id, first.span_id)
    assert (first.status.code, second.status.code) == (Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET)


def test_a_table_call_says_how_it_ended_and_one_that_was_sent_again_how_often(traced):
    with tracing.of_job(jobs.Job(make_id(), "sing", {})):
        with meters.timed("Query", "GSI1") as call:
            call.retries, call.units = 1, 2.5
        with contextlib.suppress(Refused):
            refuse("too much of ada")
    query, put = [span for span in traced() if span.kind == Span.SPAN_KIND_CLIENT]
    assert said(query) == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "Query",
        "dealsite.index": "GSI1",
        "dealsite.outcome": "answered",
        "dealsite.retries": 1,
        "dealsite.units": 2.5,
    }
    assert (put.status.code, put.events) == (Status.STATUS_CODE_ERROR, [])
    assert "ada" not in str(put)


def test_a_job_that_calls_the_table_for_hours_shows_the_first_calls_and_counts_all(traced):
    with tracing.of_job(jobs.Job(make_id(), "sing", {})):
        called(tracing.MOST_CALLS + 5)
    called()  # nobody's
    job, *calls = traced()
    assert (len(calls), said(job)["dealsite.table_calls"]) == (tracing.MOST_CALLS, tracing.MOST_CALLS + 5)


def test_each_line_of_the_log_names_the_trace(traced, caplog):
    caplog.set_level("INFO", logger="dealsite.web.request_log")
    not_found()
    line = next(text for text in caplog.messages if text.startswith("event='request'"))
    assert f"trace_id='{request_span(traced()).trace_id.hex()}'" in line


def test_two_observers_hear_of_each_call_once_however_often_they_began(monkeypatch):
    monkeypatch.setattr(meters, "_called", frozenset())
    monkeypatch.setattr(meters, "_happened", frozenset())
    first: list[meters.Call] = []
    second: list[meters.Call] = []
    happened: list[tuple[str, float]] = []
    for _ in range(2):
        meters.observe(first.append, lambda *one: None)
        meters.observe(second.append)
    meters.observe(first.append, lambda *one: happened.append(one))
    called()
    meters.tell("retries")
    assert (len(first), len(second), happened) == (1, 1, [("retries", 1)])


def test_a_collector_that_is_away_gets_one_line_and_one_when_it_is_back(begin, trace_collector, caplog):
    caplog.set_level("INFO")
    trace_collector.status = 404
    begin(trace_collector.url)
    send = tracing._collector._provider.force_flush
    for status in (404, 404, 200, 200):
        trace_collector.status = status
        not_found()
        send()
    lines = [text for text in caplog.messages if "traces_" in text]
    assert len(lines) == 2
    assert "traces_not_sent" in lines[0]
    assert "404" in lines[0]
    assert "traces_sent_again" in lines[1]
    assert not [one for one in caplog.records if one.name.startswith("opentelemetry")]
    assert len(trace_collector.spans) == 2


def test_a_collector_that_hangs_holds_up_no_request_and_the_end_for_a_second(
    begin, trace_collector, monkeypatch
):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
    monkeypatch.setattr(tracing, "END_SECONDS", 0.2)
    trace_collector.open.clear()
    begin(trace_collector.url)
    began = time.monotonic()
    for _ in range(20):
        with tracing.of_job(jobs.Job(make_id(), "sing", {})):
            called(5)
    (processor,) = tracing._collector._provider._active_span_processor._span_processors
    assert len(processor._batch_processor._queue) <= 10  # type: ignore[attr-defined]
    tracing.end()
    assert time.monotonic() - began < 2
    trace_collector.open.set()


def test_without_its_packages_the_setting_is_an_error_and_a_process_goes_on(settings, monkeypatch, caplog):
    assert checks.traces_can_be_sent() == []
    settings.DEALSITE_TRACES_URL = "http://127.0.0.1:4318"
    assert checks.traces_can_be_sent() == []
    monkeypatch.setitem(sys.modules, "dealsite.traces.collector", None)
    (error,) = checks.traces_can_be_sent()
    assert (error.id, error.msg) == ("dealsite.traces_packages", tracing.MISSING)
    assert "pip install -r requirements-otel.txt" in error.hint
    tracing.begin("web")
    assert tracing._collector is None
    assert "not_traced" in caplog.text


@pytest.mark.thorough
def test_without_the_setting_nothing_of_opentelemetry_is_imported():
    code = (
        "import sys, django; django.setup()\n"
        "from dealsite.traces import tracing\n"
        "import dealsite.middleware, dealsite.worker.loop\n"
        "tracing.begin('web')\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'requests', 'google'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
