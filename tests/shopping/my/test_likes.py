"""The like and watch buttons: with and without htmx, repeated, taken back, and for who is not signed in."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from dealsite.accounts import requests
from dealsite.data.catalogue import brands, categories, relations
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.people import sessions
from dealsite.data.people.users import User
from dealsite.web import page_cache
from tests.builders import NOW, make_brand, make_category, make_deal
from tests.people import calls, make_user, signed_in
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("shop")

CATEGORY = "toys-hobbies"
PLACES = {"brand": "/brands/nordlicht/", "category": f"/categories/{CATEGORY}/"}
SLUGS = {"brand": "nordlicht", "category": CATEGORY}
NAMES = {"brand": "Nordlicht", "category": "Toys &amp; Hobbies"}
HTMX = {"HX-Request": "true"}
each_target = pytest.mark.parametrize("target", ["brand", "category"])
each_verb = pytest.mark.parametrize("verb", ["like", "watch"])


@pytest.fixture(autouse=True)
def targets(shop: None) -> None:
    make_brand("Nordlicht")
    for slug in categories.CATEGORIES:
        make_category(slug)


@pytest.fixture
def ada(shop: None) -> User:
    return make_user("ada")


@pytest.fixture
def browser(ada: User) -> Client:
    return signed_in(ada)


def relation_state(target: str, username: str = "ada") -> tuple[bool, bool, int, int]:
    found = relations.relation_state_of(username, target, SLUGS[target])  # type: ignore[arg-type]
    return found.liked, found.watched, found.likes, found.watches


def shown(html: str) -> dict[str, tuple[str, str]]:
    """What a page says of its two buttons: pressed or not, or a link, and the count."""
    found = {}
    for verb in ("like", "watch"):
        element = re.search(rf'<(?:a|button) id="{verb}-button".*?</(?:a|button)>', html, re.DOTALL)
        assert element, html
        pressed = re.search(r'aria-pressed="(\w+)"', element[0])
        count = re.search(r'relation-count">(\d+)<', element[0])
        found[verb] = (pressed[1] if pressed else "link", count[1] if count else "")
    return found


@each_target
@each_verb
def test_a_button_counts_once_and_is_taken_back(browser: Client, target: str, verb: str):
    for _ in range(2):
        answer = browser.post(f"{PLACES[target]}{verb}/")
        assert (answer.status_code, answer["Location"]) == (302, PLACES[target])
    held = (True, False, 1, 0) if verb == "like" else (False, True, 0, 1)
    assert relation_state(target) == held
    page = browser.get(PLACES[target]).content.decode()
    assert f"You {verb} {NAMES[target]} now." in page
    assert shown(page)[verb] == ("true", "1")
    for _ in range(2):
        assert browser.post(f"{PLACES[target]}un{verb}/")["Location"] == PLACES[target]
    assert relation_state(target) == (False, False, 0, 0)
    page = browser.get(PLACES[target]).content.decode()
    assert f"You no longer {verb} {NAMES[target]}." in page
    assert shown(page) == {"like": ("false", "0"), "watch": ("false", "0")}


@each_target
@each_verb
def test_htmx_gets_both_buttons_as_they_are_now_and_words_to_say(browser: Client, target: str, verb: str):
    make_user("bob")
    relations.add(relations.BRAND_LIKE, "nordlicht", username="bob", now=NOW)
    relations.add(relations.CATEGORY_LIKE, CATEGORY, username="bob", now=NOW)
    before = shown(browser.get(PLACES[target]).content.decode())
    assert before == {"like": ("false", "1"), "watch": ("false", "0")}
    for _ in range(2):
        answer = browser.post(f"{PLACES[target]}{verb}/", headers=HTMX)
        assert answer.status_code == 200
        part = answer.content.decode()
        assert "<html" not in part
        assert shown(part)[verb] == ("true", "2" if verb == "like" else "1")
        said = json.loads(answer["HX-Trigger"])["announce"]["text"]
        assert said == f"You {verb} {NAMES[target]} now.".replace("&amp;", "&")
    assert shown(browser.get(PLACES[target]).content.decode())[verb][0] == "true"
    answer = browser.post(f"{PLACES[target]}un{verb}/", headers=HTMX)
    assert shown(answer.content.decode()) == before
    assert "no longer" in answer["HX-Trigger"]


def test_a_like_can_lead_back_to_another_page_of_this_site_only(browser: Client):
    for next_, location in {
        "/account/likes/": "/account/likes/",
        "https://evil.example/": "/brands/nordlicht/",
        "//evil.example/": "/brands/nordlicht/",
        "javascript:alert(1)": "/brands/nordlicht/",
        "": "/brands/nordlicht/",
    }.items():
        assert browser.post("/brands/nordlicht/like/", {"next": next_})["Location"] == location


@each_verb
@pytest.mark.parametrize("place", ["/brands/nobody/", "/brands/a%23b/", "/categories/nothing/"])
def test_what_does_not_exist_cannot_be_liked_or_watched(browser: Client, place: str, verb: str):
    assert browser.post(f"{place}{verb}/").status_code == 404
    assert relations.likes_of("ada") == relations.watched_by("ada") == []


@each_target
@pytest.mark.parametrize("action", ["like", "unlike", "watch", "unwatch"])
def test_nothing_is_done_by_a_link_or_without_the_pages_token(ada: User, target: str, action: str):
    browser = signed_in(ada, enforce_csrf_checks=True)
    assert browser.get(f"{PLACES[target]}{action}/").status_code == 405
    assert browser.post(f"{PLACES[target]}{action}/").status_code == 403
    assert relation_state(target) == (False, False, 0, 0)


def test_many_clicks_at_once_count_once(ada: User):
    browsers = [signed_in(ada) for _ in range(8)]
    answers = at_once(
        *[lambda browser=browser: browser.post("/brands/nordlicht/like/") for browser in browsers]
    )
    assert [answer.status_code for answer in answers] == [302] * 8
    assert relation_state("brand") == (True, False, 1, 0)


def test_a_deal_is_liked_on_its_page_and_has_nothing_to_watch(browser: Client):
    deal = make_deal()
    address = f"/deals/{deal.id}/{deal.card.slug}/"
    visitor = f'href="/account/sign-in/?next={address.replace("/", "%2F")}&amp;then=like_deal:{deal.id}"'
    assert visitor in Client().get(address).content.decode()
    for headers, liked in (({}, ("true", "1")), (HTMX, ("false", "0"))):
        verb = "unlike" if headers else "like"
        for _ in range(2):
            answer = browser.post(f"/{verb}/{deal.id}/", {"next": address}, headers=headers)
            assert calls(answer) == ["BatchGetItem", "TransactWriteItems"]
        page = browser.get(address)
        html = page.content.decode()
        assert f'relation-count">{liked[1]}<' in html
        assert f'aria-pressed="{liked[0]}"' in html
        assert 'id="watch-button"' not in html
    assert json.loads(answer["HX-Trigger"])["announce"]["text"] == "You no longer like this deal."
    assert browser.post(f"/like/{deal.id}/")["Location"] == f"/deals/{deal.id}/"
    assert browser.post("/like/01M7YZMHG00000000000000001/").status_code == 404


# Who is not signed in


@each_target
def test_visitors_share_a_page_with_counts_and_links_to_sign_in(settings: Any, target: str):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 60
    make_user("bob")
    relations.add(relations.BRAND_LIKE, "nordlicht", username="bob", now=NOW)
    relations.add(relations.CATEGORY_LIKE, CATEGORY, username="bob", now=NOW)
    page_cache.forget()
    answer = Client().get(PLACES[target])
    html = answer.content.decode()
    assert shown(html) == {"like": ("link", "1"), "watch": ("link", "0")}
    wish = f"/account/sign-in/?next=%2F{PLACES[target].strip('/').replace('/', '%2F')}%2F&amp;then="
    for verb in ("like", "watch"):
        assert f'href="{wish}{verb}_{target}:{SLUGS[target]}"' in html
    assert "csrf" not in html
    assert len(page_cache._pages._groups) == 1


@each_target
@each_verb
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "htmx"])
def test_who_is_no_longer_signed_in_is_led_to_sign_in_and_back(
    ada: User, browser: Client, target: str, verb: str, headers: dict[str, str]
):
    sessions.end_all("ada")
    answer = browser.post(f"{PLACES[target]}{verb}/", headers=headers)
    location = answer["HX-Redirect"] if headers else answer["Location"]
    then = f"&then={verb}_{target}%3A{SLUGS[target]}"
    assert location == f"/account/sign-in/?next={PLACES[target].replace('/', '%2F')}{then}"
    undone = browser.post(f"{PLACES[target]}un{verb}/", headers=headers)
    assert "then" not in (undone["HX-Redirect"] if headers else undone["Location"])
    assert relation_state(target) == (False, False, 0, 0)


def test_the_page_of_a_brand_asks_along_with_the_session_how_the_user_stands_to_it(
    browser: Client, settings: Any
):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 60  # and what all are shown is known for two
    page_cache.forget()
    for path in PLACES.values():
        Client().get(path)
        assert sorted(calls(browser.get(path))) == ["BatchGetItem", "Query"]
    part = browser.get("/brands/nordlicht/", headers=HTMX | {"Page-Language": "en-gb"})
    assert calls(part) == []


@each_target
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "htmx"])
def test_who_has_just_liked_something_sees_it_counted_whatever_others_are_shown(
    browser: Client, settings: Any, target: str, headers: dict[str, str]
):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 60
    page_cache.forget()
    assert requests.CHANGED.total_seconds() > page_cache.SHARED_SECONDS
    assert shown(browser.get(PLACES[target]).content.decode())["like"] == ("false", "0")
    answer = browser.post(f"{PLACES[target]}like/", headers=headers, follow=True)
    assert shown(answer.content.decode())["like"] == ("true", "1")
    assert shown(browser.get(PLACES[target]).content.decode())["like"] == ("true", "1")
    browser.cookies.pop(
        next(name for name in browser.cookies if name.startswith("changed"))
    )  # two seconds later
    assert shown(browser.get(PLACES[target]).content.decode())["like"] == ("true", "0")  # as all are shown


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "htmx"])
def test_a_button_costs_one_batch_get_and_one_transaction(browser: Client, headers: dict[str, str]):
    brand_names.names(["nordlicht"])
    for action in ("like", "unlike", "watch", "unwatch"):
        answer = browser.post(f"/brands/nordlicht/{action}/", headers=headers)
        log = calls(answer)
        assert log == ["BatchGetItem", "TransactWriteItems"]


def test_the_counters_are_those_of_the_table(browser: Client):
    browser.post("/brands/nordlicht/like/")
    counts = brands.get_with_counts("nordlicht").counts
    assert counts
    assert (counts.likes, counts.watches) == (1, 0)
