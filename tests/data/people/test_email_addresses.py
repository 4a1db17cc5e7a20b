"""E-mail addresses: pending, confirmed, replaced and taken back, and who gets one that several want."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.entities.people import MOST_TAKE_BACKS
from dealsite.data.integrity import checks
from dealsite.data.people import email_addresses, profiles, sessions, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, VersionConflict
from dealsite.data.table.ids import iso, new_ulid, time_of
from dealsite.data.table.writes import Update
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")


def claim(user: User, email: str) -> User:
    """Ask for another address; return the user with it pending."""
    opened = profiles.get(user.username)
    given = {"name": opened.name, "timezone": opened.timezone, "email": email}
    email_addresses.claim(opened, user=user, now=NOW, **given)
    return users.get(user.username)


def addresses(username: str) -> tuple[str, str]:
    """Return the confirmed and the pending address, which sign-in item and profile agree on."""
    user, profile = users.get(username), profiles.get(username)
    assert (user.email, user.pending_email) == (profile.email, profile.pending_email)
    return user.email, user.pending_email


def test_a_new_users_address_is_pending_and_finds_nobody():
    make_user("eve", email="Ada@Example.org", confirmed=False)
    assert addresses("eve") == ("", "Ada@example.org")
    assert users.find("ada@example.org") is None
    assert checks.find() == []


def test_a_pending_address_keeps_nobody_from_it():
    make_user("eve", email="ada@example.org", confirmed=False)
    make_user("bob", email="ada@example.org", confirmed=False)
    assert make_user("ada", email="ada@example.org").email == "ada@example.org"
    assert checks.find() == []


def test_who_confirms_an_address_has_it_and_others_do_not():
    eve = make_user("eve", email="ada@example.org", confirmed=False)
    ada = make_user("ada", email="ada@example.org", confirmed=False)
    email_addresses.confirm(ada, now=NOW)
    assert addresses("ada") == ("ada@example.org", "")
    assert users.find("ada@example.org") == users.get("ada")
    with pytest.raises(AlreadyExists) as refused:
        email_addresses.confirm(eve, now=NOW)
    assert refused.value.field == "email"
    assert addresses("eve") == ("", "ada@example.org")
    assert checks.find() == []


def test_of_ten_who_confirm_one_address_at_once_one_has_it():
    people = [make_user(email="wanted@example.org", confirmed=False) for _ in range(10)]
    outcomes = at_once(*[partial(email_addresses.confirm, user, now=NOW) for user in people])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyExists"] * 9 + ["NoneType"]
    assert sum(users.get(user.username).email == "wanted@example.org" for user in people) == 1
    assert checks.find() == []


def test_an_address_stays_in_use_until_the_new_one_is_confirmed_and_is_free_then():
    ada = make_user("ada", email="old@example.org")
    given = {"name": "Ada", "timezone": "", "email": "New@Example.org"}
    measured(email_addresses.claim)(profiles.get("ada"), user=ada, now=NOW, **given)
    asked = users.get("ada")
    assert addresses("ada") == ("old@example.org", "New@example.org")
    assert measured(users.find)("old@example.org") == asked
    assert users.find("new@example.org") is None
    measured(email_addresses.confirm)(asked, now=NOW)
    assert addresses("ada") == ("New@example.org", "")
    assert users.find("old@example.org") is None
    assert users.find("new@example.org") == users.get("ada")
    assert make_user("bob", email="old@example.org").email == "old@example.org"
    assert checks.find() == []


@pytest.mark.parametrize(
    "email", ["Anna.Maria@Example.org", "ANNA.MARIA@example.org", "ａnna.maria@example.org"]
)
def test_an_address_is_one_users_in_whatever_case_it_is_typed(email: str):
    anna = make_user("anna", email="Anna.Maria@example.org")
    assert anna.email == "Anna.Maria@example.org"
    assert users.find(email) == users.find(email.swapcase()) == anna
    bob = make_user("bob", email=email, confirmed=False)
    for take in (lambda: make_user("zoe", email=email), lambda: email_addresses.confirm(bob, now=NOW)):
        with pytest.raises(AlreadyExists):
            take()
    assert checks.find() == []


def test_ones_own_address_can_be_written_in_another_case_and_back():
    asked = claim(make_user("ada", email="ada.l@example.org"), "Ada.L@Example.org")
    assert asked.pending_email == "Ada.L@example.org"
    email_addresses.confirm(asked, now=NOW)
    assert addresses("ada") == ("Ada.L@example.org", "")
    assert table.get(keys.email_guard("ada.l@example.org"))["email"] == "Ada.L@example.org"
    assert checks.find() == []
    email_addresses.take_back(users.get("ada"), "ada.l@example.org", "", password="another hash", now=NOW)
    assert addresses("ada") == ("ada.l@example.org", "")
    assert users.find("ADA.L@example.org") == users.get("ada")
    assert checks.find() == []


def test_asking_for_the_address_in_use_withdraws_the_pending_one():
    asked = claim(make_user("ada", email="old@example.org"), "new@example.org")
    assert claim(asked, "old@example.org").pending_email == ""
    with pytest.raises(Conflict):
        email_addresses.confirm(asked, now=NOW)
    assert addresses("ada") == ("old@example.org", "")
    with pytest.raises(Invalid):
        claim(users.get("ada"), "no address")


@pytest.mark.parametrize("change", [{"password": "another hash"}, {"pending_email": "third@example.org"}])
def test_an_address_is_not_confirmed_once_password_or_wish_changed(change: dict[str, str]):
    asked = claim(make_user("ada", email="old@example.org"), "new@example.org")
    table.write(Update(key=keys.user("ada"), set=change))
    with pytest.raises(Conflict):
        email_addresses.confirm(asked, now=NOW)
    assert users.get("ada").email == "old@example.org"
    assert users.find("new@example.org") is None


def test_an_address_is_not_asked_for_once_the_password_that_was_given_is_no_longer_right():
    ada = make_user("ada", email="old@example.org")
    table.write(Update(key=keys.user("ada"), set={"password": "another hash"}))
    with pytest.raises(Conflict):
        claim(ada, "new@example.org")
    assert users.get("ada").pending_email == ""


def test_a_profile_that_was_changed_meanwhile_asks_for_no_address():
    ada = make_user("ada")
    opened = profiles.get("ada")
    profiles.edit(opened, name=opened.name, timezone="")  # elsewhere, and to what it said already
    given = {"name": opened.name, "timezone": "", "email": "new@example.org"}
    with pytest.raises(VersionConflict):
        email_addresses.claim(opened, user=ada, now=NOW, **given)
    assert addresses("ada") == ("ada@example.org", "")


def test_of_a_confirmation_and_a_withdrawal_at_once_both_items_tell_one():
    asked = claim(make_user("ada", email="old@example.org"), "new@example.org")
    at_once(
        partial(email_addresses.confirm, asked, now=NOW),
        partial(claim, asked, "old@example.org"),
        partial(claim, asked, "third@example.org"),
    )
    addresses("ada")
    assert checks.find() == []


def test_an_owner_takes_their_address_back_and_everybody_is_signed_out():
    ada = make_user("ada", email="ada@example.org")
    email_addresses.confirm(claim(ada, "thief@example.org"), now=NOW)
    stolen = users.get("ada")
    measured(sessions.start)(stolen, key="the thief's", user_agent="", address="", now=NOW)
    given: Any = {"password": "a hash that nobody knows", "now": NOW}
    measured(email_addresses.take_back)(stolen, "ada@example.org", *stolen.take_backs, **given)
    assert addresses("ada") == ("ada@example.org", "")
    assert users.get("ada").take_backs == ()
    assert users.find("thief@example.org") is None
    assert users.find("ada@example.org") == users.get("ada")
    assert users.get("ada").password == "a hash that nobody knows"
    assert sessions.of_user("ada", now=NOW) == []
    assert checks.find() == []


def test_an_address_that_is_anothers_by_now_is_not_taken_back():
    ada = make_user("ada", email="ada@example.org")
    email_addresses.confirm(claim(ada, "new@example.org"), now=NOW)
    make_user("bob", email="ada@example.org")
    changed = users.get("ada")
    with pytest.raises(AlreadyExists):
        email_addresses.take_back(changed, "ada@example.org", *changed.take_backs, password="x", now=NOW)
    assert users.get("ada") == changed


def test_of_ten_who_take_an_address_back_one_does():
    ada = make_user("ada", email="ada@example.org")
    email_addresses.confirm(claim(ada, "thief@example.org"), now=NOW)
    stolen = users.get("ada")
    take_back = partial(email_addresses.take_back, stolen, "ada@example.org", *stolen.take_backs, now=NOW)
    outcomes = at_once(*[partial(take_back, password=f"hash {n}") for n in range(10)])
    assert sum(outcome is None for outcome in outcomes) == 1
    assert all(outcome is None or isinstance(outcome, Conflict) for outcome in outcomes)
    assert checks.find() == []


def test_so_many_links_that_take_an_address_back_are_good_and_those_of_a_week():
    ada = make_user("ada", email="ada@example.org")
    for number in range(MOST_TAKE_BACKS + 2):
        email_addresses.confirm(claim(ada, f"ada{number}@example.org"), now=NOW + timedelta(days=number / 4))
        ada = users.get("ada")
    assert [time_of(link) for link in ada.take_backs] == [
        NOW + timedelta(days=number / 4) for number in range(MOST_TAKE_BACKS)
    ]  # the oldest: later ones may be a thief's
    late = NOW + timedelta(days=7, seconds=1)
    email_addresses.confirm(claim(ada, "late@example.org"), now=late)
    links = users.get("ada").take_backs
    assert (links[:-1], time_of(links[-1])) == (ada.take_backs[1:], late)
    users.delete(users.get("ada"), job_id=new_ulid(NOW), now=NOW)
    assert "take_backs" not in (table.get(keys.user("ada")) or {})
    assert checks.find() == []


def test_a_pending_address_finds_the_newest_three_who_wait_for_it_until_they_confirm_it_or_another(
    wait_for_indexes,
):
    given: Any = {"email": "Ada@example.org", "confirmed": False}
    made = [make_user(f"ada{n}", **given, now=NOW + timedelta(hours=n)) for n in range(5)]
    make_user("bob", email="bob@example.org", confirmed=False)
    claim(make_user("kim", email="kim@example.org"), "ada@example.org")  # who has one that works
    wait_for_indexes()
    assert {user.username for user in measured(users.waiting_for)("ADA@example.org")} == {
        "ada2",
        "ada3",
        "ada4",
    }
    claim(made[4], "other@example.org")
    users.delete(made[3], job_id=new_ulid(NOW), now=NOW)
    wait_for_indexes()
    assert {user.username for user in users.waiting_for("ada@example.org")} == {"ada0", "ada1", "ada2"}
    assert [user.username for user in users.waiting_for("other@example.org")] == ["ada4"]
    table.write(Update(key=keys.user("ada1"), set={"suspended_at": iso(NOW)}))
    email_addresses.confirm(made[0], now=NOW)
    wait_for_indexes()
    assert [user.username for user in users.waiting_for("ada@example.org")] == ["ada2"]
    assert checks.find() == []


def test_who_signed_up_before_pending_addresses_were_found_is_found_once_the_table_is_repaired(
    wait_for_indexes,
):
    make_user("ada", email="ada@example.org", confirmed=False)
    table.write(Update(key=keys.profile("ada"), remove=("GSI1PK", "GSI1SK")))
    wait_for_indexes()
    assert users.waiting_for("ada@example.org") == []
    (problem,) = checks.find()
    assert checks.repair(problem)
    wait_for_indexes()
    assert [user.username for user in users.waiting_for("ada@example.org")] == ["ada"]
    assert checks.find() == []


def test_a_password_set_by_a_link_to_a_pending_address_confirms_it_and_ends_all_sessions():
    ada = make_user("ada", email="Ada@example.org", confirmed=False)
    session = sessions.start(ada, key="squatter", user_agent="", address="", now=NOW)
    measured(email_addresses.confirm_with_password)(ada, password="new hash", now=NOW)
    assert addresses("ada") == ("Ada@example.org", "")
    assert users.find("ada@example.org").password == "new hash"
    assert sessions.read("ada", "squatter", now=NOW) is None
    assert session.username == "ada"
    assert checks.find() == []


@pytest.mark.parametrize(
    "change", [{"password": "another hash"}, {"pending_email": "x@example.org"}, {"suspended_at": iso(NOW)}]
)
def test_it_is_not_set_once_password_address_or_leave_to_sign_in_changed(change: dict[str, str]):
    ada = make_user("ada", email="ada@example.org", confirmed=False)
    table.write(Update(key=keys.user("ada"), set=change))
    with pytest.raises(Conflict):
        email_addresses.confirm_with_password(ada, password="new hash", now=NOW)
    assert users.get("ada").email == ""


def test_of_many_who_follow_links_to_one_pending_address_at_once_one_has_it():
    people = [make_user(email="wanted@example.org", confirmed=False) for _ in range(4)]
    by_password = partial(email_addresses.confirm_with_password, password="new hash", now=NOW)
    acts = [
        partial(act, user)
        for user in people
        for act in (by_password, partial(email_addresses.confirm, now=NOW))
    ]
    outcomes = at_once(*acts)
    assert [outcome for outcome in outcomes if not isinstance(outcome, Conflict)] == [None]
    owner = users.find("wanted@example.org")
    kept = [users.get(user.username) for user in people if user.username != owner.username]
    assert {(user.email, user.password) for user in kept} == {("", people[0].password)}
    assert checks.find() == []


def test_a_user_without_an_address_is_deleted():
    ada = make_user("ada", confirmed=False)
    users.delete(ada, job_id=new_ulid(NOW), now=NOW)
    assert users.find("ada") is None
    assert "pending_email" not in (table.get(keys.user("ada")) or {})
    assert checks.find() == []


def test_users_who_were_stored_before_addresses_were_confirmed_keep_theirs():
    make_user("ada", email="ada@example.org")
    for key in (keys.user("ada"), keys.profile("ada")):
        table.write(Update(key=key, remove=("pending_email",)))
    assert addresses("ada") == ("ada@example.org", "")
    assert users.find("ada@example.org") == users.get("ada")
    profiles.edit(profiles.get("ada"), name="Ada L.", timezone="")
    assert checks.find() == []
    claim(users.get("ada"), "new@example.org")
    assert checks.find() == []
