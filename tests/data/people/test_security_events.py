"""The security log in the table: found by user, kind, network and day, never written over; failed tries are counted."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.people import security_events
from dealsite.data.people.security_events import SecurityEvent
from dealsite.data.table import errors
from tests.builders import DAY, NOW, make_id
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
MINUTE = timedelta(minutes=1)
HOME, AWAY = "192.0.2.7", "2001:db8:0:1::/64"


def note(event: str = "signed_in", username: str = "ann", network: str = HOME, *, at=NOW, **more) -> None:
    security_events.add(SecurityEvent(event, at, username, network, **more))


def found(**asked) -> list[tuple[str, str]]:
    return [(one.event, one.username) for one in security_events.page(**asked).rows]


def test_events_are_found_by_user_kind_network_and_day_newest_first(wait_for_indexes):
    note(page="/account/sign-in/", detail="x", request="R1")
    note("sign_in_failed", "", AWAY, at=NOW + MINUTE)
    note("sign_in_failed", "bob", at=NOW + DAY)
    wait_for_indexes()
    assert found(username="ann") == [("signed_in", "ann")]
    assert found(username=" ANN ") == [("signed_in", "ann")]
    assert found(event="sign_in_failed") == [("sign_in_failed", "bob"), ("sign_in_failed", "")]
    assert found(network=AWAY) == [("sign_in_failed", "")]
    assert found(network=HOME) == [("sign_in_failed", "bob"), ("signed_in", "ann")]
    assert found(day=NOW.date()) == [("sign_in_failed", ""), ("signed_in", "ann")]
    assert found(event="sign_in_failed", day=NOW.date()) == [("sign_in_failed", "")]
    assert found(username="#", day=NOW.date()) == found(network="a#b") == []
    (event,) = security_events.page(username="ann").rows
    assert (event.at, event.network, event.page, event.detail, event.request) == (
        NOW,
        HOME,
        "/account/sign-in/",
        "x",
        "R1",
    )
    with pytest.raises(ValueError, match="Say a user"):
        security_events.page()


def test_long_lists_take_pages(monkeypatch, wait_for_indexes):
    monkeypatch.setattr(security_events, "PAGE_SIZE", 2)
    for number in range(3):
        note(detail=str(number), at=NOW + number * MINUTE)
    wait_for_indexes()
    first = security_events.page(username="ann")
    second = security_events.page(username="ann", after=first.after)
    assert [one.detail for one in (*first.rows, *second.rows)] == ["2", "1", "0"]
    assert second.after is None
    with pytest.raises(errors.BadCursor):
        security_events.page(username="ann", after="x")


def test_an_event_is_never_written_over(monkeypatch, wait_for_indexes):
    event_id = make_id(NOW)
    monkeypatch.setattr(security_events, "new_ulid", lambda now: event_id)
    first, second = (partial(note, detail=text) for text in ("first", "second"))
    assert at_once(first, second) == [None, None]
    wait_for_indexes()
    (kept,) = measured(security_events.page)(day=NOW.date()).rows
    note(detail="third")
    wait_for_indexes()
    assert security_events.page(day=NOW.date()).rows == [kept]


@pytest.mark.engines("native", "local")  # a lost answer may count twice
def test_failures_are_counted_by_minute_and_forgotten_after_two_days():
    at_once(*[partial(security_events.count_failures, 3, now=NOW)] * 4)
    measured(security_events.count_failures)(1, now=NOW + timedelta(seconds=59))
    security_events.count_failures(5, now=NOW + MINUTE)
    security_events.count_failures(7, now=NOW - 11 * MINUTE)
    within = timedelta(minutes=10)
    assert measured(security_events.failures)(within=within, now=NOW + MINUTE) == {NOW: 13, NOW + MINUTE: 5}
    assert security_events.failures(within=within, now=NOW + 12 * MINUTE) == {}
    item = table.get(keys.failure_count(NOW))
    assert item["ttl"] == int((NOW + 2 * DAY).timestamp())


def test_what_is_noted_is_in_no_pages_budget():
    with table.metered() as meter, security_events.noting(0.0):
        note()
        security_events.count_failures(1, now=NOW)
    assert meter.calls == 0


def test_what_is_noted_has_time_where_a_page_computed_for_long_and_none_where_the_table_took_it(
    wait_for_indexes, monkeypatch
):
    monkeypatch.setattr(security_events, "NOTING_SECONDS", 60.0)  # however busy the machine is
    with table.deadline(-1.0):
        with security_events.noting(30.0):
            note()
        with security_events.noting(60.0), pytest.raises(errors.Unavailable):
            note()
    wait_for_indexes()
    assert len(security_events.page(day=NOW.date()).rows) == 1
