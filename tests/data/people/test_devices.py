"""The few devices of a user: the newest, bound to password and second factor, however many come at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from dealsite.data.entities.people import MOST_DEVICES
from dealsite.data.integrity import checks
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.people.sessions import is_known_device, remember_device
from tests.builders import make_id
from tests.people import NOW, make_user
from tests.races import at_once

pytestmark = [pytest.mark.engines_differ, pytest.mark.usefixtures("fresh_table")]


def known(numbers: list[str]) -> list[str]:
    user = users.get("ann")
    return [number for number in numbers if is_known_device(user, number)]


def test_of_twelve_devices_the_newest_five_are_known():
    make_user("ann")
    numbers = [f"device {number}" for number in range(12)]
    assert all(remember_device(users.get("ann"), number) for number in numbers)
    assert known(numbers) == numbers[-MOST_DEVICES:]
    assert len(users.get("ann").devices) == MOST_DEVICES == 5
    assert checks.find() == []


def test_a_device_is_that_of_its_user():
    make_user("ann")
    remember_device(make_user("bob"), "a device")
    assert not is_known_device(users.get("ann"), "a device")
    assert not is_known_device(users.get("bob"), "another")


def test_another_password_or_factor_ends_all_devices():
    make_user("ann")
    remember_device(users.get("ann"), "first")
    sessions.change_password(users.get("ann"), password="another", now=NOW)
    assert known(["first"]) == []
    remember_device(users.get("ann"), "second")
    two_factor.turn_on(users.get("ann"), secret="x", recovery=["y"], step=1, key="", now=NOW)
    assert known(["second"]) == []
    remember_device(users.get("ann"), "third")
    assert known(["third"]) == ["third"]
    two_factor.turn_off(users.get("ann"), by="ann", now=NOW)
    assert known(["third"]) == []


def test_a_device_that_gave_an_older_password_is_not_remembered():
    user = make_user("ann")
    sessions.change_password(user, password="another", now=NOW)
    assert not remember_device(user, "late")
    assert not remember_device(replace(user, devices=("x",)), "late")
    assert users.get("ann").devices == ()


def test_a_deleted_user_leaves_no_devices_and_gets_none():
    user = make_user("ann")
    remember_device(user, "first")
    user = users.get("ann")
    users.delete(user, job_id=make_id(), now=NOW)
    assert not remember_device(user, "second")
    assert not remember_device(replace(user, devices=()), "second")
    assert checks.find() == []


def test_devices_that_come_at_once_are_all_known_or_told_that_they_are_not():
    user = make_user("ann")
    numbers = [f"device {number}" for number in range(4)]
    outcomes: list[Any] = at_once(*[partial(remember_device, user, number) for number in numbers])
    assert known(numbers) == [number for number, done in zip(numbers, outcomes, strict=True) if done is True]
    assert known(numbers)
