"""Examples of what is asked of users, their sessions, messages and announcements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from dealsite.data.jobs import jobs
from dealsite.data.people import (
    announcements,
    devices,
    email_addresses,
    fan_out,
    mails,
    messages,
    my_data,
    passkeys,
    passwords,
    profiles,
    security_events,
    sessions,
    suspension,
    throttles,
    two_factor,
    users,
)
from dealsite.data.people.announcements import Audience
from dealsite.data.people.security_events import SecurityEvent
from tests.builders import HOUR, NOW, make_deal, make_id
from tests.data.examples import measures
from tests.data.examples.jobs import order, taken
from tests.people import make_user

PASSKEY = two_factor.Passkey(make_id(number=8), "My phone", "credential", "public-key")
LIMIT = throttles.Limit("test", 5, timedelta(hours=1))


def start_session(user: users.User) -> sessions.Session:
    return sessions.start(user, key="secret", user_agent="", address="", now=NOW)


def signed_in() -> users.User:
    start_session(users.get("ann"))
    return users.get("ann")


@measures(email_addresses.claim, lambda: (profiles.get("ann"), users.get("ann")))
def claim_address(ann: tuple[profiles.Profile, users.User]) -> None:
    profile, user = ann
    email_addresses.claim(profile, user=user, name="Ann", timezone="", email="new@example.org", now=NOW)


def claimed() -> users.User:
    claim_address((profiles.get("ann"), users.get("ann")))
    return users.get("ann")


def replaced() -> users.User:
    start_session(users.get("ann"))
    email_addresses.confirm(claimed(), now=NOW)
    return users.get("ann")


@measures(sessions.see, lambda: start_session(users.get("ann")))
def see_again(session: sessions.Session) -> None:
    sessions.see(session, user_agent="", address="", now=NOW + 2 * HOUR)


def new_message(number: int = 0, username: str = "ann") -> dict[str, Any]:
    return messages.message_item(
        username, make_id(number=number), kind="hot_deal", headline="Hot", deal=make_id()
    )


def send_message(username: str = "ann") -> str:
    item = new_message(username=username)
    messages.deliver([item])
    return str(item["id"])


def suspend_ann() -> None:
    make_user("root", roles=["admin"])
    suspension.suspend(users.get("ann"), reason="x", by="root", now=NOW)


def turn_on_two_factor() -> tuple[users.User, two_factor.TwoFactor]:
    """Give Ann a second factor; return her with it."""
    start_session(users.get("ann"))
    made = two_factor.turn_on(
        users.get("ann"), secret="sealed", recovery=["a hash"], step=1, key="secret", now=NOW
    )
    return users.get("ann"), made


measures(email_addresses.confirm, claimed)(lambda user: email_addresses.confirm(user, now=NOW))
measures(email_addresses.take_back, replaced)(
    lambda user: email_addresses.take_back(user, "ann@example.org", password="x", now=NOW)
)


def add_passkey(*, with_app: bool = False) -> tuple[users.User, two_factor.TwoFactor]:
    """Give Ann a passkey, after an app or as her only factor; return her with her factor."""
    start_session(users.get("ann"))
    ann, factor = users.get("ann"), two_factor.TwoFactor("ann", make_id(number=9), "", frozenset({"a hash"}))
    if with_app:
        ann, factor = turn_on_two_factor()
    passkeys.add(ann, factor, PASSKEY, challenge="first", key="secret", now=NOW)
    return users.get("ann"), two_factor.get("ann")


measures(users.create)(lambda: make_user("zoe"))
measures(users.get)(lambda: users.get("ann"))
measures(users.count)(users.count)
measures(users.page)(users.page)
measures(users.lacks_admin)(users.lacks_admin)
measures(users.delete, lambda: users.get("ann"))(lambda user: users.delete(user, job_id=make_id(), now=NOW))
measures(users.give_role)(lambda: users.give_role("ann", "editor", by="root", now=NOW))
measures(users.take_role, lambda: users.give_role("ann", "editor", by="root", now=NOW))(
    lambda _: users.take_role("ann", "editor", by="root", now=NOW)
)
measures(suspension.suspend, lambda: (make_user("root", roles=["admin"]), signed_in()))(
    lambda made: suspension.suspend(made[1], reason="x", by="root", now=NOW)
)
measures(suspension.lift, suspend_ann)(lambda _: suspension.lift("ann", by="root", now=NOW))
measures(suspension.end_sessions, lambda: start_session(users.get("ann")))(
    lambda _: suspension.end_sessions("ann", by="root", now=NOW)
)
measures(users.find)(lambda: users.find("ann@example.org"))
measures(users.mute_hot_deals)(lambda: users.mute_hot_deals("ann", muted=True))
measures(profiles.get)(lambda: profiles.get("ann"))
measures(profiles.edit, lambda: profiles.get("ann"))(
    lambda profile: profiles.edit(profile, name="A", timezone="")
)
measures(sessions.start, lambda: users.get("ann"))(start_session)
measures(sessions.start_on_new_device, lambda: users.get("ann"))(
    lambda ann: sessions.start_on_new_device(ann, key="secret", user_agent="", address="", now=NOW)
)
measures(sessions.read, lambda: start_session(users.get("ann")))(
    lambda _: sessions.read("ann", "secret", now=NOW)
)
measures(sessions.of_user, lambda: start_session(users.get("ann")))(
    lambda _: sessions.of_user("ann", now=NOW)
)
measures(sessions.end, lambda: start_session(users.get("ann")))(
    lambda session: sessions.end("ann", session.key_hash)
)
measures(sessions.reauthenticate, lambda: start_session(users.get("ann")))(
    lambda session: sessions.reauthenticate(session, now=NOW)
)
measures(sessions.read_with_relation_state, lambda: start_session(users.get("ann")))(
    lambda _: sessions.read_with_relation_state("ann", "secret", target="brand", slug="aurora", now=NOW)
)
measures(devices.remember, lambda: users.get("ann"))(lambda user: devices.remember(user, "number"))
measures(throttles.uses, lambda: throttles.count(LIMIT, "all", now=NOW))(
    lambda _: throttles.uses([LIMIT], "all", now=NOW)
)
measures(throttles.count)(lambda: throttles.count(LIMIT, "ann", now=NOW))
measures(security_events.add)(lambda: security_events.add(SecurityEvent("signed_in", NOW, "ann", "::1")))
measures(security_events.page)(lambda: security_events.page(username="ann"))
measures(security_events.count_failures)(lambda: security_events.count_failures(2, now=NOW))
measures(security_events.failures)(lambda: security_events.failures(within=timedelta(hours=1), now=NOW))
measures(mails.request_password_reset)(lambda: mails.request_password_reset("a@example.org", now=NOW))
measures(mails.request_confirmation)(lambda: mails.request_confirmation("ann", now=NOW))
measures(two_factor.get, turn_on_two_factor)(lambda _: two_factor.get("ann"))
measures(two_factor.get_many, turn_on_two_factor)(lambda _: two_factor.get_many(["ann", "bob"]))
measures(two_factor.turn_on, lambda: users.get("ann"))(
    lambda ann: two_factor.turn_on(ann, secret="x", recovery=["y"], step=1, key="", now=NOW)
)
measures(two_factor.turn_off, turn_on_two_factor)(
    lambda on: two_factor.turn_off(on[0], by="ann", key="secret", now=NOW)
)
measures(two_factor.use, turn_on_two_factor)(lambda on: two_factor.use(two_factor.by_code(on[1], 2)))
measures(two_factor.renew_recovery_codes, turn_on_two_factor)(
    lambda on: two_factor.renew_recovery_codes(on[0], two_factor.by_code(on[1], 2), recovery=["b"], now=NOW)
)
measures(two_factor.add_app, add_passkey)(
    lambda on: two_factor.add_app(on[0], secret="x", step=1, key="secret", now=NOW)
)
measures(passkeys.find, add_passkey)(lambda on: passkeys.find(on[1].id))
measures(passkeys.add, turn_on_two_factor)(
    lambda on: passkeys.add(on[0], on[1], PASSKEY, challenge="asked", key="secret", now=NOW)
)
measures(passkeys.remove, lambda: add_passkey(with_app=True))(
    lambda on: passkeys.remove(on[0], on[1], PASSKEY, key="secret", now=NOW)
)
measures(profiles.save_preferences)(lambda: profiles.save_preferences("ann", language="de"))
measures(messages.inbox, send_message)(lambda _: messages.inbox("ann"))
measures(messages.count_unread, send_message)(lambda _: messages.count_unread("ann"))
measures(messages.get, send_message)(lambda message_id: messages.get("ann", message_id))
measures(messages.mark_read, send_message)(lambda message_id: messages.mark_read("ann", message_id, now=NOW))
measures(messages.mark_all_read, send_message)(
    lambda message_id: messages.mark_all_read("ann", until=message_id, limit=100, now=NOW)
)
measures(messages.mark_all_read_later)(lambda: messages.mark_all_read_later("ann", until=make_id(), now=NOW))
measures(messages.delete, send_message)(lambda message_id: messages.delete("ann", message_id))
measures(messages.deliver, lambda: [new_message(number) for number in range(25)])(messages.deliver)
measures(announcements.count_recipients)(
    lambda: announcements.count_recipients(Audience("aurora", "toys-hobbies"))
)
measures(announcements.send, make_deal)(order)
measures(announcements.newest, order)(lambda _: announcements.newest())
measures(fan_out.send_message, taken)(lambda job: fan_out.send_message(job, NOW))
measures(passwords.change, signed_in)(
    lambda user: passwords.change(user, password="x", key="secret", now=NOW)
)
measures(passwords.upgrade, lambda: users.get("ann"))(lambda user: passwords.upgrade(user, password="x"))
measures(sessions.end_all, signed_in)(lambda _: sessions.end_all("ann"))
measures(messages.delete_all, send_message)(lambda _: messages.delete_all("ann"))
measures(throttles.undo_attempt, lambda: throttles.count(LIMIT, "ann", now=NOW))(
    lambda _: throttles.undo_attempt(LIMIT, "ann", now=NOW)
)


def asked_for_data() -> None:
    """Have Ann ask for a file of her data, and the job done."""
    my_data.request("ann", job_id=make_id(NOW), now=NOW)
    job = jobs.take_next(now=NOW)
    assert job is not None
    jobs.finish(job, forget=True)


measures(my_data.request, asked_for_data)(lambda _: my_data.request("ann", job_id=make_id(NOW, 2), now=NOW))
measures(my_data.newest, asked_for_data)(lambda _: my_data.newest("ann", now=NOW))
measures(my_data.tell, lambda: users.get("ann"))(lambda ann: my_data.tell(ann, now=NOW))
measures(my_data.note_export)(lambda: my_data.note_export("ann", by="-", now=NOW))
measures(my_data.all_items, turn_on_two_factor)(lambda _: list(my_data.all_items("ann")))
