"""/healthz and /readyz: what a load balancer asks."""

import pytest

from dealsite.data import table
from dealsite.data.keys import INDEXES
from dealsite.data.table import client as table_client
from dealsite.data.table import errors


@pytest.fixture
def no_engine(settings):
    settings.DYNAMODB_ENDPOINT_URL = "http://127.0.0.1:9"
    table.reset()
    yield
    table.reset()


def test_the_process_is_healthy_without_its_table(client, no_engine):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_a_site_is_ready_when_the_table_and_every_index_answer(client, fresh_table):
    with table.metered() as meter:
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})
    assert meter.log == [
        ("GetItem", None),
        ("Query", "GSI1"),
        ("Query", "GSI2"),
        ("Query", "GSI3"),
        ("Scan", "UserIndex"),
    ]


def test_a_site_whose_engine_is_away_is_not_ready_and_says_why(client, no_engine):
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "reason": str(errors.Unavailable())}


def test_a_site_without_its_table_is_not_ready(client, engine, settings):
    settings.DEALSITE_TABLE = "missing"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "manage.py create_table" in answer.json()["reason"]


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
