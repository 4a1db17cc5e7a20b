import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.urls import reverse

from dealsite.data.catalogue import activity, brands, deal_changes, deals, drafts, featured, relations
from dealsite.data.table import errors
from tests.builders import DAY, LINK, NOW, make_brand, make_deal
from tests.cms.conftest import do, inputs, mine_alone, picture_file, said, taken_over, way_back
from tests.orders import make_order
from tests.races import at_once, meanwhile


def address(deal, name="cms_deal"):
    return reverse(name, args=[deal.id])


def change(deal, **fields):
    """Change a deal as another editor would."""
    content = replace(deal.content, **fields)
    return deal_changes.edit(deal, content, version=deal.version, brand=make_brand(), by="oscar", now=NOW)


def test_the_page_of_a_live_deal_leads_to_the_shop(editor):
    deal = make_deal()
    html = editor.get(address(deal)).content.decode()
    assert reverse("deal", args=[deal.id, "mechanical-keyboard"]) in html
    assert 'data-state="live"' in html


def test_the_page_of_a_scheduled_deal_says_when_it_goes_live(editor):
    deal = make_deal(live_at=NOW + DAY)
    html = editor.get(address(deal)).content.decode()
    assert re.search(r"Goes live\s+</dt>\s*<dd>\s*<time[^>]*>22 Nov 2026, 12:00 UTC", html)
    assert "in the shop</a>" not in html


def test_an_edit_is_saved(editor, calls):
    deal = make_deal(stock=3)
    form = inputs(editor.get(address(deal)))
    post = form | {"title": "Better keyboard", "price": "69.90", "expires_at": "2026-12-01T10:00"}
    assert calls(lambda: editor.post(address(deal), post)) == [
        "BatchGetItem",
        "GetItem",
        "GetItem",
        "Query",
        "TransactWriteItems",
    ]
    stored = deals.get(deal.id)
    assert stored.content == replace(
        deal.content,
        title="Better keyboard",
        price=Decimal("69.90"),
        expires_at=datetime(2026, 12, 1, 10, 0, tzinfo=UTC),
    )
    assert (stored.version, stored.updated_by) == (2, "eve")


def test_the_page_names_what_needs_an_editor_and_leads_to_its_field(editor):
    deal = make_deal(stock=0, picture=None)
    page = editor.get(address(deal)).content.decode()
    for words, field in (("Sold out", "stock"), ("Without a picture", "picture_file")):
        assert re.search(rf'<a class="text-link" href="#id_{field}">{words}</a>', page)
    assert "Broken links" not in page


def test_saving_an_unchanged_deal_writes_nothing(editor):
    deal = deal_changes.expire_now(make_deal(), by="oscar", now=NOW.replace(microsecond=123_000))
    response = editor.post(address(deal), inputs(editor.get(address(deal))))
    assert response.status_code == 302
    assert deals.get(deal.id).version == deal.version


def test_a_deal_gets_something_instead_of_its_price_and_a_price_again(editor):
    deal = make_deal(link=LINK)
    typed = {"price": "", "was_price": "", "condition": "Free delivery from €30"}
    assert editor.post(address(deal), inputs(editor.get(address(deal))) | typed).status_code == 302
    stored = deals.get(deal.id).content
    assert (stored.price, stored.was_price, stored.condition) == (None, None, typed["condition"])
    assert "Free delivery from €30" in editor.get("/cms/deals/").content.decode()
    form = inputs(editor.get(address(deal)))
    refused = editor.post(address(deal), form | {"price": "5.00"})
    assert refused.status_code == 422
    assert "There is a price. Empty this, or the price." in refused.content.decode()
    assert editor.post(address(deal), form | {"price": "5.00", "condition": ""}).status_code == 302
    stored = deals.get(deal.id).content
    assert (stored.price, stored.condition) == (Decimal("5.00"), "")


