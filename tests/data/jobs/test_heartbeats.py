"""Heartbeats: the last one counts, whoever wrote it, and an old one says that nobody lives."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.integrity import checks
from dealsite.data.jobs import heartbeats
from dealsite.data.table import schema
from tests.builders import HOUR, NOW
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")
SECOND = timedelta(seconds=1)


def test_the_last_heartbeat_of_a_part_counts_and_the_parts_are_apart():
    assert measured(heartbeats.last)("worker") is None
    heartbeats.write("worker", now=NOW)
    heartbeats.write("worker", now=NOW + SECOND)
    assert heartbeats.last("worker") == NOW + SECOND
    assert heartbeats.last("web") is None


def test_a_worker_is_missing_a_minute_after_its_last_heartbeat():
    assert heartbeats.is_missing(None, now=NOW)
    assert not heartbeats.is_missing(NOW, now=NOW + 60 * SECOND)
    assert heartbeats.is_missing(NOW, now=NOW + 61 * SECOND)
    assert not heartbeats.is_missing(NOW + SECOND, now=NOW)  # clocks of two machines differ


def test_heartbeats_expire_and_check_table_knows_them():
    measured(heartbeats.write)("web", now=NOW)
    item = table.get(keys.heartbeat("web"))
    assert (item["type"], checks.find()) == ("Heartbeat", [])
    assert not schema.has_expired(item, now=NOW + 23 * HOUR)
    assert schema.has_expired(item, now=NOW + 24 * HOUR)
