"""What I like and watch, and which messages I want."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from dealsite.data.catalogue import brands, categories, deal_changes, relations
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.people import users
from dealsite.data.people.users import User
from dealsite.worker import accounts
from shopping.my import relations as my_relations
from tests.accounts.conftest import sign_in
from tests.accounts.test_passwords import work
from tests.builders import EDITOR, NOW, make_brand, make_deal
from tests.people import assert_costs_as_declared, make_user

CATEGORY = "toys-hobbies"


@pytest.fixture
def signed_in(browser: Client, ada: User) -> Client:
    categories.create_all()
    make_brand("Nordlicht")
    make_brand("Aurora")
    sign_in(browser)
    return browser


def like_and_watch() -> None:
    for slug in ("nordlicht", "aurora"):
        relations.add(relations.BRAND_LIKE, slug, username="ada", now=NOW)
        relations.add(relations.BRAND_WATCH, slug, username="ada", now=NOW)
    relations.add(relations.CATEGORY_LIKE, CATEGORY, username="ada", now=NOW)
    relations.add(relations.CATEGORY_WATCH, CATEGORY, username="ada", now=NOW)


def rows(browser: Client, page: str) -> list[tuple[str, bool]]:
    return [(row["name"], row["muted"]) for row in browser.get(f"/account/{page}/").context["rows"]]


def muted() -> set[str]:
    """What of all there is to mute is muted."""
    found = {watch.slug for watch in relations.watched_by("ada") if watch.muted}
    return found | ({"hot deals"} if users.get("ada").muted else set())


@pytest.mark.parametrize("page", ["likes", "watching"])
def test_what_i_like_and_watch_is_listed_by_name_and_undone_there(signed_in: Client, page: str):
    assert rows(signed_in, page) == []
    like_and_watch()
    assert rows(signed_in, page) == [("Aurora", False), ("Nordlicht", False), ("Toys & Hobbies", False)]
    html = signed_in.get(f"/account/{page}/").content.decode()
    assert 'href="/brands/nordlicht/"' in html
    assert f'href="/categories/{CATEGORY}/"' in html
    undo = [action for action in re.findall(r'action="([^"]+)"', html) if "/un" in action]
    assert len(undo) == 3
    for action in undo:
        assert signed_in.post(action, {"next": f"/account/{page}/"})["Location"] == f"/account/{page}/"
    assert rows(signed_in, page) == []
    other = "watching" if page == "likes" else "likes"
    assert len(rows(signed_in, other)) == 3


def test_deals_that_i_like_are_listed_newest_first_but_for_those_that_are_gone(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(my_relations, "MOST_AT_ONCE", 3)
    older, gone = (make_deal(title=title) for title in ("Zebra", "Gone"))
    newer, newest = make_deal(title="Ape", stock=0), make_deal(title="Bee")
    for deal in (older, gone, newer, newest):
        relations.add(relations.DEAL_LIKE, deal.id, username="ada", now=NOW)
    relations.add(relations.BRAND_LIKE, "nordlicht", username="ada", now=NOW)
    deal_changes.delete(gone, by=EDITOR, now=NOW)
    answer = signed_in.get("/account/likes/")
    assert [row["name"] for row in answer.context["rows"]] == ["Nordlicht", "Bee", "Ape"]
    assert "1 older one shows as you take likes back" in answer.content.decode()
    assert_costs_as_declared(answer)
    html = answer.content.decode()
    assert f'href="/deals/{newest.id}/bee/"' in html
    assert f'action="/unlike/{newest.id}/"' in html
    assert (html.count("€79.90"), html.count("Sold out")) == (1, 1)


@pytest.mark.parametrize(
    ("page", "words"),
    [("likes", "What you like will be here."), ("watching", "What you watch will be here.")],
)
def test_an_empty_list_says_what_to_do(signed_in: Client, page: str, words: str):
    html = signed_in.get(f"/account/{page}/").content.decode()
    assert words in html
    assert 'href="/brands/"' in html


@pytest.mark.parametrize("page", ["likes", "watching", "messages/settings"])
def test_a_list_costs_the_same_however_long(signed_in: Client, page: str):
    like_and_watch()
    brand_names.names(["nordlicht", "aurora"])
    assert_costs_as_declared(signed_in.get(f"/account/{page}/"))


def test_a_watch_is_muted_and_heard_again(signed_in: Client):
    like_and_watch()
    watch = {"target": "brand", "slug": "nordlicht", "muted": "yes"}
    for _ in range(2):
        assert signed_in.post("/account/watching/mute/", watch)["Location"] == "/account/watching/"
    assert muted() == {"nordlicht"}
    assert b"You get no messages about Nordlicht." in signed_in.get("/account/watching/").content
    assert rows(signed_in, "watching")[1] == ("Nordlicht", True)
    signed_in.post("/account/watching/mute/", {"target": "category", "slug": CATEGORY, "muted": "yes"})
    assert muted() == {"nordlicht", CATEGORY}
    back = "/account/messages/settings/"
    answer = signed_in.post("/account/watching/mute/", watch | {"muted": "no", "next": back})
    assert answer["Location"] == back
    assert muted() == {CATEGORY}


@pytest.mark.parametrize(
    "changes",
    [
        {"slug": "nobody"},
        {"slug": "aurora"},
        {"slug": "a#b"},
        {"slug": ""},
        {"target": "user"},
        {"target": ""},
        {"muted": "maybe"},
        {"muted": ""},
    ],
)
def test_what_i_do_not_watch_cannot_be_muted(signed_in: Client, changes: dict[str, str]):
    make_user("bob")
    relations.add(relations.BRAND_WATCH, "nordlicht", username="ada", now=NOW)
    relations.add(relations.BRAND_WATCH, "aurora", username="bob", now=NOW)
    sent = {"target": "brand", "slug": "nordlicht", "muted": "yes"} | changes
    assert signed_in.post("/account/watching/mute/", sent).status_code == 404
    assert muted() == set()
    assert [watch.muted for watch in relations.watched_by("bob")] == [False]


def test_hot_deals_are_muted_and_heard_again(signed_in: Client):
    page = "/account/messages/settings/"
    assert b'name="muted" value="yes"' in signed_in.get(page).content
    for _ in range(2):
        assert signed_in.post(f"{page}hot-deals/", {"muted": "yes"})["Location"] == page
    assert muted() == {"hot deals"}
    assert b"You get no hot deals." in signed_in.get(page).content
    signed_in.post(f"{page}hot-deals/", {"muted": "no"})
    assert muted() == set()
    assert signed_in.post(f"{page}hot-deals/").status_code == 404


def test_everything_is_muted_and_heard_again_at_once(signed_in: Client):
    like_and_watch()
    page = "/account/messages/settings/"
    first = signed_in.get(page).content.decode()
    assert ("Mute all deals" in first, "Unmute all deals" in first) == (True, False)
    signed_in.post(f"{page}all/", {"muted": "yes"})
    assert muted() == {"aurora", "nordlicht", CATEGORY, "hot deals"}
    then = signed_in.get(page).content.decode()
    assert ("Mute all deals" in then, "Unmute all deals" in then) == (False, True)
    signed_in.post(f"{page}hot-deals/", {"muted": "no"})
    between = signed_in.get(page).content.decode()
    assert ("Mute all deals" in between, "Unmute all deals" in between) == (True, True)
    signed_in.post(f"{page}all/", {"muted": "no"})
    assert muted() == set()
    assert work() == []
    assert signed_in.post(f"{page}all/", {"muted": "x"}).status_code == 404


def test_very_many_watches_are_muted_by_a_job(signed_in: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(my_relations, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(accounts, "BATCH", 2)
    monkeypatch.setattr(accounts, "BATCHES_AT_ONCE", 1)
    for slug in categories.CATEGORIES:
        relations.add(relations.CATEGORY_WATCH, slug, username="ada", now=NOW)
    signed_in.post("/account/messages/settings/all/", {"muted": "yes"})
    assert len(muted()) == 3
    work()
    assert muted() == {*categories.CATEGORIES, "hot deals"}


def test_a_brand_without_a_known_name_is_shown_by_its_slug(signed_in: Client, monkeypatch: Any):
    like_and_watch()
    monkeypatch.setattr(brands, "get_many", lambda _slugs: {})
    brand_names.forget()
    assert rows(signed_in, "likes")[0] == ("aurora", False)


@pytest.mark.usefixtures("ada")
def test_lists_and_settings_are_for_who_is_signed_in(browser: Client):
    for page in ("likes", "watching", "messages/settings"):
        answer = browser.get(f"/account/{page}/")
        assert answer["Location"].startswith("/account/sign-in/")
    assert browser.get("/account/watching/mute/").status_code == 302
