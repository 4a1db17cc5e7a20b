from datetime import timedelta

import pytest

from dealsite.data import table
from dealsite.data.table import items, schema
from dealsite.data.table.ids import epoch_seconds
from dealsite.data.table.writes import Put
from tests.builders import NOW

pytestmark = pytest.mark.usefixtures("fresh_table")


def put(name, **attributes):
    table.write(Put(key=(name, name), item={"type": "Session", **attributes}))


@pytest.mark.moto
def test_what_has_expired_is_deleted_and_nothing_else(wait_for_indexes):
    put("OVER", ttl=epoch_seconds(NOW))
    put("SOON", ttl=epoch_seconds(NOW + timedelta(seconds=1)))
    put("ALWAYS")
    wait_for_indexes()
    assert schema.delete_expired(now=NOW) == 1
    assert [table.get((name, name)) is not None for name in ("OVER", "SOON", "ALWAYS")] == [False, True, True]


def test_what_was_renewed_since_the_scan_stays(monkeypatch):
    put("RENEWED", ttl=epoch_seconds(NOW + timedelta(days=1)))
    stale = {
        "PK": "RENEWED",
        "SK": "RENEWED",
        "type": "Session",
        "ttl": epoch_seconds(NOW - timedelta(days=1)),
    }
    monkeypatch.setattr(items, "scan_all", lambda: iter([stale]))
    assert schema.delete_expired(now=NOW) == 0
    assert table.get(("RENEWED", "RENEWED")) is not None
