"""Passkeys in the table: at most ten, never the last by mistake, each challenge good once, and whose they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.integrity import checks
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.people.two_factor import Passkey, TwoFactor
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Delete, Put, Update
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once, one_did

pytestmark = pytest.mark.usefixtures("whole_table")
FACTOR = new_ulid(NOW, 1)


def passkey(number: int = 0, count: int = 0) -> Passkey:
    made = new_ulid(NOW + timedelta(seconds=number), number)
    return Passkey(made, f"Key {number}", f"credential-{number}", "public-key", count)


def add(one: Passkey, *, key: str = "", challenge: str = "") -> None:
    """Add a passkey to Ada, who has none or some."""
    known = two_factor.get("ada") or TwoFactor("ada", FACTOR, "", frozenset({"a hash"}))
    two_factor.add_passkey(users.get("ada"), known, one, challenge=challenge or one.id, key=key, now=NOW)


def with_some(number: int, count: int = 0) -> TwoFactor:
    """Make Ada, with some passkeys; return her factor."""
    make_user("ada")
    for each in range(number):
        add(passkey(each, count))
    return two_factor.get("ada")


def remove(one: Passkey, *, key: str = "") -> None:
    two_factor.remove_passkey(users.get("ada"), two_factor.get("ada"), one, key=key, now=NOW)


def test_the_first_is_a_factor_with_recovery_codes_that_its_id_leads_back_from():
    make_user("ada")
    none = TwoFactor("ada", FACTOR, "", frozenset({"a hash"}))
    measured(two_factor.add_passkey)(users.get("ada"), none, passkey(), challenge="asked", key="", now=NOW)
    factor = two_factor.get("ada")
    assert factor == TwoFactor("ada", FACTOR, "", frozenset({"a hash"}), 0, (passkey(),))
    assert two_factor.find_passkey(FACTOR) == (users.get("ada"), factor)
    assert (factor.passkeys[0].since, factor.since) == (NOW, NOW)
    assert checks.find() == []


@pytest.mark.parametrize("handle", ["", "ada", "x" * 100, "01KAJV9D0000000000000000AA"])
def test_another_handle_leads_to_nobody(handle: str):
    with_some(1)
    assert two_factor.find_passkey(handle) is None


def test_a_handle_of_a_factor_that_is_no_longer_leads_to_nobody():
    with_some(1)
    owner = table.get(keys.factor_owner(FACTOR))
    two_factor.turn_off(users.get("ada"), by="root", now=NOW)
    assert table.get(keys.factor_owner(FACTOR)) is None
    table.write(Put(key=keys.factor_owner(FACTOR), item=owner))
    assert measured(two_factor.find_passkey)(FACTOR) is None
    table.write(Delete(key=keys.factor_owner(FACTOR)))


def test_a_factor_from_before_there_were_passkeys_takes_some():
    make_user("ada")
    two_factor.turn_on(users.get("ada"), secret="sealed", recovery=["one"], step=1, key="", now=NOW)
    table.write(Update(key=keys.two_factor("ada"), remove=("passkeys",)))
    for number in range(2):
        add(passkey(number))
    factor = two_factor.get("ada")
    assert (factor.secret, len(factor.passkeys)) == ("sealed", 2)


def test_adding_and_removing_end_all_other_sessions():
    make_user("ada")

    def start(key: str) -> None:
        sessions.start(users.get("ada"), key=key, user_agent="", address="", now=NOW)

    def alive() -> list[str]:
        return [key for key in ("here", "there") if sessions.read("ada", key, now=NOW)]

    start("here")
    for act in (lambda: add(passkey(0), key="here"), lambda: add(passkey(1), key="here")):
        start("there")
        act()
        assert alive() == ["here"]
    start("there")
    remove(passkey(1), key="here")
    assert alive() == ["here"]


def test_there_are_at_most_ten():
    with_some(10)
    with pytest.raises(Conflict, match="as many passkeys"):
        add(passkey(10))
    assert len(two_factor.get("ada").passkeys) == 10


def test_of_five_who_add_the_tenth_at_the_same_moment_one_does():
    with_some(9)
    outcomes = at_once(*[partial(add, passkey(9 + number)) for number in range(5)])
    assert outcomes.count(None) == 1
    assert len(two_factor.get("ada").passkeys) == 10


def test_of_five_who_add_the_first_at_the_same_moment_one_does():
    ada, factor = make_user("ada"), TwoFactor("ada", FACTOR, "", frozenset({"a hash"}))
    outcomes = at_once(
        *[
            partial(
                two_factor.add_passkey, ada, factor, passkey(number), challenge=f"{number}", key="", now=NOW
            )
            for number in range(5)
        ]
    )
    assert outcomes.count(None) == 1
    assert len(two_factor.get("ada").passkeys) == 1


def test_one_of_two_is_removed():
    factor = with_some(2)
    measured(two_factor.remove_passkey)(users.get("ada"), factor, passkey(1), key="", now=NOW)
    assert two_factor.get("ada").passkeys == (passkey(),)


def test_an_app_is_added_to_the_factor_that_was_seen_and_to_no_other():
    with_some(1)
    seen = users.get("ada")
    two_factor.turn_off(seen, by="root", now=NOW)
    other = TwoFactor("ada", new_ulid(NOW, 2), "", frozenset({"a hash"}))
    two_factor.add_passkey(users.get("ada"), other, passkey(1), challenge="asked", key="", now=NOW)
    with pytest.raises(Conflict):
        two_factor.add_app(seen, secret="sealed", step=5, key="", now=NOW)
    assert two_factor.get("ada").secret == ""


def test_the_last_is_not_removed_unless_there_is_an_app():
    with_some(1)
    with pytest.raises(Conflict):
        remove(passkey())
    measured(two_factor.add_app)(users.get("ada"), secret="sealed", step=5, key="", now=NOW)
    with pytest.raises(Conflict):
        two_factor.add_app(users.get("ada"), secret="other", step=6, key="", now=NOW)
    remove(passkey())
    factor = two_factor.get("ada")
    assert (factor.secret, factor.last_step, factor.passkeys) == ("sealed", 5, ())
    with pytest.raises(Conflict):
        remove(passkey())
    assert checks.find() == []


def test_of_two_passkeys_removed_at_the_same_moment_one_is_left():
    with_some(2)
    factor, ada = two_factor.get("ada"), users.get("ada")
    outcomes = at_once(
        *[partial(two_factor.remove_passkey, ada, factor, one, key="", now=NOW) for one in factor.passkeys]
    )
    assert outcomes.count(None) == 1
    assert len(two_factor.get("ada").passkeys) == 1


def test_its_use_is_noted():
    factor = with_some(1)
    two_factor.use(two_factor.by_passkey(factor, passkey(), sign_count=7, challenge="c", now=NOW))
    assert two_factor.get("ada").passkeys == (replace(passkey(), sign_count=7, used_at=NOW),)


def test_of_ten_who_use_an_answer_at_the_same_moment_one_does():
    factor = with_some(1)
    used = two_factor.by_passkey(factor, passkey(), sign_count=0, challenge="same", now=NOW)
    assert one_did(at_once(*[partial(two_factor.use, used)] * 10))


def test_of_ten_uses_of_a_key_that_counts_from_the_same_number_one_is_taken():
    factor = with_some(1, count=4)
    uses = [
        two_factor.by_passkey(factor, passkey(count=4), sign_count=5 + n, challenge=f"{n}", now=NOW)
        for n in range(10)
    ]
    outcomes = at_once(*[partial(two_factor.use, used) for used in uses])
    assert outcomes.count(None) == 1


def test_a_removed_passkey_is_used_no_more_and_does_not_come_back():
    factor = with_some(2)
    remove(factor.passkeys[0])
    with pytest.raises(Conflict):
        two_factor.use(
            two_factor.by_passkey(factor, factor.passkeys[0], sign_count=1, challenge="c", now=NOW)
        )
    assert two_factor.get("ada").passkeys == factor.passkeys[1:]


def test_what_a_passkey_has_signed_turns_it_off_once():
    factor, ada = with_some(1), users.get("ada")
    used = two_factor.by_passkey(factor, factor.passkeys[0], sign_count=0, challenge="c", now=NOW)
    two_factor.use(used)
    with pytest.raises(Conflict):
        two_factor.turn_off(ada, by="ada", used=used, now=NOW)
    again = two_factor.by_passkey(factor, factor.passkeys[0], sign_count=0, challenge="d", now=NOW)
    two_factor.turn_off(ada, by="ada", used=again, now=NOW)
    assert two_factor.get("ada") is None


def test_an_answer_that_was_used_adds_no_passkey():
    with_some(2)
    with pytest.raises(Conflict):
        add(passkey(2), challenge=passkey(1).id)
    assert len(two_factor.get("ada").passkeys) == 2


def test_a_deleted_user_leaves_nothing_that_leads_to_them():
    with_some(1)
    users.delete(users.get("ada"), job_id=new_ulid(NOW, 5), now=NOW)
    assert table.get(keys.two_factor("ada")) is None
    assert table.get(keys.factor_owner(FACTOR)) is None
    assert two_factor.find_passkey(FACTOR) is None
