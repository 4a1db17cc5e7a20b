"""The page of the security log: for admins, filtered by user, event, network and day; it says when many tries fail."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

import pytest
from django.test import Client

from cms.logs import EVENTS
from dealsite.data.entities.work import Event
from dealsite.data.people import security_events
from dealsite.data.people.security_events import SecurityEvent
from tests.builders import DAY, NOW

HOSTILE = "<script>alert(1)</script>"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def admin(sign_in) -> Client:
    """A browser of an admin."""
    return sign_in("admin", username="root")


def note(event: str = "signed_in", username: str = "ann", network: str = "192.0.2.1", *, at=NOW, **more):
    security_events.add(SecurityEvent(event, at, username, network, **more))


def page(browser: Client, question: str = "", status: int = 200) -> str:
    response = browser.get(f"/cms/security/{question}")
    assert response.status_code == status
    return response.content.decode()


def test_the_log_of_today_says_who_from_where_when_and_in_which_request(admin):
    note(
        "roles_changed",
        page="/cms/users/<str:username>/give-role/",
        detail="given the role editor, by bo",
        request="R1",
    )
    note("sign_in_failed", "", "2001:db8::/64")
    html = page(admin)
    for words in (
        *(">Roles changed<", ">Wrong password<", "a visitor", 'href="?username=ann"'),
        *('href="?network=2001%3Adb8%3A%3A/64"', "&lt;str:username&gt;", "given the role editor, by bo"),
        *(">R1</code>", ">12:00<", ", 12:00 UTC</span></time>"),
    ):
        assert words in html


def test_what_others_caused_is_shown_as_text(admin):
    note(HOSTILE, "ann", HOSTILE, page=HOSTILE, detail=HOSTILE, request=HOSTILE)
    html = page(admin)
    assert HOSTILE not in html
    assert html.count("&lt;script&gt;") == 7  # two of them whole for the pointer, too


def test_the_log_is_filtered_by_user_event_network_and_day(admin):
    note(detail="one")
    note("signed_out", "bob", detail="two")
    note("signed_out", "bob", "198.51.100.1", at=NOW - DAY, detail="three")

    def shown(question: str) -> list[str]:
        html = page(admin, question)
        return [text for text in ("one", "two", "three") if f'title="{text}"' in html]

    assert shown("") == ["one", "two"]
    assert shown("?username=BOB") == ["two", "three"]
    assert shown("?username=bob&day=2026-11-20") == ["three"]
    assert shown("?event=signed_in") == ["one"]
    assert shown("?network=198.51.100.1") == ["three"]
    assert shown("?day=2026-11-20") == ["three"]
    assert shown("?username=nobody") == []
    assert "No events." in page(admin, "?username=nobody")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("?username=ann&network=192.0.2.1", "not for several of them"),
        ("?event=signed_in&network=192.0.2.1", "not for several of them"),
        ("?event=ghost", "Select a valid choice"),
        ("?day=yesterday", "valid date"),
    ],
)
def test_what_cannot_be_asked_is_said(admin, question, words):
    assert words in page(admin, question, 422)


@pytest.mark.parametrize("question", ["?username=%00", "?username=a%23b", "?network=a%23b"])
def test_hostile_questions_find_nothing(admin, question):
    assert admin.get(f"/cms/security/{question}").status_code in (200, 422)
    assert page(admin, "?username=ann&after=x", 400)


def test_long_lists_take_pages_and_days_are_walked_through(admin, monkeypatch):
    monkeypatch.setattr(security_events, "PAGE_SIZE", 2)
    for number in range(3):
        note(detail=f"no. {number}")
    first = admin.get("/cms/security/?username=ann")
    second = admin.get("/cms/security/" + first.context["after"])
    assert [len(response.context["rows"]) for response in (first, second)] == [2, 1]
    assert second.context["newest"] == "?username=ann"
    html = page(admin, "?day=2026-11-20")
    assert 'href="?day=2026-11-19"' in html
    assert 'href="?day=2026-11-21"' in html
    assert 'href="?day=2026-11-22"' not in page(admin)


def test_failed_tries_are_counted_and_many_of_them_are_an_alarm(admin, settings):
    settings.DEALSITE_ALARM_FAILURES = 5
    security_events.count_failures(3, now=NOW - 30 * MINUTE)
    security_events.count_failures(4, now=NOW - MINUTE)
    html = page(admin)
    assert "Failed tries: 4 in the last ten minutes, 7 in the last hour." in html
    assert "Many tries fail" not in html
    security_events.count_failures(1, now=NOW)
    assert "Many tries fail: 5 in the last ten minutes." in page(admin)
    settings.DEALSITE_ALARM_FAILURES = 0
    assert "Many tries fail" not in page(admin)


def test_the_log_is_for_admins_and_for_looking(editor, office, admin):
    for browser in (editor, office):
        assert browser.get("/cms/security/").status_code == 403
        assert "Security log" not in browser.get("/cms/orders/").content.decode()
    assert 'href="/cms/security/"' in page(admin)
    assert admin.post("/cms/security/").status_code == 405
    html = page(admin, "?event=refused")
    assert "eve" in html
    assert "olga" in html


def test_each_event_has_its_words():
    assert set(EVENTS) == set(get_args(Event))
