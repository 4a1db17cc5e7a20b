"""The quarantine's pages: what is wrong with which item, decisions on one and on many, and undoing them."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from dealsite.data import keys, table
from dealsite.data.integrity import quarantine
from dealsite.data.integrity.problem import Problem
from dealsite.data.integrity.quarantine_record import entry_of
from dealsite.data.table.writes import Put, Update
from tests.builders import NOW

LIST, DECIDE = "/cms/quarantine/", "/cms/quarantine/decide/"
GHOST = ("GHOST#1", "GHOST#1")


@pytest.fixture
def admin(sign_in):
    return sign_in("admin", username="root")


def found(key: keys.Key = GHOST, what: str = "Its name is 'Boo', which is odd.", **attributes) -> str:
    """Store an item and keep it in the quarantine; return the entry's id."""
    table.write(Put(key=key, item={"type": "Ghost", "name": "Boo", "card": {"size": 3}} | attributes))
    problem = Problem(key, what)
    quarantine.keep([problem], is_complete=False, now=NOW)
    return entry_of(problem, table.get(key), now=NOW).id


def page(browser, address: str = LIST, status: int = 200) -> str:
    response = browser.get(address)
    assert response.status_code == status
    return text_of(response)


def text_of(response) -> str:
    return " ".join(unescape(response.content.decode()).split())


def decide(browser, what: str, *entries: str, **more: str) -> str:
    return text_of(browser.post(DECIDE, {"decision": what, "entry": entries} | more, follow=True))


def correct(browser, entry_id: str, **fields: str):
    data = {"path": "name", "kind": "text", "value": "Casper", "sure": "on"} | fields
    return browser.post(f"{LIST}{entry_id}/", {name: value for name, value in data.items() if value != "-"})


def test_an_empty_quarantine_says_so(admin):
    assert "Nothing waits for a decision." in page(admin)
    assert "Nothing was decided lately." in page(admin, f"{LIST}?state=decided")
    assert "Nothing has become right lately." in page(admin, f"{LIST}?state=gone")
    page(admin, f"{LIST}?state=lost", 404)
    page(admin, f"{LIST}?after=x", 400)


def test_an_entry_says_what_is_wrong_and_shows_the_item_without_secrets(admin):
    entry_id = found(password="pbkdf2$1")
    html = page(admin)
    for words in ("Its name is 'Boo', which is odd.", "GHOST#1 / GHOST#1", f'href="{LIST}{entry_id}/"'):
        assert words in html
    html = page(admin, f"{LIST}{entry_id}/")
    for words in ("which is odd", "card.size", ">Boo<", "•••", "by 1 check", 'value="name"'):
        assert words in html
    assert "pbkdf2" not in html


@pytest.mark.parametrize("roles", [(), ("editor",), ("back office",)])
def test_the_quarantine_is_for_admins(sign_in, client, roles):
    entry_id = found()
    browser = sign_in(*roles)
    for address in (LIST, f"{LIST}{entry_id}/"):
        assert browser.get(address).status_code == 403
        assert client.get(address).status_code == 302
    assert correct(browser, entry_id).status_code == 403
    assert browser.post(DECIDE, {"decision": "delete", "entry": entry_id, "sure": "on"}).status_code == 403
    assert table.get(GHOST) is not None


def test_an_item_is_deleted_and_put_back(admin):
    entry_id = found()
    before = table.get(GHOST)
    assert "the box beside the button was not ticked" in decide(admin, "delete", entry_id)
    assert table.get(GHOST) == before
    html = decide(admin, "delete", entry_id, sure="on")
    assert "The item is deleted." in html
    assert "by root" in html
    assert table.get(GHOST) is None
    assert "by root" in page(admin, f"{LIST}?state=decided")
    assert "The decision is undone." in decide(admin, "undo", entry_id)
    assert table.get(GHOST) == before
    assert "removed an item" in page(admin, "/cms/audit/")
    assert f'href="{LIST}{entry_id}/"' in page(admin, "/cms/audit/")


def test_an_attribute_is_corrected_and_put_back(admin):
    entry_id = found()
    assert correct(admin, entry_id).status_code == 302
    assert table.get(GHOST)["name"] == "Casper"
    assert "The item is corrected." in page(admin, f"{LIST}{entry_id}/")
    decide(admin, "undo", entry_id)
    assert table.get(GHOST)["name"] == "Boo"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sure": "-"}, "Change the stored item"),
        ({"path": ""}, "This field is required"),
        ({"path": "PK"}, "not part of the key"),
        ({"path": "card.lost.more"}, "The item has no such attribute"),
        ({"kind": "number", "value": "many"}, "This is not a number"),
        ({"kind": "word"}, "Select a valid choice"),
        ({"value": "Boo"}, "This is the value that it has"),
    ],
)
def test_what_cannot_be_corrected_is_said_beside_its_field(admin, fields, words):
    entry_id = found()
    response = correct(admin, entry_id, **fields)
    assert response.status_code == 422
    assert words in text_of(response)
    assert 'aria-invalid="true"' in text_of(response)
    assert table.get(GHOST)["name"] == "Boo"


