"""Ids and times: they sort as what they stand for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from dealsite.data.table import ids
from tests.hostile import moments

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_a_ulid_tells_its_moment():
    ulid = ids.new_ulid(NOON, randomness=0)
    assert ulid == "01M7YZMHG00000000000000000"
    assert ids.time_of(ulid) == NOON
    assert ids.is_ulid(ulid)


def test_a_ulid_is_that_of_the_specification():
    """https://github.com/ulid/spec: `ulid(1469918176385)`."""
    moment = ids.EPOCH + timedelta(milliseconds=1469918176385)
    assert ids.new_ulid(moment)[:10] == "01ARYZ6S41"
    assert ids.ulid_of(2**128 - 1) == "7" + "Z" * 25
    assert ids.number_of("01ARYZ6S41TSV4RRFFQ69G5FAV") >> 80 == 1469918176385


@given(moments, moments, st.integers(0, 2**80 - 1), st.integers(0, 2**80 - 1))
def test_ulids_sort_as_their_moments_do(one, other, random, other_random):
    first, second = ids.new_ulid(one, random), ids.new_ulid(other, other_random)
    milliseconds = timedelta(milliseconds=1)
    if (one - ids.EPOCH) // milliseconds < (other - ids.EPOCH) // milliseconds:
        assert first < second
    assert ids.time_of(first) == one.replace(microsecond=one.microsecond // 1000 * 1000)


@given(moments, st.integers(0, 2**80 - 1))
def test_a_moments_ulids_lie_between_its_first_and_its_last(moment, random):
    ulid = ids.new_ulid(moment, random)
    assert ids.first_ulid_of(moment) <= ulid <= ids.last_ulid_until(moment)
    assert ids.last_ulid_until(moment) < ids.first_ulid_of(moment + timedelta(milliseconds=1))


@given(moments, st.integers(1, 2**80 - 2))
def test_the_next_ulid_and_the_previous_one_are_neighbours(moment, random):
    ulid = ids.new_ulid(moment, random)
    assert ids.previous_ulid(ulid) < ulid < ids.next_ulid(ulid)
    assert ids.previous_ulid(ids.next_ulid(ulid)) == ulid


def test_the_ends_of_all_ulids_have_no_neighbour_beyond():
    assert ids.next_ulid(ids.LAST_ULID) == ids.LAST_ULID
    assert ids.previous_ulid("0" * 26) == "0" * 26


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0" * 25,
        "0" * 27,
        "8" + "Z" * 25,
        "01karp0w3i0000000000000000",
        "0" * 25 + "\n",
        "0" * 25 + "U",
        "٠" * 26,
        "7" + "Z" * 25,
    ],
)
def test_only_the_canonical_spelling_is_a_ulid(text):
    assert ids.is_ulid(text) is False


@pytest.mark.parametrize(
    ("ulid", "new"),
    [
        (ids.new_ulid(NOON - timedelta(days=1)), True),
        (ids.new_ulid(NOON + timedelta(days=1)), True),
        (ids.new_ulid(NOON - timedelta(days=1, milliseconds=1)), False),
        (ids.new_ulid(NOON + timedelta(days=1, milliseconds=1)), False),
        ("7" + "0" * 25, False),
        ("", False),
    ],
    ids=["a day ago", "in a day", "before that", "after that", "of the year 9774", "none"],
)
def test_the_id_of_something_new_is_of_about_now(ulid, new):
    assert ids.is_new(ulid, NOON) is new
    assert (ids.new_id(ulid, NOON) == ulid) is new
    assert ids.is_new(ids.new_id(ulid, NOON), NOON)


def test_the_last_ulid_is_of_a_moment_that_every_zone_can_show_and_none_comes_after_it():
    moment = ids.time_of(ids.LAST_ULID)
    assert moment == datetime(9998, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
    assert ids.is_ulid(ids.LAST_ULID)
    assert not ids.is_ulid(ids.first_ulid_of(moment + timedelta(milliseconds=1)))


def test_times_are_written_in_utc_with_milliseconds():
    east = datetime(2026, 11, 21, 14, 0, 0, 7999, tzinfo=timezone(timedelta(hours=2)))
    assert ids.iso(east) == "2026-11-21T12:00:00.007Z"


def test_a_time_without_a_zone_never_becomes_text():
    with pytest.raises(ValueError, match="without a zone"):
        ids.iso(datetime(2026, 11, 21))  # noqa: DTZ001


@given(moments, moments)
def test_times_as_text_sort_as_times(one, other):
    assert ids.from_iso(ids.iso(one)) == one.replace(microsecond=one.microsecond // 1000 * 1000)
    if ids.iso(one) < ids.iso(other):
        assert one < other


def test_a_shard_can_be_recomputed():
    assert [ids.shard(name, 4) for name in ("ann", "bob", "cleo", "dan")] == [3, 0, 2, 3]
