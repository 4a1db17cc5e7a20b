"""A site that is read-only or closed for maintenance: who gets in, what they read, and what becomes of a form."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.data import table
from dealsite.data.catalogue import categories, relations
from dealsite.data.entities.operations import SwitchState
from dealsite.data.jobs import site_switch
from dealsite.data.people import messages, users
from dealsite.data.table.ids import new_ulid
from dealsite.web import page_cache
from dealsite.web.pages import CLOSED
from tests.builders import NOW, make_brand, make_deal
from tests.cms.conftest import break_table
from tests.pages import ROUTES
from tests.people import make_user, signed_in

HTMX = {"HX-Request": "true"}
OWN = {"Sec-Fetch-Site": "same-origin"}
PROFILE = {"name": 'Ada "Ash" <b>', "timezone": "UTC", "language": "de", "version": "1"}
PROFILE |= {"email": "ada@example.org"}


@pytest.fixture(autouse=True)
def _moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is always NOW: sessions of admins are short."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture
def turn(fresh_table: None) -> Callable[..., None]:
    """A function that turns the switch, as another process would."""

    def to(state: SwitchState, message: str = "") -> None:
        site_switch.switch_site(state, message=message, by="root", now=NOW)
        site_switch.of_process = site_switch.KnownSwitch()

    return to


@pytest.fixture
def ada(turn: Any) -> Client:
    return signed_in(make_user("ada"))


@pytest.fixture
def root(turn: Any) -> Client:
    return signed_in(make_user("root", roles=["admin"]))


@pytest.fixture
def away(turn: Any, settings: Any) -> Iterator[Callable[[], None]]:
    """A function after which nothing answers where the table was, until the test ends."""
    before = settings.DYNAMODB_ENDPOINT_URL
    yield lambda: break_table(settings)
    settings.DYNAMODB_ENDPOINT_URL = before
    table.reset()


def text(answer: Any) -> str:
    return " ".join(unescape(answer.content.decode()).split())


def test_these_views_work_whatever_the_switch_says():
    always = {name for name, route in ROUTES.items() if getattr(route.view, "open_while", ()) == set(CLOSED)}
    assert always == {
        *("healthz", "readyz", "metrics", "media", "cms_switch_site"),
        *("sign_in", "sign_in_code", "passkey_options", "sign_out"),
    }
    read_only = {name for name, route in ROUTES.items() if getattr(route.view, "open_while", ())} - always
    # They note nothing that outlives a minute.
    assert read_only == {
        *(
            "cms_presence",
            "cms_leave",
            "cms_preview_deal",
            "cms_preview_featured",
            "cms_markdown",
            "cms_cancel_answer",
        )
    }


def test_in_maintenance_everybody_but_admins_reads_the_message(turn, ada: Client, root: Client):
    turn("maintenance", "Back at <noon>.")
    for browser in (Client(), ada):
        answer = browser.get("/brands/")
        assert answer.status_code == 503
        assert (answer["Retry-After"], answer["Cache-Control"][:8]) == ("120", "no-store")
        assert "Back at <noon>." in text(answer)
        assert b"<noon>" not in answer.content
        assert "Admins can sign in" in text(answer)
        assert answer["X-Request-ID"] in text(answer)
    for address in ("/brands/", "/cms/operations/"):
        assert root.get(address).status_code == 200
    turn("open")
    assert ada.get("/brands/").status_code == 200


def test_in_maintenance_a_visitor_costs_no_call(turn):
    turn("maintenance")
    Client().get("/brands/")
    with table.metered() as meter:
        assert Client().get("/brands/").status_code == 503
    assert meter.calls == 0


def test_in_maintenance_signing_in_and_probes_work(turn):
    make_user("ada")
    categories.create_all()
    turn("maintenance")
    assert Client().get("/account/sign-in/").status_code == 200
    assert Client().post("/account/sign-in/", {"name": "ada", "password": "wrong"}).status_code == 422
    assert Client().get("/healthz").status_code == 200
    assert Client().get("/readyz").json()["ready"]
    assert Client().get("/nowhere/").status_code == 404


def test_read_only_pages_go_on_and_say_so(turn, ada: Client):
    turn("read-only", "Until noon.")
    for browser in (Client(), ada):
        answer = browser.get("/brands/")
        assert answer.status_code == 200
        assert "The site is read-only for now: nothing can be changed. Until noon." in text(answer)
    turn("open", "Until noon.")
    assert "Until noon." not in text(ada.get("/brands/"))


def test_a_copy_is_read_and_says_what_it_is(turn, ada: Client, root: Client):
    turn("copy")
    said = "This is a copy of the site: nothing can be changed, no mail is sent, no card is charged."
    for browser in (Client(), ada, root):
        answer = browser.get("/brands/")
        assert answer.status_code == 200
        assert said in text(answer)
        answer = browser.post("/cart/add/", {"quantity": "2"}, headers=OWN)
        assert answer.status_code == 503
        assert said in text(answer)
    assert Client().post("/account/sign-in/", {"name": "ada", "password": "wrong"}).status_code == 422
    assert root.post("/cms/operations/switch/", {"state": "open"}).status_code == 302
    assert said not in text(root.get("/brands/"))


def test_read_only_a_form_changes_nothing_and_keeps_what_was_typed(turn, ada: Client):
    turn("read-only")
    before = users.get("ada")
    answer = ada.post("/account/profile/", PROFILE)
    assert answer.status_code == 503
    assert "Nothing can be changed just now" in text(answer)
    assert 'value="Ada &quot;Ash&quot; &lt;b&gt;"' in answer.content.decode()
    assert 'action="/account/profile/"' in answer.content.decode()
    assert users.get("ada") == before
    turn("open")
    assert ada.post("/account/profile/", PROFILE).status_code == 302
    assert users.get("ada").name == PROFILE["name"]


def test_read_only_is_read_only_for_admins_too(turn, root: Client):
    turn("read-only")
    assert root.post("/account/profile/", PROFILE).status_code == 503


def test_what_htmx_sent_still_stands_on_its_page(turn, ada: Client):
    make_brand()
    turn("read-only")
    answer = ada.post("/brands/nordlicht/like/", headers=HTMX | OWN)
    assert answer.status_code == 503
    assert b"<form" not in answer.content.partition(b'id="error"')[2].partition(b"</main>")[0]
    assert relations.relation_state_of("ada", "brand", "nordlicht").liked is False


def test_another_sites_form_is_not_offered_to_be_sent_again(turn, ada: Client):
    turn("read-only")
    for headers, is_kept in ((OWN, True), ({"Sec-Fetch-Site": "cross-site"}, False)):
        answer = ada.post("/cart/add/", {"quantity": "2"}, headers=headers)
        assert answer.status_code == 503
        assert (b"Send it again" in answer.content) == is_kept


def test_a_page_from_memory_is_none_in_maintenance(turn, settings):
    settings.DEALSITE_PAGE_CACHE_SECONDS = settings.DEALSITE_STALE_SECONDS = 60
    page_cache.forget()
    assert Client().get("/").status_code == 200
    turn("maintenance")
    assert Client().get("/").status_code == 503
    page_cache.forget()


@pytest.mark.parametrize("state", CLOSED)
def test_a_table_that_goes_away_leaves_the_switch_as_it_was(turn, root: Client, away, state):
    turn(state)
    assert Client().get("/account/sign-in/").status_code == 200
    site_switch.of_process.current()
    away()
    site_switch.of_process.forget()
    began = time.monotonic()
    shown = root.post("/account/profile/", PROFILE)  # in maintenance nobody knows who is an admin
    assert (shown.status_code, time.monotonic() - began < 3) == (503, True)
    assert "Send it again" in text(shown)
    assert Client().get("/healthz").status_code == 200


def test_a_process_that_starts_while_the_table_is_away_takes_the_site_for_open(turn, away):
    turn("maintenance")
    away()
    answer = Client().get("/brands/")
    assert answer.status_code == 503
    assert "One moment, please" in text(answer)


def test_closing_the_site_is_no_fault_in_the_log(turn, caplog: pytest.LogCaptureFixture):
    turn("maintenance")
    Client().get("/brands/")
    assert [one.message for one in caplog.records if one.levelname in ("WARNING", "ERROR")] == []


def test_read_only_a_page_that_is_opened_changes_nothing(turn, ada: Client):
    message_id = new_ulid(NOW)
    item = messages.message_item("ada", message_id, kind="hot_deal", headline="Look", deal=make_deal().id)
    messages.deliver([item])
    turn("read-only")
    assert ada.get(f"/account/messages/{message_id}/").status_code == 200
    assert messages.get("ada", message_id).unread
    assert ada.get("/account/card/finish/?session_id=one").status_code == 503
