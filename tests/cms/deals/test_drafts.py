import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.urls import reverse

from dealsite.data.catalogue import brands, deals, drafts, lists
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table import errors
from dealsite.data.table.paging import Page
from tests.builders import DAY, EDITOR, LINK, NOW, PICTURE, make_content, make_deal, make_draft, make_id
from tests.cms.conftest import inputs, mine_alone, picture_file, said, taken_over, way_back
from tests.races import at_once

WHOLE = {
    "title": "Mechanical keyboard",
    "brand": "Nordlicht",
    "category": "peripherals-networking",
    "price": "79.90",
    "was_price": "119.00",
    "voucher_code": "NORD10",
    "article_number": "KB 87/½",
    "link": "https://shop.example/keyboard",
    "description": "Quiet **switches**.",
    "stock": "12",
    "expires_at": "2026-12-24T18:00",
}


def address(draft_id):
    return reverse("cms_draft", args=[draft_id])


def published():
    return lists.cms_list(DealFilter(), now=NOW + 30 * DAY).cards


def errors_of(response):
    """Return the links of the error summary: (field, sentence)."""
    return dict(re.findall(r'<a href="#id_([a-z_]+)">[^:]+: (.*?)</a>', response.content.decode()))


def test_the_form_of_a_new_deal_holds_the_id_of_its_draft(editor):
    page = editor.get(reverse("cms_new_draft"))
    assert page.status_code == 200
    action = re.search(r'action="/cms/drafts/([0-9A-Z]{26})/"', page.content.decode())
    assert action
    assert editor.get(address(action[1])).status_code == 404


def test_a_draft_may_be_incomplete(editor):
    draft_id = make_id(NOW)
    response = editor.post(address(draft_id), {"title": "Only a title", "action": "save", "version": "0"})
    assert response.headers["Location"] == address(draft_id)
    stored = drafts.get(draft_id)
    assert (stored.content.title, stored.content.price, stored.version) == ("Only a title", None, 1)
    assert "The draft is saved." in editor.get(address(draft_id)).content.decode()


def test_saving_a_draft_changes_all_that_was_entered(editor):
    draft = make_draft(title="Before")
    editor.post(address(draft.id), WHOLE | {"action": "save", "version": "1"})
    assert drafts.get(draft.id).content == make_content(
        voucher_code="NORD10",
        article_number="KB 87/½",
        description="Quiet **switches**.",
        stock=12,
        expires_at=datetime(2026, 12, 24, 18, 0, tzinfo=UTC),
    )


def test_publishing_makes_a_deal_of_now(editor):
    draft_id = make_id(NOW)
    response = editor.post(address(draft_id), WHOLE | {"action": "publish", "version": "0"})
    deal_id = drafts.get(draft_id).published_as
    assert response.headers["Location"] == reverse("cms_deal", args=[deal_id])
    deal = deals.get(deal_id)
    assert (deal.live_at, deal.content.title, deal.updated_by) == (NOW, "Mechanical keyboard", "eve")
    assert (deal.content.price, deal.stock) == (Decimal("79.90"), 12)


def test_publishing_a_stored_draft_costs_two_reads_a_query_and_one_transaction(editor, calls):
    draft = make_draft(title="Keyboard")
    post = WHOLE | {"action": "publish", "version": "1"}
    assert calls(lambda: editor.post(address(draft.id), post)) == [
        "GetItem",
        "GetItem",
        "Query",
        "TransactWriteItems",
    ]


def test_what_a_form_published_becomes_the_draft_again_with_one_button(editor):
    draft = make_draft(title="Keyboard")
    typed = WHOLE | {"title": "Better keyboard", "action": "publish", "version": "1"}
    published = editor.post(address(draft.id), typed)
    undo = way_back(published)
    deal_id = drafts.get(draft.id).published_as
    undone = editor.post(undo.address, undo.fields)
    assert said(undone) == "“Better keyboard” is as it was before."
    assert undone["Location"] == address(draft.id)
    again = drafts.get(draft.id)
    assert (again.published_as, again.content.title) == ("", "Better keyboard")
    assert deals.get_many([deal_id]) == {}


def test_publishing_a_new_form_costs_one_transaction_more(editor, calls):
    post = WHOLE | {"action": "publish", "version": "0"}
    assert calls(lambda: editor.post(address(make_id(NOW)), post)) == [
        "GetItem",
        "GetItem",
        "Query",
        "TransactWriteItems",
        "TransactWriteItems",
    ]


