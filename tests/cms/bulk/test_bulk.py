"""Changing many deals: chosen in the list, previewed, started, followed, undone."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deal_changes, deals
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange, BulkTarget
from dealsite.data.entities.imports import REFUSED
from dealsite.data.jobs import jobs
from dealsite.data.table.ids import iso
from dealsite.data.table.writes import Update
from tests.builders import (
    DAY,
    EDITOR,
    NOW,
    PICTURE,
    make_brand,
    make_category,
    make_deal,
    make_draft,
    make_id,
)
from tests.cms.bulk.conftest import (
    BULK,
    KEYBOARDS,
    LIST,
    MINUTE,
    TO_TOYS,
    TOYS,
    categories,
    change,
    confirm,
    ids,
    order,
    text_of,
    work,
)
from tests.cms.conftest import HTMX, do
from tests.jobs import run_next

JOB = make_id(NOW, 5)


# The bar


def bar(response: Any) -> str:
    return response.content.decode().split('id="bulk"')[1].split("</form>")[0]


def test_each_row_has_a_box_and_the_bar_says_what_can_be_done(editor, made):
    page = editor.get(LIST)
    assert re.findall(r'name="deal"\s+value="([^"]+)"\s+form="bulk"', page.content.decode()) == ids(made)
    verb = re.compile(r'formaction="/cms/deals/do/(\w+)/"')
    both = ["price", "category", "brand", "voucher", "stock", "was_price", "duplicate", "delete"]
    offered = verb.findall(bar(page))
    assert offered[:5] == ["expire", "expiry", "price", "feature", "category"]
    assert {*offered} == {"expire", "expiry", "feature", "unfeature", "reschedule", *both}
    make_draft(title="Half")
    offered = verb.findall(bar(editor.get(LIST, {"state": "draft"})))
    assert offered[:3] == ["publish", "schedule", "expiry"]
    assert {*offered} == {"publish", "schedule", "expiry", *both}


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
    asked = {"state": "draft", "deal": half.id, "action": "publish"}
    assert 'action="/cms/deals/do/publish/"' not in editor.get(BULK, asked).content.decode()


def test_a_value_that_is_missing_is_asked_for(editor, made):
    for action, name in (
        ("category", "to_category"),
        ("expiry", "to_expiry"),
        ("brand", "to_brand"),
        ("feature", "to_page"),
        ("stock", "to_stock"),
        ("voucher", "to_voucher"),
        ("price", "to_price"),
        ("was_price", "to_was_price"),
        ("reschedule", "to_time"),
    ):
        for response in (
            editor.get(BULK, {"deal": made[0].id, "action": action}),
            do(editor, action, made[0], follow=True),
        ):
            html = response.content.decode()
            assert response.status_code == 200
            assert f'name="{name}"' in html
            assert f'name="deal" value="{made[0].id}"' in html


def test_what_is_no_change_of_these_is_not_found(editor, made):
    draft = make_draft(title="Half")
    for action, thing, more in (
        ("", made[0], {}),
        ("import", made[0], {}),
        ("publish", made[0], {}),
        ("reschedule", draft, {"state": "draft"}),
    ):
        assert editor.get(BULK, {"deal": thing.id, "action": action} | more).status_code == 404
        if action:
            assert do(editor, action, thing, **more).status_code == 404


@pytest.mark.parametrize(
    ("action", "sent", "why"),
    [
        ("expiry", {"to_expiry": "2026-11-20T09:00"}, "This time has passed. Choose a later one."),
        ("expiry", {"to_expiry": "soon"}, "Enter a date and a time of day"),
        ("expiry", {"to_expiry": "2102-01-01T00:00:00.000Z"}, "Enter a date and a time of day"),
        ("expiry", {"to_expiry": "\x00"}, "Null characters are not allowed."),
        ("reschedule", {"to_time": "2026-11-20T09:00"}, "This time has passed. Choose a later one."),
        ("brand", {"to_brand": "Nobody"}, "There is no such brand."),
        ("brand", {"to_brand": "###"}, "There is no such brand."),
        ("category", {"to_category": "nowhere"}, "Select a valid choice."),
        ("feature", {"to_page": "nowhere"}, "Select a valid choice."),
        ("stock", {"to_stock": "-1"}, "greater than or equal to 0"),
        ("stock", {"to_stock": "many"}, "Enter a whole number."),
        ("stock", {"to_stock": "1.000"}, "Enter a whole number."),
        ("stock", {"given": "1", "to_stock": ""}, "This field is required."),
        ("price", {"to_price": "?", "amount": "10"}, "Select a valid choice."),
        ("price", {"to_price": "-%", "amount": ""}, "This field is required."),
        ("price", {"to_price": "-%", "amount": "ten"}, "Write the amount with digits and a point"),
        ("price", {"to_price": "-%", "amount": "NaN"}, "Write the amount with digits and a point"),
        ("was_price", {"to_was_price": "+%", "amount": ""}, "This field is required."),
    ],
)
def test_a_wrong_value_is_asked_for_again(editor, made, action, sent, why):
    response = editor.get(BULK, {"deal": made[0].id, "action": action} | sent)
    assert response.status_code == 422
    assert why in text_of(response)
    led_to = do(editor, action, made[0], follow=True, **sent)
    asked = reverse("cms_do", args=[action]) if "given" in sent else BULK
    assert (led_to.request["PATH_INFO"], led_to.status_code) == (asked, 422)
    assert why in text_of(led_to)
    assert deals.get(made[0].id) == made[0]


def test_a_wrong_value_comes_back_as_it_was_typed(editor, made):
    typed = {"to_price": "+", "amount": "1,5,0", "ends_in_99": "on", "given": "1", "next": f"{LIST}?q=lamp"}
    html = do(editor, "price", made[0], follow=True, **typed).content.decode()
    assert re.search(r'name="amount"[^>]*value="1,5,0"', html)
    assert re.search(r'<option value="\+"\s+selected', html)
    assert re.search(r'name="ends_in_99"[^>]*checked', html)
    assert not re.search(r'name="keeps_was"[^>]*checked', html)
    assert f'name="next" value="{LIST}?q=lamp"' in " ".join(html.split())


def test_nothing_chosen_leads_back_to_the_list(editor, made):
    response = editor.get(BULK, {"action": "expire", "state": "live", "deal": "nonsense"}, follow=True)
    assert response.redirect_chain == [("/cms/deals/?state=live", 302)]
    assert "No deals were chosen." in text_of(response)


def test_the_way_back_is_the_page_that_one_came_from(editor, made):
    here = f"{LIST}?state=live&after=x"
    html = editor.get(BULK, {"deal": made[0].id, "next": here} | TOYS).content.decode()
    assert 'href="/cms/deals/?state=live&amp;after=x"' in html
    assert 'name="next" value="/cms/deals/?state=live&amp;after=x"' in " ".join(html.split())


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


def test_more_than_25_are_asked_about_first_and_changed_by_a_job(editor):
    make_category("toys-hobbies")
    many = [make_deal(live_at=NOW - (n + 1) * MINUTE, now=NOW - DAY) for n in range(26)]
    asked = do(editor, "category", *many, follow=True, **TO_TOYS)
    assert asked.request["PATH_INFO"] == BULK
    assert "26 deals are chosen." in text_of(asked)
    assert "It runs in the background" in text_of(asked)
    response = confirm(editor, asked, deal=ids(many))
    assert re.fullmatch(r"/cms/deals/bulk/[0-9A-Z]{26}/", response.request["PATH_INFO"])
    assert "Waiting" in text_of(response)
    assert set(categories(many)) == {KEYBOARDS}
    assert confirm(editor, asked, deal=ids(many)).request["PATH_INFO"] == response.request["PATH_INFO"]
    work()
    assert set(categories(many)) == {"toys-hobbies"}
    assert {deals.get(deal.id).version for deal in many} == {2}
    page = text_of(editor.get(response.request["PATH_INFO"]))
    assert "Changed 26 Not changed 0 Of 26" in page


def test_all_of_a_list_is_asked_about_first_and_changed_by_a_job(editor, made):
    asked = editor.post(
        reverse("cms_do", args=["expire"]), {"all": "1", "state": "live", "asked_at": iso(NOW)}, follow=True
    )
    assert asked.request["PATH_INFO"] == BULK
    assert {deals.get(deal.id).version for deal in made} == {1}
    order(editor, all="1", state="live", action="expire")
    work()
    assert {deals.get(deal.id).card.state(NOW + MINUTE) for deal in made} == {"expired"}


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


def test_ordering_twice_is_one_order(editor, made):
    looked_at = editor.get(BULK, {"all": "1"} | TOYS)
    first, second = confirm(editor, looked_at), confirm(editor, looked_at)
    assert first.request["PATH_INFO"] == second.request["PATH_INFO"]
    work()
    assert {deals.get(deal.id).version for deal in made} == {2}


def test_what_was_edited_between_looking_and_confirming_is_left_alone(editor, made, monkeypatch):
    looked_at = editor.get(BULK, {"all": "1"} | TOYS)
    make_category("audio-tv-photo")
    change(made[0], category="audio-tv-photo")
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * MINUTE)
    confirm(editor, looked_at)
    for turn in range(5):
        run_next(now=NOW + 2 * MINUTE + timedelta(seconds=turn))
    assert categories(made) == ["audio-tv-photo", "toys-hobbies", "toys-hobbies"]


# Its page


def ordered(made: list[deals.Deal], **more: Any) -> str:
    change = BulkChange("deal", "category", "toys-hobbies")
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


def test_the_page_says_that_another_worker_goes_on_if_that_of_a_part_died(editor, made):
    address = ordered(made)
    table.write(Update(key=keys.job(JOB), set={"error": jobs.SILENT}))
    assert f'text-muted wrap-anywhere">{jobs.SILENT}<' in editor.get(address).content.decode()


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
    deal_changes.delete(gone, by="olga", now=NOW)
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
    deal_changes.delete(deal, by="olga", now=NOW)
    work()
    text = b"".join(editor.get(f"{address}report/").streaming_content).decode()
    assert "'=HYPERLINK(1)" in text
    assert ",=HYPERLINK" not in text


def test_a_long_report_is_read_in_parts_and_paged(editor, made, monkeypatch):
    monkeypatch.setattr("cms.bulk.ROWS_AT_ONCE", 2)
    monkeypatch.setattr("cms.bulk.SHOWN", 2)
    address = ordered(made)
    for deal in made:
        deal_changes.delete(deal, by="olga", now=NOW)
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
    assert f'name="next" value="{address}"' in " ".join(html.split())
    response = other_editor.post(f"{address}undo/", {"next": address}, follow=True)
    assert response.request["PATH_INFO"] == address
    assert "Undone: Change category to Toys &amp; Hobbies." in text_of(response)
    assert set(categories(made)) == {KEYBOARDS}
    html = response.content.decode()
    assert 'id="undo-bulk"' not in html
    (undo,) = {*re.findall(rf'href="({BULK}[0-9A-Z]{{26}}/)"', html)} - {address}
    assert f'href="{address}"' in editor.get(undo).content.decode()
    assert "Undo: Change category to Toys &amp; Hobbies" in text_of(editor.get(undo))


def test_a_change_of_many_is_undone_by_a_job(editor, made, monkeypatch):
    monkeypatch.setattr("cms.bulk.AT_ONCE", 2)
    address = ordered(made)
    work()
    response = editor.post(f"{address}undo/", {"next": address}, follow=True)
    assert "Undo: Change category to Toys &amp; Hobbies" in text_of(response)
    assert set(categories(made)) == {"toys-hobbies"}
    work()
    assert set(categories(made)) == {KEYBOARDS}


def test_undoing_what_was_undone_says_so(editor, made):
    address = ordered(made)
    work()
    bulk.undo(bulk.get(JOB), undo_id=make_id(NOW), by=EDITOR, now=NOW)
    response = editor.post(f"{address}undo/", follow=True)
    assert "This was undone already." in text_of(response)
    assert editor.post(f"{BULK}x/undo/").status_code == 404


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
    for address in (reverse("cms_do", args=["expire"]), f"{BULK}{JOB}/undo/"):
        assert office.post(address).status_code == 403
    assert bulk.rows(JOB, REFUSED) == []
