import re

import pytest
from django.urls import reverse

from dealsite.data.catalogue.lists import PAGE_SIZE
from tests.builders import HOUR, NOW, make_deal, make_draft
from tests.cms.conftest import HTMX

LIST = reverse("cms_deals")
FIND = reverse("cms_find_deal")


def titles(response):
    return re.findall(r'dir="auto"\s+href="[^"]+">([^<]+)</a>', response.content.decode())


@pytest.fixture
def one_of_each():
    make_deal(title="Live one", live_at=NOW - 3 * HOUR)
    make_deal(title="Ending one", live_at=NOW - 4 * HOUR, expires_at=NOW + HOUR, brand="Vela")
    make_deal(title="Expired one", live_at=NOW - 5 * HOUR, expires_at=NOW - HOUR)
    make_deal(title="Scheduled one", live_at=NOW + HOUR, category="toys-hobbies")
    make_draft(title="Draft one", category="toys-hobbies")


@pytest.mark.parametrize(
    ("state", "listed"),
    [
        ("all", ["Scheduled one", "Live one", "Ending one", "Expired one"]),
        ("draft", ["Draft one"]),
        ("scheduled", ["Scheduled one"]),
        ("live", ["Live one", "Ending one"]),
        ("ending", ["Ending one"]),
        ("expired", ["Expired one"]),
    ],
)
@pytest.mark.usefixtures("one_of_each")
def test_the_list_shows_the_deals_of_a_state(editor, state, listed):
    whole, part = (editor.get(LIST, {"state": state}, headers=headers) for headers in ({}, HTMX))
    assert titles(whole) == titles(part) == listed
    assert "<html" not in part.content.decode()
    assert "HX-Request" in whole.headers["Vary"]


@pytest.mark.usefixtures("one_of_each")
def test_the_list_is_narrowed_by_brand_and_by_category(editor):
    assert titles(editor.get(LIST, {"brand": "Vela"})) == ["Ending one"]
    assert titles(editor.get(LIST, {"category": "toys-hobbies"})) == ["Scheduled one"]
    assert titles(editor.get(LIST, {"category": "toys-hobbies", "state": "draft"})) == ["Draft one"]
    assert titles(editor.get(LIST, {"brand": "Vela", "category": "toys-hobbies"})) == []


@pytest.mark.parametrize(
    ("state", "most"),
    [("all", 4), ("live", 4), ("scheduled", 4), ("draft", 2), ("ending", 3), ("expired", 4)],
)
@pytest.mark.usefixtures("one_of_each")
def test_a_list_costs_a_few_calls(editor, calls, state, most):
    assert len(calls(lambda: editor.get(LIST, {"state": state}))) <= most


def test_pages_lead_on_and_back_by_plain_links(editor):
    for number in range(PAGE_SIZE + 3):
        make_deal(title=f"Deal {number:02}", live_at=NOW - number * HOUR)
    first = editor.get(LIST, {"state": "live"})
    assert titles(first) == [f"Deal {number:02}" for number in range(PAGE_SIZE)]
    onward = re.search(r'href="(\?[^"]+)" rel="next"', first.content.decode())[1].replace("&amp;", "&")
    assert onward.startswith("?state=live&after=")
    second = editor.get(LIST + onward)
    assert titles(second) == [f"Deal {number:02}" for number in range(PAGE_SIZE, PAGE_SIZE + 3)]
    back = re.search(r'href="(\?[^"]+)" rel="prev"', second.content.decode())[1].replace("&amp;", "&")
    assert titles(editor.get(LIST + back)) == titles(first)


@pytest.mark.parametrize(
    "wrong", [{"state": "x"}, {"category": "x"}, {"brand": "nobody"}, {"category": "\x00"}]
)
def test_a_list_that_does_not_exist_is_404(editor, wrong):
    assert editor.get(LIST, wrong).status_code == 404


def test_a_brand_that_does_not_exist_is_said_beside_the_filter(editor):
    response = editor.get(LIST, {"brand": "No <b>body"})
    assert response.status_code == 404
    html = response.content.decode()
    assert "There is no brand “No &lt;b&gt;body”." in html
    assert 'value="No &lt;b&gt;body"' in html


@pytest.mark.parametrize("cursor", ["x", "\x00", "0" * 26 + "0", "é" * 26])
@pytest.mark.parametrize("state", ["all", "draft", "ending"])
@pytest.mark.parametrize("direction", ["after", "before"])
def test_a_damaged_cursor_is_400(editor, state, direction, cursor):
    assert editor.get(LIST, {"state": state, direction: cursor}).status_code == 400


def test_admins_see_what_the_page_cost(editor, sign_in):
    cost = re.compile(r"This page: 3 calls, [\d.]+ read units")
    assert not cost.search(editor.get(LIST, {"state": "draft"}).content.decode())
    assert cost.search(sign_in("admin").get(LIST, {"state": "draft"}).content.decode())


def test_a_deal_is_found_by_its_id_or_link(editor):
    deal = make_deal()
    for text in (
        deal.id,
        f" {deal.id.lower()} ",
        f"https://deals.example/deals/{deal.id}/mechanical-keyboard/?x=1",
        f"/cms/deals/{deal.id}/",
    ):
        assert editor.get(FIND, {"q": text}).headers["Location"] == reverse("cms_deal", args=[deal.id])


def test_a_draft_is_found_too(editor):
    draft = make_draft(title="x")
    assert editor.get(FIND, {"q": draft.id}).headers["Location"] == reverse("cms_draft", args=[draft.id])


@pytest.mark.parametrize("text", ["nothing", "0" * 26, "x" * 5000, "\x00", "<b>", "0" * 27])
def test_what_is_not_found_is_said(editor, text):
    response = editor.get(FIND, {"q": text})
    assert response.status_code == 404
    assert "<b>" not in response.content.decode()


def test_shoppers_and_visitors_see_none_of_it(sign_in, client, settings):
    deal, draft = make_deal(), make_draft(title="x")
    shopper, back_office = sign_in(), sign_in("back office")
    assert shopper.get(reverse("cms_home")).status_code == 403
    assert client.get(reverse("cms_home")).status_code == 302
    for path in (
        LIST,
        FIND,
        reverse("cms_new_draft"),
        reverse("cms_deal", args=[deal.id]),
        reverse("cms_draft", args=[draft.id]),
        reverse("cms_brands"),
        reverse("cms_brand_names"),
        reverse("cms_categories"),
        reverse("cms_featured"),
        reverse("cms_featured_page", args=["front"]),
    ):
        assert shopper.get(path).status_code == 403
        assert back_office.get(path).status_code == 403
        assert client.get(path).status_code == 302