def test_scheduling_publishes_at_the_time_in_the_editors_zone(sign_in):
    berliner = sign_in("editor", zone="Europe/Berlin")
    draft_id = make_id(NOW)
    post = WHOLE | {"action": "schedule", "publish_at": "2026-11-27T09:00", "version": "0"}
    berliner.post(address(draft_id), post)
    deal = deals.get(drafts.get(draft_id).published_as)
    assert deal.live_at == datetime(2026, 11, 27, 8, 0, tzinfo=UTC)
    page = berliner.get(reverse("cms_deal", args=[deal.id])).content.decode()
    assert "27 Nov 2026, 09:00 CET" in page
    assert ">Europe/Berlin</span>" in page


@pytest.mark.parametrize(
    ("time", "sentence"),
    [
        ("", "Choose the time at which the deal is to be published."),
        ("2026-11-21T12:00", "This time has passed. Choose a later one, or publish now."),
        ("nonsense", "Enter a date and a time of day, such as 2026-11-27T09:00."),
    ],
)
def test_scheduling_needs_a_time_to_come(editor, time, sentence):
    post = WHOLE | {"action": "schedule", "publish_at": time, "version": "0"}
    response = editor.post(address(make_id(NOW)), post)
    assert response.status_code == 422
    assert errors_of(response) == {"publish_at": sentence}
    assert published() == []


def test_scheduling_at_a_time_that_comes_twice_is_refused(sign_in):
    berliner = sign_in("editor", zone="Europe/Berlin")
    post = WHOLE | {"action": "schedule", "publish_at": "2027-10-31T02:30", "version": "0", "expires_at": ""}
    response = berliner.post(address(make_id(NOW)), post)
    assert "comes twice in Europe/Berlin" in errors_of(response)["publish_at"]
    assert 'value="2027-10-31T02:30"' in response.content.decode()


def test_an_incomplete_deal_is_not_published_and_each_error_leads_to_its_field(editor):
    post = {
        "title": "",
        "brand": "",
        "price": "",
        "link": "",
        "category": "",
        "action": "publish",
        "version": "0",
    }
    draft_id = make_id(NOW)
    response = editor.post(address(draft_id), post)
    assert response.status_code == 422
    assert set(errors_of(response)) == {"title", "brand", "category", "price", "link"}
    html = response.content.decode()
    for field in errors_of(response):
        assert f'id="id_{field}"' in html
    assert 'class="error-summary" role="alert" tabindex="-1" autofocus' in re.sub(r"\s+", " ", html)
    with pytest.raises(errors.NotFound):
        drafts.get(draft_id)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("price", "12,50"),
        ("was_price", "10.00"),
        ("link", "javascript:alert(1)"),
        ("link", "https://user:secret@shop.example/"),
        ("category", "no-such-category"),
        ("stock", "-1"),
        ("stock", "1.5"),
        ("stock", "1.000"),
        ("stock", "12 pieces"),
        ("expires_at", "2026-11-21T11:00"),
        ("title", "x" * 301),
        ("title", "a\x00b"),
        ("title", "\u200b"),
        ("description", "x" * 20_001),
        ("voucher_code", "x" * 101),
        ("article_number", "x" * 71),
        ("brand", "Unknown brand"),
        ("brand", "!!!"),
    ],
)
def test_what_cannot_be_published_is_refused_at_its_field_and_nothing_typed_is_lost(editor, field, text):
    response = editor.post(address(make_id(NOW)), WHOLE | {field: text, "action": "publish", "version": "0"})
    assert response.status_code == 422
    assert set(errors_of(response)) == {field}
    kept = inputs(response)
    for name, typed in (WHOLE | {field: text}).items():
        if (name, text) != ("category", "no-such-category"):
            assert kept[name] == typed
    assert published() == []


def test_a_stock_is_sent_as_it_was_typed_however_a_browser_reads_it(editor):
    (control,) = re.findall(r'<input[^>]*name="stock"[^>]*>', editor.get("/cms/deals/new/").content.decode())
    assert 'type="text"' in control
    assert 'inputmode="numeric"' in control


def test_a_text_of_megabytes_is_refused_before_it_is_read(editor):
    response = editor.post(address(make_id(NOW)), WHOLE | {"description": "x" * 1_100_000, "action": "save"})
    assert response.status_code == 413


