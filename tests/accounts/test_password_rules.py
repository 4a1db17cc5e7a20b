"""What a new password must not be: leaked, repeated, or made of the site's and the user's own words."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from dealsite.accounts import passwords
from dealsite.accounts.passwords import Owner

ADA = Owner("ada.lovelace", "Augusta King", "countess@analytical.example")


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.DEALSITE_NAME, settings.DEALSITE_URL = "Schnäppchen-Paradies", "https://www.rabatte.example"


@pytest.mark.parametrize(
    "password",
    [
        "1234567890123",
        "iLoVeYoU1234",
        "P@ssw0rd123",
        "qwertyuiop123",
        "correcthorsebatterystaple",
        "00188D075544",
    ],
)
def test_a_leaked_password_is_refused_in_any_case(password: str):
    with pytest.raises(ValidationError, match="known from leaks"):
        passwords.check(password, ADA)


@pytest.mark.parametrize("password", ["aaaaaaaaaaaa", "xq7xq7xq7xq7", "vk4zqvk4zqvk", "zqkv74x2jzqkv74x2j"])
def test_a_few_characters_again_and_again_are_refused(password: str):
    with pytest.raises(ValidationError, match="repeats the same few characters"):
        passwords.check(password, ADA)


def test_a_leaked_password_twice_over_is_still_a_leaked_one():
    with pytest.raises(ValidationError, match="known from leaks"):
        passwords.check("iloveyou12iloveyou12", ADA)


@pytest.mark.parametrize(
    "password",
    [
        "Schnäppchen2026!",
        "Paradies-Paradies",
        "p4r4d!es2026",
        "rabatte.example",
        "augustaking2026",  # the parts of a name, however they are joined
        "Augusta - K!ng 99",
        "R4b4tt3-geheim",
        "lovelace-rabatte",
        "Augusta!Augusta1",
        "analytical77!",
        "c0unte55#2026",
    ],
)
def test_the_words_of_the_site_and_the_user_make_no_password(password: str):
    with pytest.raises(ValidationError, match="your name or the site's"):
        passwords.check(password, Owner(ADA.username, ADA.name, ADA.email))


@pytest.mark.parametrize("password", ["dealsoftheday99", "Deals-of-the_Day!", "D3al5oftheday2026"])
def test_a_site_whose_name_has_short_words_is_named_by_them_together(password: str, settings: Any):
    settings.DEALSITE_NAME = "Deals of the day"
    with pytest.raises(ValidationError, match="your name or the site's"):
        passwords.check(password, ADA)


@pytest.mark.parametrize(
    "password",
    [
        "lanterns at noon",
        "rabatte for nine quiet trams",  # such a word is fine beside others
        "8402957361",  # any composition,
        "~!@#$%^&*()_",
        "ünïcödé wörter",
        "zq7!vk4xjz",  # which ends as it begins
        "夏の終わりに電車を待つ人",
        "x9" + "q2w8e7r6t5" * 6,  # and any length up to the most
    ],
)
def test_any_other_password_will_do(password: str):
    passwords.check(password, ADA)


def test_nine_characters_are_too_few_and_said_once():
    with pytest.raises(ValidationError) as refused:
        passwords.check("zq7!vk4xj", ADA)
    assert len(refused.value.messages) == 1


def test_an_address_that_is_not_confirmed_yet_is_the_users_word_too():
    owner = Owner("ada", "Ada", "countess@analytical.example")
    with pytest.raises(ValidationError, match="your name or the site's"):
        passwords.check("countess2026", owner)
