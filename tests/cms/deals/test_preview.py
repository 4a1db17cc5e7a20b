"""The preview of a deal: what shoppers will see of what stands in its form, and nothing that could do harm."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from dealsite.data.catalogue import brands, drafts
from dealsite.data.table import errors
from tests.builders import DAY, NOW, PICTURE, make_deal, make_id
from tests.cms.conftest import HTMX, inputs, picture_file
from tests.cms.deals.test_drafts import WHOLE

PREVIEW = reverse("cms_preview_deal")


def shown(editor, typed, *, deal="", **more):
    return editor.post(
        PREVIEW + (f"?deal={deal}" if deal else ""), typed, headers=HTMX, **more
    ).content.decode()


def test_the_preview_shows_a_card_and_a_page_as_shoppers_will_see_them(editor):
    html = shown(editor, WHOLE)
    assert "<html" not in html
    assert len(re.findall(r'<article class="offer', html)) == 1
    assert re.search(r"<h1[^>]*>Mechanical keyboard</h1>", html)
    for text in ("Nordlicht", "<strong>switches</strong>", "RRP €119.00", "12 in stock"):
        assert text in html


def test_the_preview_stores_nothing_and_asks_the_table_for_nothing(editor, calls):
    post = WHOLE | {"brand": "Quite new", "brand_new": "on"}
    assert calls(lambda: editor.post(PREVIEW, post, headers=HTMX)) == []
    with pytest.raises(errors.NotFound):
        brands.get("quite-new")


@pytest.mark.parametrize("field", [*WHOLE, "nothing"])
def test_what_is_missing_or_wrong_is_left_out_and_the_rest_is_shown(editor, field):
    for text in ("", "<", "x" * 30_000):
        html = shown(editor, WHOLE | {field: text})
        assert "<h1" in html
        assert field == "title" or "Mechanical keyboard" in html


def test_an_empty_form_is_a_deal_without_anything(editor):
    html = shown(editor, {})
    assert "Without a title" in html
    assert "No brand" in html
    assert "None" not in html


@pytest.mark.parametrize(
    "harm",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "{{ 7|add:7 }}",
    ],
)
def test_hostile_content_does_no_harm(editor, harm):
    html = shown(editor, WHOLE | {"description": harm, "title": harm, "brand": harm, "voucher_code": harm})
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript:' not in html
    assert "14" not in re.findall(r"<h1[^>]*>(.*?)</h1>", html, re.S)[0]


def test_a_link_that_is_none_is_not_shown(editor):
    assert "javascript:" not in shown(editor, WHOLE | {"link": "javascript:alert(1)"})


def test_a_deal_that_is_over_looks_like_one(editor):
    assert "This deal is sold out." in shown(editor, WHOLE | {"stock": "0"})
    assert "This deal expired on" in shown(editor, WHOLE | {"expires_at": "2026-11-20T10:00"})


def test_a_live_deals_preview_tells_the_lowest_price_and_costs_one_query(editor, calls):
    deal = make_deal(live_at=NOW - 40 * DAY, now=NOW - 40 * DAY)
    html = shown(editor, WHOLE | {"price": "60.00"}, deal=deal.id)
    assert "Lowest price of the 30 days before" in html
    assert "€79.90" in html
    assert calls(lambda: shown(editor, WHOLE, deal=deal.id)) == ["Query"]


def test_a_scheduled_deal_is_shown_as_it_will_be_when_it_goes_live(editor, calls):
    deal = make_deal(live_at=NOW + DAY)
    ends = (NOW + DAY + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M")
    assert "5 hours left" in shown(editor, WHOLE | {"expires_at": ends}, deal=deal.id)
    assert calls(lambda: shown(editor, WHOLE, deal=deal.id)) == []


@pytest.mark.parametrize("deal", ["x", "0" * 26, "%00", "../.."])
def test_a_deal_that_does_not_exist_is_previewed_like_a_new_one(editor, deal):
    assert "Mechanical keyboard" in shown(editor, WHOLE, deal=deal)


def test_a_picture_that_was_uploaded_before_is_shown(editor):
    draft_id = make_id(NOW)
    post = WHOLE | {"price": "x", "picture_file": picture_file(), "picture_alt": "A keyboard"}
    kept = inputs(editor.post(reverse("cms_draft", args=[draft_id]), post | {"action": "save"}))
    html = shown(editor, kept | {"price": "79.90"})
    assert html.count('alt="A keyboard"') == 2
    with pytest.raises(errors.NotFound):
        drafts.get(draft_id)


def test_without_script_the_preview_is_a_page_of_its_own_where_nothing_can_be_bought(editor):
    response = editor.post(PREVIEW, WHOLE | {"picture_file": picture_file(), "picture_alt": "A keyboard"})
    html = response.content.decode()
    assert response.status_code == 200
    assert '<meta name="robots" content="noindex">' in html
    assert 'alt="A keyboard"' in html
    assert re.search(r'<button class="btn btn-primary min-h-11 flex-1"\s+type="submit"\s+disabled>', html)
    assert re.search(r'<button class="offer-add"[^>]*\sdisabled>', html)


def test_the_frame_may_be_framed_by_this_site_alone_and_runs_no_script(editor):
    answer = editor.get(reverse("cms_preview_frame"))
    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    assert (policy["frame-ancestors"], policy["script-src"]) == ("'self'", "'none'")
    assert policy["form-action"] == "'none'"
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    assert "<script" not in answer.content.decode()
    assert re.search(r'<main id="previewed"[^>]* inert>', answer.content.decode())


def test_only_the_pages_with_a_preview_hold_a_frame_and_none_may_be_framed(editor):
    deal = make_deal(picture=PICTURE)
    for address in (reverse("cms_deal", args=[deal.id]), reverse("cms_new_draft")):
        answer = editor.get(address)
        assert "frame-src 'self'" in answer["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert answer["X-Frame-Options"] == "DENY"
    assert "frame-src" not in editor.get(reverse("cms_brands"))["Content-Security-Policy"]