@pytest.mark.parametrize("text", ["👩‍👩‍👧 عربى m²", "<script>alert(1)</script>", "{{ 7|add:7 }}"])
def test_any_title_is_shown_as_it_was_typed(editor, text):
    draft_id = make_id(NOW)
    editor.post(address(draft_id), WHOLE | {"title": text, "action": "publish", "version": "0"})
    page = editor.get(reverse("cms_deal", args=[drafts.get(draft_id).published_as]))
    assert inputs(page)["title"] == text
    assert "<script>alert" not in page.content.decode()


def test_what_nobody_sees_is_not_published(editor):
    draft_id = make_id(NOW)
    texts = {
        "title": "\u202eLap\u00adtop",
        "voucher_code": "SA\u200bVE",
        "description": "One\u2060\r\ntwo\u200e",
    }
    editor.post(address(draft_id), WHOLE | texts | {"action": "publish", "version": "0"})
    content = deals.get(drafts.get(draft_id).published_as).content
    assert (content.title, content.voucher_code, content.description) == ("Laptop", "SAVE", "One\ntwo")


def test_a_new_brand_is_created_with_the_deal(editor):
    post = WHOLE | {"brand": "Åkerström & Co", "brand_new": "on", "action": "publish", "version": "0"}
    draft_id = make_id(NOW)
    editor.post(address(draft_id), post)
    assert brands.get("akerstrom-co").name == "Åkerström & Co"
    assert deals.get(drafts.get(draft_id).published_as).card.brand_name == "Åkerström & Co"


def test_the_first_brand_of_a_site_is_created_with_the_deal_that_names_it(editor, monkeypatch):
    assert (
        editor.post(address(make_id(NOW)), WHOLE | {"brand": "Newcomer", "action": "publish"}).status_code
        == 422
    )
    monkeypatch.setattr(brands, "names", lambda **_: Page([]))
    editor.post(address(make_id(NOW)), WHOLE | {"brand": "Newcomer", "action": "publish"})
    assert [deal.brand_name for deal in published()] == ["Newcomer"]


def test_a_brand_is_found_however_its_name_is_written(editor):
    draft_id = make_id(NOW)
    editor.post(address(draft_id), WHOLE | {"brand": " nordLICHT ", "brand_new": "on", "action": "publish"})
    assert deals.get(drafts.get(draft_id).published_as).content.brand == "nordlicht"


def test_a_new_brand_needs_a_name_with_a_letter_or_a_digit(editor):
    post = WHOLE | {"brand": "!!!", "brand_new": "on", "action": "publish"}
    assert errors_of(editor.post(address(make_id(NOW)), post)) == {
        "brand": "The name of a brand needs a letter or a digit."
    }


def test_a_deal_with_errors_creates_no_brand(editor):
    post = WHOLE | {"brand": "Newcomer", "brand_new": "on", "price": "", "action": "publish"}
    assert editor.post(address(make_id(NOW)), post).status_code == 422
    with pytest.raises(errors.NotFound):
        brands.get("newcomer")


def test_a_second_click_leads_to_the_deal_that_the_first_published(editor):
    draft_id, post = make_id(NOW), WHOLE | {"action": "publish", "version": "0"}
    first = editor.post(address(draft_id), post)
    second = editor.post(address(draft_id), post)
    assert first.headers["Location"] == second.headers["Location"]
    assert len(published()) == 1


def test_two_clicks_at_once_publish_one_deal(editor, other_editor):
    draft_id, post = make_id(NOW), WHOLE | {"action": "publish", "version": "0"}
    answers = at_once(
        *(lambda who=who: who.post(address(draft_id), post) for who in [editor, other_editor] * 3)
    )
    assert {answer.status_code for answer in answers} == {302}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert len(published()) == 1


def test_publishing_again_with_another_text_shows_both(editor):
    draft_id, post = make_id(NOW), WHOLE | {"action": "publish", "version": "0"}
    editor.post(address(draft_id), post)
    response = editor.post(address(draft_id), post | {"title": "Better keyboard"})
    assert response.status_code == 409
    deal_id = drafts.get(draft_id).published_as
    html = response.content.decode()
    assert f'action="{reverse("cms_deal", args=[deal_id])}"' in html
    assert inputs(response)["title"] == "Better keyboard" or "Better keyboard" in html
    assert len(published()) == 1


