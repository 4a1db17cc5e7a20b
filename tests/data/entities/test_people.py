"""The chart of users, sessions and messages: sound items pass, and what each rule forbids does not."""

from __future__ import annotations

from typing import Any

import pytest

from dealsite.data.entities import people, work
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.entity import INDEX_KEYS, Entity
from dealsite.data.entities.people import MESSAGE, PROFILE, SESSION, THROTTLE, TWO_FACTOR, USER, USER_COUNT
from dealsite.data.entities.personal import own_part
from dealsite.data.people import messages, profiles, sessions, two_factor, users
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import epoch_seconds, from_iso
from tests.data.entities import examples
from tests.data.entities.examples_people import AT, DELETED_USER, EXAMPLES, HASH, ID, LATER, OTHER_ID

DROP = object()
DECLARED = {
    one.type: one for room in (people, work) for one in vars(room).values() if isinstance(one, Entity)
}


def broken(item: Item, **changes: Any) -> Item:
    changed = item | changes
    return {name: value for name, value in changed.items() if value is not DROP}


def rows_in(item: Item) -> dict[str, str]:
    return {name: item[name] for name in INDEX_KEYS if name in item}


def test_each_type_has_an_example():
    assert ENTITIES.keys() == examples.EXAMPLES.keys()


@pytest.mark.parametrize("name", DECLARED)
def test_an_example_is_sound_and_has_every_attribute(name: str):
    entity, item = DECLARED[name], examples.EXAMPLES[name]
    assert list(entity.problems(item)) == []
    assert entity.key_of(item) == (item["PK"], item["SK"])
    assert entity.rows_of(item) == rows_in(item)
    assert entity.shape.keys() - item.keys() == ({"deleted_at"} if name == "User" else set())


def test_a_deleted_user_has_nothing_but_a_name_and_two_times():
    assert list(USER.problems(DELETED_USER)) == []
    assert rows_in(DELETED_USER) == USER.rows_of(DELETED_USER) == {}
    assert list(USER.problems(DELETED_USER | {"suspended_at": AT})) == []
    left = DELETED_USER | {"password": "a hash", "email": ""}
    assert list(USER.problems(left)) == ["Its user was deleted, but it still has email, password."]


@pytest.mark.parametrize(
    ("entity", "changes", "said"),
    [
        (USER, {"password": DROP}, "password is missing."),
        (USER, {"name": DROP, "email": DROP}, "name and email is missing."),
        (USER, {"password": ""}, "password has 0 characters instead of 1 to 500."),
        (USER, {"roles": {"king"}}, "roles holds an entry that is 'king'"),
        (SESSION, {"ttl": DROP}, "ttl is missing."),
        (SESSION, {"ttl": epoch_seconds(from_iso("2027-03-01T00:00:00.000Z"))}, "It goes on for more than"),
        (TWO_FACTOR, {"secret": "", "passkeys": {}}, "It has neither an app nor a passkey."),
        (USER_COUNT, {"PK": "USERCOUNT#4", "SK": "USERCOUNT#4"}, "There is no shard 4."),
        (THROTTLE, {"count": -1}, "count is '-1', which is not a whole number from 0"),
    ],
)
def test_what_a_rule_forbids_is_said(entity: Entity, changes: dict[str, Any], said: str):
    (found,) = entity.problems(broken(EXAMPLES[entity.type], **changes))
    assert found.startswith(said)


def test_a_read_message_has_no_row_and_a_half_lost_row_is_a_whole_one():
    unread = EXAMPLES["Message"]
    assert MESSAGE.rows_of(broken(unread, GSI1PK=DROP, GSI1SK=DROP)) == {}
    assert MESSAGE.rows_of(broken(unread, GSI1SK=DROP)) == rows_in(unread)


def test_a_muted_user_stays_muted():
    muted = EXAMPLES["User"] | {"UserIndex": "MUTED#ada"}
    assert USER.rows_of(muted) == {"UserIndex": "MUTED#ada"}
    assert users.as_user(muted).muted is True


def test_users_profiles_and_messages_are_read_as_they_are_stored():
    user = users.as_user(EXAMPLES["User"])
    assert (user.roles, user.devices, user.suspended_at) == (
        frozenset({"editor", "admin"}),
        (HASH,),
        from_iso(LATER),
    )
    assert user.preferences == profiles.Preferences("de", False, False, True, True)
    assert users.as_user(DELETED_USER) is None
    profile = profiles.from_item(EXAMPLES["Profile"])
    assert profiles.as_item(profile).items() <= EXAMPLES["Profile"].items()
    assert PROFILE.item(EXAMPLES["Profile"]) == EXAMPLES["Profile"]
    message = messages._message(EXAMPLES["Message"])
    made = messages.message_item(
        "ada", ID, kind="order", headline="Shipped", deal="", text=message.text, order=OTHER_ID
    )
    assert made | {"read_at": LATER} == EXAMPLES["Message"]
    assert (message.unread, message.order) == (True, OTHER_ID)


def test_a_users_preferences_that_were_never_chosen_are_the_usual_ones():
    none = dict.fromkeys(profiles.PREFERENCES, DROP)
    assert users.as_user(broken(EXAMPLES["User"], **none)).preferences == profiles.USUAL


def test_sessions_and_factors_are_read_as_they_are_stored():
    session = sessions._as_session(EXAMPLES["Session"])
    assert (session.seen_at, session.user_agent) == (from_iso(LATER), "Mozilla/5.0 \x80")
    older = sessions._as_session(broken(EXAMPLES["Session"], proved_at=DROP))
    assert older.proved_at == from_iso(AT)
    factor = two_factor.from_stored(EXAMPLES["TwoFactor"])
    (passkey,) = factor.passkeys
    stored = EXAMPLES["TwoFactor"]["passkeys"][ID]
    assert (passkey.id, two_factor.passkey_item(passkey)) == (ID, stored)


def test_attributes_of_earlier_releases_are_no_damage_and_nobody_gets_them():
    gone = [(entity, name) for entity in ENTITIES.values() for name in entity.gone]
    assert (ENTITIES["Profile"], "my_data") in gone
    for entity, name in gone:
        item = examples.EXAMPLES[entity.type] | {name: {"of": "long ago"}}
        assert list(entity.problems(item)) == []
        assert name not in own_part(entity.shape, item, {"ann"})
