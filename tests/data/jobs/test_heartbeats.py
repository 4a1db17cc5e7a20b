"""Heartbeats: the last one counts, whoever wrote it, and an old one says that nobody lives."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.integrity import checks
from dealsite.data.jobs import processes
from dealsite.data.table import schema
from tests.builders import HOUR, NOW
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")
SECOND = timedelta(seconds=1)


def test_the_last_heartbeat_of_a_part_counts_and_the_parts_are_apart():
    assert measured(processes.last_heartbeat)("worker") is None
    processes.write_heartbeat("worker", now=NOW)
    processes.write_heartbeat("worker", now=NOW + SECOND)
    assert processes.last_heartbeat("worker") == NOW + SECOND
    assert processes.last_heartbeat("web") is None


def test_a_worker_is_missing_a_minute_after_its_last_heartbeat():
    assert processes.heartbeat_is_missing(None, now=NOW)
    assert not processes.heartbeat_is_missing(NOW, now=NOW + 60 * SECOND)
    assert processes.heartbeat_is_missing(NOW, now=NOW + 61 * SECOND)
    assert not processes.heartbeat_is_missing(NOW + SECOND, now=NOW)  # clocks of two machines differ


def test_heartbeats_expire_and_check_table_knows_them():
    measured(processes.write_heartbeat)("web", now=NOW)
    item = table.get(keys.heartbeat("web"))
    assert (item["type"], checks.find()) == ("Heartbeat", [])
    assert not schema.has_expired(item, now=NOW + 23 * HOUR)
    assert schema.has_expired(item, now=NOW + 24 * HOUR)
