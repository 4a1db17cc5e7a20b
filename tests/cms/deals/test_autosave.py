"""Saving by itself: stores what can be stored, says what happened, publishes and overwrites nothing."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data.catalogue import brands, drafts, lists
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import audit
from dealsite.data.people import users
from dealsite.data.table import errors
from tests.builders import DAY, EDITOR, NOW, make_content, make_deal, make_draft, make_id
from tests.cms.conftest import HTMX, inputs, picture_file
from tests.cms.deals.test_drafts import WHOLE
from tests.races import at_once

TOKEN, OTHER = "0" * 31 + "1", "0" * 31 + "2"


def autosave(browser, draft_id, typed, *tokens, **headers):
    post = typed | {"autosaves": " ".join(tokens or (TOKEN,))}
    return browser.post(reverse("cms_autosave", args=["draft", draft_id]), post, headers=HTMX | headers)


def test_a_new_draft_is_stored_and_the_form_goes_on_from_there(editor, calls):
    draft_id = make_id(NOW)
    answer = autosave(editor, draft_id, WHOLE | {"version": "0"})
    stored = drafts.get(draft_id)
    assert (answer.status_code, answer.json()["text"], answer.json()["fields"]["version"]) == (
        200,
        "Draft saved 12:00",
        1,
    )
    assert (stored.content.title, stored.last_edit, stored.updated_by) == (
        "Mechanical keyboard",
        TOKEN,
        "eve",
    )
    form = WHOLE | {"version": "1", "seen": answer.json()["fields"]["seen"], "title": "Better keyboard"}
    assert autosave(editor, draft_id, form, OTHER).json()["fields"]["version"] == 2
    assert drafts.get(draft_id).content.title == "Better keyboard"
    form |= {"version": "2", "title": "Best keyboard"}
    assert calls(lambda: autosave(editor, draft_id, form)) == ["GetItem", "GetItem", "TransactWriteItems"]
    assert [entry.what for entry in audit.of_target("draft", draft_id)] == ["started"]


def test_the_time_is_that_of_the_editors_zone(sign_in):
    berliner = sign_in("editor", zone="Europe/Berlin")
    assert (
        autosave(berliner, make_id(NOW), {"title": "x", "version": "0"}).json()["text"] == "Draft saved 13:00"
    )


def test_what_did_not_change_is_not_written(editor, calls):
    draft = make_draft(**vars(make_content()))
    form = inputs(editor.get(reverse("cms_draft", args=[draft.id])))
    assert calls(lambda: autosave(editor, draft.id, form)) == ["GetItem", "GetItem"]
    assert drafts.get(draft.id) == draft


def test_an_empty_form_makes_no_draft(editor):
    draft_id = make_id(NOW)
    assert autosave(editor, draft_id, {"version": "0"}).json() == {"text": ""}
    with pytest.raises(errors.NotFound):
        drafts.get(draft_id)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ({"price": "12,50"}, "Not saved: Price: Write the amount with digits and a point"),
        ({"link": "x"}, "Not saved: Link to the shop: Enter a whole link"),
        ({"brand": "Unknown"}, "Not saved: Brand: There is no brand “Unknown”."),
        ({"brand": "Newcomer", "brand_new": "on"}, "Not saved: Brand: It is new: save yourself once"),
        ({"title": "a\x07b"}, "Not saved: Title: This holds control characters"),
    ],
)
def test_what_cannot_be_stored_is_said_and_stays_as_it_was_while_all_else_is_stored(editor, typed, text):
    draft = make_draft(**vars(make_content(title="Before")))
    form = inputs(editor.get(reverse("cms_draft", args=[draft.id])))
    answer = autosave(editor, draft.id, form | typed)
    assert (answer.status_code, "fields" in answer.json()) == (422, False)
    assert answer.json()["text"].startswith(text)
    assert drafts.get(draft.id) == draft  # nothing else is new
    answer = autosave(editor, draft.id, form | {"condition": "For all"} | typed)
    assert (answer.status_code, answer.json()["fields"]["version"]) == (422, 2)
    assert answer.json()["text"].startswith(text)
    stored = drafts.get(draft.id)
    assert stored.content == replace(draft.content, condition="For all")
    assert stored.card.brand_name == draft.card.brand_name
    with pytest.raises(errors.NotFound):
        brands.get("newcomer")


def test_a_new_draft_is_stored_without_what_is_not_right_yet(editor):
    draft_id = make_id(NOW)
    answer = autosave(editor, draft_id, WHOLE | {"version": "0", "brand": "Newcomer", "brand_new": "on"})
    assert (answer.status_code, answer.json()["fields"]["version"]) == (422, 1)
    stored = drafts.get(draft_id).content
    assert (stored.title, stored.brand) == (WHOLE["title"], "")


@pytest.mark.parametrize("action", ["publish", "schedule", "save"])
def test_it_never_publishes(editor, action):
    draft_id = make_id(NOW)
    autosave(editor, draft_id, WHOLE | {"version": "0", "action": action, "publish_at": "2026-12-01T00:00"})
    assert drafts.get(draft_id).published_as == ""
    assert lists.cms_list(DealFilter(), now=NOW + 30 * DAY).cards == []


def test_files_are_not_taken(editor):
    draft_id = make_id(NOW)
    autosave(editor, draft_id, WHOLE | {"version": "0", "picture_file": picture_file()})
    assert drafts.get(draft_id).content.picture is None


def test_somebody_elses_work_is_not_overwritten(editor):
    draft = make_draft(title="Idea")
    theirs = drafts.save(draft, replace(draft.content, title="Theirs"), version=1, by="oscar", now=NOW)
    answer = autosave(editor, draft.id, {"title": "Mine", "version": "1"})
    assert answer.status_code == 409
    assert answer.json()["text"] == (
        "Not saved: oscar changed this meanwhile. Save it yourself to see both versions."
    )
    assert drafts.get(draft.id) == theirs


def test_a_published_or_deleted_draft_is_not_restored(editor):
    published, deleted = make_draft(title="Idea"), make_draft(title="Idea")
    make_deal(draft=published)
    drafts.delete(deleted, by=EDITOR, now=NOW)
    for draft, word in ((published, "published"), (deleted, "deleted")):
        answer = autosave(editor, draft.id, {"title": "Mine", "version": "1"})
        assert answer.status_code == 409
        assert word in answer.json()["text"]
    assert drafts.get(published.id).published_as
    with pytest.raises(errors.NotFound):
        drafts.get(deleted.id)


def test_a_save_whose_answer_was_lost_is_no_conflict_with_the_next_one(editor):
    draft = make_draft(title="Idea")
    autosave(editor, draft.id, {"title": "First", "version": "1"}, TOKEN)  # nobody heard the answer
    answer = autosave(editor, draft.id, {"title": "Second", "version": "1"}, TOKEN, OTHER)
    assert (answer.status_code, answer.json()["fields"]["version"]) == (200, 3)
    assert drafts.get(draft.id).content.title == "Second"


def test_nor_with_saving_by_the_button(editor):
    draft = make_draft(title="Idea")
    autosave(editor, draft.id, {"title": "First", "version": "1"}, TOKEN)
    post = {"title": "Second", "version": "1", "autosaves": TOKEN, "action": "save"}
    assert editor.post(reverse("cms_draft", args=[draft.id]), post).status_code == 302
    stored = drafts.get(draft.id)
    assert (stored.content.title, stored.autosaved_since) == ("Second", None)


@pytest.mark.parametrize(
    "tokens", ["", "x", "0" * 31, "0" * 32 + " <script>", "é" * 32, "0" * 32 + " " + "f" * 999]
)
def test_tokens_of_another_form_are_worth_nothing(editor, tokens):
    draft = make_draft(title="Idea")
    drafts.save(draft, replace(draft.content, title="Theirs"), version=1, by="oscar", now=NOW)
    post = {"title": "Mine", "version": "1", "autosaves": tokens}
    answer = editor.post(reverse("cms_autosave", args=["draft", draft.id]), post, headers=HTMX)
    assert answer.status_code == 409


def test_when_the_session_has_ended_it_says_so_and_nothing_is_stored(editor, client):
    draft = make_draft(title="Idea")
    answer = autosave(client, draft.id, {"title": "Mine", "version": "1"})
    assert answer.status_code == 401
    assert drafts.get(draft.id) == draft


def test_when_the_table_is_away_it_is_503(editor, monkeypatch):
    def fail(*arguments, **options):
        raise errors.Unavailable()

    draft = make_draft(title="Idea")
    monkeypatch.setattr(drafts, "save", fail)
    assert autosave(editor, draft.id, {"title": "Mine", "version": "1"}).status_code == 503


@pytest.mark.parametrize("draft_id", ["x", "0" * 26 + "1"])
def test_an_id_that_is_none_is_404(editor, draft_id):
    assert autosave(editor, draft_id, {"title": "x"}).status_code == 404


def test_it_is_turned_off_and_on_again_for_all_pages(editor):
    address = reverse("cms_autosave_setting")
    for sent, on in (({}, False), ({"autosave": "on"}, True)):
        assert editor.post(address, sent, headers=HTMX).status_code == 204
        assert users.get("eve").preferences.autosave is on
        page = editor.get(reverse("cms_new_draft")).content.decode()
        assert ("checked" in page.split('name="autosave"')[1].split(">")[0].split()) is on


def test_after_ten_minutes_it_is_another_change(editor, monkeypatch):
    draft_id = make_id(NOW)
    autosave(editor, draft_id, {"title": "First", "version": "0"})
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(minutes=10))
    autosave(editor, draft_id, {"title": "Second", "version": "1"})
    assert sorted(entry.what for entry in audit.of_target("draft", draft_id)) == ["changed", "started"]


def test_of_two_pages_that_save_at_once_one_is_told_of_the_other(editor, other_editor):
    draft = make_draft(title="Idea")
    answers = at_once(
        *(
            lambda who=who, title=title: autosave(who, draft.id, {"title": title, "version": "1"}, title * 32)
            for who, title in ((editor, "a"), (other_editor, "b"))
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert drafts.get(draft.id).version == 2
