"""Profiles: two who change one."""

from __future__ import annotations

from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.integrity import checks
from dealsite.data.people import profiles, users
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.data.table.ids import new_ulid
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")


def test_an_edited_profile_is_the_same_in_both_items():
    make_user("ada")
    saved = profiles.edit(profiles.get("ada"), name="Ada L.", timezone="Asia/Tokyo")
    assert (saved.name, saved.timezone, saved.version) == ("Ada L.", "Asia/Tokyo", 2)
    assert profiles.get("ada") == saved
    user = users.get("ada")
    assert (user.name, user.timezone) == ("Ada L.", "Asia/Tokyo")
    assert checks.find() == []


@pytest.mark.moto
def test_the_second_of_two_who_edit_is_shown_what_the_first_saved():
    make_user("ada")
    opened = profiles.get("ada")
    first = profiles.edit(opened, name="First", timezone="")
    with pytest.raises(VersionConflict) as refused:
        profiles.edit(opened, name="Second", timezone="")
    assert refused.value.current == first
    assert profiles.get("ada").name == "First"


def test_a_profile_saved_twice_in_the_same_way_is_no_conflict():
    make_user("ada")
    opened = measured(profiles.get)("ada")
    saved = measured(profiles.edit)(opened, name="Ada L.", timezone="")
    assert profiles.edit(opened, name="Ada L.", timezone="") == saved


def test_of_ten_who_edit_at_once_one_saves():
    make_user("ada")
    opened = profiles.get("ada")
    outcomes = at_once(*[partial(profiles.edit, opened, name=f"Name {n}", timezone="") for n in range(10)])
    saved = [outcome for outcome in outcomes if isinstance(outcome, profiles.Profile)]
    assert len(saved) == 1
    assert profiles.get("ada") == saved[0]
    assert users.get("ada").name == saved[0].name
    assert checks.find() == []


def test_a_deleted_user_has_no_profile_to_edit():
    ada = make_user("ada")
    opened = profiles.get("ada")
    users.delete(ada, job_id=new_ulid(NOW), now=NOW)
    with pytest.raises((VersionConflict, NotFound)):
        profiles.edit(opened, name="Ghost", timezone="")
    assert checks.find() == []


@pytest.mark.budget
def test_what_a_profile_costs():
    make_user("ada")
    with table.metered() as meter:
        opened = profiles.get("ada")
    assert [operation for operation, _ in meter.log] == ["GetItem"]
    with table.metered() as meter:
        opened = profiles.edit(opened, name="Ada L.", timezone="")
    assert [operation for operation, _ in meter.log] == ["TransactWriteItems"]
