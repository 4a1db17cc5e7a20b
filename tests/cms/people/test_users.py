"""Admins find users, and give and take roles."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords
from dealsite.data import table
from dealsite.data.people import two_factor, users
from tests.people import NOW, make_user, signed_in

PASSWORD = "correct horse battery"


@pytest.fixture
def admin(whole_table: None) -> Client:
    """The browser of an admin named root-of-all."""
    make_user("root-of-all", roles=["admin"], password=passwords.hashed(PASSWORD))
    browser = Client()
    browser.post("/account/sign-in/", {"name": "root-of-all", "password": PASSWORD})
    return browser


def test_users_are_listed_with_their_roles(admin: Client):
    make_user("ada", roles=["admin", "back office", "editor"])
    page = admin.get("/cms/users/").content.decode()
    for text in ("root-of-all", "ada@example.org", "editor, back office, admin", "2 users"):
        assert text in page


def test_an_address_that_is_not_confirmed_is_shown_as_such(admin: Client):
    make_user("eve", email="wanted@example.org", confirmed=False)
    assert "Not confirmed: wanted@example.org" in admin.get("/cms/users/eve/").content.decode()
    assert "Not confirmed" not in admin.get("/cms/users/root-of-all/").content.decode()


def test_many_users_take_several_pages(admin: Client):
    names = {make_user().username for _ in range(60)} | {"root-of-all"}
    first = admin.get("/cms/users/")
    assert len(first.context["page"].rows) == 50
    second = admin.get("/cms/users/" + first.context["after"])
    shown = [user.username for page in (first, second) for user in page.context["page"].rows]
    assert sorted(shown) == sorted(names)
    assert second.context["after"] == ""


@pytest.mark.parametrize("find", ["ada", " ADA ", "ada@example.org", "ADA@Example.org"])
def test_a_user_is_found_by_name_or_address(admin: Client, find: str):
    make_user("ada", email="Ada@example.org")
    assert admin.get("/cms/users/", {"find": find})["Location"] == "/cms/users/ada/"
    assert "Ada@example.org" in admin.get("/cms/users/ada/").content.decode()


@pytest.mark.parametrize("find", ["nobody", "#", "x@example.org", "<script>", "\x00"])
def test_who_is_not_found_is_said_so(admin: Client, find: str):
    answer = admin.get("/cms/users/", {"find": find})
    assert answer.status_code == 200
    assert b"There is no user with this name or address." in answer.content
    assert b'<script>"' not in answer.content


def test_roles_are_given_and_taken(admin: Client):
    make_user("ada")
    assert admin.post("/cms/users/ada/give-role/", {"role": "back office"})["Location"] == "/cms/users/ada/"
    assert users.get("ada").roles == {"back office"}
    assert b"ada now has the role back office." in admin.get("/cms/users/ada/").content
    admin.post("/cms/users/ada/take-role/", {"role": "back office"})
    assert users.get("ada").roles == frozenset()


@pytest.mark.parametrize(
    ("address", "role", "status"),
    [
        ("ada/give-role", "king", 400),
        ("ada/give-role", "", 400),
        ("nobody/give-role", "admin", 404),
        ("ADA/take-role", "admin", 404),
        ("a%23b/take-role", "admin", 404),
        ("root-of-all/take-role", "admin", 403),
        ("Root-of-All/take-role", "admin", 404),
    ],
)
def test_what_cannot_be_done_is_refused(admin: Client, address: str, role: str, status: int):
    make_user("ada")
    assert admin.post(f"/cms/users/{address}/", {"role": role}).status_code == status
    assert users.get("ada").roles == frozenset()
    assert users.get("root-of-all").roles == {"admin"}


def test_an_admin_is_not_offered_to_take_his_own_role(admin: Client):
    page = admin.get("/cms/users/root-of-all/").content
    assert b"You cannot take this role from yourself." in page
    assert b"/cms/users/root-of-all/give-role/" in page
    assert b"/cms/users/root-of-all/take-role/" not in page


def test_an_editor_is_no_admin(admin: Client):
    make_user("eddy", roles=["editor", "back office"], password=passwords.hashed(PASSWORD))
    browser = Client()
    browser.post("/account/sign-in/", {"name": "eddy", "password": PASSWORD})
    for address in ("/cms/users/", "/cms/users/eddy/"):
        assert browser.get(address).status_code == 403
    assert browser.post("/cms/users/eddy/give-role/", {"role": "admin"}).status_code == 403
    assert users.get("eddy").roles == {"editor", "back office"}


@pytest.mark.parametrize("address", ["/cms/users/?after=%23", "/cms/users/?after=x"])
def test_a_made_up_cursor_is_400(admin: Client, address: str):
    assert admin.get(address).status_code == 400


def test_what_the_pages_cost(admin: Client):
    make_user("ada")
    with table.metered() as meter:
        admin.get("/cms/users/")
    assert [operation for operation, _ in meter.log] == [
        "BatchGetItem",
        "Scan",
        "BatchGetItem",
        "BatchGetItem",
    ]
    with table.metered() as meter:
        admin.get("/cms/users/ada/")
    operations = [operation for operation, _ in meter.log]
    assert operations == ["BatchGetItem", "GetItem", *["Query"] * 10]


def test_an_admin_helps_a_user_who_has_lost_his_second_factor(admin: Client):
    two_factor.turn_on(make_user("ada"), secret="sealed", recovery=["one"], step=1, key="", now=NOW)
    assert b"reset-two-factor" in admin.get("/cms/users/ada/").content
    assert admin.post("/cms/users/ada/reset-two-factor/").status_code == 302
    assert users.get("ada").two_factor == ""
    assert b"reset-two-factor" not in admin.get("/cms/users/ada/").content
    assert admin.post("/cms/users/ada/reset-two-factor/").status_code == 302  # a second click is harmless
    assert admin.get("/cms/users/ada/reset-two-factor/").status_code == 405


def test_an_admin_does_not_turn_off_his_own_second_factor_so(admin: Client):
    assert admin.post("/cms/users/root-of-all/reset-two-factor/").status_code == 403


def test_an_editor_resets_nobodys_second_factor(admin: Client):
    two_factor.turn_on(make_user("ada"), secret="sealed", recovery=["one"], step=1, key="", now=NOW)
    eve = signed_in(make_user("eve", roles=["editor", "back office"]), now=timezone.now())
    assert eve.post("/cms/users/ada/reset-two-factor/").status_code == 403
    assert users.get("ada").two_factor
