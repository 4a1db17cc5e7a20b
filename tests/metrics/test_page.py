"""/metrics: who may read it, that it shows each metric of the chart, and that no visitor can add to it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from django.test import Client

from dealsite.data import table
from dealsite.data.table import client as table_client, connection, convert, errors
from dealsite.processes import launcher
from dealsite.stream import consumer_status
from dealsite.stream.consumer import Consumer
from dealsite.stream.projection import Checkpoint
from dealsite.web import counting
from dealsite.web.counting import CHART, Kind
from dealsite.worker import loop
from tests.builders import HOUR, NOW, make_deal
from tests.jobs import run_next
from tests.metrics.conftest import samples
from tests.stream.fakes import Copy, FakeStream
from tests.worker.test_loop import add_job

STRANGER = "203.0.113.7"
TOKEN = "a token of ours"


@pytest.fixture
def busy_site(processes, fresh_table, search_index, settings, tmp_path, monkeypatch) -> None:
    """A machine on which everything that is counted happens once."""
    processes.begin("worker")
    make_deal(title="Mechanical keyboard")
    search_index()
    assert Client().get("/").status_code == 200
    add_job("dance")
    monkeypatch.setitem(loop.HANDLERS, "dance", lambda job, now: now + HOUR)
    run_next(now=NOW)
    counting.read_gauges(set(), now=NOW + HOUR)
    consumer_status.note_status(tmp_path / "search", consumer_status.ConsumerStatus(NOW, "following", NOW))
    feed_once(tmp_path / "copy")
    launcher.note_parts(tmp_path, [SimpleNamespace(name="worker", restarts=2, ended="SIGKILL")])  # type: ignore[list-item]
    with monkeypatch.context() as patch:
        patch.setattr(table_client, "_answer", away)
        assert Client().get("/brands/").status_code == 503


def away(*_: object, **__: object) -> None:
    raise errors.Unavailable


def feed_once(folder: Path) -> None:
    """Let a consumer take one change."""
    stream = FakeStream()
    stream.write(("A", "A"), {"type": "Thing"})
    Consumer(Copy(folder), stream, Checkpoint("arn:fake", NOW, {}), clock=lambda: NOW).round()


def test_each_metric_of_the_chart_is_shown_with_its_labels_and_nothing_else_is(busy_site):
    found: dict[str, set[str]] = {}
    for name, labels in samples():
        base = name
        for ending in ("_bucket", "_sum", "_count"):
            if (whole := name.removesuffix(ending)) in CHART and CHART[whole].kind is Kind.HISTOGRAM:
                base = whole
        found.setdefault(base, set()).update(label for label, _ in labels if label != "le")
    assert found == {name: set(metric.labels) for name, metric in CHART.items()}


# Who may read it


def status_of(address: str = "127.0.0.1", **headers: str) -> int:
    return Client().get("/metrics", REMOTE_ADDR=address, headers=headers).status_code


def test_this_machine_and_who_sends_the_token_may_read_it_and_to_others_there_is_no_such_page(
    processes, settings, fresh_table
):
    settings.DEALSITE_HEALTH_TOKEN = TOKEN
    assert status_of() == 200
    assert status_of(STRANGER, Authorization=f"Bearer {TOKEN}") == 200
    assert status_of(STRANGER) == 404
    assert status_of(STRANGER, Authorization="Bearer another") == 404
    assert status_of(**{"X-Forwarded-For": STRANGER}) == 404
    assert Client().post("/metrics").status_code in (403, 405)


def test_it_is_read_by_a_machines_address_and_asks_nothing_of_the_table(processes, settings):
    settings.ALLOWED_HOSTS = ["deals.example"]
    settings.DEALSITE_URL = "http://deals.example"
    with table.metered() as meter:
        answer = Client().get("/metrics", headers={"Host": "192.0.2.7:8000"})
    assert (answer.status_code, meter.calls) == (200, 0)
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert "no-store" in answer["Cache-Control"]


# What is counted of requests


def test_requests_are_counted_by_view_method_and_status_and_how_long_they_took(processes, shown, fresh_table):
    processes.begin("web")
    for _ in range(2):
        Client().get("/search/?q=secret")
    assert shown("dealsite_requests_total", view="search", method="GET", status="200") == 2
    assert shown("dealsite_request_seconds_count", view="search", method="GET") == 2


def test_what_visitors_type_makes_no_series(processes, fresh_table):
    processes.begin("web")
    Client().get("/search/?q=lantern")
    before = samples().keys()
    for number in range(3):
        Client().get(f"/search/?q=typed-{number}", headers={"User-Agent": f"typed-{number}"})
        Client().get(f"/typed-{number}")
        Client().generic(f"TYPED{number}", "/search/")
    new = samples().keys() - before
    assert not any("typed" in str(one).lower() for one in samples())
    assert {dict(labels)["view"] for name, labels in new if name == "dealsite_requests_total"} == {
        "other",
        "search",
    }
    assert len([name for name, _ in new if name == "dealsite_requests_total"]) == 2


@pytest.mark.parametrize(
    ("error", "cause"),
    [(errors.Busy, "busy"), (errors.Misconfigured, "misconfigured"), (errors.Unavailable, "table")],
)
def test_a_503_is_counted_with_its_cause(processes, shown, monkeypatch, error, cause):
    def fail(*_: object, **__: object) -> None:
        raise error()

    processes.begin("web")
    monkeypatch.setattr(table_client, "_answer", fail)
    assert Client().get("/brands/").status_code == 503
    assert shown("dealsite_unavailable_total", cause=cause) == 1


def test_each_try_of_a_call_is_counted_by_how_it_ended(processes, shown, fresh_table, monkeypatch):
    processes.begin("web")
    monkeypatch.setattr(table_client, "pause", lambda seconds: None)
    really = connection.Connection.send
    refused = [
        errors.Refused("ThrottlingException", "", []),
        errors.Refused(
            "TransactionCanceledException", "", [{"Code": "None"}, {"Code": "TransactionConflict"}]
        ),
        errors.Refused("InternalServerError", "", []),
        convert.NoAnswer("half an answer"),
    ]

    def send(one, *request):
        if refused:
            raise refused.pop(0)
        return really(one, *request)

    monkeypatch.setattr(connection.Connection, "send", send)
    assert table.get(("A", "A")) is None
    for outcome in ("throttled", "conflict", "failed", "unreadable", "answered"):
        assert shown("dealsite_table_calls_total", operation="GetItem", outcome=outcome) == 1
    assert shown("dealsite_table_retries_total") == 4
    assert shown("dealsite_table_call_seconds_count", operation="GetItem") == 5
    assert shown("dealsite_table_units_total", operation="GetItem", kind="read") == 1
