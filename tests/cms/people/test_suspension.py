"""Admins end a user's sessions, suspend an account and lift that; nobody else does."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords
from dealsite.data import table
from dealsite.data.entities.work import RUN_IMPORT
from dealsite.data.jobs import jobs
from dealsite.data.people import messages, sessions, users
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import new_ulid
from tests.builders import DAY, HOUR, make_announcement, make_deal
from tests.jobs import run_all, run_next
from tests.people import make_user, signed_in

PASSWORD = "correct horse battery"
END, SUSPEND, LIFT = (f"/cms/users/ada/{what}/" for what in ("end-sessions", "suspend", "lift-suspension"))


@pytest.fixture
def admin(whole_table: None) -> Client:
    """The browser of an admin named root; there is the shopper ada, too."""
    make_user("ada", password=passwords.hashed(PASSWORD))
    return signed_in(make_user("root", roles=["admin"]), now=timezone.now())


@pytest.fixture
def ada(admin: Client) -> Client:
    """Ada's browser."""
    return signed_in(users.get("ada"), now=timezone.now())


def test_an_admin_signs_a_user_out_everywhere(admin: Client, ada: Client):
    assert ada.get("/account/").status_code == 200
    assert admin.post(END)["Location"] == "/cms/users/ada/"
    assert ada.get("/account/").status_code == 302
    assert b"is signed out everywhere" in admin.get("/cms/users/ada/").content


def test_a_suspended_user_is_out_and_shown_as_such_until_it_is_lifted(admin: Client, ada: Client):
    assert admin.post(SUSPEND, {"reason": "Spam"})["Location"] == "/cms/users/ada/"
    assert ada.get("/account/").status_code == 302
    page = admin.get("/cms/users/ada/").content.decode()
    assert LIFT in page
    assert "?kind=user&amp;subject=ada" in page
    assert SUSPEND not in page
    assert "Suspended" in admin.get("/cms/users/").content.decode()
    assert admin.post(LIFT)["Location"] == "/cms/users/ada/"
    assert users.get("ada").suspended_at is None
    assert "Suspended" not in admin.get("/cms/users/").content.decode()


@pytest.mark.parametrize("reason", ["", " \u200b ", "x" * 201])
def test_a_suspension_has_a_reason(admin: Client, reason: str):
    assert admin.post(SUSPEND, {"reason": reason}).status_code == 400
    assert users.get("ada").suspended_at is None


@pytest.mark.parametrize("what", ["end-sessions", "suspend"])
def test_an_admin_does_not_do_this_to_himself(admin: Client, what: str):
    assert admin.post(f"/cms/users/root/{what}/", {"reason": "x"}).status_code == 403
    page = admin.get("/cms/users/root/").content.decode()
    assert f"/cms/users/root/{what}/" not in page
    assert admin.get("/cms/users/root/").status_code == 200


@pytest.mark.parametrize("address", [END, SUSPEND, LIFT])
def test_others_may_not(admin: Client, ada: Client, address: str):
    eve = signed_in(make_user("eve", roles=["editor", "back office"]), now=timezone.now())
    assert eve.post(address, {"reason": "x"}).status_code == 403
    assert users.get("ada").suspended_at is None
    assert ada.get("/account/").status_code == 200


def suspend() -> None:
    sessions.suspend(users.get("ada"), reason="Spam", by="root", now=timezone.now())


def test_only_who_knows_the_password_is_told_of_the_suspension(admin: Client):
    before = Client().post("/account/sign-in/", {"name": "ada", "password": "wrong"}).content
    suspend()
    stranger = Client()
    wrong = stranger.post("/account/sign-in/", {"name": "ada", "password": "wrong"})
    assert wrong.status_code == 422
    assert b"do not belong together" in before
    assert b"do not belong together" in wrong.content
    assert b"suspended" not in wrong.content
    right = stranger.post("/account/sign-in/", {"name": "ada", "password": PASSWORD})
    assert right.status_code == 422
    assert b"This account is suspended." in right.content
    assert stranger.get("/account/").status_code == 302
    assert sessions.of_user("ada", now=timezone.now()) == []


def test_a_suspended_user_sets_no_new_password_by_a_link(admin: Client):
    token = passwords.make_reset_token(users.get("ada"), now=timezone.now())
    browser = Client()
    browser.get(f"/account/password-reset/ada/{token}/")
    suspend()
    answer = browser.post("/account/password-reset/new/", {"password": "a much better password"})
    assert answer.status_code == 410
    assert passwords.matches(PASSWORD, users.get("ada").password)


def test_suspending_shows_what_is_open_and_a_planned_message_waits_for_another_editor(admin: Client):
    now = timezone.now()
    olga = signed_in(make_user("olga", roles=["editor"]), now=now)
    users.give_role("ada", "editor", by="root", now=now)
    deal, due = make_deal(live_at=now - DAY, now=now), now + HOUR
    message_id = make_announcement(deal.id, new_ulid(due), by="ada", now=now)
    assert "Look" in admin.get("/cms/users/ada/").content.decode()
    assert "Look" in admin.post(SUSPEND, {"reason": "Spam"}, follow=True).content.decode()
    assert "Look" not in admin.get("/cms/users/olga/").content.decode()
    run_next(now=due)
    assert messages.inbox("olga").rows == []
    assert "Whoever ordered this is no editor any more." in olga.get("/cms/messages/").content.decode()
    olga.post(f"/cms/jobs/{message_id}/resume/")
    run_all(now=due)
    assert [message.headline for message in messages.inbox("olga").rows] == ["Look"]


@pytest.mark.parametrize(
    ("address", "form"), [(SUSPEND, {"reason": "Spam"}), ("/cms/users/ada/take-role/", {"role": "editor"})]
)
def test_what_runs_for_an_editor_stops_when_they_are_none_any_more(
    admin: Client, address: str, form: dict[str, str]
):
    now = timezone.now()
    for username in ("ada", "root"):
        users.give_role(username, "editor", by="root", now=now)
        job_id = new_ulid(now)
        table.transact([jobs.job_write(RUN_IMPORT, {"by": username}, job_id=job_id, due=now)])
    running = {job.payload["by"]: job for _ in range(2) if (job := jobs.take_next(now=now))}
    admin.post(address, form)
    assert {by: jobs.get(job.id).state for by, job in running.items()} == {"ada": "paused", "root": "open"}
    with pytest.raises(Conflict):
        jobs.save_checkpoint(running["ada"], {"line": 1}, now=now)