def test_an_item_is_left_as_it_is(admin):
    entry_id = found()
    assert "The item is left as it is." in decide(admin, "leave", entry_id)
    assert "Left as it is" in page(admin, f"{LIST}{entry_id}/")
    assert "Nothing waits" in page(admin)


def test_what_has_changed_since_is_said_and_not_decided(admin):
    entry_id = found()
    table.write(Update(key=GHOST, set={"name": "Bu"}))
    assert "The item has changed since it was found." in page(admin, f"{LIST}{entry_id}/")
    assert "The item has changed since it was found." in decide(admin, "delete", entry_id, sure="on")
    assert correct(admin, entry_id).status_code == 302
    assert table.get(GHOST)["name"] == "Bu"
    decide(admin, "leave", entry_id)
    assert "This was decided meanwhile." in decide(admin, "leave", entry_id)


def test_alike_items_are_decided_on_together(admin):
    ids = [found((f"GHOST#{n}", "A"), f"Its number is {n}.") for n in range(3)]
    other = found(("ODD#1", "A"), "Its colour is odd.", type="Odd")
    html = page(admin)
    assert html.count("For all 3 shown above") == 1
    assert "was not ticked" in decide(admin, "delete", *ids)
    table.write(Update(key=("GHOST#1", "A"), set={"name": "Bu"}))
    html = decide(admin, "delete", *ids, sure="on")
    assert "2 decisions were made." in html
    assert "1 item had changed since" in html
    assert [table.get((f"GHOST#{n}", "A")) is None for n in range(3)] == [True, False, True]
    assert other in page(admin)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"decision": "leave"},
        {"decision": "leave", "entry": "x"},
        {"decision": "leave", "entry": "a" * 64},
        {"decision": "burn", "entry": "a" * 64},
    ],
)
def test_what_is_not_there_is_not_found(admin, data):
    assert admin.post(DECIDE, data).status_code == 404


def test_what_changes_an_item_asks_for_the_password_when_it_was_given_long_ago(admin, monkeypatch):
    entry_id = found()
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(minutes=16))
    for what in ("delete", "undo"):
        response = admin.post(DECIDE, {"decision": what, "entry": [entry_id, "b" * 64], "sure": "on"})
        assert response.status_code == 401
        assert [value for name, value in response.context["kept"] if name == "entry"] == [entry_id, "b" * 64]
    assert correct(admin, entry_id).status_code == 401
    assert correct(admin, entry_id, path="").status_code == 422  # a form that is not right changes nothing
    assert "The item is left as it is." in decide(admin, "leave", entry_id)


def test_the_forms_need_the_token_of_their_page(sign_in):
    entry_id, browser = found(), sign_in("admin", csrf=True)
    assert correct(browser, entry_id).status_code == 403
    assert browser.post(DECIDE, {"decision": "leave", "entry": entry_id}).status_code == 403
    assert browser.get(DECIDE).status_code == 405


def test_what_check_table_repairs_says_so_and_is_not_deleted_here(admin):
    problem = Problem(GHOST, "size is 3, counted 4.", (Update(key=GHOST, set={"size": 4}),))
    table.write(Put(key=GHOST, item={"type": "Ghost", "size": 3}))
    quarantine.keep([problem], is_complete=False, now=NOW)
    assert "for check_table --repair" in page(admin)
    html = page(admin, f"{LIST}{entry_of(problem, table.get(GHOST), now=NOW).id}/")
    assert "manage.py check_table --repair" in html
    assert "Delete the stored item" not in html


def test_long_lists_have_pages(admin, monkeypatch):
    monkeypatch.setattr(quarantine, "PAGE_SIZE", 2)
    for number in range(3):
        found((f"GHOST#{number}", "A"), f"Its number is {number}.")
    first = admin.get(LIST)
    second = admin.get(LIST + first.context["after"])
    assert [len(one.context["groups"][0].entries) for one in (first, second)] == [2, 1]
    assert second.context["newest"] == "?"


def test_what_is_hostile_in_an_item_is_text(admin):
    entry_id = found(("<b>", "<i>"), "It is <script>.", **{"name": "<img src=x>", "a<u>": 1})
    for address in (LIST, f"{LIST}{entry_id}/"):
        html = admin.get(address).content.decode()
        for tag in ("<b>", "<i>", "<script>", "<img", "<u>"):
            assert tag not in html.partition("<h1")[2]


def test_what_the_pages_cost(admin):
    entry_id = found()
    for address, calls in ((LIST, ["Query"]), (f"{LIST}{entry_id}/", ["GetItem", "GetItem"])):
        with table.metered() as meter:
            admin.get(address)
        assert [operation for operation, _ in meter.log][1:] == calls
