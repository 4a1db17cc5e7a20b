"""Leases: one process at a time has one, whatever the clocks of the machines say and whichever answers are lost."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dealsite.data import keys, table
from dealsite.data.integrity import checks
from dealsite.data.jobs import leases
from dealsite.data.jobs.leases import HELD_SECONDS, KEPT, RENEW_SECONDS, SPAN_SECONDS, Lease, LeaseState
from dealsite.data.table import schema
from dealsite.data.table.errors import Conflict, OutcomeUnknown
from tests.builders import HOUR, NOW, Clock, make_id
from tests.hostile import EXAMPLES
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
NAME = "search-7"
STATE = LeaseState(NAME, make_id(NOW), 3, 7)
NOBODYS = LeaseState(NAME)
_names = itertools.count()


def process(wrong: timedelta = timedelta(), *, ticks: Clock | None = None, name: str = NAME) -> Lease:
    """The lease as another process sees it, whose clock is wrong by some time."""
    return Lease(name, clock=lambda: NOW + wrong, ticks=ticks or Clock())


@pytest.fixture
def ticks() -> Clock:
    """The seconds of all processes of a test."""
    return Clock()


@pytest.fixture
def one(ticks: Clock) -> Lease:
    """A process that has taken it."""
    lease = process(ticks=ticks)
    assert lease.take()
    return lease


@pytest.fixture
def other(ticks: Clock, one: Lease) -> Lease:
    """Another process, which has just seen that somebody has it."""
    lease = process(ticks=ticks)
    assert not lease.take()
    return lease


def later(ticks: Clock, seconds: float = RENEW_SECONDS) -> None:
    ticks.now += seconds


def test_a_lease_is_stored_as_it_stands_and_kept_for_a_month():
    assert measured(leases.read)(NAME) == NOBODYS
    measured(leases.write)(STATE, known=NOBODYS, now=NOW)
    assert leases.read(NAME) == STATE
    assert checks.find() == []
    item = table.get(keys.lease(NAME))
    assert [schema.has_expired(item, now=NOW + kept) for kept in (KEPT - HOUR, KEPT)] == [False, True]


@pytest.mark.parametrize("known", [{"holder": ""}, {"term": 2}, {"beat": 6}, {"holder": "", "term": 0}])
def test_who_knows_it_otherwise_than_it_is_changes_nothing(known):
    leases.write(STATE, known=NOBODYS, now=NOW)
    with pytest.raises(Conflict):
        leases.write(replace(STATE, beat=8), known=replace(STATE, **known), now=NOW)
    assert leases.read(NAME) == STATE


def test_who_comes_first_takes_it():
    lease = process()
    lease.give_back()  # which it has not
    assert leases.read(NAME) == NOBODYS
    assert (lease.is_held, lease.take(), lease.is_held) == (False, True, True)
    assert leases.read(NAME) == LeaseState(NAME, lease.holder, 1)


@pytest.mark.parametrize("wrong", [-HOUR, timedelta(), HOUR])
def test_others_stand_by_while_it_is_renewed_however_wrong_their_clocks_are(one, ticks, wrong):
    others = Clock()
    others.now = 7e6  # the seconds of two machines have nothing in common
    other = process(wrong, ticks=others)
    for _ in range(12):
        assert (one.take(), other.take(), one.is_held, other.is_held) == (True, False, True, False)
        later(ticks)
        later(others)
    assert leases.read(NAME) == LeaseState(NAME, one.holder, 1, 11)


@pytest.mark.parametrize("looks", [(10, 20, 30), (15, 29.9, 39.9)])
def test_it_is_taken_over_once_it_stood_unchanged_for_its_span_and_no_look_earlier(other, ticks, looks):
    seen, taken = ticks.now, []
    for seconds in looks:
        ticks.now = seen + seconds
        taken.append(other.take())
    assert taken == [False, False, True]
    assert (leases.read(NAME).term, looks[-1] >= SPAN_SECONDS > looks[-2]) == (2, True)


def test_a_look_that_takes_its_time_tells_of_no_earlier_moment(one, ticks, monkeypatch):
    other, reads = process(ticks=ticks), leases.read

    def slowly(name):
        found = reads(name)
        later(ticks, RENEW_SECONDS + 2)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(leases, "read", slowly)
        assert not other.take()
    ticks.now += SPAN_SECONDS - 1
    assert not other.take()


WAITED = st.sampled_from([0.0, 1.0, 5.0, 10.0, 11.0])
TURNS = st.tuples(st.integers(0, 2), WAITED, st.integers(0, 9).map(bool))


@pytest.mark.budget
@settings(max_examples=10 * EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TURNS, min_size=10, max_size=40))
def test_whoever_has_their_turn_when_at_most_one_counts_on_it_and_terms_only_grow(turns):
    """One that has no turn for long is slow, or away from the table, and still counts on what it has."""
    ticks, name, terms = Clock(), f"any-{next(_names)}", [0]
    processes = [process(ticks=ticks, name=name) for _ in range(3)]
    for number, waited, stays in turns:
        later(ticks, waited)
        lease = processes[number]
        if not lease.is_held and lease.take():
            terms.append(leases.read(name).term)
        elif lease.is_held:
            lease.take() if stays else lease.give_back()
        assert sum(one.is_held for one in processes) <= 1
    assert terms == sorted(set(terms))


def test_who_has_it_counts_from_before_its_renewal_was_sent(one, ticks, monkeypatch):
    def slowly(*given: Any, **named: Any) -> None:
        write(*given, **named)
        later(ticks, HELD_SECONDS - 1)

    write = leases.write
    later(ticks)
    monkeypatch.setattr(leases, "write", slowly)
    assert (one.take(), one.is_held) == (True, True)
    later(ticks, 1)
    assert not one.is_held
    assert HELD_SECONDS + RENEW_SECONDS <= SPAN_SECONDS  # others may have looked that long before they saw it


@pytest.mark.parametrize("learns", ["take", "give_back"])
def test_who_has_lost_it_learns_so_when_it_writes_and_stands_by(one, other, ticks, learns):
    assert other.take(by_force=True)
    assert leases.read(NAME) == LeaseState(NAME, other.holder, 2)
    later(ticks)
    assert not getattr(one, learns)()
    assert (one.is_held, other.take(), one.take()) == (False, True, False)


def test_what_is_given_back_others_take_at_their_next_look(one, other, ticks):
    one.give_back()
    assert (one.is_held, leases.read(NAME)) == (False, LeaseState(NAME, "", 1, 1))
    assert not other.take()  # it has just looked
    later(ticks)
    assert (other.take(), leases.read(NAME).term) == (True, 2)


def test_a_renewal_that_fails_ends_nothing_before_the_last_one_is_old(one, ticks, monkeypatch):
    def away(*_: object, **__: object) -> None:
        raise OutcomeUnknown

    renewed = ticks.now
    with monkeypatch.context() as patch:
        patch.setattr(leases, "write", away)
        for seconds in (RENEW_SECONDS, HELD_SECONDS - 0.1):
            ticks.now = renewed + seconds
            assert (one.take(), one.is_held) == (True, True)
        ticks.now = renewed + HELD_SECONDS
        assert not one.is_held
        with pytest.raises(OutcomeUnknown):
            one.take()
    later(ticks)
    assert (one.take(), leases.read(NAME).term) == (True, 2)  # nobody else wanted it


@pytest.mark.parametrize("what", ["take", "renew"])
def test_who_did_it_and_was_told_that_it_did_not_takes_it_again_as_its_own(one, ticks, monkeypatch, what):
    def did_it(state: LeaseState, **how: Any) -> None:
        write(state, **how)
        raise Conflict  # of the repeat

    write, lease = leases.write, one if what == "renew" else process(ticks=ticks)
    if what == "take":
        one.give_back()
    later(ticks)
    with monkeypatch.context() as patch:
        patch.setattr(leases, "write", did_it)
        assert (lease.take(), lease.is_held) == (False, False)
    known = leases.read(NAME)
    assert known.holder == lease.holder
    later(ticks)
    assert (lease.take(), leases.read(NAME).term) == (True, known.term + 1)


@pytest.mark.parametrize("before", ["nobody", "one that died"])
def test_of_many_that_take_it_at_once_one_does(ticks, before):
    many = [process(ticks=ticks) for _ in range(12)]
    if before != "nobody":
        assert process(ticks=ticks).take()
        assert not any(lease.take() for lease in many)
        later(ticks, SPAN_SECONDS)
    outcomes = at_once(*[lease.take for lease in many])
    assert (outcomes.count(True), outcomes.count(False)) == (1, 11)
    assert leases.read(NAME).holder == many[outcomes.index(True)].holder
    assert [lease.is_held for lease in many] == outcomes
