"""A second factor: on or off as a whole, each code good once, and sessions bound to it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.editing import audit
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict, Unavailable
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once, one_did

pytestmark = pytest.mark.usefixtures("whole_table")


def turned_on(key: str = "", step: int = 100) -> User:
    """Make Ada, with a second factor."""
    ada = make_user("ada")
    if key:
        sessions.start(ada, key=key, user_agent="", address="", now=NOW)
    two_factor.turn_on(ada, secret="sealed", recovery=["one", "two"], step=step, key=key, now=NOW)
    return users.get("ada")


def test_who_never_turned_it_on_has_none():
    assert make_user("ada").two_factor == ""
    assert two_factor.get("ada") is None


def test_what_was_turned_on_is_there():
    ada = turned_on()
    factor = two_factor.get("ada")
    assert (factor.id, factor.secret, factor.recovery) == (
        ada.two_factor,
        "sealed",
        frozenset({"one", "two"}),
    )
    assert (factor.last_step, factor.since) == (100, NOW)


def test_it_is_turned_on_once(wait_for_indexes):
    ada = turned_on()
    with pytest.raises(Conflict):
        two_factor.turn_on(ada, secret="other", recovery=[], step=1, key="", now=NOW)
    assert two_factor.get("ada").secret == "sealed"


def test_it_is_not_turned_on_over_another_password():
    ada = make_user("ada")
    sessions.change_password(ada, password="new hash", now=NOW)
    with pytest.raises(Conflict):
        two_factor.turn_on(ada, secret="sealed", recovery=["one"], step=1, key="", now=NOW)
    assert two_factor.get("ada") is None


def test_turning_it_on_ends_all_other_sessions_even_one_that_is_being_started():
    ada = make_user("ada")
    for key in ("here", "there"):
        sessions.start(ada, key=key, user_agent="", address="", now=NOW)
    measured(two_factor.turn_on)(ada, secret="sealed", recovery=["one"], step=1, key="here", now=NOW)
    sessions.start(ada, key="late", user_agent="", address="", now=NOW)  # with the user as they were before
    alive = [key for key in ("here", "there", "late") if sessions.read("ada", key, now=NOW)]
    assert alive == ["here"]


def test_turning_it_off_ends_all_other_sessions_and_forgets_the_secret():
    ada = turned_on(key="here")
    sessions.start(ada, key="there", user_agent="", address="", now=NOW)
    measured(two_factor.turn_off)(ada, by="ada", key="here", now=NOW)
    assert two_factor.get("ada") is None
    assert users.get("ada").two_factor == ""
    assert [key for key in ("here", "there") if sessions.read("ada", key, now=NOW)] == ["here"]


def test_another_factor_than_the_one_seen_is_not_turned_off():
    old, seen = turned_on(), two_factor.get("ada")
    two_factor.turn_off(old, by="ada", now=NOW)
    later = NOW + timedelta(seconds=1)
    two_factor.turn_on(users.get("ada"), secret="new", recovery=["one"], step=1, key="", now=later)
    with pytest.raises(Conflict):
        two_factor.turn_off(old, by="ada", now=later)
    with pytest.raises(Conflict):
        two_factor.renew_recovery_codes(old, two_factor.by_code(seen, 200), recovery=["x"], now=later)
    assert two_factor.get("ada").secret == "new"


@pytest.mark.parametrize("step", [100, 99, 1])
def test_a_code_is_good_once_and_none_before_it_is(step: int):
    turned_on(step=100)
    with pytest.raises(Conflict, match="used already"):
        two_factor.use(two_factor.by_code(two_factor.get("ada"), step))


def test_of_ten_who_use_a_code_at_the_same_moment_one_does():
    turned_on()
    factor = two_factor.get("ada")
    assert one_did(at_once(*[partial(two_factor.use, two_factor.by_code(factor, 101))] * 10))


def test_of_those_who_seal_a_secret_again_at_the_same_moment_one_does_and_its_code_is_used():
    turned_on()
    factor = two_factor.get("ada")
    uses = [two_factor.sealing(two_factor.by_code(factor, 101 + n), factor, f"sealed {n}") for n in range(5)]
    outcomes = at_once(*[partial(two_factor.use, used) for used in uses])
    assert one_did(outcomes)
    (sealed,) = measured(two_factor.get_many)(["ada", "bob"])
    number = sealed.last_step - 101
    assert sealed.secret == f"sealed {number}"
    assert outcomes[number] is None or type(outcomes[number]) is Unavailable
    with pytest.raises(Conflict):
        two_factor.use(two_factor.sealing(two_factor.by_code(factor, 200), factor, "sealed late"))


def test_of_ten_who_use_a_recovery_code_at_the_same_moment_one_does():
    ada = turned_on()
    factor = two_factor.get("ada")
    uses = [two_factor.by_recovery_code(ada, factor, "one", now=NOW) for _ in range(10)]
    outcomes = at_once(*[partial(two_factor.use, used) for used in uses])
    assert outcomes.count(None) == 1
    assert two_factor.get("ada").recovery == {"two"}


def test_of_ten_who_turn_it_on_at_the_same_moment_one_does():
    ada = make_user("ada")
    outcomes = at_once(
        *[
            partial(two_factor.turn_on, ada, secret=f"{n}", recovery=["one"], step=1, key="", now=NOW)
            for n in range(10)
        ]
    )
    (made,) = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
    assert two_factor.get("ada") == made


def test_the_last_recovery_code_can_be_used_and_new_ones_made():
    ada = turned_on()
    for code in ("one", "two"):
        measured(two_factor.use)(two_factor.by_recovery_code(ada, two_factor.get("ada"), code, now=NOW))
    assert two_factor.get("ada").recovery == frozenset()
    used = two_factor.by_code(two_factor.get("ada"), 101)
    two_factor.renew_recovery_codes(ada, used, recovery=["three"], now=NOW)
    assert two_factor.get("ada").recovery == {"three"}
    with pytest.raises(Conflict, match="used already"):
        two_factor.renew_recovery_codes(ada, used, recovery=["four"], now=NOW)
    assert two_factor.get("ada").recovery == {"three"}


def test_a_recovery_code_goes_with_the_others_that_it_renews():
    ada = turned_on()
    used = two_factor.by_recovery_code(ada, measured(two_factor.get)("ada"), "one", now=NOW)
    measured(two_factor.renew_recovery_codes)(ada, used, recovery=["three"], now=NOW)
    assert two_factor.get("ada").recovery == {"three"}


USES = {
    "code": lambda ada, factor: two_factor.by_code(factor, 101),
    "recovery code": lambda ada, factor: two_factor.by_recovery_code(ada, factor, "one", now=NOW),
}


@pytest.mark.parametrize("kind", USES)
def test_a_code_that_was_used_turns_nothing_off(kind: str):
    ada, factor = turned_on(), two_factor.get("ada")
    two_factor.use(USES[kind](ada, factor))
    with pytest.raises(Conflict, match="used already"):
        two_factor.turn_off(ada, by="ada", used=USES[kind](ada, factor), now=NOW)
    assert two_factor.get("ada")
    assert users.get("ada").two_factor == factor.id


@pytest.mark.parametrize("kind", USES)
def test_of_a_code_that_signs_in_and_turns_it_off_at_the_same_moment_one_use_is_taken(kind: str):
    ada, factor = turned_on(), two_factor.get("ada")
    outcomes = at_once(
        partial(two_factor.use, USES[kind](ada, factor)),
        partial(two_factor.turn_off, ada, by="ada", used=USES[kind](ada, factor), now=NOW),
    )
    assert outcomes.count(None) == 1
    assert (two_factor.get("ada") is None) == (outcomes[1] is None)


def test_a_deleted_user_leaves_no_secret():
    ada = turned_on()
    users.delete(ada, job_id="01KAJV9D0000000000000000AA", now=NOW)
    assert table.get(("USER#ada", "TWOFACTOR#ada")) is None


def test_it_is_noted_who_turned_it_on_and_off(wait_for_indexes):
    ada = turned_on()
    two_factor.turn_off(ada, by="root", now=NOW + timedelta(seconds=1))
    wait_for_indexes()
    assert [(entry.by, entry.what) for entry in audit.of_target("user", "ada")] == [
        ("root", "turned two-factor sign-in off"),
        ("ada", "turned two-factor sign-in on"),
    ]