def test_a_deal_cannot_lose_what_publishing_needs(editor):
    deal = make_deal()
    response = editor.post(address(deal), inputs(editor.get(address(deal))) | {"title": "", "price": ""})
    assert response.status_code == 422
    html = response.content.decode()
    assert '<a href="#id_title">' in html
    assert '<a href="#id_price">' in html
    assert deals.get(deal.id).version == 1


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({"low_seen_on": "2026-11-20", "low_seen_at": "its offers"}, []),
        ({"low_seen_at": "its offers"}, ["low_seen_on"]),
        ({"low_seen_on": "2026-11-20"}, ["low_seen_at"]),
        ({"low_seen_on": "2026-11-20", "low_seen_at": "its offers", "was_price": ""}, ["was_price"]),
        ({"low_seen_on": "2026-11-22", "low_seen_at": "its offers"}, ["low_seen_on"]),  # it is the 21st
        ({"low_seen_on": "2026-10-21", "low_seen_at": "its offers"}, ["low_seen_on"]),  # and live since today
        ({"low_seen_on": "2026-10-22", "low_seen_at": "its offers"}, []),
        ({"low_seen_on": "yesterday", "low_seen_at": "its offers"}, ["low_seen_on"]),
    ],
)
def test_what_a_shop_states_as_its_low_has_an_amount_a_place_and_a_day(editor, typed, wrong):
    deal = make_deal()
    response = editor.post(address(deal), inputs(editor.get(address(deal))) | typed)
    assert response.status_code == (422 if wrong else 302)
    assert re.findall(r'<a href="#id_(\w+)">', response.content.decode()) == wrong
    stated = deals.get(deal.id).card
    assert (stated.percent_off, stated.rrp) == ((None, Decimal("119.00")) if wrong else (32, None))


@pytest.mark.parametrize(
    ("words", "praise"),
    [
        ("Never cheaper than now", "Never cheaper"),
        ("Noch nie so günstig!", "Noch nie so günstig"),
        ("At its all-time low", "all-time low"),
        ("A cheap lamp that never fails", ""),
    ],
)
def test_the_form_warns_of_words_that_nobody_can_know_of_a_price(editor, words, praise):
    html = editor.get(address(make_deal(description=words))).content.decode()
    assert re.findall(r"“([^”]*)”: nobody knows that of a price", html) == [praise] * bool(praise)


@pytest.mark.parametrize("action", ["keep", "save"])
@pytest.mark.parametrize("how", ["delete", "reschedule"])
def test_what_was_typed_in_a_deal_that_is_gone_becomes_a_new_draft(editor, how, action):
    deal = make_deal(live_at=NOW + DAY)
    typed = inputs(editor.get(address(deal))) | {
        "title": "Still here",
        "picture_file": picture_file(),
        "picture_alt": "A keyboard",
        "action": action,
    }
    do(editor, how, deal, to_time="2026-11-30T08:00")
    page = editor.post(address(deal), typed)
    assert page.status_code == 409
    assert "This deal was deleted, or moved to another time, since." in page.content.decode()
    (draft_address,) = re.findall(r'action="(/cms/drafts/[0-9A-Z]{26}/)"', page.content.decode())
    assert editor.post(draft_address, inputs(page) | {"action": "save"}).status_code == 302
    draft = drafts.get(draft_address.split("/")[3])
    assert draft.content == replace(deal.content, title="Still here", picture=draft.content.picture)
    assert draft.content.picture.alt == "A keyboard"


def test_a_deal_that_is_deleted_while_it_is_saved_becomes_a_new_draft(editor, monkeypatch):
    deal = make_deal()
    keep = inputs(editor.get(address(deal))) | {"title": "Kept", "action": "keep"}
    editor.post(address(deal), keep)
    typed = inputs(editor.get(address(deal))) | {"title": "Still here"}
    meanwhile(monkeypatch, lambda: deal_changes.delete(deals.get(deal.id), by="oscar", now=NOW))
    page = editor.post(address(deal), typed)
    assert (page.status_code, inputs(page)["title"]) == (409, "Still here")
    assert "Unpublished changes" not in page.content.decode()


