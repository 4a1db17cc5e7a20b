"""/healthz and /readyz: what a load balancer asks, and what operators see there."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.data import table
from dealsite.data.catalogue import categories
from dealsite.data.jobs import processes
from dealsite.data.keys import INDEXES
from dealsite.data.table import client as table_client, errors, schema
from dealsite.web import readiness

FOLLOWING = {"state": "following", "lag_seconds": 0.4, "skipped": 0}
TOKEN = "a token of ours"
STRANGER = "203.0.113.7"


@pytest.fixture
def no_engine(settings):
    settings.DYNAMODB_ENDPOINT_URL = "http://127.0.0.1:9"
    table.reset()
    yield
    table.reset()


@pytest.fixture
def all_well(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker and consumers that are alive, and room on the disk."""
    processes.write_heartbeat("worker", now=timezone.now())
    categories.create_all()
    monkeypatch.setattr(readiness, "projections_now", lambda now: {"search": FOLLOWING})
    room = {"free_bytes": 10**10, "free_share": 0.5, "little": False, "too_little": False}
    monkeypatch.setattr(readiness, "disks_now", lambda: {"data": room})
    monkeypatch.setattr(readiness, "parts_now", lambda: {"worker": {"restarts": 2, "ended": "SIGKILL"}})


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that cannot be read, whose error names what strangers need not know."""

    def answer() -> None:
        raise errors.DataError("AccessDenied: arn:aws:dynamodb:eu-central-1:123456789012:table/dealsite")

    monkeypatch.setattr(schema, "answer", answer)


def test_the_process_is_healthy_without_its_table(client, no_engine):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_a_site_is_ready_when_the_table_and_every_index_answer(client, all_well):
    with table.metered() as meter:
        answer = client.get("/readyz")
    assert answer.status_code == 200
    assert meter.log[:4] == [("Query", "GSI1"), ("Query", "GSI2"), ("Query", "GSI3"), ("Scan", "UserIndex")]
    side_by_side, last = sorted(operation for operation, _ in meter.log[4:-1]), meter.log[-1]
    assert side_by_side == ["BatchGetItem", "GetItem", "GetItem"]  # the batch until a site was whole once
    assert last == ("PutItem", None)
    assert processes.last_heartbeat("web") is not None
    found = answer.json()
    assert 0 <= found.pop("written_seconds_ago") < 60
    assert 0 <= found.pop("worker_seconds_ago") < 60
    assert found == {
        "ready": True,
        "degraded": {},
        "projections": {"search": FOLLOWING},
        "disks": {"data": {"free_bytes": 10**10, "free_share": 0.5, "little": False, "too_little": False}},
        "parts": {"worker": {"restarts": 2, "ended": "SIGKILL"}},
        "caller": {"scheme": "http", "proxies": 0},
    }


def test_a_site_whose_engine_is_away_is_not_ready_and_says_why(client, no_engine):
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    found = answer.json()
    assert (found["ready"], found["reason"]) == (False, "table")
    assert found["meaning"] == "The table, or one of its indexes, cannot be read."


def test_a_table_that_never_answers_is_said_in_time(client, settings):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{silent.getsockname()[1]}"
        table.reset()
        began = time.monotonic()
        answer = client.get("/readyz")
        taken = time.monotonic() - began
    for check in [one for one in threading.enumerate() if one.name == "readiness"]:
        check.join(20)
    table.reset()
    assert (answer.status_code, answer.json()["reason"]) in [(503, "slow"), (503, "table")]
    assert taken < 2.5


def test_a_site_without_its_table_is_not_ready(client, engine, settings):
    settings.DEALSITE_TABLE = "missing"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reason"] == "misconfigured"
    assert "is missing" in answer.json()["meaning"]


@pytest.mark.parametrize("index", INDEXES)
def test_a_site_whose_index_does_not_answer_is_not_ready(client, fresh_table, monkeypatch, index):
    really = table_client.send

    def broken(operation, parameters):
        if parameters.get("IndexName") == index:
            raise errors.Unavailable()
        return really(operation, parameters)

    monkeypatch.setattr(table_client, "send", broken)
    assert client.get("/readyz").status_code == 503


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_is_never_kept_nor_changed(client, fresh_table, address):
    assert "no-store" in client.get(address)["Cache-Control"]
    assert client.post(address).status_code in (403, 405)


def test_a_site_without_a_worker_is_ready_and_says_what_waits(client, all_well, monkeypatch):
    monkeypatch.setattr(processes, "last_heartbeat", lambda part: None)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (200, True)
    assert answer.json()["degraded"] == {
        "worker": "No worker has run for a minute: jobs, mails and payments wait."
    }
    assert answer.json()["worker_seconds_ago"] is None


# Who sees the details


def asked(client: Client, address: str = STRANGER, **headers: str) -> Any:
    return client.get("/readyz", REMOTE_ADDR=address, headers=headers)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_details_are_for_this_machine(client, all_well, address):
    assert "degraded" in asked(client, address).json()


def test_others_see_yes_or_no(client, all_well, subtests):
    for address in [STRANGER, "10.0.0.7", "2001:db8::1", "", "unix:"]:
        with subtests.test(address=address):
            assert asked(client, address).json() == {"ready": True}


def test_others_see_a_word_for_the_reason_and_nothing_of_the_error(client, fresh_table, broken):
    answer = asked(client)
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "reason": "table"})
    assert "arn:" not in asked(client, "127.0.0.1").content.decode()


def test_behind_a_proxy_on_this_machine_nobody_is_local(client, all_well, settings, subtests):
    for header in [
        {"X-Forwarded-For": STRANGER},
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-For": "127.0.0.1, 127.0.0.1"},
        {"X-Forwarded-For": ""},
        {"Forwarded": "for=127.0.0.1"},
        {"X-Real-IP": "127.0.0.1"},
        {"CF-Connecting-IP": "127.0.0.1"},
        {"True-Client-IP": "127.0.0.1"},
        {"Via": "1.1 proxy"},
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-Host": "deals.example"},
    ]:
        for proxies in [0, 1, 2]:
            with subtests.test(proxies=proxies, header=header):
                settings.DEALSITE_TRUSTED_PROXIES = proxies
                assert asked(client, "127.0.0.1", **header).json() == {"ready": True}


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_the_token_shows_details_to_who_has_it_from_anywhere(client, all_well, settings, scheme):
    settings.DEALSITE_HEALTH_TOKEN = TOKEN
    headers = {"Authorization": f"{scheme} {TOKEN}", "X-Forwarded-For": STRANGER}
    assert "degraded" in asked(client, **headers).json()


def test_a_wrong_token_shows_nothing_and_no_token_is_none(client, all_well, settings, subtests):
    for token, given in [
        (TOKEN, "Bearer a token of theirs"),
        (TOKEN, f"Basic {TOKEN}"),
        (TOKEN, "Bearer"),
        (TOKEN, "Bearer \xff\u0100"),
        (TOKEN, TOKEN),
        ("", "Bearer "),
        ("", "Bearer"),
        ("", ""),
    ]:
        with subtests.test(token=token, given=given):
            settings.DEALSITE_HEALTH_TOKEN = token
            assert client.get("/readyz", REMOTE_ADDR=STRANGER, HTTP_AUTHORIZATION=given).json() == {
                "ready": True
            }


def test_the_token_is_compared_in_constant_time(client, all_well, settings, monkeypatch):
    compared = []
    settings.DEALSITE_HEALTH_TOKEN = TOKEN

    def compare_digest(one: bytes, other: bytes) -> bool:
        compared.append({one, other})
        return True

    monkeypatch.setattr("hmac.compare_digest", compare_digest)
    assert "degraded" in asked(client, Authorization="Bearer guess").json()
    assert compared == [{b"guess", TOKEN.encode()}]


def test_no_detail_holds_a_path_a_host_or_a_secret(client, fresh_table, settings):
    text = asked(client, "127.0.0.1").content.decode()
    settings.DEALSITE_HEALTH_TOKEN = TOKEN
    for secret in (
        str(settings.VAR),
        settings.SECRET_KEY,
        settings.DYNAMODB_ENDPOINT_URL,
        settings.DEALSITE_TABLE,
        TOKEN,
        "/",
    ):
        assert secret not in text


def test_a_503_of_readyz_is_one_line_when_it_begins_and_one_when_it_ends(
    client, all_well, caplog, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(schema, "answer", lambda: 1 / 0)
        patch.setattr(readiness, "KEPT_SECONDS", 0)
        for _ in range(3):
            assert client.get("/readyz").status_code == 503
    monkeypatch.setattr(readiness, "KEPT_SECONDS", 0)
    for _ in range(3):
        assert client.get("/readyz").status_code == 200
    said = [text.split(" request_id")[0] for text in caplog.messages if "readiness_failed" not in text]
    assert said == [
        "event='not_ready' reason='table' meaning='The table, or one of its indexes, cannot be read.'",
        "event='ready_again' reason='table'",
    ]


@pytest.mark.parametrize("host", ["10.0.3.7", "10.0.3.7:8000", "[fd00::7]:8000", "elb.internal", "a b", ""])
def test_load_balancers_are_answered_whatever_name_they_ask_for(client, all_well, caplog, host):
    for address in ("/healthz", "/readyz"):
        assert client.get(address, HTTP_HOST=host).status_code == 200
    assert client.get("/", HTTP_HOST=host or "10.0.3.7").status_code == 400
    assert "Traceback" not in caplog.text
    assert not [line for line in caplog.records if line.levelname == "ERROR"]
