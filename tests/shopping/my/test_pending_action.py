"""What a visitor was about to do before signing in is done by the form, never by a link."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from dealsite.data.catalogue import relations
from dealsite.data.jobs import site_switch
from dealsite.data.people.users import User
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from tests.accounts.conftest import PASSWORD, sign_in
from tests.builders import HOUR, NOW, make_brand, make_category, make_deal, make_id

CATEGORY, DEAL = "toys-hobbies", make_id(NOW - HOUR, 1)
WISHES = {
    "like_brand:nordlicht": "You like Nordlicht now.",
    "watch_brand:nordlicht": "You watch Nordlicht now.",
    f"like_category:{CATEGORY}": "You like Toys &amp; Hobbies now.",
    f"watch_category:{CATEGORY}": "You watch Toys &amp; Hobbies now.",
    f"like_deal:{DEAL}": "You like this deal now.",
}
NO_WISHES = [
    "",
    "like_brand",
    "like_brand:",
    "like_brand:Nordlicht",
    "like_brand:nord#licht",
    "like_brand:nordlicht ",
    "like_brand:nordlicht\n",
    "like_brand:" + "x" * 201,
    "like_category:nordlicht",
    "like_deal:nordlicht",
    f"watch_deal:{DEAL}",
    "unlike_brand:nordlicht",
    "delete_account:ada",
    "LIKE_BRAND:nordlicht",
    " like_brand:nordlicht",
    "like_brand:nordlicht&next=//evil.example",
    "<script>",
]


@pytest.fixture(autouse=True)
def _targets(whole_table: None) -> None:
    make_brand("Nordlicht")
    make_category(CATEGORY)
    make_deal(deal_id=DEAL)


def done(username: str = "ada") -> set[str]:
    """What a user likes and watches, as wishes."""
    found = {f"like_{row.target}:{row.slug}" for row in relations.likes_of(username)}
    return found | {f"watch_{row.target}:{row.slug}" for row in relations.watched_by(username)}


@pytest.mark.parametrize("wish", WISHES)
def test_the_sign_in_form_does_it_and_leads_back(browser: Client, ada: User, wish: str):
    page = browser.get("/account/sign-in/", {"next": "/brands/", "then": wish}).content.decode()
    assert f'name="then" value="{wish}"' in page
    assert "That is done as soon as you are signed in." in page
    assert done() == set()
    answer = browser.post(
        "/account/sign-in/", {"name": "ada", "password": PASSWORD, "next": "/brands/", "then": wish}
    )
    assert answer["Location"] == "/brands/"
    assert done() == {wish}
    assert WISHES[wish] in browser.get("/brands/").content.decode()


def test_while_the_site_is_read_only_signing_in_does_no_more_than_that(browser: Client, ada: User):
    site_switch.switch_site("read-only", message="", by="root", now=NOW)
    answer = browser.post(
        "/account/sign-in/", {"name": "ada", "password": PASSWORD, "then": "like_brand:nordlicht"}
    )
    assert answer.status_code == 302
    assert done() == set()


def test_a_wish_outlives_a_wrong_password_and_the_way_to_another_form(browser: Client, ada: User):
    wish = "like_brand:nordlicht"
    answer = browser.post("/account/sign-in/", {"name": "ada", "password": "wrong", "then": wish})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert f'name="then" value="{wish}"' in page
    assert "then=like_brand%3Anordlicht" in page
    assert done() == set()
    sign_up = browser.get("/account/sign-up/", {"then": wish}).content.decode()
    assert f'name="then" value="{wish}"' in sign_up
    assert "then=like_brand%3Anordlicht" in sign_up


def test_the_sign_up_form_does_it_too(browser: Client):
    sent = {
        "username": "bob",
        "email": "bob@example.org",
        "password": PASSWORD,
        "registration": new_ulid(NOW),
        "next": "/brands/nordlicht/",
        "then": "watch_brand:nordlicht",
    }
    assert browser.post("/account/sign-up/", sent)["Location"] == "/brands/nordlicht/"
    assert done("bob") == {"watch_brand:nordlicht"}


def test_a_link_does_nothing_for_who_is_signed_in_and_leads_to_the_page(browser: Client, ada: User):
    sign_in(browser)
    answer = browser.get("/account/sign-in/", {"next": "/brands/nordlicht/", "then": "like_brand:nordlicht"})
    assert (answer.status_code, answer["Location"]) == (302, "/brands/nordlicht/")
    answer = browser.get("/account/sign-in/", {"next": "//evil.example", "then": "like_brand:nordlicht"})
    assert answer["Location"] == "/account/"
    assert done() == set()


@pytest.mark.parametrize("then", NO_WISHES)
def test_what_is_not_exactly_a_wish_is_none(browser: Client, ada: User, then: str):
    page = browser.get("/account/sign-in/", {"then": then}).content.decode()
    assert 'name="then"' not in page
    assert "then=" not in page
    answer = browser.post("/account/sign-in/", {"name": "ada", "password": PASSWORD, "then": then})
    assert answer["Location"] == "/account/"
    assert done() == set()


def test_a_brand_that_is_not_there_does_not_stand_in_the_way(browser: Client, ada: User):
    answer = browser.post(
        "/account/sign-in/", {"name": "ada", "password": PASSWORD, "then": "like_brand:nobody"}
    )
    assert answer["Location"] == "/account/"
    assert "There is no such brand." in browser.get("/account/").content.decode()


def test_a_like_that_fails_does_not_stand_in_the_way(browser: Client, ada: User, monkeypatch: Any):
    def unavailable(*_: Any, **__: Any) -> bool:
        raise errors.Unavailable

    monkeypatch.setattr(relations, "add", unavailable)
    answer = browser.post(
        "/account/sign-in/", {"name": "ada", "password": PASSWORD, "then": "like_brand:nordlicht"}
    )
    assert answer["Location"] == "/account/"
    assert "you do not like Nordlicht yet" in browser.get("/account/").content.decode()


def test_a_slug_of_any_script_can_be_wished_for(browser: Client, ada: User):
    make_brand("日本の店")
    browser.post("/account/sign-in/", {"name": "ada", "password": PASSWORD, "then": "like_brand:日本の店"})
    assert done() == {"like_brand:日本の店"}


def test_signing_in_twice_with_a_wish_counts_once(browser: Client, ada: User):
    for _ in range(2):
        sent = {"name": "ada", "password": PASSWORD, "then": "like_brand:nordlicht"}
        browser.post("/account/sign-in/", sent)
    assert relations.relation_state_of("ada", "brand", "nordlicht").likes == 1
