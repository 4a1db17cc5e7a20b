"""The inbox: messages are opened, marked read, deleted; the badge counts them, and never gets in the way."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.data.people import messages, profiles, sessions
from dealsite.data.people.users import User
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.worker import accounts
from shopping.my import inbox
from tests.accounts.conftest import sign_in
from tests.accounts.test_passwords import work
from tests.builders import DAY, PICTURE, make_deal
from tests.payments import owe
from tests.people import calls, make_user

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.fixture
def signed_in(browser: Client, ada: User) -> Client:
    sign_in(browser)
    return browser


def send(count: int = 1, username: str = "ada", **overrides: Any) -> list[str]:
    """Deliver messages of the last minutes; returns their ids, newest first."""
    start = timezone.now() - timedelta(minutes=10)
    made = []
    for number in range(count):
        message_id = new_ulid(start + timedelta(seconds=number), number)
        fields = {"kind": "hot_deal", "headline": f"Deal {number}", "deal": message_id} | overrides
        made.append(messages.message_item(username, message_id, **fields))
    messages.deliver(made)
    return [item["id"] for item in reversed(made)]


def headlines(answer: Any) -> list[str]:
    return re.findall(r'href="/account/messages/[^"]{26}/">(.*?)</a>', answer.content.decode())


def unread(username: str = "ada") -> list[str]:
    return [message.id for message in messages.inbox(username, unread=True).rows]


def test_messages_are_listed_newest_first_25_a_page(signed_in: Client):
    send(60)
    expected = [f"Deal {number}" for number in reversed(range(60))]
    for show in ("", "?show=unread"):
        seen, pages, address = [], 0, f"/account/messages/{show}"
        while address:
            answer = signed_in.get(address)
            seen += headlines(answer)
            pages += 1
            after = answer.context["after"]
            address = f"/account/messages/{after}" if after else ""
        assert (seen, pages) == (expected, 3)
        back = signed_in.get(f"/account/messages/{answer.context['before']}")
        assert headlines(back) == expected[25:50]
        assert ("show=unread" in answer.context["before"]) is bool(show)


def test_opening_a_message_shows_and_reads_it(signed_in: Client):
    deal = make_deal()
    (message_id,) = send(text="Only <b>today</b>.\nHurry.", deal=deal.id)
    assert b"data-unread" in signed_in.get("/account/messages/").content
    page = signed_in.get(f"/account/messages/{message_id}/").content.decode()
    assert "Deal 0" in page
    assert "Only &lt;b&gt;today&lt;/b&gt;." in page
    assert f'href="/deals/{deal.id}/"' in page
    assert unread() == []
    assert b"data-unread" not in signed_in.get("/account/messages/").content
    assert headlines(signed_in.get("/account/messages/")) == ["Deal 0"]
    assert b"You have read all your messages." in signed_in.get("/account/messages/?show=unread").content


def test_looking_ahead_reads_nothing(signed_in: Client):
    (message_id,) = send()
    signed_in.head(f"/account/messages/{message_id}/")
    signed_in.get(f"/account/messages/{message_id}/", headers={"Sec-Purpose": "prefetch"})
    assert unread() == [message_id]


def test_one_message_is_marked_read_and_the_list_stays_where_it_was(signed_in: Client):
    newest, oldest = send(2)
    answer = signed_in.post(
        f"/account/messages/{oldest}/read/", {"next": "/account/messages/?show=unread&after=x"}
    )
    assert answer["Location"] == "/account/messages/?show=unread&after=x"
    assert unread() == [newest]
    answer = signed_in.post(f"/account/messages/{oldest}/read/", {"next": "//evil.example"})
    assert answer["Location"] == "/account/messages/"


def test_a_deleted_message_is_gone_and_deleting_it_again_is_harmless(signed_in: Client):
    newest, oldest = send(2)
    for _ in range(2):
        answer = signed_in.post(f"/account/messages/{newest}/delete/")
        assert answer["Location"] == "/account/messages/"
    assert headlines(signed_in.get("/account/messages/")) == ["Deal 0"]
    assert unread() == [oldest]
    assert signed_in.get(f"/account/messages/{newest}/").status_code == 404


def test_all_that_were_there_are_marked_read_and_what_came_since_is_not(signed_in: Client):
    send(3)
    until = signed_in.get("/account/messages/").context["until"]
    later = messages.message_item(
        "ada", new_ulid(timezone.now() + timedelta(seconds=1)), kind="new_deal", headline="New", deal=""
    )
    messages.deliver([later])
    assert signed_in.post("/account/messages/read/", {"until": until})["Location"] == "/account/messages/"
    assert unread() == [later["id"]]
    assert work() == []


def test_many_are_marked_read_by_a_job(signed_in: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inbox, "MOST_AT_ONCE", 5)
    monkeypatch.setattr(accounts, "BATCH", 2)
    monkeypatch.setattr(accounts, "BATCHES_AT_ONCE", 2)
    send(11)
    until = signed_in.get("/account/messages/").context["until"]
    signed_in.post("/account/messages/read/", {"until": until})
    assert len(unread()) == 11
    assert b"it takes a moment" in signed_in.get("/account/messages/").content
    work()
    assert unread() == []


@pytest.mark.parametrize("until", ["", "x", "MESSAGE#1", "9" * 26, "\x00"])
def test_a_damaged_form_marks_nothing_read(signed_in: Client, until: str):
    send()
    assert signed_in.post("/account/messages/read/", {"until": until}).status_code == 400
    assert len(unread()) == 1


@pytest.mark.parametrize("place", ["?after=x", "?before=%00", "?after=%23&show=unread"])
def test_a_damaged_place_in_the_list_is_400(signed_in: Client, place: str):
    assert signed_in.get(f"/account/messages/{place}").status_code == 400


def test_anothers_message_is_404_and_stays_as_it_is(signed_in: Client):
    make_user("bob")
    (message_id,) = send(username="bob")
    assert signed_in.get(f"/account/messages/{message_id}/").status_code == 404
    assert signed_in.post(f"/account/messages/{message_id}/read/").status_code == 404
    signed_in.post(f"/account/messages/{message_id}/delete/")
    assert unread("bob") == [message_id]


@pytest.mark.parametrize("name", ["x", "%23", "9" * 26, "badge%00"])
def test_what_is_no_message_is_404(signed_in: Client, name: str):
    assert signed_in.get(f"/account/messages/{name}/").status_code == 404
    assert signed_in.post(f"/account/messages/{name}/read/").status_code == 404
    assert signed_in.post(f"/account/messages/{name}/delete/").status_code == 404


def test_the_inbox_is_for_who_is_signed_in(browser: Client, ada: User):
    (message_id,) = send()
    for path in ("", f"{message_id}/", "settings/"):
        answer = browser.get(f"/account/messages/{path}")
        assert answer["Location"].startswith("/account/sign-in/")
    for path in ("read/", f"{message_id}/read/", f"{message_id}/delete/", "settings/all/"):
        answer = browser.post(f"/account/messages/{path}", {"muted": "yes"})
        assert answer.status_code == 401
    assert unread() == [message_id]


@pytest.mark.parametrize(
    "action", ["read/", "{}/read/", "{}/delete/", "settings/hot-deals/", "settings/all/"]
)
def test_nothing_changes_by_a_link(signed_in: Client, action: str):
    (message_id,) = send()
    answer = signed_in.get(f"/account/messages/{action.format(message_id)}")
    assert answer.status_code == 405
    assert unread() == [message_id]


# By day


def tell(now: datetime, *told: tuple[timedelta, str, str]) -> None:
    """Deliver messages of some time ago: how long, of which kind, and what they say."""
    order = owe(account="ada")[0].order
    messages.deliver(
        messages.message_item(
            "ada",
            new_ulid(now - ago, number),
            kind=kind,
            headline=headline,
            deal="",
            order="" if "deal" in kind else order,
        )
        for number, (ago, kind, headline) in enumerate(told)
    )


def test_messages_stand_by_day_and_like_ones_of_a_day_are_one(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(timezone, "now", lambda: NOON)
    minutes = [timedelta(minutes=number) for number in range(9)]
    tell(
        NOON,
        (minutes[0], "payment", "Payment received: 2,000.00 EUR"),
        (minutes[1], "payment", "A payment failed: 5.00 EUR"),
        (minutes[2], "payment", "Zahlung erhalten: 1.234,50 EUR"),
        (minutes[3], "payment", "Payment received: €418.34"),
        (minutes[4], "hot_deal", "A lamp"),
        (minutes[5], "hot_deal", "A lamp"),
        (DAY, "order", "Your order was delivered"),
        (DAY + minutes[1], "order", "Your order was delivered"),
        (DAY + minutes[2], "payment", "Payment received: 1.00 EUR"),
        (3 * DAY, "order", "Your order was cancelled"),
    )
    answer = signed_in.get("/account/messages/")
    found = [
        (day.name, [(group.says, len(group.rows), group.total) for group in day.groups])
        for day in answer.context["days"]
    ]
    assert found == [
        (
            "Today",
            [
                ("Payment received", 2, Decimal("2418.34")),
                ("A payment failed", 1, Decimal("5.00")),
                ("Zahlung erhalten", 1, Decimal("1234.50")),
                ("A lamp", 1, None),
                ("A lamp", 1, None),
            ],
        ),
        ("Yesterday", [("Your order was delivered", 2, None), ("Payment received", 1, Decimal("1.00"))]),
        ("21 Nov 2026", [("Your order was cancelled", 1, None)]),
    ]
    page = " ".join(answer.content.decode().split())
    assert "2 × Payment received, €2,418.34 together" in page
    assert "2 × Your order was delivered" in page
    assert len(headlines(answer)) == 10


def test_a_day_is_one_of_the_readers_zone(signed_in: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(timezone, "now", lambda: NOON)
    tell(NOON, (timedelta(hours=13), "hot_deal", "Late"))  # 23:00 UTC, 08:00 in Tokyo
    assert [day.name for day in signed_in.get("/account/messages/").context["days"]] == ["Yesterday"]
    profiles.edit(profiles.get("ada"), name="Ada", timezone="Asia/Tokyo")
    assert [day.name for day in signed_in.get("/account/messages/").context["days"]] == ["Today"]


def test_a_message_shows_its_deal_where_shoppers_can_see_it(signed_in: Client):
    deal = make_deal(price=Decimal("19.90"), picture=PICTURE)
    later = make_deal(live_at=timezone.now() + DAY, price=Decimal("77.00"))
    for one in (deal.id, later.id, new_ulid(timezone.now()), ""):
        send(deal=one)
    page = signed_in.get("/account/messages/").content.decode()
    assert PICTURE.name.partition(".")[0] in page
    assert ("€19.90" in page, "€77.00" in page) == (True, False)


# The badge


@pytest.mark.parametrize(("count", "text"), [(0, ""), (1, "1"), (99, "99"), (100, "99+"), (130, "99+")])
def test_the_badge_says_how_many_are_unread(signed_in: Client, count: int, text: str):
    send(count)
    answer = signed_in.get("/account/messages/badge/")
    assert (answer.status_code, answer["Cache-Control"]) == (200, "private, no-store")
    assert re.findall(r'"unread-badge">\s*(\S+)\s*<', answer.content.decode()) == ([text] if text else [])
    assert calls(answer) == ["BatchGetItem", "Query"]


def test_every_page_of_a_user_has_the_badge_and_asks_for_it_apart(signed_in: Client):
    send(3)
    for path in ("/", "/account/", "/account/messages/"):
        page = signed_in.get(path).content.decode()
        assert 'hx-get="/account/messages/badge/"' in page
        assert 'class="unread-badge"' not in page
    assert b"messages/badge" not in Client().get("/").content


@pytest.mark.usefixtures("ada")
def test_the_badge_bothers_no_visitor(browser: Client):
    answer = browser.get("/account/messages/badge/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert "HX-Redirect" not in answer


@pytest.mark.parametrize("module", [sessions, messages])
def test_the_badge_bothers_nobody_while_the_table_is_away(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch, module: Any
):
    def unavailable(*_: Any, **__: Any) -> None:
        raise errors.Unavailable

    monkeypatch.setattr(module, "read" if module is sessions else "unread", unavailable)
    assert signed_in.get("/account/messages/badge/").status_code == 204


def test_a_message_is_marked_as_read_once(signed_in: Client):
    (message_id,) = send()
    assert calls(signed_in.get(f"/account/messages/{message_id}/")) == [
        "BatchGetItem",
        "GetItem",
        "UpdateItem",
    ]
    assert calls(signed_in.get(f"/account/messages/{message_id}/")) == ["BatchGetItem", "GetItem"]
    assert calls(signed_in.post(f"/account/messages/{message_id}/read/")) == ["BatchGetItem", "UpdateItem"]
    assert calls(signed_in.post(f"/account/messages/{message_id}/delete/")) == ["BatchGetItem", "DeleteItem"]
