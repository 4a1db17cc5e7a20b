"""Tampered addresses: places of lists that nobody made, ids with the sign that parts keys, names of another form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from dealsite.data.names import normalise_email, normalise_username, slugify
from dealsite.data.table.errors import Invalid
from tests.attacks.conftest import body_of, browser_of
from tests.attacks.test_strangers import WITH_A_TOKEN
from tests.pages import Route, routes
from tests.seeded import ADMIN, SHOPPER, VISITOR, Content

SIGNS = ["#", "\uff03", "\ufe5f"]  # the second and the third become the first by NFKC
IDS = [
    *(f"01ARZ3NDEKTSV4RRFFQ69G5FA{sign}" for sign in SIGNS),
    "nordlicht\uff03LIKES",
    "..%2f..%2fsecret_key",
    "\r\nSet-Cookie: session=x",
    "\x00\ud83d\u202e",
    "{{7*7}}' OR '1'='1",
    "81ARZ3NDEKTSV4RRFFQ69G5FAV",  # of a time beyond the calendar
    "x" * 3000,
]
CURSORS = [
    "x",
    "-1",
    "99999999999999999999",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV" * 2,
    "DEAL#01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "DEAL\uff0301ARZ3NDEKTSV4RRFFQ69G5FAV",
    "81ARZ3NDEKTSV4RRFFQ69G5FAV",
    "2026-13-45",
    "9999-12-31T23:59:59Z",
    '{"PK": "USER#ada", "SK": "USER"}',
    "eyJQSyI6IlVTRVIjYWRhIn0=",
    "USER#ada|SESSION#",
    "~",
    "\x00",
    "\U0001f34b",
    "",
]


def quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def may_see(route: Route, who: str) -> bool:
    """Tell whether a view lets somebody in; an admin has every role."""
    return route.roles is None or (bool(who) and (not route.roles or who == ADMIN))


def with_ids(route: Route, content: Content) -> Iterator[str]:
    """Yield a route's address with each hostile text in the place of each of its names."""
    good = content.examples(route.name)
    for place in re.findall(r"<(?:str|path):(\w+)>", route.pattern):
        for text in IDS[:: 2 if "cms/" in route.pattern else 1]:
            address = f"/{route.pattern}"
            for kind, name in re.findall(r"<(\w+):(\w+)>", route.pattern):
                address = address.replace(
                    f"<{kind}:{name}>", quoted(text) if name == place else str(good[name])
                )
            yield address


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("who", [VISITOR, SHOPPER, ADMIN])
def test_an_id_of_another_form_is_nothing_at_any_address(site: Content, who: str, method: str):
    browser, wrong, tried = browser_of(site, who), [], 0
    for route in routes():
        if route.name in WITH_A_TOKEN or (method == "post" and route.name == "cms_presence"):
            continue
        if not may_see(route, who):
            continue  # they are led to the sign-in page, or refused by role, before anything is read
        for address in with_ids(route, site):
            answer = getattr(browser, method)(address)
            body = body_of(answer)
            tried += 1
            if answer.status_code >= 500 or "Traceback" in body or "session=x" in str(answer.cookies):
                wrong.append((address[:120], answer.status_code))
    assert wrong == []
    assert tried > 60


@pytest.mark.thorough
@pytest.mark.parametrize("who", [VISITOR, SHOPPER, ADMIN])
def test_a_place_in_a_list_that_nobody_made_is_refused_or_left_out(site: Content, who: str):
    """Of no list does it lead into another one's part of the table."""
    browser, wrong, tried = browser_of(site, who), [], 0
    for route in routes():
        if route.page.kind == "action" or route.name in WITH_A_TOKEN or not may_see(route, who):
            continue
        address = route.addresses(site)[0].split("?")[0]
        for number, cursor in enumerate(CURSORS[:: 7 if who == ADMIN else 2]):
            tampered = f"{address}?{'before' if number % 3 == 2 else 'after'}={quoted(cursor)}"
            answer = browser.get(tampered)
            body = body_of(answer)
            tried += 1
            if answer.status_code >= 500 or "Traceback" in body:
                wrong.append((tampered, answer.status_code))
    assert wrong == []
    assert tried > 200


def test_the_sign_that_parts_keys_is_in_no_name_and_no_address(subtests: pytest.Subtests):
    for text in ["ada{}SESSION", "{}ada", "ada{}", "a{0}{0}b"]:
        for sign in SIGNS:
            with subtests.test(sign=sign, text=text):
                name = text.format(sign)
                for normalise, value in (
                    (normalise_username, name),
                    (normalise_email, f"{name}@example.org"),
                ):
                    with pytest.raises(Invalid):
                        normalise(value)
                with pytest.raises(Invalid):
                    normalise_email(f"ada@{name}.example")
                assert "#" not in slugify(name)
                assert sign not in slugify(name)


@pytest.mark.parametrize("sign", SIGNS)
def test_no_address_with_that_sign_finds_what_is_there_without_it(site: Content, sign: str):
    browser, found = browser_of(site, ADMIN), {}
    for address in (
        f"/brands/nordlicht{quoted(sign)}/",
        f"/categories/toys-hobbies{quoted(sign)}/",
        f"/deals/{site.id('live')}{quoted(sign)}/x/",
        f"/cms/deals/{site.id('live')}{quoted(sign)}/",
        f"/cms/drafts/{site.draft.id}{quoted(sign)}/",
        f"/cms/users/{SHOPPER}{quoted(sign)}/",
        f"/cms/brands/nordlicht{quoted(sign)}/",
        f"/cms/orders/{SHOPPER}{quoted(sign)}/{site.order}/",
        f"/cms/orders/{SHOPPER}/{site.order}{quoted(sign)}/",
        f"/cms/customers/{SHOPPER}{quoted(sign)}/",
        f"/cms/jobs/{site.bulk[0]}{quoted(sign)}/pause/",
        f"/cms/featured/front{quoted(sign)}/",
    ):
        answer: Any = browser.get(address)
        found[address] = answer.status_code
    assert {address: status for address, status in found.items() if status not in (400, 404, 405)} == {}
