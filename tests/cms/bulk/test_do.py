"""What a button does to deals and drafts at once: one sentence, one undo, once, and nothing over others' heads."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data.catalogue import deal_changes, deals, drafts, featured
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange, BulkTarget
from dealsite.data.table.ids import iso
from tests.builders import CONDITION, DAY, HOUR, NOW, make_brand, make_category, make_deal, make_draft
from tests.cms.bulk.conftest import (
    BULK,
    KEYBOARDS,
    LIST,
    LOWER,
    MINUTE,
    TO_TOYS,
    TOYS,
    categories,
    change,
    ids,
    job_of,
    order,
    text_of,
    work,
)
from tests.cms.conftest import do, inputs, said, way_back


def press(browser: Any, address: str, verb: str, deal: deals.Deal, form_id: str = "") -> Any:
    """Press the button of a page that does a verb to a deal: of the form of this id, or of one of its own."""
    html, target = browser.get(address).content.decode(), reverse("cms_do", args=[verb])
    begins = f'id="{form_id}"' if form_id else f'action="{target}"'
    forms = [one for one in re.findall(r"<form.*?</form>", html, re.S) if begins in one.split(">")[0]]
    form = next(one for one in forms if form_id or deal.id in one)
    assert f'formaction="{target}"' in html or not form_id
    sent = dict(re.findall(r'<input type="hidden"\s+name="(\w+)"\s+value="([^"]*)"', form))
    assert datetime.fromisoformat(sent["asked_at"]) == NOW
    return browser.post(target, {name: unescape(one) for name, one in sent.items()} | {"deal": deal.id})


def test_a_selection_is_changed_at_once_and_a_note_says_so(editor, made):
    response = do(editor, "category", *made[:2], next=f"{LIST}?q=deal", **TO_TOYS)
    assert response["Location"] == f"{LIST}?q=deal"
    assert said(response) == "Change category to Toys & Hobbies: 2 changed."
    assert categories(made) == ["toys-hobbies", "toys-hobbies", KEYBOARDS]
    page = text_of(editor.get(f"{BULK}{job_of(editor)}/"))
    assert "Change category to Toys &amp; Hobbies" in page
    assert "Done" in page
    assert "Changed 2 Not changed 0 Of 2" in page


def test_a_selection_that_was_looked_at_first_is_changed_at_once_as_well(editor, made):
    page = text_of(editor.get(BULK, {"deal": ids(made)} | TOYS))
    assert "It is done at once, and can be undone for 30 days." in page
    response = order(editor, deal=ids(made), **TOYS)
    assert response.request["PATH_INFO"] == LIST
    assert "3 changed." in text_of(response)
    assert set(categories(made)) == {"toys-hobbies"}


SENTENCES = {
    "expire": "“Lamp” has ended. Shoppers can still reach it, marked as over.",
    "delete": "“Lamp” is in the trash, where it stays for 30 days.",
    "duplicate": "This is the copy of “Lamp”: a draft of its own.",
}


@pytest.mark.parametrize(
    ("verb", "place", "leads_to"),
    [
        ("expire", "bar", "list"),
        ("expire", "deal", "deal"),
        ("expire", "palette", "deal"),
        ("expire", "overview", "overview"),
        ("delete", "bar", "list"),
        ("delete", "row", "list"),
        ("delete", "deal", "list"),
        ("duplicate", "bar", "copy"),
        ("duplicate", "row", "copy"),
        ("duplicate", "palette", "copy"),
    ],
)
def test_every_button_of_a_verb_does_the_same_and_says_the_same(editor, search_index, verb, place, leads_to):
    deal = make_deal(title="Lamp", stock=0)
    search_index()
    pages = {
        "list": f"{LIST}?state=live",
        "deal": reverse("cms_deal", args=[deal.id]),
        "palette": f"{reverse('cms_palette')}?q=lamp",
        "overview": reverse("cms_attention", args=["sold-out"]),
    }
    form_id = {"bar": "bulk", "row": "row-actions"}.get(place, "")
    answer = press(editor, pages.get(place, pages["list"]), verb, deal, form_id)
    assert said(answer) == SENTENCES[verb]
    if leads_to == "copy":
        copy = drafts.get(answer["Location"].removeprefix("/cms/drafts/").strip("/"))
        assert copy.content == replace(deal.content, stock=None)
    elif (verb, place) == ("delete", "deal"):
        assert answer["Location"] == LIST
    else:
        assert answer["Location"] == pages[leads_to]
    undone = editor.post(way_back(answer).address, way_back(answer).fields)
    assert said(undone) == "“Lamp” is as it was before."
    assert deals.get(deal.id).content == deal.content


def test_a_note_offers_undo_which_leads_back_to_the_same_page(editor, made):
    here = f"{LIST}?state=live"
    shown = do(editor, "category", made[0], next=here, follow=True, **TO_TOYS)
    assert shown.redirect_chain == [(here, 302)]
    assert "“Deal 0” is in the category Toys &amp; Hobbies now. Undo" in text_of(shown)
    back = way_back(do(editor, "category", made[1], next=here, **TO_TOYS))
    answer = editor.post(back.address, back.fields)
    assert answer["Location"] == here
    assert said(answer) == "“Deal 1” is as it was before."
    assert categories(made) == ["toys-hobbies", KEYBOARDS, KEYBOARDS]


def test_several_are_undone_from_their_note(editor, made):
    back = way_back(do(editor, "category", *made, **TO_TOYS))
    answer = editor.post(back.address, back.fields)
    assert (answer["Location"], said(answer)) == (LIST, "Undone: Change category to Toys & Hobbies.")
    assert set(categories(made)) == {KEYBOARDS}


def test_an_undo_leaves_what_others_changed_since_and_says_who(editor, made):
    back = way_back(do(editor, "category", made[0], **TO_TOYS))
    make_category("audio-tv-photo")
    change(deals.get(made[0].id), category="audio-tv-photo")
    answer = editor.post(back.address, back.fields)
    assert said(answer) == "olga changed it since."
    assert categories(made)[0] == "audio-tv-photo"


@pytest.mark.parametrize(("chosen", "price"), [(1, "71.91"), (3, "71.91")])
def test_a_double_click_does_it_once(editor, made, chosen, price):
    first, second = (do(editor, "price", *made[:chosen], **LOWER) for _ in range(2))
    assert [said(first), first["Location"]] == [said(second), second["Location"]]
    for deal in made[:chosen]:
        assert (deals.get(deal.id).content.price, deals.get(deal.id).version) == (Decimal(price), 2)
    assert way_back(first) == way_back(second)


def test_a_copy_is_made_once_however_often_it_is_clicked(editor, made):
    first, second = (do(editor, "duplicate", made[0]) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert first["Location"].startswith("/cms/drafts/")
    drafts_page = editor.get(LIST, {"state": "draft"}).content.decode()
    assert len(re.findall(r'name="deal"\s+value="[^"]+"\s+form="bulk"', drafts_page)) == 1


def test_the_same_asked_on_a_page_that_was_shown_later_is_done_again(editor, made, monkeypatch):
    do(editor, "price", made[0], **LOWER)
    monkeypatch.setattr(timezone, "now", lambda: NOW + MINUTE)
    do(editor, "price", made[0], **LOWER)
    assert deals.get(made[0].id).content.price == Decimal("64.72")


def test_what_others_changed_since_the_page_was_shown_is_left_alone_with_both_values(
    editor, made, monkeypatch
):
    make_category("audio-tv-photo")
    change(made[0], category="audio-tv-photo", price=Decimal("70.00"))
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * MINUTE)
    answer = do(editor, "category", made[0], asked_at=iso(NOW), **TO_TOYS)
    assert said(answer) == (
        "olga changed it meanwhile. Its value is now: Audio, TV & Photo. You asked for: Toys & Hobbies."
    )
    assert answer["Location"] == LIST
    answer = do(editor, "price", made[0], asked_at=iso(NOW), **LOWER)
    assert said(answer) == (
        "olga changed it meanwhile. Its value is now: €70.00 · RRP €119.00. "
        "You asked for: €63.00 · RRP €119.00."
    )
    assert said(do(editor, "delete", made[0], asked_at=iso(NOW))) == "olga changed it meanwhile."
    assert deals.get(made[0].id).content.category == "audio-tv-photo"
    assert deals.get(made[0].id).content.price == Decimal("70.00")


def test_a_value_that_was_given_comes_back_with_who_changed_the_deal_whatever_it_was(editor, monkeypatch):
    deal = make_deal(now=NOW - DAY, stock=3)
    change(deal, title="Better")
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * MINUTE)
    page = do(editor, "stock", deal, to_stock="5", given="1", version="1")
    assert page.status_code == 422
    assert "olga changed it meanwhile." in text_of(page)
    again = inputs(page)
    assert (again["to_stock"], again["version"]) == ("5", "2")
    assert said(editor.post("/cms/deals/do/stock/", again)) == "The stock of “Better” is 5 now."


def test_what_others_changed_in_any_way_since_the_page_was_shown_is_left_as_they_left_it(
    editor, made, monkeypatch
):
    change(made[0], title="Better")
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * MINUTE)
    answer = do(editor, "category", made[0], asked_at=iso(NOW), **TO_TOYS)
    assert said(answer).startswith("olga changed it meanwhile.")
    content = deals.get(made[0].id).content
    assert (content.title, content.category) == ("Better", KEYBOARDS)
    assert said(do(editor, "category", made[0], **TO_TOYS)) == (
        "“Better” is in the category Toys & Hobbies now."
    )


def test_several_with_one_that_cannot_be_changed_lead_to_the_page_that_says_why(editor, made):
    other = make_deal(title="Toy already", category="toys-hobbies", now=NOW - DAY)
    answer = do(editor, "category", *made, other, follow=True, **TO_TOYS)
    assert re.fullmatch(r"/cms/deals/bulk/[0-9A-Z]{26}/", answer.request["PATH_INFO"])
    assert "Changed 3 Not changed 1 Of 4" in text_of(answer)
    assert "Toy already It is in this category already." in text_of(answer)
    assert 'id="undo-bulk"' in answer.content.decode()


def test_a_preview_of_prices_shows_each_before_and_after_and_which_cannot_change(editor, made):
    dear = make_deal(title="Dear", price=Decimal("200"), was_price=None, now=NOW - DAY)
    no_price = make_deal(title="Shoes", now=NOW - DAY, **CONDITION)
    cheap = make_deal(title="Cheap", price=Decimal("0.50"), was_price=None, now=NOW - DAY)
    chosen = [made[0], dear, no_price, cheap]
    asked = {"action": "price", "ends_in_99": "on", "keeps_was": "on"} | LOWER
    page = text_of(editor.get(BULK, {"deal": ids(chosen)} | asked))
    assert "Deal 0 Before: €79.90 · RRP €119.00 After: €70.99 · RRP €79.90" in page
    assert "Dear Before: €200.00 After: €179.99 · RRP €200.00" in page
    assert "2 cannot be changed" in page
    assert "Shoes It has no price that could change." in page
    assert "Cheap Its price would be below one cent." in page
    order(editor, deal=ids(chosen), **asked)
    assert [deals.get(one.id).content.price for one in chosen] == [
        Decimal("70.99"),
        Decimal("179.99"),
        None,
        Decimal("0.50"),
    ]
    assert deals.get(dear.id).content.was_price == Decimal("200")


def test_a_value_that_is_typed_for_one_is_set_at_once(editor, made):
    page = do(editor, "price", made[0], next=f"{LIST}?q=deal", follow=True)
    sent = inputs(page)
    assert page.request["PATH_INFO"] == BULK
    answer = confirm_value(editor, page, sent | LOWER | {"to_price": "="})
    assert answer["Location"] == f"{LIST}?q=deal"
    assert said(answer) == "“Deal 0” has its new price."
    assert deals.get(made[0].id).content.price == Decimal("10")


def confirm_value(browser: Any, page: Any, sent: dict[str, Any]) -> Any:
    address = re.search(r'method="post" action="(/cms/deals/do/\w+/)"', page.content.decode())
    assert address
    return browser.post(address[1], sent)


def test_a_value_that_is_typed_for_several_is_looked_at_first(editor, made):
    page = do(editor, "price", *made, follow=True)
    assert "See what will change" in text_of(page)
    assert 'method="post" action="/cms/deals/do/' not in page.content.decode()
    assert {deals.get(deal.id).version for deal in made} == {1}


def test_an_empty_code_is_a_value(editor):
    deal = make_deal(voucher_code="SAVE5", now=NOW - DAY)
    page = do(editor, "voucher", deal, follow=True)
    answer = confirm_value(editor, page, inputs(page) | {"to_voucher": ""})
    assert said(answer) == "The voucher code of “Mechanical keyboard” is none now."
    assert deals.get(deal.id).content.voucher_code == ""


def test_25_are_changed_at_once(editor):
    make_category("toys-hobbies")
    many = [make_deal(live_at=NOW - (n + 1) * MINUTE, now=NOW - DAY) for n in range(25)]
    assert said(do(editor, "category", *many, **TO_TOYS)) == "Change category to Toys & Hobbies: 25 changed."
    assert set(categories(many)) == {"toys-hobbies"}


def test_drafts_are_published(editor):
    draft = make_draft(
        title="Desk",
        brand="Nordlicht",
        category="peripherals-networking",
        price=make_deal().content.price,
        link="https://shop.example/x",
    )
    answer = do(editor, "publish", draft, state="draft")
    assert said(answer) == "“Desk” is published."
    deal = deals.get(drafts.get(draft.id).published_as)
    assert (deal.content.title, deal.live_at) == ("Desk", NOW)
    editor.post(way_back(answer).address, way_back(answer).fields)
    assert not drafts.get(draft.id).published_as


def test_an_expiry_is_given_in_the_editors_zone(sign_in, made):
    browser = sign_in("editor", zone="Asia/Tokyo")
    do(browser, "expiry", made[0], to_expiry="2026-11-30T09:00")
    assert iso(deals.get(made[0].id).content.expires_at) == "2026-11-30T00:00:00.000Z"


def test_deals_are_featured(editor, made):
    do(editor, "feature", *made, to_page="front")
    assert featured.get("front").ids == ids(made)


@pytest.mark.parametrize(
    "asked_at",
    [
        "",
        "x",
        "\x00",
        "2026-11-21T12:00:00",
        iso(NOW - 2 * DAY),
        iso(NOW - DAY),
        iso(NOW + HOUR),
        "9999-12-31T23:59:59+00:00",
        "0001-01-01T00:00:00+14:00",
    ],
)
def test_a_form_that_is_damaged_or_older_than_a_day_is_refused(editor, made, asked_at):
    assert do(editor, "category", *made, asked_at=asked_at, **TO_TOYS).status_code == 400
    assert do(editor, "expire", made[0], asked_at=asked_at).status_code == 400
    whole = {"all": "1", "previewed": "1", "asked_at": asked_at}
    assert editor.post(reverse("cms_do", args=["expire"]), whole).status_code == 400
    work()
    assert {deals.get(deal.id).version for deal in made} == {1}


def test_a_form_of_almost_a_day_ago_and_of_any_zone_is_taken(editor, made):
    shown = NOW - DAY + MINUTE
    asked_at = shown.astimezone(timezone.get_fixed_timezone(540)).isoformat()
    assert do(editor, "category", *made, asked_at=asked_at, **TO_TOYS).status_code == 302
    assert set(categories(made)) == {"toys-hobbies"}


def test_nothing_chosen_changes_nothing_and_leads_back(editor, made):
    answer = do(editor, "expire", follow=True, next=f"{LIST}?state=live")
    assert answer.redirect_chain[-1] == (f"{LIST}?state=live", 302)
    assert "No deals were chosen." in text_of(answer)


def test_what_is_not_there_is_refused_with_a_note(editor, made):
    deal_changes.delete(made[0], by="olga", now=NOW)
    assert said(do(editor, "expire", made[0])) == "It was deleted meanwhile."
    assert said(do(editor, "expire", made[0], made[0])) == "It was deleted meanwhile."


def test_an_undo_clicked_twice_is_done_once(editor, made):
    back = way_back(do(editor, "price", made[0], **LOWER))
    first, second = (editor.post(back.address, back.fields) for _ in range(2))
    assert said(first) == "“Deal 0” is as it was before."
    assert said(second) == "This was undone already."
    assert (deals.get(made[0].id).content, deals.get(made[0].id).version) == (made[0].content, 3)


def test_what_was_undone_is_not_said_to_be_done_when_its_form_comes_again(editor, made):
    back = way_back(do(editor, "price", made[0], **LOWER))
    editor.post(back.address, back.fields)
    answer = do(editor, "price", made[0], **LOWER)
    assert said(answer) == "This was done, and undone since. Load the page again."
    assert deals.get(made[0].id).content == made[0].content


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/cms/", "/account/", "/\\evil", ""]
)
def test_a_way_back_that_is_not_of_the_cms_is_not_taken(editor, made, elsewhere):
    html = editor.get(BULK, {"deal": made[0].id, "next": elsewhere, "state": "live"} | TOYS).content.decode()
    assert f'href="{LIST}?state=live"' in html
    assert not re.search(r'(?:href|name="next" value)="[^"]*(?:evil|account/")', html.split('id="main"')[-1])
    ended = do(editor, "expire", made[0], next=elsewhere)
    assert ended["Location"] == "/cms/"
    assert editor.post(way_back(ended).address, {"next": elsewhere})["Location"] == "/cms/"
    assert f'href="{BULK}' not in editor.get("/cms/jobs/").content.decode()  # it was done at once


def test_a_form_that_comes_again_after_its_job_was_cancelled_leads_to_the_job(editor, made):
    """Its request ended before anything was done."""
    to_toys = BulkChange("deal", "category", "toys-hobbies")
    job_id = bulk.job_id_of(to_toys, ids(made), by="eve", asked_at=NOW)
    targets = [BulkTarget(deal.id, deal.content.title, KEYBOARDS) for deal in made]
    bulk.start(to_toys, job_id=job_id, by="eve", asked_at=NOW, now=NOW, targets=targets)
    editor.post(reverse("cms_cancel_job", args=[job_id]))
    answer = do(editor, "category", *made, asked_at=iso(NOW), **TO_TOYS)
    assert answer["Location"] == f"{BULK}{job_id}/"
    assert set(categories(made)) == {KEYBOARDS}


def test_a_form_that_comes_again_while_its_job_waits_leads_to_the_job_which_is_done_once(editor, made):
    to_toys = BulkChange("deal", "category", "toys-hobbies")
    job_id = bulk.job_id_of(to_toys, ids(made), by="eve", asked_at=NOW)
    targets = [BulkTarget(deal.id, deal.content.title, KEYBOARDS) for deal in made]
    bulk.start(to_toys, job_id=job_id, by="eve", asked_at=NOW, now=NOW, targets=targets)
    answer = do(editor, "category", *made, asked_at=iso(NOW), **TO_TOYS)
    assert answer["Location"] == f"{BULK}{job_id}/"
    work()
    assert {deals.get(deal.id).version for deal in made} == {2}


def test_the_version_that_a_form_shows_is_more_exact_than_its_time(editor, made):
    """What another editor did within the same moment counts; what one did oneself does not."""
    deal_changes.edit(
        made[0], replace(made[0].content, title="Better"), version=1, brand=make_brand(), by="olga", now=NOW
    )
    assert said(do(editor, "delete", made[0], version="1")) == "olga changed it meanwhile."
    assert deals.get(made[0].id).content.title == "Better"
    deal_changes.edit(
        made[1], replace(made[1].content, title="Mine"), version=1, brand=make_brand(), by="eve", now=NOW
    )
    assert "is in the trash" in said(do(editor, "delete", made[1], version="1"))
    assert "is in the trash" in said(do(editor, "delete", made[2], version="1"))


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 99, "\x00"])
def test_a_version_that_is_none_counts_as_not_sent_or_as_another_one(editor, made, version):
    answer = do(editor, "expire", made[0], version=version)
    assert answer.status_code == 302
    assert "has ended." in said(answer)


def test_who_changes_one_sees_what_it_is_and_the_value_of_now(editor, made):
    page = editor.get(BULK, {"deal": made[0].id, "action": "stock"})
    assert made[0].content.title in text_of(page)
    assert inputs(page)["version"] == "1"
    scheduled = make_deal(live_at=NOW + DAY, now=NOW - DAY)
    assert (
        inputs(editor.get(BULK, {"deal": scheduled.id, "action": "reschedule"}))["to_time"]
        == "2026-11-22T12:00"
    )


def test_a_time_that_cannot_be_is_asked_for_again_with_what_was_typed(editor):
    scheduled = make_deal(live_at=NOW + DAY, now=NOW - DAY, expires_at=NOW + 2 * DAY)
    answer = do(editor, "reschedule", scheduled, to_time="2026-11-29T12:00", given="1", follow=True)
    assert answer.status_code == 422
    assert "The deal would expire before it goes live." in text_of(answer)
    assert inputs(answer)["to_time"] == "2026-11-29T12:00"


def test_undoing_the_trash_says_where_the_deal_was_featured(editor, made):
    page, found = featured.load("front", [made[0].id])
    featured.set_featured(page, [found[made[0].id]], version=0, by="mara", now=NOW)
    undo = way_back(do(editor, "delete", made[0]))
    note = said(editor.post(undo.address, undo.fields))
    assert note == (
        "“Deal 0” is as it was before. It was featured on: Front page. Feature it there again if it is to be."
    )


@pytest.mark.parametrize("there", ["/cms/../account/", "//evil.example/cms/", "https://evil.example/cms/"])
def test_no_form_leads_out_of_the_cms(editor, made, there):
    assert do(editor, "expire", made[0], next=there)["Location"] == "/cms/"
