"""Users: made once, whatever happens at the same time, and never made again after they went."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.entities.people import ROLES
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.people import profiles, sessions, users
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict, Invalid, NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Put, Update
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")


def test_a_user_is_found_by_name_in_any_letter_case_and_by_address():
    ada = make_user("Ada", email="Ada@Example.org", roles=["editor"], timezone="Europe/Berlin")
    assert (ada.username, ada.name, ada.email) == ("ada", "Ada", "Ada@example.org")
    assert users.get("ada") == users.find("ADA") == users.find("aDa@eXample.org") == ada
    assert measured(users.count)() == 1
    assert checks.find() == []


def test_whom_nobody_knows_is_none_however_he_is_called():
    for name in ("nobody", "no", "#", "a#b", "nobody@example.org", "@", "", "\ud800", "x" * 5000):
        assert users.find(name) is None, name
        with pytest.raises(NotFound):
            users.get(name)


@pytest.mark.moto
def test_a_name_is_taken_in_every_letter_case():
    make_user("ada", email="ada@example.org")
    with pytest.raises(AlreadyExists) as refused:
        make_user("ADA", email="other@example.org")
    assert refused.value.field == "username"
    assert users.find("other@example.org") is None
    assert users.count() == 1


def test_an_address_belongs_to_one_user():
    make_user("ada", email="ada@example.org")
    with pytest.raises(AlreadyExists) as refused:
        make_user("bob", email="ADA@example.org")
    assert refused.value.field == "email"
    assert users.find("bob") is None


def test_no_user_gets_a_name_that_could_not_stand_in_a_key(subtests: pytest.Subtests):
    for name in (
        "a#b",
        "a\uff03b",
        "ab",
        "-abc",
        ".abc",
        "a b c",
        "x" * 31,
        "ádá",
        "",
        "a\x00bc",
        "a\ud800bc",
    ):
        with subtests.test(repr(name)), pytest.raises(Invalid):
            users.create(
                username=name, email="x@example.org", password="-", registration=new_ulid(NOW), now=NOW
            )


def test_a_user_has_only_roles_that_exist():
    with pytest.raises(Invalid, match="no role 'king'"):
        make_user("ada", roles=["king"])


def test_of_twenty_who_want_a_name_one_gets_it():
    outcomes = at_once(*[partial(make_user, "ada", email=f"ada{n}@example.org") for n in range(20)])
    winners = [outcome for outcome in outcomes if isinstance(outcome, users.User)]
    assert len(winners) == 1
    assert {type(outcome) for outcome in outcomes} == {users.User, AlreadyExists}
    assert users.get("ada") == winners[0]
    assert users.count() == 1
    assert checks.find() == []


def test_of_twenty_who_want_an_address_one_gets_it():
    outcomes = at_once(*[partial(make_user, f"ada{n}", email="ada@example.org") for n in range(20)])
    winners = [outcome for outcome in outcomes if isinstance(outcome, users.User)]
    assert len(winners) == 1
    assert {type(outcome) for outcome in outcomes} == {users.User, AlreadyExists}
    assert users.find("ada@example.org") == winners[0]
    assert users.count() == 1
    assert checks.find() == []


def test_an_address_that_moved_between_two_reads_finds_nobody():
    ada = make_user("ada", email="new@example.org")
    late = {"type": "EmailGuard", "username": ada.username, "email": "old@example.org"}
    table.write(Put(key=keys.email_guard("old@example.org"), item=late))
    assert users.find("old@example.org") is None
    assert users.find("new@example.org") == ada


def test_a_sign_up_that_is_sent_twice_makes_its_user_once():
    registration = new_ulid(NOW)
    first = make_user("ada", registration=registration)
    again: dict[str, Any] = {"registration": registration, "password": "another salt"}
    assert make_user("ada", **again, now=NOW + timedelta(hours=1)) == first
    for other in ({"registration": new_ulid(NOW)}, {**again, "now": NOW + timedelta(hours=1, seconds=1)}):
        with pytest.raises(AlreadyExists):
            make_user("ada", **other)
    assert users.count() == 1


def test_a_sign_up_needs_a_number_of_its_own():
    with pytest.raises(Invalid, match="damaged"):
        make_user("ada", registration="x")


def test_roles_are_given_and_taken_and_repeating_is_harmless():
    make_user("ada")
    measured(users.give_role)("ada", "editor", by="root", now=NOW)
    users.give_role("ada", "editor", by="root", now=NOW)
    users.give_role("ada", "back office", by="root", now=NOW)
    assert users.get("ada").roles == {"editor", "back office"}
    measured(users.take_role)("ada", "editor", by="root", now=NOW)
    users.take_role("ada", "editor", by="root", now=NOW)
    make_user("root", roles=["admin"])
    users.take_role("ada", "admin", by="root", now=NOW)
    assert users.get("ada").roles == {"back office"}
    users.take_role("ada", "back office", by="root", now=NOW)
    assert users.get("ada").roles == frozenset()
    with pytest.raises(Invalid):
        users.give_role("ada", "king", by="root", now=NOW)


def test_nobody_gets_no_role_and_no_item_comes_of_it():
    make_user("ada")
    for name, change in product(("nobody", "ADA", "a#b", ""), (users.give_role, users.take_role)):
        with pytest.raises(NotFound):
            change(name, "admin", by="root", now=NOW)
    assert users.get("ada").roles == frozenset()
    assert checks.find() == []


def test_roles_given_at_once_are_all_there():
    make_user("ada")
    at_once(*[partial(users.give_role, "ada", role, by="root", now=NOW) for role in ROLES])
    assert measured(users.get)("ada").roles == set(ROLES)


def test_a_deleted_user_is_gone_and_his_name_stays_taken():
    ada = make_user("ada", email="ada@example.org", roles=["admin"])
    sessions.start(ada, key="k" * 43, user_agent="", address="", now=NOW)
    job_id = new_ulid(NOW)
    users.delete(ada, job_id=job_id, now=NOW)

    assert users.find("ada") is users.find("ada@example.org") is None
    assert sessions.read("ada", "k" * 43, now=NOW) is None
    with pytest.raises(NotFound):
        profiles.get("ada")
    assert table.get(keys.user("ada")) == {
        "schema": 1,
        "PK": "USER#ada",
        "SK": "USER#ada",
        "type": "User",
        "username": "ada",
        "created_at": "2026-11-21T12:00:00.000Z",
        "deleted_at": "2026-11-21T12:00:00.000Z",
    }
    assert users.count() == 0
    assert jobs.get(job_id).payload == {"username": "ada"}
    for change in (users.give_role, users.take_role):
        with pytest.raises(NotFound):
            change("ada", "admin", by="root", now=NOW)
    with pytest.raises(AlreadyExists):
        make_user("ada", email="new@example.org")
    assert make_user("bob", email="ada@example.org").email == "ada@example.org"
    assert checks.find() == []


def index_of(username: str) -> str | None:
    """Under what UserIndex knows a user: what a fan-out reads."""
    return table.get(keys.user(username)).get("UserIndex")


def test_hot_deals_are_muted_in_the_key_that_a_fan_out_reads(wait_for_indexes: Callable[[], None]):
    ada = make_user("ada")
    assert (ada.muted, index_of("ada")) == (False, "USER#ada")
    for _ in range(2):
        users.mute_hot_deals("ada", muted=True)
    assert (users.get("ada").muted, index_of("ada")) == (True, "MUTED#ada")
    wait_for_indexes()
    assert [row["UserIndex"] for row in table.scan_page(index=keys.USER_INDEX).items] == ["MUTED#ada"]
    assert checks.find() == []
    for _ in range(2):
        users.mute_hot_deals("ada", muted=False)
    assert users.get("ada") == ada
    assert index_of("ada") == "USER#ada"


def test_nobody_is_muted_and_no_item_comes_of_it():
    ada = make_user("ada")
    for name in ("nobody", "ADA", "a#b", ""):
        with pytest.raises(NotFound):
            users.mute_hot_deals(name, muted=True)
    assert users.get("ada") == ada
    assert table.get(keys.user("nobody")) is None


@pytest.mark.parametrize("muted", [True, False])
def test_who_is_deleted_cannot_be_muted_nor_comes_back_into_the_index(muted: bool):
    ada = make_user("ada")
    users.mute_hot_deals("ada", muted=not muted)
    users.delete(ada, job_id=new_ulid(NOW), now=NOW)
    with pytest.raises(NotFound):
        users.mute_hot_deals("ada", muted=muted)
    assert index_of("ada") is None
    assert checks.find() == []


@pytest.mark.engines("native", "local")
def test_muting_while_the_account_is_deleted_leaves_nothing_in_the_index():
    for number in range(6):
        name = f"user{number}"
        user = make_user(name)
        outcomes = at_once(
            partial(users.delete, user, job_id=new_ulid(NOW, number), now=NOW),
            *[partial(users.mute_hot_deals, name, muted=bool(n % 2)) for n in range(6)],
        )
        assert outcomes[0] is None
        assert {type(outcome) for outcome in outcomes} <= {type(None), NotFound}
        assert index_of(name) is None
    assert checks.find() == []


def test_the_list_of_users_goes_on_after_one_who_is_muted(wait_for_indexes: Callable[[], None]):
    names = {make_user().username for _ in range(7)}
    for name in names:
        measured(users.mute_hot_deals)(name, muted=True)
    wait_for_indexes()
    seen: list[str] = []
    after = None
    for _ in range(9):
        page = users.page(after=after, limit=1)
        seen += [user.username for user in page.rows]
        after = page.after
        if after is None:
            break
        assert after.startswith("-")
    assert sorted(seen) == sorted(names)


def test_a_user_whose_password_changed_meanwhile_is_not_deleted():
    ada = make_user("ada")
    table.write(Update(key=keys.user("ada"), set={"password": "another hash"}))
    with pytest.raises(Conflict):
        users.delete(ada, job_id=new_ulid(NOW), now=NOW)
    assert users.get("ada").password == "another hash"
    assert users.count() == 1


def test_a_user_is_deleted_once_though_asked_for_many_times():
    ada = make_user("ada")
    outcomes = at_once(*[partial(users.delete, ada, job_id=new_ulid(NOW), now=NOW) for _ in range(8)])
    assert outcomes.count(None) == 1
    assert {type(outcome) for outcome in outcomes} == {type(None), Conflict}
    assert users.count() == 0
    assert checks.find() == []


def test_the_list_of_users_shows_each_once(wait_for_indexes: Callable[[], None]):
    names = {make_user().username for _ in range(7)}
    gone = make_user()
    measured(users.delete)(gone, job_id=new_ulid(NOW), now=NOW)
    wait_for_indexes()
    seen: list[str] = []
    after = None
    for _ in range(5):
        page = measured(users.page)(after=after, limit=3)
        seen += [user.username for user in page.rows]
        after = page.after
        if after is None:
            break
    assert sorted(seen) == sorted(names)


def test_a_made_up_cursor_is_refused():
    for after in ("", "#", "x", "a#b", "-", "--ada", "-a#b"):
        with pytest.raises(BadCursor):
            users.page(after=after)


@pytest.mark.budget
def test_what_users_cost():
    def log(action: Callable[[], object]) -> list[str]:
        with table.metered() as meter:
            action()
        return [operation for operation, _ in meter.log]

    assert log(lambda: make_user("ada")) == ["TransactWriteItems"]
    assert log(lambda: users.get("ada")) == ["GetItem"]
    assert (
        log(lambda: users.find("ada@example.org"))
        == log(lambda: users.find("not@example.org"))
        == ["GetItem"] * 2
    )
    assert log(lambda: users.find("ada")) == log(lambda: users.find("not")) == ["GetItem"]
    assert log(lambda: profiles.get("ada")) == ["GetItem"]
    assert log(lambda: users.give_role("ada", "editor", by="root", now=NOW)) == ["TransactWriteItems"]
    assert log(lambda: users.mute_hot_deals("ada", muted=True)) == ["UpdateItem"]
    assert log(lambda: users.page()) == ["Scan", "BatchGetItem"]
    assert log(lambda: users.count()) == ["BatchGetItem"]
    ada = users.get("ada")
    deleting = log(lambda: users.delete(ada, job_id=new_ulid(NOW), now=NOW))
    assert deleting == ["GetItem", "Query", "TransactWriteItems"]


def test_a_site_lacks_an_admin_until_there_is_one(wait_for_indexes):
    measured(users.create)(
        username="ada", email="ada@example.org", password="x", registration=new_ulid(NOW), now=NOW
    )
    assert measured(users.lacks_admin)()
    make_user("root", roles=["admin"])
    wait_for_indexes()
    assert not users.lacks_admin()


def test_an_editor_is_who_has_the_role_and_is_neither_suspended_nor_deleted():
    make_user("root", roles=["admin"])
    make_user("bea", roles=["back office"])
    suspended, deleted = make_user("eve", roles=["editor"]), make_user("olga", roles=["editor"])
    asked = ("root", "eve", "olga", "bea", "nobody")
    assert [measured(users.is_editor)(name) for name in asked] == [True, True, True, False, False]
    sessions.suspend(suspended, reason="Spam", by="root", now=NOW)
    users.delete(deleted, job_id=new_ulid(NOW), now=NOW)
    assert [users.is_editor(name) for name in asked] == [True, False, False, False, False]


def test_several_users_are_read_at_once_without_those_who_are_gone():
    ada, bob = make_user("ada"), make_user("bob")
    users.delete(bob, job_id=new_ulid(NOW), now=NOW)
    assert measured(users.get_many)(["ada", "bob", "nobody"]) == {"ada": ada}
