"""Changing many deals at once: chosen in the list, previewed, started, followed, undone."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from dealsite.data.catalogue import brands, deals, drafts, featured
from dealsite.data.catalogue.deal import deleting, editing
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange, BulkTarget
from dealsite.data.editing.bulk_change import bulk_progress
from dealsite.data.entities.batches import REFUSED
from dealsite.data.jobs import jobs
from dealsite.data.table.ids import iso
from dealsite.worker import loop
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    PICTURE,
    make_brand,
    make_category,
    make_deal,
    make_draft,
    make_id,
)
from tests.cms.conftest import HTMX, inputs

LIST, BULK, START = "/cms/deals/", "/cms/deals/bulk/", "/cms/deals/bulk/start/"
JOB = make_id(NOW, 5)
TOYS = {"action": "category", "to_category": "toys-hobbies"}


@pytest.fixture
def made() -> list[deals.Deal]:
    make_category("toys-hobbies")
    return [make_deal(live_at=NOW - (n + 1) * HOUR, now=NOW - DAY, title=f"Deal {n}") for n in range(3)]


def text_of(response: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def ids(things: list[Any]) -> list[str]:
    return [thing.id for thing in things]


def work() -> None:
    for turn in range(20):
        if not loop.run_next(now=NOW + timedelta(seconds=turn + 1)):
            return


def order(browser: Any, **data: Any) -> Any:
    """Look at a change and confirm it; return the page of its job."""
    looked_at = browser.get(BULK, data)
    assert looked_at.status_code == 200, text_of(looked_at)
    sent = inputs(looked_at) | ({"deal": data["deal"]} if "deal" in data else {})
    return browser.post(START, sent, follow=True)


# The bar


def test_each_row_has_a_box_and_the_bar_says_what_can_be_done(editor, made):
    html = editor.get(LIST).content.decode()
    assert re.findall(r'name="deal"\s+value="([^"]+)"\s+form="bulk"', html) == ids(made)
    actions = re.findall(r'<option value="(\w+)">', html.split('id="bulk-action"')[1].split("</select>")[0])
    assert actions == ["expire", "expiry", "category", "brand", "feature", "unfeature", "delete"]
    make_draft(title="Half")
    drafts_page = editor.get(LIST, {"state": "draft"}).content.decode()
    actions = re.findall(
        r'<option value="(\w+)">', drafts_page.split('id="bulk-action"')[1].split("</select>")[0]
    )
    assert actions == ["publish", "expiry", "category", "brand", "delete"]


def test_the_bar_knows_how_many_match(editor, made, search_index):
    assert "All that match" in text_of(editor.get(LIST))
    search_index()
    assert "All 3 that match" in text_of(editor.get(LIST))
    assert "The 1 deal that matches" in text_of(editor.get(LIST, {"q": "Deal 1"}))


def test_the_bar_keeps_the_filters(editor, made):
    html = editor.get(
        LIST, {"state": "live", "brand": "Nordlicht", "category": "peripherals-networking"}
    ).content
    bar = html.decode().split('id="bulk"')[1]
    for name, value in (("state", "live"), ("brand", "nordlicht"), ("category", "peripherals-networking")):
        assert f'name="{name}" value="{value}"' in bar


# Looking at what would change


def test_a_change_shows_what_was_and_what_will_be(editor, made):
    page = text_of(editor.get(BULK, {"deal": ids(made)[:2]} | TOYS))
    for words in (
        "Change category to Toys &amp; Hobbies",
        "2 deals are chosen.",
        "Before: Peripherals",
        "After: Toys &amp; Hobbies",
        "Deal 0",
        "Deal 1",
    ):
        assert words in page
    assert "Deal 2" not in page


def test_looking_changes_nothing(editor, made):
    editor.get(BULK, {"all": "1"} | TOYS)
    work()
    assert {deals.get(deal.id).version for deal in made} == {1}


def test_what_cannot_be_changed_says_why(editor):
    make_draft(title="Half")
    half = make_draft(title="Other half")
    page = text_of(editor.get(BULK, {"state": "draft", "deal": half.id, "action": "publish"}))
    assert "1 cannot be changed" in page
    assert (
        "Other half Choose a brand, or enter a new one. Choose a category. Enter the link to the shop. "
        "Enter the price, or what there is instead of one." in page
    )
    assert "Publish drafts" in page
    assert (
        'action="/cms/deals/bulk/start/"'
        not in editor.get(BULK, {"state": "draft", "deal": half.id, "action": "publish"}).content.decode()
    )


def test_a_value_that_is_missing_is_asked_for(editor, made):
    for action, name in (
        ("category", "to_category"),
        ("expiry", "to_expiry"),
        ("brand", "to_brand"),
        ("feature", "to_page"),
    ):
        response = editor.get(BULK, {"deal": made[0].id, "action": action})
        html = response.content.decode()
        assert response.status_code == 200
        assert f'name="{name}"' in html
        assert f'name="deal" value="{made[0].id}"' in html


def test_the_action_is_asked_for_where_none_was_chosen(editor, made):
    html = editor.get(BULK, {"deal": made[0].id, "action": ""}).content.decode()
    assert '<select class="select" id="id_action"' in html


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"action": "expiry", "to_expiry": "2026-11-20T09:00"}, "This time is past."),
        ({"action": "expiry", "to_expiry": "soon"}, "Enter a date and a time of day"),
        ({"action": "brand", "to_brand": "Nobody"}, "There is no such brand."),
        ({"action": "brand", "to_brand": "###"}, "There is no such brand."),
        ({"action": "category", "to_category": "nowhere"}, "Select a valid choice."),
        ({"action": "feature", "to_page": "nowhere"}, "Select a valid choice."),
    ],
)
def test_a_wrong_value_is_asked_for_again(editor, made, sent, said):
    response = editor.get(BULK, {"deal": made[0].id} | sent)
    assert response.status_code == 422
    assert said in text_of(response)


def test_nothing_chosen_leads_back_to_the_list(editor, made):
    response = editor.get(BULK, {"action": "expire", "state": "live", "deal": "nonsense"}, follow=True)
    assert response.redirect_chain == [("/cms/deals/?state=live", 302)]
    assert "No deals were chosen." in text_of(response)


def test_the_way_back_is_the_list_alone(editor, made):
    html = editor.get(
        BULK, {"deal": made[0].id, "back": "?state=live&after=x&evil=1"} | TOYS
    ).content.decode()
    assert 'href="/cms/deals/?state=live&amp;after=x"' in html
    assert not re.search('href="[^"]*evil', html)


def test_lists_that_are_none_are_not_found(editor):
    assert editor.get(BULK, {"all": "1", "state": "odd"}).status_code == 404
    assert editor.get(BULK, {"all": "1", "category": "odd"}).status_code == 404
    assert editor.get(BULK, {"all": "1", "brand": "odd", "action": "expire"}).status_code == 404


def test_a_preview_of_a_whole_list_reads_one_page_of_it(editor, calls, monkeypatch):
    make_category("toys-hobbies")
    for n in range(30):
        make_deal(live_at=NOW - (n + 1) * timedelta(minutes=1), now=NOW - DAY, title=f"Deal {n}")
    made = calls(lambda: editor.get(BULK, {"all": "1"} | TOYS))
    assert sorted(made) == ["BatchGetItem", "BatchGetItem", "Query", "Query"]
    page = text_of(editor.get(BULK, {"all": "1"} | TOYS))
    assert "Deal 24" in page
    assert "Deal 25" not in page
    assert "what comes later is left alone" in page


def test_a_preview_of_a_selection_reads_the_selection(editor, made, calls):
    assert sorted(calls(lambda: editor.get(BULK, {"deal": ids(made)} | TOYS))) == [
        "BatchGetItem",
        "BatchGetItem",
    ]


# Ordering


def test_a_selection_is_changed_and_its_page_says_so(editor, made):
    response = order(editor, deal=ids(made)[:2], **TOYS)
    assert re.fullmatch(r"/cms/deals/bulk/[0-9A-Z]{26}/", response.request["PATH_INFO"])
    assert "Waiting" in text_of(response)
    work()
    page = text_of(editor.get(response.request["PATH_INFO"]))
    assert "Change category to Toys &amp; Hobbies" in page
    assert "Done" in page
    assert "Changed 2 Not changed 0 Of 2" in page
    assert [deals.get(deal.id).content.category for deal in made] == [
        "toys-hobbies",
        "toys-hobbies",
        "peripherals-networking",
    ]


def test_all_that_match_are_changed(editor, made):
    make_brand("Aurora")
    order(editor, all="1", state="live", brand="Nordlicht", action="brand", to_brand="Aurora")
    work()
    assert brands.get_with_counts("aurora").deals == 3


def test_all_that_search_finds_are_changed(editor, made, search_index, monkeypatch):
    search_index()
    make_category("toys-hobbies")
    monkeypatch.setattr("dealsite.worker.bulk.CHUNK", 2)
    other = make_deal(title="Else", now=NOW - DAY)
    order(editor, all="1", q="deal", **TOYS)
    work()
    assert {deals.get(deal.id).content.category for deal in made} == {"toys-hobbies"}
    assert deals.get(other.id).content.category == "peripherals-networking"


def test_all_that_lacks_something_is_changed_and_nothing_else(editor, made, search_index, monkeypatch):
    make_category("toys-hobbies")
    monkeypatch.setattr("dealsite.worker.bulk.CHUNK", 2)
    complete = make_deal(title="Complete", picture=PICTURE, now=NOW - DAY)
    search_index()
    bar = editor.get(LIST, {"lacks": "picture"}).content.decode().split('id="bulk"')[1]
    assert 'name="lacks" value="picture"' in bar
    preview = editor.get(BULK, {"all": "1", "lacks": "picture"} | TOYS).content.decode()
    assert 'name="lacks" value="picture"' in preview
    assert "Complete" not in preview
    page = text_of(order(editor, all="1", lacks="picture", **TOYS))
    assert "All of the list:" in page
    assert "Without a picture" in page
    work()
    assert {deals.get(deal.id).content.category for deal in made} == {"toys-hobbies"}
    assert deals.get(complete.id).content.category == "peripherals-networking"
    assert editor.get(BULK, {"all": "1", "lacks": "sense"} | TOYS).status_code == 404


def test_drafts_are_published(editor):
    draft = make_draft(
        title="Desk",
        brand="Nordlicht",
        category="peripherals-networking",
        price=make_deal().content.price,
        link="https://shop.example/x",
    )
    order(editor, deal=[draft.id], state="draft", action="publish")
    work()
    assert deals.get(drafts.get(draft.id).published_as).content.title == "Desk"


def test_an_expiry_is_given_in_the_editors_zone(sign_in, made):
    browser = sign_in("editor", zone="Asia/Tokyo")
    order(browser, deal=[made[0].id], action="expiry", to_expiry="2026-11-30T09:00")
    work()
    assert iso(deals.get(made[0].id).content.expires_at) == "2026-11-30T00:00:00.000Z"


def test_deals_are_featured(editor, made):
    order(editor, deal=ids(made), action="feature", to_page="front")
    work()
    assert featured.get("front").ids == ids(made)


@pytest.mark.parametrize(
    "changes",
    [
        {"token": "x"},
        {"asked_at": "x"},
        {"asked_at": "2026-11-21T12:00:00"},
        {"asked_at": iso(NOW - 2 * DAY)},
        {"asked_at": iso(NOW + HOUR)},
        {"to_category": "nowhere"},
        {"action": "publish"},
        {"deal": []},
    ],
)
def test_a_damaged_order_is_refused(editor, made, changes):
    looked_at = editor.get(BULK, {"deal": ids(made)} | TOYS)
    sent = inputs(looked_at) | {"deal": ids(made)} | changes
    assert editor.post(START, sent).status_code == 400
    work()
    assert {deals.get(deal.id).version for deal in made} == {1}


def test_ordering_twice_is_one_order(editor, made):
    looked_at = editor.get(BULK, {"deal": ids(made)} | TOYS)
    sent = inputs(looked_at) | {"deal": ids(made)}
    first, second = editor.post(START, sent), editor.post(START, sent)
    assert first["Location"] == second["Location"]
    work()
    assert {deals.get(deal.id).version for deal in made} == {2}


def test_what_was_edited_between_looking_and_confirming_is_left_alone(editor, made, monkeypatch):
    from django.utils import timezone

    looked_at = editor.get(BULK, {"deal": ids(made)} | TOYS)
    deal = made[0]
    make_category("audio-tv-photo")
    from dataclasses import replace

    content = replace(deal.content, category="audio-tv-photo")
    editing.edit(deal, content, version=1, brand=make_brand(), by="olga", now=NOW + timedelta(seconds=5))
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(seconds=9))
    editor.post(START, inputs(looked_at) | {"deal": ids(made)})
    for turn in range(5):
        loop.run_next(now=NOW + timedelta(seconds=10 + turn))
    assert deals.get(deal.id).content.category == "audio-tv-photo"
    assert deals.get(made[1].id).content.category == "toys-hobbies"


# Its page


def ordered(made: list[deals.Deal], **more: Any) -> str:
    change = BulkChange("deal", bulk.CATEGORY, "toys-hobbies")
    targets = [BulkTarget(deal.id, deal.content.title, "peripherals-networking") for deal in made]
    bulk.start(change, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, targets=targets, **more)
    return f"{BULK}{JOB}/"


def test_the_page_renews_itself_until_it_is_over(editor, made):
    address = ordered(made)
    part = editor.get(address, headers=HTMX).content.decode()
    assert "<html" not in part
    assert 'hx-trigger="every 2s, seen-again"' in part
    work()
    assert "every 2s" not in editor.get(address).content.decode()


def test_a_job_can_be_paused_and_cancelled_from_its_page(editor, made):
    address = ordered(made)
    html = editor.get(address).content.decode()
    assert f'id="pause-{JOB}"' in html
    response = editor.post(reverse("cms_pause_job", args=[JOB]), {"next": address})
    assert response["Location"] == address
    assert "Paused" in text_of(editor.get(address))
    editor.post(reverse("cms_cancel_job", args=[JOB]), {"next": address})
    work()
    assert {deals.get(deal.id).version for deal in made} == {1}


def test_jobs_lead_to_its_page(editor, made):
    address = ordered(made)
    work()
    html = editor.get("/cms/jobs/").content.decode()
    assert f'href="{address}"' in html
    assert "3 changed" in " ".join(html.split())


def test_those_left_alone_are_listed_and_can_be_fetched(editor, made):
    address = ordered(made)
    gone = made[1]
    deleting.delete(gone, by="olga", now=NOW)
    work()
    page = text_of(editor.get(address))
    assert "Deal 1 It was deleted meanwhile." in page
    response = editor.get(f"{address}report/")
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    assert list(csv.reader(io.StringIO(text))) == [
        ["Id", "Title", "Why it was not changed"],
        [gone.id, "Deal 1", "It was deleted meanwhile."],
    ]
    assert response["Content-Disposition"] == f'attachment; filename="not-changed-{JOB}.csv"'
    assert response["X-Content-Type-Options"] == "nosniff"


def test_no_cell_of_the_report_is_a_formula(editor):
    make_category("toys-hobbies")
    deal = make_deal(title="=HYPERLINK(1)", now=NOW - DAY)
    address = ordered([deal])
    deleting.delete(deal, by="olga", now=NOW)
    work()
    text = b"".join(editor.get(f"{address}report/").streaming_content).decode()
    assert "'=HYPERLINK(1)" in text
    assert ",=HYPERLINK" not in text


def test_a_long_report_is_read_in_parts_and_paged(editor, made, monkeypatch):
    monkeypatch.setattr("cms.bulk.bulk.ROWS_AT_ONCE", 2)
    monkeypatch.setattr("cms.bulk.bulk.SHOWN", 2)
    address = ordered(made)
    for deal in made:
        deleting.delete(deal, by="olga", now=NOW)
    work()
    html = editor.get(address).content.decode()
    after = re.search(r'href="\?after=([0-9A-Z]{26})"', html)
    assert after
    rest = text_of(editor.get(address, {"after": after[1]}))
    assert rest.count("It was deleted meanwhile.") == 1
    text = b"".join(editor.get(f"{address}report/").streaming_content).decode()
    assert text.count("It was deleted meanwhile.") == 3


def test_a_change_is_undone_from_its_page(editor, other_editor, made):
    address = ordered(made)
    assert 'id="undo-bulk"' not in editor.get(address).content.decode()
    work()
    html = other_editor.get(address).content.decode()
    assert 'id="undo-bulk"' in html
    token = re.search(r'name="token" value="([^"]+)"', html)
    response = other_editor.post(f"{address}undo/", {"token": token[1]}, follow=True)
    assert response.request["PATH_INFO"] == f"{BULK}{token[1]}/"
    assert "Undo: Change category to Toys &amp; Hobbies" in text_of(response)
    work()
    assert {deals.get(deal.id).content.category for deal in made} == {"peripherals-networking"}
    html = editor.get(address).content.decode()
    assert 'id="undo-bulk"' not in html
    assert f'href="{BULK}{token[1]}/"' in html
    assert f'href="{address}"' in editor.get(f"{BULK}{token[1]}/").content.decode()


def test_undoing_what_was_undone_says_so(editor, made):
    address = ordered(made)
    work()
    bulk.undo(JOB, undo_id=make_id(NOW), by=EDITOR, now=NOW)
    response = editor.post(f"{address}undo/", {"token": make_id(NOW)}, follow=True)
    assert "This was undone already." in text_of(response)
    assert editor.post(f"{address}undo/", {"token": "x"}).status_code == 400


def test_other_jobs_have_no_such_page(editor, made):
    brands.edit(make_brand(), name="Nord", description="", logo=None, by=EDITOR, now=NOW)
    (job_id,) = [job.id for job in [jobs.take_next(now=NOW)] if job]
    for address in (f"{BULK}{job_id}/", f"{BULK}{job_id}/report/", f"{BULK}x/"):
        assert editor.get(address).status_code == 404


def test_only_editors_change_many_deals(sign_in, made):
    ordered(made)
    office = sign_in("back office")
    for address in (BULK, f"{BULK}{JOB}/", f"{BULK}{JOB}/report/"):
        assert office.get(address).status_code == 403
    for address in (START, f"{BULK}{JOB}/undo/"):
        assert office.post(address).status_code == 403
    assert bulk_progress.rows(JOB, REFUSED) == []
