"""Throttles: no more tries than the limit, however many come at once."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.integrity import checks
from dealsite.data.people import throttles
from dealsite.data.people.throttles import Limit
from dealsite.data.table.errors import TooManyRequests
from dealsite.data.table.ids import epoch_seconds
from tests.measuring import measured
from tests.people import NOW
from tests.races import at_once

pytestmark = [pytest.mark.engines_differ, pytest.mark.usefixtures("fresh_table")]
LIMIT = Limit("test", 3, timedelta(minutes=15))
EXACT = pytest.mark.engines("native", "local")  # a lost answer may count a try twice


@EXACT
def test_the_try_after_the_last_is_refused_until_the_span_is_over():
    for minute in (0, 5, 14):
        throttles.count(LIMIT, "ada", now=NOW + timedelta(minutes=minute))
    with pytest.raises(TooManyRequests, match="Please wait 60 seconds") as refused:
        throttles.count(LIMIT, "ada", now=NOW + timedelta(minutes=14))
    assert refused.value.retry_after == 60
    throttles.count(LIMIT, "ada", now=NOW + timedelta(minutes=15))


@EXACT
def test_other_subjects_and_other_kinds_have_tries_of_their_own():
    for _ in range(3):
        throttles.count(LIMIT, "ada", now=NOW)
    throttles.count(LIMIT, "bob", now=NOW)
    throttles.count(Limit("other", 3, LIMIT.span), "ada", now=NOW)
    assert checks.find() == []


@EXACT
def test_a_try_that_was_undone_does_not_count():
    for _ in range(10):
        throttles.count(LIMIT, "ada", now=NOW)
        throttles.undo_attempt(LIMIT, "ada", now=NOW)
    for _ in range(3):
        throttles.count(LIMIT, "ada", now=NOW)
    with pytest.raises(TooManyRequests):
        throttles.count(LIMIT, "ada", now=NOW)


@EXACT
def test_no_more_is_undone_than_was_counted():
    throttles.undo_attempt(LIMIT, "ada", now=NOW)
    assert table.get(keys.throttle("test", "ada", NOW)) is None
    throttles.count(LIMIT, "ada", now=NOW)
    measured(throttles.undo_attempt)(LIMIT, "ada", now=NOW)
    throttles.undo_attempt(LIMIT, "ada", now=NOW)
    item = table.get(keys.throttle("test", "ada", NOW))
    assert item is not None
    assert item["count"] == 0
    assert item["ttl"] == epoch_seconds(NOW + LIMIT.span)


@EXACT
@pytest.mark.parametrize("subject", ["a#b", "", "\x00", "x" * 10_000, "\ud800", "é"])
def test_any_text_can_be_a_subject(subject: str):
    throttles.count(LIMIT, subject, now=NOW)
    assert checks.find() == []


def test_of_twenty_tries_at_once_no_more_than_the_limit_get_through():
    outcomes = at_once(*[partial(throttles.count, LIMIT, "ada", now=NOW) for _ in range(20)])
    assert outcomes.count(None) == 3
    assert {type(outcome) for outcome in outcomes} == {type(None), TooManyRequests}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (40, "40 seconds"),
        (89, "89 seconds"),
        (90, "2 minutes"),
        (900, "15 minutes"),
        (5400, "90 minutes"),
        (5401, "2 hours"),
        (86_400, "24 hours"),
    ],
)
@pytest.mark.engines("native")
def test_a_waiting_time_is_said_in_words(seconds: int, words: str):
    assert throttles.in_words(seconds) == words


@EXACT
def test_how_far_limits_are_used_is_read_for_the_present_span():
    measured(throttles.count)(LIMIT, "all", now=NOW)
    other = Limit("other", 3, LIMIT.span)
    assert measured(throttles.uses)([LIMIT, other], "all", now=NOW) == {"test": 1, "other": 0}
    assert throttles.uses([LIMIT], "all", now=NOW + LIMIT.span) == {"test": 0}
