import re
from dataclasses import replace
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from cms.lists.list_address import OF_DEALS
from dealsite.data.catalogue import deal_changes, relations
from dealsite.data.catalogue.buckets import PAGE_SIZE
from tests.builders import DAY, HOUR, NOW, STATED, make_brand, make_deal, make_draft
from tests.cms.conftest import HTMX

LIST = reverse("cms_deals")
FIND = reverse("cms_find_deal")


def titles(response):
    return re.findall(r'<a class="thing-title"[^>]*>([^<]+)</a>', response.content.decode())


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


@pytest.mark.parametrize(
    ("sort", "listed", "order"),
    [
        ("price", ["Cheap", "Halved", "Dear"], "ascending"),
        ("discount", ["Halved", "Cheap", "Dear"], "descending"),
        ("expires", ["Dear", "Cheap", "Halved"], "ascending"),
        ("live", ["Cheap", "Dear", "Halved"], "descending"),
        ("changed", ["Dear", "Halved", "Cheap"], "descending"),
        ("likes", ["Halved", "Dear", "Cheap"], "descending"),
    ],
)
def test_the_list_is_sorted_by_a_column_and_says_so(editor, search_index, sort, listed, order):
    halved: dict[str, Any] = {"price": Decimal("10.00"), "was_price": Decimal("20.00"), **STATED}
    dear: dict[str, Any] = {"price": Decimal("90.00"), "was_price": Decimal("91.00")}
    make_deal(title="Cheap", price=Decimal("5.00"), was_price=Decimal("6.00"), expires_at=NOW + 2 * DAY)
    changed = make_deal(title="Dear", **dear, expires_at=NOW + DAY, live_at=NOW - 2 * HOUR)
    liked = make_deal(title="Halved", **halved, expires_at=NOW + 3 * DAY, live_at=NOW - 3 * HOUR)
    for who, one in (("ann", liked), ("bob", liked), ("ann", changed)):
        relations.add(relations.DEAL_LIKE, one.id, username=who, now=NOW)
    content = replace(changed.content, description="New")
    deal_changes.edit(changed, content, version=1, brand=make_brand(), by="mara", now=NOW + HOUR)
    search_index()
    page = editor.get(LIST, {"sort": sort, "columns": ",".join(OF_DEALS.labels)})
    assert titles(page) == listed
    html = page.content.decode()
    assert html.count("aria-sort=") == 1
    assert f'aria-sort="{order}"' in html
    assert re.findall(r'<option value="(\w+)"\s+selected', html.split('id="filter-sort"')[1]) == [sort]
    narrow = editor.get(LIST, {"sort": sort}).content.decode()
    (head,) = re.findall(r'<th class="([^"]+?)\s*"[^>]*aria-sort', narrow)
    assert head == f"column-{sort}"
    assert "max-[1500px]:hidden" in narrow  # others give way
    assert re.sub(r"\s+", " ", html).count("1–3 of 3") == 1
    assert titles(editor.get(LIST, {"sort": "title<"})) == titles(editor.get(LIST))


def test_tabs_say_how_many_there_are_of_what_is_looked_for(editor, search_index, one_of_each):
    search_index()
    numbers = re.findall(r'class="number">([\d,]+)<', editor.get(LIST).content.decode())
    assert numbers == ["4", "2", "1", "1", "1", "1"]  # all, live, ending soon, scheduled, drafts, expired
    of_brand = editor.get(LIST, {"brand": "vela"}).content.decode()
    assert re.findall(r'class="number">([\d,]+)<', of_brand) == ["1", "1", "1", "0", "0", "0"]
    assert "Without this: Brand Vela" in of_brand


def test_a_column_says_how_many_pieces_are_left(editor, search_index):
    make_deal(title="Counted", stock=7)
    make_deal(title="None left", stock=0)
    make_deal(title="Not counted")
    make_draft(title="Draft", stock=3)
    search_index()

    def cells(**query: str) -> list[str]:
        html = editor.get(LIST, {"columns": "stock", **query}).content.decode()
        return re.findall(r'<td class="column-stock[^>]*>\s*(\d*)\s*</td>', html)

    assert cells() == ["", "0", "7"]
    assert cells(q="counted") == ["7", ""]
    assert cells(state="draft") == ["3"]


def test_a_page_has_as_many_rows_as_one_wants(editor, search_index):
    for number in range(30):
        make_deal(title=f"Deal {number}")
    search_index()
    for query in ({}, {"sort": "price"}):
        assert len(titles(editor.get(LIST, query))) == 25
        assert len(titles(editor.get(LIST, query | {"rows": "50"}))) == 30
        assert len(titles(editor.get(LIST, query | {"rows": "5000"}))) == 25


def test_a_deal_leads_back_to_the_list_that_it_was_opened_from(editor):
    deal = make_deal()
    page = editor.get(LIST, {"state": "live", "brand": "nordlicht"}).content.decode()
    address = re.search(r'<a class="thing-title"[^>]*href="([^"]+)"', page, re.S)
    assert address
    form = editor.get(unescape(address[1])).content.decode()
    assert f'href="{LIST}?state=live&amp;brand=nordlicht"' in form
    assert (
        "evil"
        not in editor.get(f"{LIST}{deal.id}/?back=?evil=1")
        .content.decode()
        .split("<main")[1]
        .split("</h1>")[0]
    )


def test_rows_are_as_close_as_one_likes(editor):
    make_deal()
    assert 'data-density="compact"' not in editor.get(LIST).content.decode()
    response = editor.post(reverse("cms_choose"), {"compact_rows": "yes", "next": LIST + "?state=live"})
    assert response.headers["Location"] == LIST + "?state=live"
    assert 'data-density="compact"' in editor.get(LIST).content.decode()
    assert editor.post(reverse("cms_choose"), {"next": "//evil.example/"}).headers["Location"] == reverse(
        "cms_home"
    )


def test_a_row_says_when_it_was_changed_last_and_by_whom_as_far_as_the_index_knows(editor, search_index):
    deal = make_deal(title="Lamp", live_at=NOW - DAY)
    deal_changes.edit(
        deal,
        replace(deal.content, price=Decimal("5")),
        version=1,
        brand=make_brand(),
        by="oscar",
        now=NOW - HOUR,
    )
    assert "oscar" not in editor.get(LIST).content.decode()
    search_index()
    cell = re.search(r'<td class="column-changed.*?</td>', editor.get(LIST).content.decode(), re.S)
    assert cell
    assert "1 h ago" in cell[0]
    assert "oscar" in cell[0]
