"""Sessions, profile and the end of an account."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords
from dealsite.data.catalogue import relations
from dealsite.data.entities.deals import LAST_VERSION
from dealsite.data.jobs import jobs
from dealsite.data.people import messages, profiles, sessions, users
from dealsite.data.people.users import User
from dealsite.data.table.ids import new_ulid
from dealsite.worker import accounts
from tests.accounts.conftest import PASSWORD, sign_in
from tests.accounts.test_passwords import work
from tests.builders import make_brand, make_category, make_deal
from tests.jobs import run_next
from tests.payments import owe
from tests.people import make_user

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def signed_in(browser: Client, ada: User) -> Client:
    sign_in(browser)
    return browser


# Sessions


def test_my_sessions_are_listed_with_device_and_address_this_one_first(signed_in: Client):
    other = Client(headers={"User-Agent": FIREFOX}, REMOTE_ADDR="203.0.113.9")
    sign_in(other)
    rows = signed_in.get("/account/sessions/").context["rows"]
    assert [(row["device"], row["session"].address, row["is_this"]) for row in rows] == [
        ("Unknown device", "127.0.0.1", True),
        ("Firefox on Linux", "203.0.113.9", False),
    ]


def test_i_end_one_of_my_sessions(signed_in: Client):
    other = Client()
    sign_in(other)
    row = signed_in.get("/account/sessions/").context["rows"][1]
    answer = signed_in.post("/account/sessions/end/", {"session": row["session"].key_hash})
    assert answer["Location"] == "/account/sessions/"
    assert other.get("/account/").status_code == 302
    assert signed_in.get("/account/").status_code == 200


def test_i_end_all_other_sessions(signed_in: Client):
    others = [Client(), Client()]
    for other in others:
        sign_in(other)
    signed_in.post("/account/sessions/end-others/")
    assert [other.get("/account/").status_code for other in others] == [302, 302]
    assert signed_in.get("/account/").status_code == 200


def test_a_session_of_somebody_else_cannot_be_ended(signed_in: Client):
    make_user("bob", password=passwords.hashed(PASSWORD))
    bob = Client()
    sign_in(bob, "bob")
    (session,) = sessions.of_user("bob", now=timezone.now())
    signed_in.post("/account/sessions/end/", {"session": session.key_hash})
    assert bob.get("/account/").status_code == 200


@pytest.mark.parametrize("key_hash", ["", "x", "#", "../" * 20, "0" * 63, "G" * 64, "\x00" * 64])
def test_what_is_no_session_is_404(signed_in: Client, key_hash: str):
    assert signed_in.post("/account/sessions/end/", {"session": key_hash}).status_code == 404


# Profile


def save(browser: Client, **changes: str) -> Any:
    profile = profiles.get("ada")
    sent = {
        "name": profile.name,
        "email": profile.email,
        "timezone": profile.timezone,
        "version": str(profile.version),
    }
    return browser.post("/account/profile/", sent | changes)


def test_a_profile_form_changes_nothing_but_its_own_fields(signed_in: Client):
    before = users.get("ada")
    more = {
        "roles": "admin",
        "username": "bob",
        "password": "planted",
        "two_factor": "planted",
        "writes": "9",
    }
    assert save(signed_in, name="Ada L.", **more).status_code == 302
    after = users.get("ada")
    assert (after.name, after.roles, after.password) == ("Ada L.", frozenset(), before.password)
    assert (after.username, after.two_factor) == ("ada", before.two_factor)


def test_name_and_zone_are_changed_without_the_password(signed_in: Client):
    assert save(signed_in, name="  Ada   Lovelace ", timezone="Asia/Tokyo")["Location"] == "/account/"
    page = signed_in.get("/account/").content.decode()
    assert "Hello, Ada Lovelace" in page
    assert "JST" in page
    assert 'value="Asia/Tokyo" selected' in signed_in.get("/account/profile/").content.decode()


@pytest.mark.parametrize("version", ["0", str(LAST_VERSION + 1), "9" * 40, "x"])
def test_a_version_that_cannot_be_is_refused(signed_in: Client, version: str):
    answer = save(signed_in, name="Ada L.", version=version)
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, ["version"])
    assert users.get("ada").name == "ada"


def test_another_address_needs_the_password(signed_in: Client):
    refused = save(signed_in, email="new@example.org")
    assert (refused.status_code, list(refused.context["form"].errors)) == (422, ["old_password"])
    refused = save(signed_in, email="new@example.org", old_password="wrong")
    assert (refused.status_code, list(refused.context["form"].errors)) == (422, ["old_password"])
    assert users.get("ada").pending_email == ""
    assert save(signed_in, email="New@example.org", old_password=PASSWORD).status_code == 302
    assert users.get("ada").pending_email == "New@example.org"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "\u200b\u200b"}, "name"),
        ({"name": "x" * 51}, "name"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"email": "x"}, "email"),
        ({"version": "x"}, "version"),
        ({"version": "0"}, "version"),
    ],
)
def test_what_cannot_be_in_a_profile_is_refused(signed_in: Client, changes: dict[str, str], field: str):
    answer = save(signed_in, **changes)
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])


def test_the_second_of_two_who_edit_sees_the_conflict_and_loses_nothing(signed_in: Client):
    opened = profiles.get("ada")
    profiles.edit(opened, name="Theirs", timezone="Europe/Paris")
    answer = save(signed_in, name="Mine", version="1")
    assert answer.status_code == 409
    text = answer.content.decode()
    assert "Theirs, ada@example.org, Europe/Paris" in text
    assert 'value="Mine"' in text
    assert 'name="version" value="2"' in text
    assert save(signed_in, name="Mine", version="2").status_code == 302
    assert profiles.get("ada").name == "Mine"


def test_a_name_is_shown_as_text(signed_in: Client):
    save(signed_in, name="<script>alert(1)</script>")
    page = signed_in.get("/account/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_account_pages_lead_to_each_other_and_say_where_one_is(signed_in: Client):
    for path, marked in (
        ("", 'href="/account/" aria-current="page"'),
        ("orders/", 'href="/account/orders/" aria-current="page"'),
        ("password/", 'href="/account/#settings" aria-current="true"'),
    ):
        page = signed_in.get(f"/account/{path}").content.decode()
        _, nav, rest = page.partition('<nav class="account-nav')
        assert nav
        assert marked in rest.partition("</nav>")[0]
    assert "account-nav" not in Client().get("/account/password-reset/").content.decode()


def test_every_page_of_the_account_is_one_click_from_its_first(signed_in: Client):
    page = signed_in.get("/account/").content.decode()
    names = ("orders", "payments", "card", "messages", "messages/settings", "watching", "likes", "profile")
    for name in (*names, "password", "two-factor", "sessions", "my-data", "delete"):
        assert f'href="/account/{name}/"' in page
    assert 'action="/account/sign-out/"' in page


# The end


def test_an_account_is_deleted_with_its_password_and_only_with_it(signed_in: Client, ada: User):
    other = Client()
    sign_in(other)
    for wrong in ("", "wrong"):
        assert signed_in.post("/account/delete/", {"old_password": wrong}).status_code == 422
    assert users.get("ada").password == ada.password
    answer = signed_in.post("/account/delete/", {"old_password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    for browser in (signed_in, other):
        assert browser.get("/account/").status_code == 302
    assert sign_in(Client()).status_code == 422
    assert users.count() == 0

    assert len(sessions.of_user("ada", now=timezone.now())) == 2
    assert work() == []
    assert sessions.of_user("ada", now=timezone.now()) == []
    assert jobs.take_next(now=timezone.now()) is None


def test_an_account_is_not_deleted_before_its_orders_are_paid(signed_in: Client):
    assert "to pay" not in signed_in.get("/account/delete/").text
    owe(3, account="ada")
    for answer in (
        signed_in.get("/account/delete/"),
        signed_in.post("/account/delete/", {"old_password": PASSWORD}),
    ):
        assert "You still have €90.00 to pay." in " ".join(answer.text.split())
        assert 'name="old_password"' not in answer.text
    assert answer.status_code == 422
    assert users.find("ada") is not None


def test_a_deleted_user_leaves_no_likes_watches_and_messages_behind(signed_in: Client, ada: User):
    make_brand("Nordlicht")
    make_category("toys-hobbies")
    deal, now = make_deal(), timezone.now()

    def come_in() -> None:
        relations.add(relations.BRAND_LIKE, "nordlicht", username="ada", now=now)
        relations.add(relations.CATEGORY_LIKE, "toys-hobbies", username="ada", now=now)
        relations.add(relations.BRAND_WATCH, "nordlicht", username="ada", now=now)
        relations.add(relations.CATEGORY_WATCH, "toys-hobbies", username="ada", now=now)
        relations.add(relations.DEAL_LIKE, deal.id, username="ada", now=now)
        made = {"kind": "hot_deal", "headline": "Hot", "deal": ""}
        messages.deliver([messages.message_item("ada", new_ulid(now, number), **made) for number in range(3)])

    def left() -> tuple[int, ...]:
        relation_state = relations.relation_state_of("ada", "brand", "nordlicht")
        other = relations.relation_state_of("ada", "category", "toys-hobbies")
        return (
            len(relations.likes_of("ada")),
            len(relations.watched_by("ada")),
            len(messages.inbox("ada").rows),
            *(relation_state.likes, relation_state.watches, other.likes, other.watches),
            relations.relation_state_of("ada", "deal", deal.id).likes,
        )

    come_in()
    make_user("bob")
    relations.add(relations.BRAND_LIKE, "nordlicht", username="bob", now=now)
    assert left() == (3, 2, 3, 2, 1, 1, 1, 1)
    signed_in.post("/account/delete/", {"old_password": PASSWORD})
    work()
    assert left() == (0, 0, 0, 1, 0, 0, 0, 0)

    come_in()  # what was on its way when the account went
    assert not run_next(now=timezone.now())
    assert run_next(now=timezone.now() + accounts.SECOND_LOOK)
    assert left() == (0, 0, 0, 1, 0, 0, 0, 0)
    assert not run_next(now=timezone.now() + 10 * accounts.SECOND_LOOK)


def test_pages_of_accounts_are_not_for_search_engines(signed_in: Client):
    pages = ("", "profile/", "password/", "sessions/", "delete/", "likes/", "watching/", "messages/")
    for page in (*pages, "messages/settings/"):
        answer = signed_in.get(f"/account/{page}")
        assert answer.status_code == 200
        assert b'<meta name="robots" content="noindex">' in answer.content
        assert answer["Cache-Control"] == "private, no-store"
    for page in ("sign-in/", "sign-up/", "password-reset/", "password-reset/sent/"):
        assert b"noindex" in Client().get(f"/account/{page}").content
