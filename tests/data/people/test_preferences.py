"""Preferences: kept one by one, so that two pages which change different ones do not undo each other."""

from __future__ import annotations

from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.people import profiles, users
from dealsite.data.people.profiles import Preferences
from dealsite.data.table.errors import NotFound
from tests.measuring import measured
from tests.people import NOW, make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")


def test_who_chose_nothing_has_the_usual_ones():
    assert make_user("ada").preferences == users.get("ada").preferences == Preferences("", True, True)


def test_what_is_given_is_kept_and_the_rest_stays():
    make_user("ada")
    profiles.save_preferences("ada", language="de", shortcuts=False)
    assert users.get("ada").preferences == Preferences("de", True, False)
    profiles.save_preferences("ada", language="")
    assert users.get("ada").preferences == Preferences("", True, False)


def test_two_pages_that_change_different_ones_both_do():
    make_user("ada")
    save = partial(profiles.save_preferences, "ada")
    at_once(partial(save, autosave=False), partial(save, language="de"))
    assert users.get("ada").preferences == Preferences("de", False, True)


def test_nobody_and_who_is_deleted_keep_nothing():
    with pytest.raises(NotFound):
        profiles.save_preferences("nobody", language="de")
    ada = make_user("ada")
    measured(profiles.save_preferences)("ada", language="de")
    users.delete(users.get("ada"), job_id="01JD6GZ5C0" + "0" * 16, now=NOW)
    with pytest.raises(NotFound):
        profiles.save_preferences("ada", language="de")
    item = table.get(("USER#ada", "USER#ada"))
    assert item is not None
    assert not set(item) & set(profiles.PREFERENCES)
    assert ada.preferences == Preferences()


@pytest.mark.budget
def test_keeping_preferences_costs_one_update():
    make_user("ada")
    with table.metered() as meter:
        profiles.save_preferences("ada", autosave=False, language="de")
        profiles.save_preferences("ada")
    assert meter.log == [("UpdateItem", None)]