def test_a_published_draft_leads_to_its_deal(editor):
    draft = make_draft(title="x")
    deal = make_deal(draft=draft)
    assert editor.get(address(draft.id)).headers["Location"] == reverse("cms_deal", args=[deal.id])


def test_saving_twice_is_no_conflict(editor):
    draft_id, post = make_id(NOW), WHOLE | {"action": "save", "version": "0"}
    editor.post(address(draft_id), post)
    assert editor.post(address(draft_id), post).status_code == 302
    assert drafts.get(draft_id).version == 1


def test_of_two_editors_the_second_sees_both_texts_and_can_save_on_top(editor, other_editor):
    draft = make_draft(**{**vars(make_content()), "title": "Keyboard"})
    mine, theirs = inputs(editor.get(address(draft.id))), inputs(other_editor.get(address(draft.id)))
    other_editor.post(address(draft.id), theirs | {"title": "Their keyboard", "voucher_code": "THEIRS"})
    conflict = editor.post(address(draft.id), mine | {"title": "My keyboard"})
    assert conflict.status_code == 409
    html = conflict.content.decode()
    assert "Their keyboard" in html
    assert "oscar changed this draft while you worked on it" in html
    assert re.findall(r"<legend[^>]*>([^<]+)</legend>", html) == ["Title"]
    again = inputs(conflict)
    # The voucher code was never touched here, so theirs is taken over.
    assert taken_over(html) == ["Voucher code Empty → THEIRS"]
    assert (again["choice_title"], again["title"], again["voucher_code"]) == ("mine", "My keyboard", "THEIRS")
    assert drafts.get(draft.id).content.title == "Their keyboard"
    assert editor.post(address(draft.id), again).status_code == 302
    stored = drafts.get(draft.id).content
    assert (stored.title, stored.voucher_code) == ("My keyboard", "THEIRS")


@pytest.mark.parametrize(("action", "status"), [("save", 302), ("publish", 409), ("schedule", 409)])
def test_what_another_changed_elsewhere_is_saved_with_mine_but_not_published_unseen(
    editor, other_editor, action, status
):
    draft = make_draft(**{**vars(make_content()), "title": "Keyboard"})
    mine, theirs = inputs(editor.get(address(draft.id))), inputs(other_editor.get(address(draft.id)))
    other_editor.post(address(draft.id), theirs | {"voucher_code": "THEIRS", "action": "save"})
    times = {"publish_at": "2026-12-24T18:00"} if action == "schedule" else {}
    answer = editor.post(address(draft.id), mine | times | {"title": "My keyboard", "action": action})
    assert answer.status_code == status
    if status == 409:
        html, again = answer.content.decode(), inputs(answer)
        assert "Nothing was saved or published yet." in html
        assert (taken_over(html), mine_alone(html)) == (["Voucher code Empty → THEIRS"], "Title")
        assert "choice_" not in html
        assert (drafts.get(draft.id).content.title, again["voucher_code"]) == ("Keyboard", "THEIRS")
        assert editor.post(address(draft.id), again | {"action": "save"}).status_code == 302
    content = drafts.get(draft.id).content
    assert (content.title, content.voucher_code) == ("My keyboard", "THEIRS")


def test_a_draft_deleted_meanwhile_can_be_saved_again(editor):
    draft = make_draft(title="Keyboard")
    form = inputs(editor.get(address(draft.id)))
    drafts.delete(draft, by=EDITOR, now=NOW)
    response = editor.post(address(draft.id), form | {"title": "Still here"})
    assert response.status_code == 409
    assert "Somebody deleted this draft" in response.content.decode()
    assert editor.post(address(draft.id), inputs(response)).status_code == 302
    assert drafts.get(draft.id).content.title == "Still here"


def test_an_uploaded_picture_is_kept_through_errors_until_it_is_saved(editor):
    draft_id = make_id(NOW)
    post = WHOLE | {
        "price": "x",
        "picture_file": picture_file(),
        "picture_alt": "A keyboard",
        "action": "save",
    }
    response = editor.post(address(draft_id), post)
    assert response.status_code == 422
    kept = inputs(response)
    assert kept["picture_kept"]
    editor.post(address(draft_id), kept | {"price": "79.90", "action": "publish"})
    picture = deals.get(drafts.get(draft_id).published_as).content.picture
    assert (picture.width, picture.height, picture.alt) == (40, 30, "A keyboard")


