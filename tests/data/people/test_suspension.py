"""A suspended user is signed in nowhere, and there is always an admin left who can lift it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import featured, featured_plans
from dealsite.data.editing import audit
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs, queue
from dealsite.data.people import sessions, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict, Forbidden, NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from dealsite.worker import accounts
from tests.builders import DAY, HOUR, make_announcement, make_deal
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")


def start(user: User, key: str) -> None:
    sessions.start(user, key=key, user_agent="", address="", now=NOW)


def suspend(username: str, by: str = "root") -> None:
    sessions.suspend(users.get(username), reason="Spam", by=by, now=NOW)


@pytest.fixture
def ada() -> User:
    """A shopper with two sessions, at a site with the admin root."""
    make_user("root", roles=["admin"])
    ada = make_user("ada")
    for key in ("one", "two"):
        start(ada, key)
    return ada


def test_a_suspended_user_is_signed_in_nowhere_even_by_a_session_that_is_being_started(ada: User):
    suspend("ada")
    assert users.get("ada").suspended_at == NOW
    assert sessions.of_user("ada", now=NOW) == []
    start(ada, "late")
    assert [key for key in ("one", "two", "late") if sessions.read("ada", key, now=NOW)] == []
    assert checks.find() == []


def test_a_lifted_suspension_brings_no_session_back(ada: User):
    suspend("ada")
    measured(sessions.lift_suspension)("ada", by="root", now=NOW)
    assert users.get("ada") == ada
    assert [key for key in ("one", "two") if sessions.read("ada", key, now=NOW)] == []
    start(ada, "new")
    assert sessions.read("ada", "new", now=NOW)


def test_suspending_and_lifting_happen_once_each(ada: User):
    with pytest.raises(Conflict):
        sessions.lift_suspension("ada", by="root", now=NOW)
    suspend("ada")
    with pytest.raises(Conflict):
        suspend("ada")
    with pytest.raises((Conflict, NotFound)):
        sessions.lift_suspension("nobody", by="root", now=NOW)
    assert table.get(("USER#nobody", "USER#nobody")) is None


def test_only_an_admin_who_is_not_suspended_suspends(ada: User):
    make_user("eve", roles=["editor"])
    make_user("old", roles=["admin"])
    suspend("old")
    for by in ("eve", "old", "nobody"):
        with pytest.raises(Forbidden):
            suspend("ada", by=by)
    assert users.get("ada").suspended_at is None


def test_of_two_admins_who_suspend_each_other_at_the_same_moment_one_is_left():
    make_user("one", roles=["admin"])
    make_user("two", roles=["admin"])
    outcomes = at_once(partial(suspend, "one", "two"), partial(suspend, "two", "one"))
    assert outcomes.count(None) == 1
    assert [users.get(name).suspended_at for name in ("one", "two")].count(None) == 1


def test_of_two_admins_who_take_the_role_from_each_other_at_the_same_moment_one_is_left():
    for name in ("one", "two"):
        make_user(name, roles=["admin"])
    take = partial(users.take_role, role="admin", now=NOW)
    outcomes = at_once(partial(take, "one", by="two"), partial(take, "two", by="one"))
    assert outcomes.count(None) == 1
    assert sorted(len(users.get(name).roles) for name in ("one", "two")) == [0, 1]
    (last,) = (name for name in ("one", "two") if users.get(name).roles)
    with pytest.raises(Forbidden):
        users.take_role(last, "admin", by="one" if last == "two" else "two", now=NOW)


def test_of_ten_who_suspend_a_user_at_the_same_moment_one_does(ada: User, wait_for_indexes):
    outcomes = at_once(*[partial(suspend, "ada")] * 10)
    assert outcomes.count(None) == 1
    wait_for_indexes()
    assert [entry.what for entry in audit.of_target("user", "ada")] == ["suspended the account"]


def test_a_suspended_user_gets_no_new_password(ada: User):
    suspend("ada")
    with pytest.raises(Conflict):
        sessions.change_password(ada, password="new", now=NOW)
    assert users.get("ada").password == ada.password


def test_all_sessions_end_however_many_and_it_is_noted_who_did_it(ada: User, wait_for_indexes):
    for number in range(103):
        start(ada, f"key {number}")
    measured(sessions.end_sessions)("ada", by="root", now=NOW)
    assert sessions.of_user("ada", now=NOW) == []
    suspend_at = NOW + timedelta(seconds=1)
    measured(sessions.suspend)(users.get("ada"), reason="Spam", by="root", now=suspend_at)
    wait_for_indexes()
    assert [(entry.by, entry.what, entry.note) for entry in audit.of_target("user", "ada")] == [
        ("root", "suspended the account", "Spam"),
        ("root", "ended all sessions", ""),
    ]


# What an editor leaves


@pytest.fixture
def eve() -> User:
    """An editor, at a site with the admin root."""
    make_user("root", roles=["admin"])
    return make_user("eve", roles=["editor"])


def test_what_an_editor_ordered_and_planned_is_listed_until_it_is_over(eve: User, wait_for_indexes):
    deal = make_deal()
    listed = featured.versions_of([deal.card])
    plan = featured_plans.create(
        featured.get("front"), listed, at=NOW + DAY, plan_id=new_ulid(NOW), by="eve", now=NOW
    )
    planned = make_announcement(deal.id, new_ulid(NOW + DAY), by="eve")
    at_once = make_announcement(deal.id, new_ulid(NOW), by="eve")
    rests = make_announcement(deal.id, new_ulid(NOW + HOUR), by="eve")
    queue.pause(rests, by="eve", now=NOW)
    make_announcement(deal.id, new_ulid(NOW + DAY), by="root")
    put_off = keys.open_jobs.position(NOW + jobs.LONGEST_WAIT, at_once)  # it failed seven times
    table.write(Update(key=keys.job(at_once), set={"GSI3SK": put_off}))
    wait_for_indexes()
    found, plans = measured(sessions.open_work)("eve", now=NOW)
    assert {job.id for job in found} == {planned, at_once, rests}
    assert plans == [plan]
    queue.cancel(planned, by="root", now=NOW)
    featured_plans.cancel(plan, by="root", now=NOW)
    wait_for_indexes()
    found, plans = sessions.open_work("eve", now=NOW)
    assert ({job.id for job in found}, plans) == ({at_once, rests}, [])


def test_of_who_is_no_editor_what_runs_is_paused_and_what_waits_stays(eve: User, wait_for_indexes):
    deal = make_deal()
    waits = make_announcement(deal.id, new_ulid(NOW), by="eve")
    wait_for_indexes()
    sessions.suspend(eve, reason="Spam", by="root", now=NOW)
    measured(sessions.stop_running)("eve", by="root", now=NOW)
    assert jobs.get(waits).state == "open"
    taken = jobs.take_next(now=NOW)
    assert taken
    assert taken.id == waits
    wait_for_indexes()
    sessions.stop_running("root", by="root", now=NOW)
    assert jobs.get(waits).state == "open"
    sessions.stop_running("eve", by="root", now=NOW)
    assert jobs.get(waits).state == "paused"


def test_of_who_deletes_their_account_what_runs_is_paused(eve: User, wait_for_indexes):
    running = make_announcement(make_deal().id, new_ulid(NOW), by="eve")
    wait_for_indexes()
    assert jobs.take_next(now=NOW)
    users.delete(eve, job_id=new_ulid(NOW), now=NOW)
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job
    accounts.remove_user(job, NOW)
    assert jobs.get(running).state == "paused"
