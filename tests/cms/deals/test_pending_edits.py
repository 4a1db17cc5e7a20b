"""Changes of a deal that shoppers do not see: kept, opened, published, discarded and restored on its page."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.editing import pending_edits
from tests.builders import DAY, NOW, make_brand, make_deal
from tests.cms.conftest import HTMX, do, mine_alone, said, way_back
from tests.cms.deals.test_autosave import OTHER, TOKEN
from tests.people import assert_costs_as_declared


def address(deal, query=""):
    return reverse("cms_deal", args=[deal.id]) + query


OPENED = "?changes=1"


def typed(response):
    """Return what the form of a deal holds."""
    html = response.content.decode()
    form = re.search(r'<form class="form"\s+id="edit-form".*?</form>', html, re.S)[0]
    sent = {}
    for tag in re.findall(r"<input[^>]*>", form, re.S):
        attributes = dict(re.findall(r'([a-z_-]+)="([^"]*)"', tag, re.S))
        kind = attributes.get("type", "text")
        if (
            "name" in attributes
            and kind != "file"
            and (kind not in ("checkbox", "radio") or "checked" in tag)
        ):
            sent[attributes["name"]] = unescape(attributes.get("value", ""))
    for name, text in re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?(.*?)</textarea>', form, re.S):
        sent[name] = unescape(text)
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'<option value="([^"]*)"[^>]*selected', options)
        sent[name] = unescape(chosen[1]) if chosen else ""
    return sent


def keep(browser, deal, **more):
    form = typed(browser.get(address(deal)))
    return browser.post(address(deal), form | {"action": "keep"} | more)


def autosave(browser, deal, form, token=TOKEN):
    post = form | {"autosaves": token}
    return browser.post(reverse("cms_autosave", args=["deal", deal.id]), post, headers=HTMX)


def test_what_is_kept_is_seen_by_editors_alone_until_it_is_published(editor, client):
    deal = make_deal(stock=4)
    assert keep(editor, deal, title="Better keyboard", price="")["Location"] == address(deal, OPENED)
    assert deals.get(deal.id) == deal
    assert "Better keyboard" not in client.get(f"/deals/{deal.id}/{deal.card.slug}/").content.decode()
    plain = editor.get(address(deal)).content.decode()
    assert "Unpublished changes by eve" in plain
    assert "Better keyboard" not in plain
    opened = editor.get(address(deal, OPENED))
    form = typed(opened)
    assert (form["title"], form["price"], form["version"], form["changes"]) == (
        "Better keyboard",
        "",
        "1",
        "1",
    )
    answer = editor.post(address(deal, OPENED), form | {"price": "70.00", "action": "save"})
    assert answer["Location"] == address(deal)
    stored = deals.get(deal.id)
    assert (stored.content.title, str(stored.content.price), stored.version) == (
        "Better keyboard",
        "70.00",
        2,
    )
    assert pending_edits.find(stored) is None


def test_the_page_costs_the_same_with_unpublished_changes(editor):
    deal = make_deal()
    keep(editor, deal, title="Better")
    for query in ("", OPENED):
        assert_costs_as_declared(editor.get(address(deal, query)))


def test_incomplete_changes_are_not_published(editor):
    deal = make_deal()
    keep(editor, deal, price="")
    form = typed(editor.get(address(deal, OPENED)))
    assert editor.post(address(deal, OPENED), form | {"action": "save"}).status_code == 422
    assert deals.get(deal.id) == deal
    assert not pending_edits.find(deal).is_discarded


def test_what_could_do_harm_is_not_kept(editor):
    deal = make_deal()
    assert keep(editor, deal, title="a\x07b").status_code == 422
    assert pending_edits.find(deal) is None


def test_what_is_saved_by_itself_on_a_live_deal_is_not_seen_by_shoppers(editor, calls):
    deal = make_deal()
    form = typed(editor.get(address(deal))) | {"title": "Better"}
    answer = autosave(editor, deal, form)
    assert (answer.status_code, answer.json()) == (
        200,
        {"text": "Changes saved 12:00, not published", "fields": {"changes": 1}},
    )
    assert deals.get(deal.id) == deal
    form |= {"changes": "1", "title": "Best"}
    cost = calls(lambda: autosave(editor, deal, form, OTHER))
    assert cost == ["BatchGetItem", "GetItem", "GetItem", "TransactWriteItems"]
    assert pending_edits.find(deal).content.title == "Best"
    editor.post(address(deal), form | {"changes": "2", "action": "save"})
    assert (deals.get(deal.id).content.title, pending_edits.find(deal)) == ("Best", None)


def test_what_did_not_change_keeps_nothing(editor):
    deal = make_deal(stock=3)
    assert autosave(editor, deal, typed(editor.get(address(deal)))).json() == {"text": ""}
    assert pending_edits.find(deal) is None


def test_an_answer_that_was_lost_is_no_conflict(editor):
    deal = make_deal()
    form = typed(editor.get(address(deal)))
    autosave(editor, deal, form | {"title": "Better"}, TOKEN)
    assert autosave(editor, deal, form | {"title": "Best"}, f"{TOKEN} {OTHER}").status_code == 200
    assert editor.post(address(deal), form | {"title": "Best", "autosaves": OTHER}).status_code == 302
    assert pending_edits.find(deal) is None


def test_another_editors_changes_are_neither_overwritten_nor_published_unseen(editor, other_editor):
    deal = make_deal()
    mine = typed(editor.get(address(deal)))
    keep(other_editor, deal, title="Theirs")
    answer = autosave(editor, deal, mine | {"title": "Mine"})
    assert (answer.status_code, "oscar changed this" in answer.json()["text"]) == (409, True)
    conflict = editor.post(address(deal), mine | {"title": "Mine", "voucher_code": "NEW", "action": "keep"})
    assert conflict.status_code == 409
    html = conflict.content.decode()
    assert "oscar changed this deal while you worked on it" in html
    assert (re.findall(r"<legend[^>]*>([^<]+)</legend>", html), mine_alone(html)) == (
        ["Title"],
        "Voucher code",
    )
    again = typed(conflict) | {"choice_title": "theirs", "action": "keep"}
    assert editor.post(address(deal, OPENED), again).status_code == 302
    kept = pending_edits.find(deal).content
    assert (kept.title, kept.voucher_code) == ("Theirs", "NEW")


def test_saving_the_deal_leaves_another_editors_changes_which_are_then_published_with_it(
    editor, other_editor
):
    deal = make_deal()
    mine = typed(editor.get(address(deal)))
    keep(other_editor, deal, title="Theirs")
    assert editor.post(address(deal), mine | {"price": "60.00", "action": "save"}).status_code == 302
    assert pending_edits.find(deal).content.title == "Theirs"
    opened = typed(other_editor.get(address(deal, OPENED)))
    published = other_editor.post(address(deal, OPENED), opened | {"action": "save"})
    assert said(published) == "The deal is saved. What eve changed meanwhile stays: Price."
    stored = deals.get(deal.id)
    assert (stored.content.title, str(stored.content.price)) == ("Theirs", "60.00")
    assert pending_edits.find(stored) is None


def test_what_only_another_changed_is_kept_with_mine_unless_the_form_does_not_say_what_it_showed(
    editor, other_editor
):
    deal = make_deal()
    mine = typed(editor.get(address(deal))) | {"voucher_code": "NEW", "action": "keep"}
    keep(other_editor, deal, title="Theirs")
    assert editor.post(address(deal), mine | {"seen": ""}).status_code == 409
    answer = editor.post(address(deal), mine)
    assert said(answer).endswith("What oscar changed meanwhile stays: Title.")
    kept = pending_edits.find(deal).content
    assert (kept.title, kept.voucher_code) == ("Theirs", "NEW")


def test_changes_that_went_on_while_they_were_open_are_shown_before_they_are_published(editor, other_editor):
    deal = make_deal()
    keep(editor, deal, title="First")
    mine = typed(editor.get(address(deal, OPENED)))
    theirs = typed(other_editor.get(address(deal, OPENED)))
    other_editor.post(address(deal, OPENED), theirs | {"title": "Second", "action": "keep"})
    conflict = editor.post(address(deal, OPENED), mine | {"action": "save"})
    assert conflict.status_code == 409
    assert "Second" in conflict.content.decode()
    assert deals.get(deal.id) == deal


@pytest.mark.parametrize("title", ["Mechanical keyboard", "Better"])
def test_an_end_is_no_conflict_where_a_colleague_of_another_zone_publishes_it(sign_in, title):
    deal = make_deal(expires_at=NOW + DAY)
    berlin, york = (sign_in("editor", zone=zone) for zone in ("Europe/Berlin", "America/New_York"))
    keep(berlin, deal, expires_at="2026-11-30T18:00")
    form = typed(york.get(address(deal, OPENED)))
    assert form["expires_at"] == "2026-11-30T12:00"
    if title != deal.content.title:
        berliner = typed(berlin.get(address(deal, OPENED))) | {"title": title, "action": "keep"}
        berlin.post(address(deal, OPENED), berliner)
        overtaken = york.post(address(deal, OPENED), form | {"action": "save"})
        assert overtaken.status_code == 409  # shows the title first
        form = typed(overtaken)
    assert york.post(address(deal, OPENED), form | {"action": "save"}).status_code == 302
    content = deals.get(deal.id).content
    assert (content.title, content.expires_at) == (title, datetime(2026, 11, 30, 17, tzinfo=UTC))


@pytest.mark.parametrize("how", ["discarded", "published"])
def test_changes_that_ended_meanwhile_can_be_kept_again(editor, other_editor, how):
    deal = make_deal()
    keep(editor, deal, title="First")
    mine = typed(editor.get(address(deal, OPENED)))
    if how == "published":
        other_editor.post(address(deal, OPENED), mine | {"action": "save"})
    else:
        pending_edits.discard(pending_edits.find(deal), by="oscar", now=NOW)
    post = mine | {"title": "Mine", "action": "keep"}
    assert editor.post(address(deal, OPENED), post).status_code == 302
    assert pending_edits.find(deal).content.title == "Mine"
    assert typed(editor.get(address(deal, OPENED)))["version"] == "1"


def test_publishing_what_somebody_else_published_meanwhile_shows_both(editor, other_editor):
    deal = make_deal()
    keep(editor, deal, title="First")
    mine = typed(editor.get(address(deal, OPENED)))
    other_editor.post(address(deal, OPENED), mine | {"action": "save"})
    conflict = editor.post(address(deal, OPENED), mine | {"title": "Mine", "action": "save"})
    assert conflict.status_code == 409
    assert deals.get(deal.id).content.title == "First"


def test_what_was_sold_meanwhile_stays_sold(editor):
    deal = make_deal(stock=4)
    keep(editor, deal, title="Better")
    form = typed(editor.get(address(deal, OPENED)))
    brand = make_brand()
    deal_changes.edit(deal, replace(deal.content, stock=2), version=1, brand=brand, by="oscar", now=NOW)
    assert editor.post(address(deal, OPENED), form | {"action": "save"}).status_code == 302
    assert (deals.get(deal.id).stock, deals.get(deal.id).content.title) == (2, "Better")


def test_discarding_can_be_undone(editor):
    deal = make_deal()
    keep(editor, deal, title="Better")
    here = address(deal, OPENED)
    late = do(editor, "discard-changes", deal, to_changes="7", next=here)
    assert said(late).startswith("Somebody went on with these changes meanwhile.")
    assert not pending_edits.find(deal).is_discarded
    form = re.search(r"<form[^>]*do/discard-changes/.*?</form>", editor.get(here).content.decode(), re.S)[0]
    assert 'name="to_changes" value="1"' in form
    response = do(editor, "discard-changes", deal, to_changes="1", next=here)
    page = editor.get(address(deal, OPENED)).content.decode()
    assert "are discarded. Shoppers never saw them." in page
    assert "Unpublished changes by" not in page
    back = way_back(response)
    assert editor.post(back.address, back.fields)["Location"] == address(deal, OPENED)
    assert typed(editor.get(address(deal, OPENED)))["title"] == "Better"


def test_a_scheduled_deals_changes_move_with_it(editor):
    deal = make_deal(live_at=NOW + DAY)
    keep(editor, deal, title="Better")
    moved = do(editor, "reschedule", deal, to_time="2026-11-30T08:00")["Location"]
    assert "Unpublished changes by eve" in editor.get(moved).content.decode()
    form = typed(editor.get(moved + OPENED))
    assert editor.post(moved + OPENED, form | {"action": "save"}).status_code == 302


def test_a_deal_without_changes_stays_as_it_is(editor):
    deal = make_deal()
    assert "Discard" not in editor.get(address(deal)).content.decode()
    response = do(editor, "discard-changes", deal, to_changes="1")
    assert said(response) == "There are no unpublished changes any more."
    assert deals.get(deal.id) == deal