def test_a_picture_needs_an_alt_text_to_be_published_but_not_in_a_draft(editor):
    draft_id = make_id(NOW)
    response = editor.post(address(draft_id), WHOLE | {"picture_file": picture_file(), "action": "publish"})
    assert set(errors_of(response)) == {"picture_alt"}
    assert editor.post(address(draft_id), inputs(response) | {"action": "save"}).status_code == 302
    assert drafts.get(draft_id).content.picture.alt == ""


def test_a_file_that_is_no_picture_is_refused_at_its_field(editor):
    file = picture_file()
    file.file.seek(0)
    file.file.write(b"not a picture")
    file.file.truncate()
    file.seek(0)
    response = editor.post(address(make_id(NOW)), WHOLE | {"picture_file": file, "action": "save"})
    assert response.status_code == 422
    assert set(errors_of(response)) == {"picture_file"}


def test_a_picture_can_be_removed(editor):
    draft = make_draft(title="Keyboard", picture=PICTURE)
    form = inputs(editor.get(address(draft.id)))
    editor.post(address(draft.id), form | {"picture_remove": "on"})
    assert drafts.get(draft.id).content.picture is None


def test_a_picture_that_this_site_did_not_sign_is_not_taken(editor):
    draft_id = make_id(NOW)
    forged = '["../../etc/passwd",1,1]:abc'
    editor.post(address(draft_id), WHOLE | {"picture_kept": forged, "picture_alt": "x", "action": "save"})
    assert drafts.get(draft_id).content.picture is None


def test_when_the_table_is_away_the_form_comes_back_with_all_that_was_typed(editor, settings, monkeypatch):
    def fail(*arguments, **options):
        raise errors.Unavailable()

    monkeypatch.setattr(drafts, "create", fail)
    post = WHOLE | {
        "action": "publish",
        "version": "0",
        "picture_file": picture_file(),
        "picture_alt": "A keyboard",
    }
    response = editor.post(address(make_id(NOW)), post)
    assert response.status_code == 503
    kept = inputs(response)
    assert {name: kept[name] for name in WHOLE} == WHOLE
    assert kept["picture_kept"]
    assert "Nothing that you entered is lost." in response.content.decode()


@pytest.mark.parametrize("draft_id", ["x", "0" * 26, "%00", "a%23b"])
def test_a_draft_that_does_not_exist_is_404(editor, draft_id):
    assert editor.get(f"/cms/drafts/{draft_id}/").status_code == 404


def test_an_expiry_in_the_hour_that_comes_twice_stays_when_nothing_else_is_changed(sign_in):
    berliner = sign_in("editor", zone="Europe/Berlin")
    expires_at = datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    draft = make_draft(title="Keyboard", expires_at=expires_at)
    form = inputs(berliner.get(address(draft.id)))
    assert form["expires_at"] == "2027-10-31T02:30"
    assert berliner.post(address(draft.id), form | {"title": "Other"}).status_code == 302
    assert drafts.get(draft.id).content.expires_at == expires_at


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({"sold": "here"}, []),
        ({"sold": "here", "stock": "3", "link": LINK, "voucher_code": "X"}, []),  # kept aside
        ({"sold": "shop", "link": LINK, "is_ad": "on"}, []),
        ({"sold": "code", "link": LINK, "voucher_code": "X"}, []),
        ({"link": LINK, "stock": "3"}, []),  # a form of before
        ({"sold": "shop"}, ["link"]),
        ({"sold": "code", "link": LINK}, ["voucher_code"]),
        ({"sold": "shop", "link": LINK, "voucher_code": "X"}, ["voucher_code"]),
        ({"sold": "code", "link": LINK, "voucher_code": "X", "stock": "3"}, ["stock"]),
        ({"sold": "nobody", "link": LINK}, ["sold"]),
    ],
)
def test_a_draft_is_published_by_a_seller_who_has_what_it_needs(editor, typed, wrong):
    draft_id = make_id(NOW)
    none = {"voucher_code": "", "link": "", "stock": "", "expires_at": ""}
    form = WHOLE | none | typed | {"action": "publish", "version": "0", "brand_new": "on"}
    response = editor.post(address(draft_id), form)
    assert response.status_code == (422 if wrong else 302)
    assert list(errors_of(response)) == wrong
    if not wrong:
        content = deals.get(drafts.get(draft_id).published_as).content
        assert content.sold == typed.get("sold", "here")
        assert (content.link, content.is_ad) == (typed.get("link", ""), "is_ad" in typed)