def test_of_two_editors_the_second_sees_both_texts_and_can_save_on_top(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    change(deal, title="Their title", voucher_code="THEIRS", description="Their text")
    mine = form | {"title": "My title", "description": "My text", "article_number": "A 1"}
    conflict = editor.post(address(deal), mine)
    assert conflict.status_code == 409
    html = conflict.content.decode()
    assert re.findall(r"<legend[^>]*>([^<]+)</legend>", html) == ["Title", "Description"]
    assert (taken_over(html), mine_alone(html)) == (["Voucher code Empty → THEIRS"], "Article number")
    assert "oscar changed this deal while you worked on it" in html
    assert "Their title" in html
    assert "Their text" in html
    again = inputs(conflict)
    assert (again["title"], again["description"], again["version"]) == ("My title", "My text", "2")
    assert deals.get(deal.id).content.title == "Their title"
    # Their description is chosen, the own title stays, and the voucher code was never touched here.
    assert editor.post(address(deal), again | {"choice_description": "theirs"}).status_code == 302
    content = deals.get(deal.id).content
    assert (content.title, content.description, content.voucher_code) == ("My title", "Their text", "THEIRS")


def test_what_another_changed_elsewhere_stays_and_is_said(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    change(deal, title="Their title", price=Decimal("70.00"))
    answer = editor.post(address(deal), form | {"description": "My text"})
    assert said(answer) == "The deal is saved. What oscar changed meanwhile stays: Title, Price."
    content = deals.get(deal.id).content
    assert (content.title, str(content.price), content.description) == ("Their title", "70.00", "My text")


def test_what_was_taken_over_is_also_said_where_the_form_is_refused(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    change(deal, title="Their title", description="Their text\nof lines")
    refused = editor.post(address(deal), form | {"was_price": "1.00"})
    assert refused.status_code == 422
    assert taken_over(refused.content.decode()) == ["Title Mechanical keyboard → Their title", "Description"]
    again = inputs(refused)
    assert (again["title"], again["version"]) == ("Their title", "2")


def test_a_taken_over_field_can_be_written_back(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    change(deal, title="Their title", price=Decimal("70.00"))
    conflict = editor.post(address(deal), form | {"title": "My title"})
    assert taken_over(conflict.content.decode()) == ["Price 79.90 → 70.00"]
    assert editor.post(address(deal), inputs(conflict) | {"price": "79.90"}).status_code == 302
    content = deals.get(deal.id).content
    assert (content.title, content.price) == ("My title", Decimal("79.90"))


def test_who_saves_between_reading_and_writing_is_merged_too(editor, monkeypatch):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    real, meanwhile = deal_changes.edit, [lambda: change(deal, title="Their title")]

    def late(*arguments, **options):
        if meanwhile:
            meanwhile.pop()()
        return real(*arguments, **options)

    monkeypatch.setattr(deal_changes, "edit", late)
    assert editor.post(address(deal), form | {"description": "My text"}).status_code == 302
    content = deals.get(deal.id).content
    assert (content.title, content.description) == ("Their title", "My text")


def test_where_others_are_faster_again_and_again_the_form_comes_back(editor, monkeypatch):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    tries = []

    def overtaken(*arguments, **options):
        tries.append(1)
        raise errors.VersionConflict()

    monkeypatch.setattr(deal_changes, "edit", overtaken)
    answer = editor.post(address(deal), form | {"description": "My text"})
    assert (answer.status_code, inputs(answer)["description"], len(tries)) == (503, "My text", 5)


def test_of_what_is_saved_at_once_nothing_is_lost(editor, other_editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    mine, theirs = form | {"title": "My title"}, form | {"description": "Their text"}
    answers = at_once(
        lambda: editor.post(address(deal), mine), lambda: other_editor.post(address(deal), theirs)
    )
    assert [answer.status_code for answer in answers] == [302, 302]
    stored = deals.get(deal.id)
    assert (stored.content.title, stored.content.description, stored.version) == ("My title", "Their text", 3)


def test_what_a_shop_states_is_not_put_together_from_two_editors(editor):
    deal = make_deal(low_seen_at="its offers", low_seen_on=NOW.date())
    form = inputs(editor.get(address(deal)))
    change(deal, was_price=Decimal("99.00"))
    conflict = editor.post(address(deal), form | {"low_seen_at": "elsewhere"})
    assert conflict.status_code == 409
    assert inputs(conflict)["choice_was_price"] == "theirs"


def test_a_third_change_in_between_is_a_conflict_again(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    changed = change(deal, title="Second")
    conflict = inputs(editor.post(address(deal), form | {"title": "Mine"}))
    change(changed, title="Third")
    response = editor.post(address(deal), conflict)
    assert response.status_code == 409
    assert "Third" in response.content.decode()
    assert inputs(response)["title"] == "Mine"


def test_a_conflict_creates_no_brand(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    change(deal, title="Theirs")
    mine = form | {"title": "Mine", "brand": "Newcomer", "brand_new": "on"}
    assert editor.post(address(deal), mine).status_code == 409
    with pytest.raises(errors.NotFound):
        brands.get("newcomer")


def test_the_same_change_by_two_editors_is_no_conflict(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))
    change(deal, title="Same")
    assert editor.post(address(deal), form | {"title": "Same"}).status_code == 302


def test_what_is_sent_as_version_or_fingerprints_cannot_break_the_page(editor):
    deal = make_deal()
    form = inputs(editor.get(address(deal))) | {"title": "Mine"}
    change(deal, title="Theirs")
    for version, seen in [
        ("9" * 5000, "["),
        ("-1", "[" * 50_000),
        ("x", "[1]"),
        ("²", '{"title": []}'),
        ("", "1e999"),
    ]:
        assert editor.post(address(deal), form | {"version": version, "seen": seen}).status_code == 409


def test_when_the_table_is_away_the_form_comes_back_with_all_that_was_typed(editor, monkeypatch):
    deal = make_deal()
    form = inputs(editor.get(address(deal)))

    def fail(*arguments, **options):
        raise errors.Unavailable()

    monkeypatch.setattr(deals, "get", fail)
    response = editor.post(address(deal), form | {"title": "Typed for an hour"})
    assert response.status_code == 503
    assert inputs(response)["title"] == "Typed for an hour"
    assert inputs(response)["version"] == "1"
    monkeypatch.undo()


def test_rescheduling_moves_a_deal_that_is_not_live_yet(editor, calls):
    deal, at = make_deal(live_at=NOW + DAY), datetime(2026, 11, 25, 8, 30, tzinfo=UTC)
    link = re.search(r'href="([^"]*action=reschedule[^"]*)"', editor.get(address(deal)).content.decode())
    page = editor.get(unescape(link[1]))
    sent = inputs(page) | {"to_time": "2026-11-25T08:30"}
    assert (sent["deal"], sent["next"]) == (deal.id, address(deal))
    answers = []
    made = calls(lambda: answers.append(editor.post(reverse("cms_do", args=["reschedule"]), sent)))
    assert made == [
        *("BatchGetItem", "BatchGetItem", "Query", "TransactWriteItems"),
        "TransactWriteItems",  # the day that it leaves held no other deal
    ]
    moved = deals.get(answers[0].headers["Location"].split("/")[-2])
    assert answers[0].headers["Location"] == address(moved)
    assert said(answers[0]) == (
        f"“{deal.content.title}” goes live at its new time: 25 November 2026, 08:30 UTC."
    )
    assert moved.live_at == at
    with pytest.raises(errors.NotFound):
        deals.get(deal.id)


def test_a_second_click_moves_a_deal_once_and_undo_brings_it_back_to_its_own_address(editor):
    deal = make_deal(live_at=NOW + DAY)
    first, second = (
        do(editor, "reschedule", deal, to_time="2026-11-25T08:30", next=address(deal)) for _ in range(2)
    )
    assert first.headers["Location"] == second.headers["Location"]
    answer = editor.post(way_back(first).address, way_back(first).fields)
    assert answer.headers["Location"] == address(deal)
    assert deals.get(deal.id).content == deal.content
    assert editor.get(first.headers["Location"]).status_code == 404


@pytest.mark.parametrize(
    ("time", "sentence"),
    [
        ("2026-11-21T11:00", "This time has passed."),
        ("", "This field is required."),
        ("x", "Enter a date and a time"),
    ],
)
def test_a_time_that_will_not_do_is_asked_for_again(editor, time, sentence):
    deal = make_deal(live_at=NOW + DAY, expires_at=NOW + 5 * DAY)
    response = do(editor, "reschedule", deal, to_time=time, given="1", follow=True)
    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert deals.get(deal.id).live_at == NOW + DAY


def test_a_deal_is_not_moved_beyond_its_end_or_once_it_is_live(editor):
    later, live = make_deal(live_at=NOW + DAY, expires_at=NOW + 5 * DAY), make_deal()
    for deal, time, why in (
        (later, "2026-12-02T00:00", "The deal would expire before it goes live. Choose a later time."),
        (live, "2026-11-25T08:30", "It is live already, so its publication time cannot change any more."),
    ):
        response = do(editor, "reschedule", deal, to_time=time, next=address(deal))
        assert (response.headers["Location"], said(response)) == (address(deal), why)
        assert deals.get(deal.id) == deal


@pytest.mark.parametrize("deal_id", ["x", "0" * 26, "%00", "é" * 26])
def test_a_deal_that_does_not_exist_is_404(editor, deal_id):
    assert editor.get(f"/cms/deals/{deal_id}/").status_code == 404
    assert editor.post(f"/cms/deals/{deal_id}/").status_code == 404


def test_the_page_says_where_a_deal_is_featured(editor):
    deal = make_deal()
    page, _ = featured.load("editors-choice", [])
    featured.set_featured(page, [deal], version=0, by="eve", now=NOW)
    html = editor.get(address(deal)).content.decode()
    assert re.search(r'<a class="chip[^>]*href="/cms/featured/editors-choice/"', html, re.S)
    assert f"/cms/featured/front/?add={deal.id}" in html


# Stock that sells while a form is open


def test_what_was_sold_since_the_form_was_opened_stays_sold(editor):
    deal = make_deal(stock=10)
    form = inputs(editor.get(address(deal)))
    make_order("ada", deal, quantity=4)
    assert editor.post(address(deal), form | {"title": "Better keyboard"}).status_code == 302
    stored = deals.get(deal.id)
    assert (stored.content.title, stored.stock) == ("Better keyboard", 6)


def test_a_deal_that_sold_out_while_its_form_was_open_stays_sold_out(editor):
    deal = make_deal(stock=1)
    form = inputs(editor.get(address(deal)))
    make_order("ada", deal)
    assert editor.post(address(deal), form | {"title": "Better keyboard"}).status_code == 302
    stored = deals.get(deal.id)
    assert (stored.stock, stored.card.sold_out, stored.card.title) == (0, True, "Better keyboard")


def test_a_form_that_changes_nothing_changes_nothing_of_the_stock_that_sold(editor):
    deal = make_deal(stock=10)
    form = inputs(editor.get(address(deal)))
    make_order("ada", deal)
    editor.post(address(deal), form)
    assert (deals.get(deal.id).stock, deals.get(deal.id).version) == (9, 1)


def test_a_number_of_pieces_that_was_typed_is_asked_for_again_when_some_were_sold(editor):
    deal = make_deal(stock=10)
    form = inputs(editor.get(address(deal)))
    make_order("ada", deal, quantity=4)
    answer = editor.post(address(deal), form | {"stock": "20"})
    assert answer.status_code == 409
    assert "Pieces were sold or came back meanwhile." in answer.content.decode()
    assert deals.get(deal.id).stock == 6
    again = inputs(answer)
    assert again["stock"] == "20"
    assert editor.post(address(deal), again).status_code == 302
    assert deals.get(deal.id).stock == 20


def test_two_editors_who_count_pieces_hear_of_each_other(editor):
    deal = make_deal(stock=10)
    form = inputs(editor.get(address(deal)))
    change(deal, stock=7)
    html = editor.post(address(deal), form | {"stock": "20"}).content.decode()
    assert "oscar changed this deal while you worked on it" in html
    assert "Pieces were sold" not in html


def test_stock_that_nobody_bought_from_is_changed_as_typed(editor):
    deal = make_deal(stock=10)
    editor.post(address(deal), inputs(editor.get(address(deal))) | {"stock": "3"})
    assert deals.get(deal.id).stock == 3


def test_the_last_piece_shows_in_the_list(editor):
    deal = make_deal(stock=1)
    make_order("ada", deal)
    assert 'data-state="sold_out"' in editor.get(reverse("cms_deals")).content.decode()


def test_the_page_says_how_it_does(editor):
    deal = make_deal(link=LINK)
    relations.add(relations.DEAL_LIKE, deal.id, username="ada", now=NOW)
    for days, visitors in ((0, {"0001", "0002"}), (29, {"0001"}), (30, {"0001"})):
        activity.count(deal.id, NOW.date() - timedelta(days=days), visitors)
    figures = re.search(
        r'<dl class="deal-figures">.*?</dl>', editor.get(address(deal)).content.decode(), re.S
    )[0]
    words = " ".join(re.sub("<[^>]+>", " ", figures).split())
    assert words == "Likes 1 Clicks to shop.example 3 2 today, 30 days Featured No on no page"
