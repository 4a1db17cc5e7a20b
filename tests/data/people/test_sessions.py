"""Sessions: over when they are ended, unused, old, or when the password changed; and passwords with them."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import relations
from dealsite.data.catalogue.categories import Counts
from dealsite.data.entities.people import LONGEST_SESSION, ROLES
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.people import sessions, users
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import hash_of
from dealsite.data.table.writes import Update
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")
HOUR = timedelta(hours=1)


def start(user: users.User, key: str, now: datetime = NOW) -> sessions.Session:
    return sessions.start(user, key=key, user_agent="Firefox", address="203.0.113.7", now=now)


def test_a_session_is_read_with_its_user_and_the_key_is_not_stored():
    ada = make_user("ada")
    session = start(ada, "secret-key")
    assert measured(sessions.read)("ada", "secret-key", now=NOW) == (session, ada)
    assert sessions.of_user("ada", now=NOW) == [session]
    assert "secret-key" not in str(table.get(keys.session("ada", "secret-key")))
    assert checks.find() == []


def test_another_key_and_another_user_are_no_session():
    start(make_user("ada"), "key")
    make_user("bob")
    assert sessions.read("ada", "other", now=NOW) is None
    assert sessions.read("bob", "key", now=NOW) is None
    assert sessions.read("nobody", "key", now=NOW) is None


def test_an_ended_session_is_over_at_once():
    session = start(make_user("ada"), "key")
    measured(sessions.end)("ada", session.key_hash)
    sessions.end("ada", session.key_hash)
    assert sessions.read("ada", "key", now=NOW) is None


def test_a_session_ends_when_it_is_not_used_though_its_item_is_still_there():
    start(make_user("ada"), "key")
    just_before = NOW + sessions.UNUSED - timedelta(seconds=1)
    assert sessions.read("ada", "key", now=just_before) is not None
    assert sessions.read("ada", "key", now=NOW + sessions.UNUSED) is None
    assert sessions.of_user("ada", now=just_before) != []
    assert sessions.of_user("ada", now=NOW + sessions.UNUSED) == []
    assert table.get(keys.session("ada", "key")) is not None


def test_a_used_session_goes_on_but_not_for_ever():
    start(make_user("ada"), "key")
    now = NOW
    while now < NOW + LONGEST_SESSION - timedelta(days=7):
        now += timedelta(days=7)
        found = sessions.read("ada", "key", now=now)
        assert found is not None
        sessions.see(found[0], user_agent="Firefox", address="203.0.113.8", now=now)
    assert sessions.read("ada", "key", now=NOW + LONGEST_SESSION - timedelta(seconds=1)) is not None
    assert sessions.read("ada", "key", now=NOW + LONGEST_SESSION) is None


@pytest.mark.parametrize("role", ROLES)
def test_a_session_of_somebody_with_a_role_ends_unused_after_half_a_day_and_at_last_after_a_week(role: str):
    start(make_user("ada", roles=[role]), "key")
    now, second = NOW, timedelta(seconds=1)
    assert sessions.read("ada", "key", now=NOW + 12 * HOUR - second) is not None
    assert sessions.read("ada", "key", now=NOW + 12 * HOUR) is None
    while now < NOW + timedelta(days=7) - 11 * HOUR:
        now += 11 * HOUR
        session, _ = sessions.read("ada", "key", now=now)
        sessions.see(session, user_agent="Firefox", address="203.0.113.8", now=now)
    assert sessions.read("ada", "key", now=NOW + timedelta(days=7) - second) is not None
    assert sessions.read("ada", "key", now=NOW + timedelta(days=7)) is None
    assert sessions.of_user("ada", now=NOW + timedelta(days=7)) != []
    assert sessions.of_user("ada", roles=[role], now=NOW + timedelta(days=7)) == []


def test_who_is_given_a_role_has_its_shorter_sessions_from_then_on():
    start(make_user("ada"), "key")
    assert sessions.read("ada", "key", now=NOW + 13 * HOUR) is not None
    users.give_role("ada", "editor", by="root", now=NOW)
    assert sessions.read("ada", "key", now=NOW + 13 * HOUR) is None


def test_last_seen_is_written_once_an_hour():
    session = start(make_user("ada"), "key")
    with table.metered() as meter:
        sessions.see(session, user_agent="x", address="y", now=NOW + HOUR - timedelta(seconds=1))
    assert meter.calls == 0
    measured(sessions.see)(session, user_agent="Chrome", address="203.0.113.8", now=NOW + HOUR)
    (seen,) = measured(sessions.of_user)("ada", now=NOW + HOUR)
    assert (seen.seen_at, seen.user_agent, seen.address) == (NOW + HOUR, "Chrome", "203.0.113.8")
    assert seen.created_at == NOW


def test_seeing_a_session_that_has_ended_does_not_bring_it_back():
    session = start(make_user("ada"), "key")
    sessions.end("ada", session.key_hash)
    sessions.see(session, user_agent="", address="", now=NOW + HOUR)
    assert sessions.of_user("ada", now=NOW) == []
    assert table.get(keys.session("ada", "key")) is None


def test_of_two_requests_that_see_a_session_the_later_one_changes_nothing():
    session = start(make_user("ada"), "key")
    sessions.see(session, user_agent="first", address="", now=NOW + HOUR)
    sessions.see(session, user_agent="second", address="", now=NOW + 2 * HOUR)
    (seen,) = sessions.of_user("ada", now=NOW + HOUR)
    assert (seen.user_agent, seen.seen_at) == ("first", NOW + HOUR)


def test_all_sessions_but_one_are_ended_and_those_of_others_stay():
    ada, bob = make_user("ada"), make_user("bob")
    for n in range(3):
        start(ada, f"key{n}")
    start(bob, "key")
    sessions.end_all("ada", but=hash_of("key1"))
    assert [session.key_hash for session in sessions.of_user("ada", now=NOW)] == [hash_of("key1")]
    measured(sessions.end_all)("ada")
    assert sessions.of_user("ada", now=NOW) == []
    assert len(sessions.of_user("bob", now=NOW)) == 1


def test_sessions_are_listed_last_used_first_over_pages():
    ada = make_user("ada")
    for n in range(105):
        start(ada, f"key{n}", NOW + timedelta(minutes=n))
    found = sessions.of_user("ada", now=NOW + timedelta(hours=2))
    assert [session.created_at for session in found] == [
        NOW + timedelta(minutes=n) for n in reversed(range(105))
    ]


@pytest.mark.moto
def test_a_new_password_ends_all_other_sessions_and_this_one_goes_on():
    ada = make_user("ada")
    this, other = start(ada, "this"), start(ada, "other")
    sessions.change_password(ada, password="new hash", key="this", now=NOW)
    found = sessions.read("ada", "this", now=NOW)
    assert found is not None
    assert found[1].password == "new hash"
    assert sessions.read("ada", "other", now=NOW) is None
    assert table.get(keys.session.given("ada", other.key_hash)) is None
    assert [session.key_hash for session in sessions.of_user("ada", now=NOW)] == [this.key_hash]


def test_a_session_is_void_under_a_new_password_though_its_item_is_still_there():
    start(make_user("ada"), "key")
    table.write(Update(key=keys.user("ada"), set={"password": "new hash"}))
    assert table.get(keys.session("ada", "key")) is not None
    assert sessions.read("ada", "key", now=NOW) is None


def test_a_user_with_more_sessions_than_a_transaction_holds_can_change_his_password():
    ada = make_user("ada")
    for n in range(101):
        start(ada, f"key{n}")
    measured(sessions.change_password)(ada, password="new hash", key="key7", now=NOW)
    alive = [n for n in range(101) if sessions.read("ada", f"key{n}", now=NOW)]
    assert alive == [7]


def test_of_ten_who_set_a_password_over_the_same_old_one_one_does():
    ada = make_user("ada")
    outcomes = at_once(
        *[partial(sessions.change_password, ada, password=f"hash {n}", now=NOW) for n in range(10)]
    )
    assert outcomes.count(None) == 1
    assert {type(outcome) for outcome in outcomes} == {type(None), Conflict}
    assert users.get("ada").password == f"hash {outcomes.index(None)}"


def test_a_session_that_ended_is_not_restored_by_its_password_change():
    ada = make_user("ada")
    session = start(ada, "key")
    sessions.end("ada", session.key_hash)
    with pytest.raises(Conflict):
        sessions.change_password(ada, password="new hash", key="key", now=NOW)
    assert users.get("ada").password == "a hash"
    assert table.get(keys.session("ada", "key")) is None


def test_a_password_is_hashed_anew_only_over_the_hash_that_was_checked():
    ada = make_user("ada")
    measured(sessions.upgrade_password)(ada, password="stronger hash")
    assert users.get("ada").password == "stronger hash"
    session = start(users.get("ada"), "key")
    sessions.upgrade_password(ada, password="late hash")
    assert users.get("ada").password == "stronger hash"
    assert sessions.of_user("ada", now=NOW) == [session]


def test_a_password_that_is_hashed_anew_leaves_no_session_in_the_list_that_is_over():
    ada = make_user("ada")
    start(ada, "phone")
    sessions.upgrade_password(ada, password="stronger hash")
    assert sessions.read("ada", "phone", now=NOW) is None
    assert sessions.of_user("ada", now=NOW) == []


@pytest.mark.budget
def test_what_sessions_cost():
    ada = make_user("ada")
    with table.metered() as meter:
        start(ada, "key")
        sessions.read("ada", "key", now=NOW)
        sessions.change_password(ada, password="new hash", key="key", now=NOW)
    assert [operation for operation, _ in meter.log] == [
        "PutItem",
        "BatchGetItem",
        "Query",
        "TransactWriteItems",
    ]


def test_a_session_on_a_device_that_is_not_known_is_told(wait_for_indexes):
    ada = make_user("ada")
    measured(sessions.start_on_new_device)(ada, key="key", user_agent="Firefox", address="", now=NOW)
    wait_for_indexes()
    assert sessions.read("ada", "key", now=NOW) is not None
    assert jobs.take_next(now=NOW) is not None


def test_a_session_is_read_with_what_its_user_thinks_of_a_brand():
    ada, counts = make_user("ada"), Counts(likes=3, watches=2)
    start(ada, "key")
    found = measured(sessions.read_with_relation_state)(
        "ada", "key", target="brand", slug="aurora", counts=counts, now=NOW
    )
    assert found is not None
    assert found[1:] == (ada, relations.RelationState("brand", "aurora", likes=3, watches=2))
    found = sessions.read_with_relation_state("ada", "key", target="brand", slug="aurora", now=NOW)
    assert found is not None
    assert found[1:] == (ada, relations.RelationState("brand", "aurora"))


def test_who_gave_their_password_again_is_trusted_for_a_while():
    session = start(make_user("ada"), "key", now=NOW - HOUR)
    measured(sessions.reauthenticate)(session, now=NOW)
    found = sessions.read("ada", "key", now=NOW)
    assert found is not None
    assert found[0].proved_at == NOW
