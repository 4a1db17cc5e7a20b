"""The command palette: pages that somebody may open, and deals, drafts and brands by their words."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.urls import reverse

from dealsite.data.catalogue import drafts
from tests.builders import HOUR, NOW, make_brand, make_deal, make_draft
from tests.cms.conftest import HTMX, way_back

PALETTE = reverse("cms_palette")


def titles(response) -> list[str]:
    """The titles of what is offered."""
    return [unescape(t) for t in re.findall(r"</svg>\s*<span>(.*?)</span>", response.content.decode())]


@pytest.mark.parametrize(
    ("roles", "offered", "withheld"),
    [
        (["editor"], {"Deals", "New deal", "Settings"}, {"Orders", "Users"}),
        (["back office"], {"Orders", "Jobs", "Settings"}, {"Deals", "New deal", "Users"}),
        (["admin"], {"Deals", "Orders", "Users", "Audit log"}, set()),
    ],
)
def test_it_offers_the_pages_that_ones_roles_open(sign_in, roles, offered, withheld):
    browser = sign_in(*roles)
    for headers in ({}, HTMX):
        found = set(titles(browser.get(PALETTE, headers=headers)))
        assert offered <= found
        assert not withheld & found


@pytest.mark.parametrize("words", ["new de", "DE new", "draft write", "new deal"])
def test_a_page_is_found_by_the_beginnings_of_its_words(editor, words):
    assert titles(editor.get(PALETTE, {"q": words}, headers=HTMX))[0] == "New deal"


def test_deals_drafts_and_brands_are_found_by_their_words(editor, search_index):
    make_brand("Lampert")
    deal = make_deal(title="Brass lamp")
    make_deal(title="Lamp to come", live_at=NOW + HOUR)
    make_deal(title="Keyboard")
    draft = make_draft(title="Draft of a lamp")
    search_index()
    response = editor.get(PALETTE, {"q": "lamp"}, headers=HTMX)
    page = response.content.decode()
    found, best = titles(response), titles(response)[0]
    assert {"Brass lamp", "Lamp to come", "Draft of a lamp", "Lampert"} == {*found[:2], *found[-3:-1]}
    assert found[-1] == "Deals with “lamp”"
    assert f"With “{best}”" in page
    assert found[2:-3] == ["Change price or expiry", "Expire now", "Duplicate as a draft", "History"]
    assert titles(editor.get(PALETTE, {"q": ">lamp"}, headers=HTMX)) == []
    assert reverse("cms_deal", args=[deal.id]) in page
    assert reverse("cms_draft", args=[draft.id]) in page
    assert reverse("cms_brand", args=["lampert"]) in page


def test_what_is_done_with_a_deal_is_done_by_a_form(editor, search_index):
    deal = make_deal(title="Brass lamp")
    search_index()
    page = editor.get(PALETTE, {"q": "brass"}).content.decode()
    target = reverse("cms_do", args=["duplicate"])
    form = re.search(rf'<form method="post" action="{target}">.*?</form>', page, re.S)
    assert form
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))
    assert (sent["deal"], sent["next"]) == (deal.id, reverse("cms_deal", args=[deal.id]))
    answer = editor.post(target, sent)
    assert drafts.get(answer["Location"].split("/")[-2]).content.title == "Brass lamp"
    assert editor.post(way_back(answer).address, way_back(answer).fields)["Location"] == sent["next"]


def test_an_id_leads_to_its_deal(editor, search_index):
    search_index()
    deal = make_deal()
    response = editor.get(PALETTE, {"q": f"https://shop.example/deals/{deal.id.lower()}/x/"}, headers=HTMX)
    assert f"{reverse('cms_find_deal')}?q={deal.id}" in response.content.decode()


def test_the_back_office_finds_no_deals(sign_in, search_index):
    make_deal(title="Brass lamp")
    search_index()
    response = sign_in("back office").get(PALETTE, {"q": "lamp"}, headers=HTMX)
    assert titles(response) == ["Orders with “lamp”", "Payments of “lamp”"]
    assert "Nothing goes by the name “lamp”" in response.content.decode()


@pytest.mark.parametrize("words", ["<script>alert(1)</script>", "\x00", "x" * 5000, "‮lamp", "#"])
def test_words_can_hold_anything(editor, search_index, words):
    search_index()
    for headers in ({}, HTMX):
        response = editor.get(PALETTE, {"q": words}, headers=headers)
        assert response.status_code == 200
        assert "<script>alert" not in response.content.decode()


def test_without_a_search_index_pages_and_brands_are_found_all_the_same(editor):
    assert titles(editor.get(PALETTE, {"q": "deals"}, headers=HTMX)) == ["Deals", "Deals with “deals”"]


def test_it_costs_one_query_and_nothing_before_one_types(calls, editor, search_index):
    search_index()
    assert calls(lambda: editor.get(PALETTE)) == []
    assert calls(lambda: editor.get(PALETTE, {"q": "lamp"})) == ["Query"]


def test_shoppers_do_not_see_it(sign_in):
    assert sign_in().get(PALETTE).status_code == 403


def test_a_link_becomes_a_deal_unless_one_has_it(editor, calls, search_index):
    search_index()
    link = "https://shop.example/" + "lamp-" * 60
    form = re.search(
        r'<form method="post" action="/cms/drafts/\w+/">.*?</form>', _offered(editor, link), re.DOTALL
    )
    assert form
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))
    assert sent.pop("csrfmiddlewaretoken")
    assert sent == {"link": link, "version": "0", "action": "read"}
    deal = make_deal(title="Brass lamp", link=link)
    found = titles(editor.get(PALETTE, {"q": f"{link}?utm_source=x"}, headers=HTMX))
    assert found[:2] == ["Brass lamp", "New deal from this link"]
    assert reverse("cms_deal", args=[deal.id]) in _offered(editor, link)
    assert sorted(calls(lambda: _offered(editor, link))) == ["BatchGetItem", "BatchGetItem", "Query"]


def _offered(editor, asked):
    return editor.get(PALETTE, {"q": asked}, headers=HTMX).content.decode()
