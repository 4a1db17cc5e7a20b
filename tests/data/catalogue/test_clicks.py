"""Clicks on the links of deals to shops: counted by day, each visitor once, and nobody kept."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import clicks
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.ids import epoch_seconds
from tests.builders import DAY, NOW, make_id
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
DEAL, TODAY = make_id(), NOW.date()
YESTERDAY = TODAY - timedelta(days=1)


def test_whoever_comes_again_on_a_day_counts_once():
    measured(clicks.count)(DEAL, TODAY, {"00ab", "0001"})
    clicks.count(DEAL, TODAY, {"0001", "0002"})
    clicks.count(DEAL, YESTERDAY, {"0001"})
    clicks.count(make_id(), TODAY, {"0009"})
    assert measured(clicks.of_deal)(DEAL, since=YESTERDAY) == {YESTERDAY: 1, TODAY: 3}
    assert clicks.of_deal(DEAL, since=TODAY) == {TODAY: 3}


def test_those_who_come_at_once_are_all_counted():
    at_once(*(partial(clicks.count, DEAL, TODAY, {f"{n:04x}", "ffff"}) for n in range(8)))
    assert clicks.of_deal(DEAL, since=TODAY) == {TODAY: 9}


def test_of_a_day_that_is_closed_only_the_number_is_left(wait_for_indexes):
    before = TODAY - timedelta(days=3)
    clicks.count(DEAL, YESTERDAY, {"0001", "0002"})
    wait_for_indexes()
    assert measured(clicks.close_day)(YESTERDAY) == 1
    for day in (before, TODAY):
        clicks.count(DEAL, day, {"0001", "0002"})
    clicks.count(make_id(), YESTERDAY, {"0001"})
    wait_for_indexes()
    assert clicks.close_day(YESTERDAY) == 2
    assert clicks.close_day(YESTERDAY) == 0
    stored = {row["day"]: row for row in table.query(keys.clicks.partition(DEAL), consistent=True)}
    assert {day: row.get("visitors") for day, row in stored.items()} == {
        before.isoformat(): None,
        YESTERDAY.isoformat(): None,
        TODAY.isoformat(): {"0001", "0002"},
    }
    midnight = NOW.replace(hour=0)
    assert stored[TODAY.isoformat()]["ttl"] == epoch_seconds(midnight + 7 * DAY)
    assert stored[YESTERDAY.isoformat()]["ttl"] == epoch_seconds(midnight + 399 * DAY)
    assert clicks.of_deal(DEAL, since=before) == {before: 2, YESTERDAY: 2, TODAY: 2}
    with pytest.raises(VersionConflict):
        clicks.count(DEAL, YESTERDAY, {"0003"})
    assert clicks.of_deal(DEAL, since=YESTERDAY)[YESTERDAY] == 2


def test_who_comes_while_a_day_is_closed_is_counted_and_the_next_night_closes_it(
    monkeypatch, wait_for_indexes
):
    clicks.count(DEAL, YESTERDAY, {"0001"})
    wait_for_indexes()
    real = table.write

    def late(write):
        monkeypatch.setattr(table, "write", real)
        clicks.count(DEAL, YESTERDAY, {"0002"})
        real(write)

    monkeypatch.setattr(table, "write", late)
    clicks.close_day(YESTERDAY)
    assert clicks.of_deal(DEAL, since=YESTERDAY) == {YESTERDAY: 2}
    clicks.close_day(TODAY)
    with pytest.raises(VersionConflict):
        clicks.count(DEAL, YESTERDAY, {"0003"})


@pytest.mark.engines("native")
def test_many_are_as_many_though_some_share_a_hash():
    day = date(2026, 11, 1)
    for number, seen in ((10, 10), (2000, 2031), (65_536, 726_817)):
        visitors = {f"{n:04x}" for n in range(number)}
        assert clicks._number({"visitors": visitors}) == seen
    assert clicks._number({"clicks": 7, "day": day.isoformat()}) == 7
