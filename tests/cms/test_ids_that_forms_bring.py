"""The id of something new stands in the form that asks for it: a ULID of about now, or nothing is made under it."""

import json
import re

import pytest

from cms import jobs
from dealsite.data import table
from dealsite.data.catalogue import drafts
from dealsite.data.table.ids import is_new, new_ulid
from tests.builders import DAY, EDITOR, NOW, make_deal, make_draft
from tests.cms.conftest import inputs

OF_YEAR_9774 = "7" + "0" * 25
FOREIGN = {"old": new_ulid(NOW - 2 * DAY), "of days to come": new_ulid(NOW + 2 * DAY), "9774": OF_YEAR_9774}


def draft(browser, new_id):
    return browser.post(f"/cms/drafts/{new_id}/", {"title": "Typed", "version": "0", "action": "save"})


def autosaved(browser, new_id):
    return browser.post(f"/cms/drafts/{new_id}/autosave/", {"title": "Typed", "version": "0"})


def exported_list(browser, new_id):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "MOST_ROWS", -1)
        make_deal()
        return browser.post("/cms/jobs/export/", {"token": new_id, "address": "/cms/deals/"})


def saved_question(browser, new_id):
    return browser.post("/cms/ask/questions/", {"title": "Typed", "sql": "SELECT 1", "question_id": new_id})


def planned_list(browser, new_id):
    sent = {"do": "plan", "at": "2026-11-22T09:00", "deal": make_deal().id, "title": "x", "position": "1"}
    return browser.post("/cms/featured/front/", sent | {"version": "0", "new_plan": new_id})


def pasted_rows(browser, new_id):
    sent = {"rows": "title\tprice\nLamp\t9", "has_titles": "on", "token": new_id}
    return browser.post("/cms/imports/", sent)


FORMS = {
    draft: 409,
    autosaved: 409,
    exported_list: 400,
    saved_question: 302,  # these three make it under an id of now
    planned_list: 302,
    pasted_rows: 302,
}


def stored() -> str:
    return json.dumps([[item["PK"], item["SK"]] for item in table.scan_all(consistent=True)])


@pytest.mark.usefixtures("all_are_editors")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_nothing_is_made_under_an_id_of_another_time(sign_in, form):
    browser = sign_in("editor", "back office")
    for new_id in FOREIGN.values():
        response = form(browser, new_id)
        assert response.status_code == FORMS[form]
        assert new_id not in stored()
    new_id = new_ulid(NOW - DAY)
    assert form(browser, new_id).status_code < 400
    assert new_id in stored()


def test_a_draft_comes_back_with_all_that_was_typed_and_with_an_id_of_now(sign_in):
    browser = sign_in("editor")
    for response in (draft(browser, FOREIGN["old"]), _deleted_meanwhile(browser)):
        address = re.search(r'action="/cms/drafts/([0-9A-Z]{26})/"', response.content.decode())
        assert address
        assert is_new(address[1], NOW)
        assert browser.post(f"/cms/drafts/{address[1]}/", inputs(response)).status_code == 302
        assert drafts.get(address[1]).content.title == "Typed"


def _deleted_meanwhile(browser):
    """Save a draft of long ago that somebody has deleted while its form was open."""
    old = make_draft(draft_id=FOREIGN["old"])
    drafts.delete(old, by=EDITOR, now=NOW)
    return browser.post(f"/cms/drafts/{old.id}/", {"title": "Typed", "version": "1", "action": "save"})
