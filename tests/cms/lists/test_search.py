"""Editors find deals by their words: in the list of deals, and where they choose what to feature."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deal_changes, deals
from tests.builders import DAY, HOUR, NOW, PICTURE, make_deal, make_draft
from tests.cms.conftest import HTMX, inputs
from tests.cms.lists.test_deal_list import titles

LIST = reverse("cms_deals")
FRONT = reverse("cms_featured_page", args=["front"])
CHOICES = HTMX | {"HX-Target": "choices"}


@pytest.fixture
def lamps(search_index):
    made = {
        "live": make_deal(title="Brass lamp"),
        "sold out": make_deal(title="Sold lamp", stock=0, live_at=NOW - 2 * HOUR, brand="Vela"),
        "ending": make_deal(title="Ending lamp", expires_at=NOW + HOUR, live_at=NOW - 3 * HOUR),
        "expired": make_deal(title="Old lamp", expires_at=NOW - HOUR / 2, live_at=NOW - 4 * HOUR),
        "scheduled": make_deal(title="Lamp to come", live_at=NOW + DAY, category="toys-hobbies"),
        "other": make_deal(title="Keyboard"),
    }
    make_draft(title="Draft of a lamp", brand="Vela")
    search_index()
    return made


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ({}, {"Brass lamp", "Sold lamp", "Ending lamp", "Old lamp", "Lamp to come"}),
        ({"state": "live"}, {"Brass lamp", "Sold lamp", "Ending lamp"}),
        ({"state": "ending"}, {"Ending lamp"}),
        ({"state": "expired"}, {"Old lamp"}),
        ({"state": "scheduled"}, {"Lamp to come"}),
        ({"state": "draft"}, {"Draft of a lamp"}),
        ({"brand": "Vela"}, {"Sold lamp"}),
        ({"brand": "Vela", "state": "draft"}, {"Draft of a lamp"}),
        ({"category": "toys-hobbies"}, {"Lamp to come"}),
        ({"brand": "nobody"}, set()),
    ],
)
@pytest.mark.parametrize("words", ["lamp", "lmap"])
def test_the_list_is_searched_by_words(editor, asked, listed, words):
    for headers in ({}, HTMX):
        response = editor.get(LIST, {"q": words} | asked, headers=headers)
        assert response.status_code == 200
        assert set(titles(response)) == listed


@pytest.mark.usefixtures("lamps")
def test_searching_the_list_asks_nothing_of_the_table_while_one_types(editor, calls):
    assert calls(lambda: editor.get(LIST, {"q": "lamp"}, headers=HTMX)) == []
    whole = calls(lambda: editor.get(LIST, {"q": "lamp"}))
    assert sorted(whole) == ["BatchGetItem", "GetItem"]  # the deals as they are now, the saved views


@pytest.mark.usefixtures("lamps")
def test_what_one_has_just_changed_is_shown_so_before_the_index_knows(editor, lamps):
    deal_changes.expire_now(deals.get(lamps["live"].id), by="mara", now=NOW)
    deal_changes.delete(deals.get(lamps["other"].id), by="mara", now=NOW)
    page = editor.get(LIST, {"q": "brass"}).content.decode()
    assert page.count('data-state="expired"') == 1
    assert titles(editor.get(LIST, {"q": "keyboard"})) == []


@pytest.mark.usefixtures("lamps")
def test_the_tabs_and_the_address_keep_the_words(editor):
    response = editor.get(LIST, {"q": "lamp", "state": "live"}, headers=HTMX)
    html = response.content.decode()
    assert "<html" not in html
    assert response.headers["HX-Replace-Url"] == f"{LIST}?q=lamp&state=live"
    assert re.search(r'id="deal-states"[^>]*hx-swap-oob="true"', html)
    assert "?q=lamp&amp;state=expired" in html
    whole = editor.get(LIST, {"q": "lamp", "state": "live"}).content.decode()
    assert "hx-swap-oob" not in whole
    assert 'value="lamp"' in whole


def test_pages_of_what_is_found_lead_on_and_back(editor, search_index):
    for number in range(30):
        make_deal(title=f"Lamp {number}", live_at=NOW - (number + 1) * HOUR)
    search_index()
    first = editor.get(LIST, {"q": "lamp", "state": "live"})
    onward = unescape(re.search(r'href="([^"]+)" rel="next"', first.content.decode())[1])
    assert parse_qs(urlsplit(onward).query) == {"q": ["lamp"], "state": ["live"], "page": ["2"]}
    second = editor.get(LIST + onward)
    assert len(titles(first) + titles(second)) == len(set(titles(first) + titles(second))) == 30
    assert 'rel="prev"' in second.content.decode()


@pytest.mark.parametrize("page", ["0", "x", "\x00", "-1", "9" * 30])
def test_a_damaged_page_is_400(editor, page):
    assert editor.get(LIST, {"q": "lamp", "page": page}).status_code == 400


def test_an_id_or_link_in_the_box_leads_to_its_deal(editor, lamps):
    deal = lamps["live"]
    response = editor.get(LIST, {"q": f"https://shop.example/deals/{deal.id}/x/"}, follow=True)
    assert response.redirect_chain[-1][0] == reverse("cms_deal", args=[deal.id])
    html = editor.get(LIST, {"q": deal.id}, headers=HTMX).content.decode()
    assert "Press Enter to open the deal with this id." in html


@pytest.mark.parametrize("words", ["x" * 400_000, "\x00", "<b>", '"', "kind:draft"])
@pytest.mark.usefixtures("lamps")
def test_no_words_are_an_error(editor, words):
    for headers in ({}, HTMX):
        response = editor.get(LIST, {"q": words}, headers=headers)
        assert response.status_code == 200
        assert "<b>" not in response.content.decode()


def test_without_an_index_the_list_and_the_picker_say_so(editor, search_index):
    assert "Search is being set up" in editor.get(LIST, {"q": "lamp"}).content.decode()
    posted = inputs(editor.get(FRONT)) | {"words": "lamp", "do": "pick"}
    response = editor.post(FRONT, posted)
    assert response.status_code == 200
    assert "Search is being set up" in response.content.decode()


# The picker


def offered(response) -> set[str]:
    return set(
        re.findall(
            r'<span\s+class="line-clamp-2[^"]*"\s+dir="auto">([^<]+)</span>', response.content.decode()
        )
    )


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ({}, {"Brass lamp", "Sold lamp", "Ending lamp"}),
        ({"state": "scheduled"}, {"Lamp to come"}),
        ({"brand": "Vela"}, {"Sold lamp"}),
        ({"category": "toys-hobbies"}, set()),
    ],
)
def test_words_narrow_down_what_the_picker_offers(editor, asked, listed):
    form = inputs(editor.get(FRONT))
    for headers in ({}, CHOICES):
        response = editor.post(FRONT, form | asked | {"words": "lamp", "do": "pick"}, headers=headers)
        assert offered(response) == listed
        assert ('value="lamp"' in response.content.decode()) == (not headers)
    assert "<html" not in response.content.decode()


def test_a_deal_that_was_found_is_added_and_the_words_stay(editor, lamps):
    form = inputs(editor.get(FRONT)) | {"words": "brass"}
    response = editor.post(FRONT, form | {"do": f"add:{lamps['live'].id}"})
    assert offered(response) == {"Brass lamp"}
    assert "Move Brass lamp up" in response.content.decode()


@pytest.fixture
def lacking(search_index):
    make_deal(title="Bare lamp")
    make_deal(title="Bare chair", brand="Vela", stock=0, live_at=NOW - 2 * HOUR)
    make_deal(title="Complete", picture=PICTURE)
    make_draft(title="Bare draft")
    search_index()


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"lacks": "picture"}, ["Bare lamp", "Bare chair"]),
        ({"lacks": "picture", "brand": "Vela"}, ["Bare chair"]),
        ({"lacks": "picture", "q": "lamp"}, ["Bare lamp"]),
        ({"lacks": "picture", "state": "draft"}, ["Bare draft"]),
        ({"lacks": "stock"}, ["Bare chair"]),
        ({"lacks": "alt"}, []),
        ({"lacks": "link"}, []),
    ],
)
def test_a_list_is_narrowed_down_by_what_is_wrong(editor, asked, found):
    for headers in ({}, HTMX):
        response = editor.get(LIST, asked, headers=headers)
        assert [row.card.title for row in response.context["deals"]] == found
        html = response.content.decode()
        if found:
            assert f'name="lacks" value="{asked["lacks"]}"' in html  # of the bar, and of the file
            assert f"lacks={asked['lacks']}" in html  # of the tabs
        else:
            assert "No deal fits all of these filters." in html


@pytest.mark.usefixtures("lacking")
def test_what_is_wrong_stays_chosen_and_costs_no_more_than_words(editor, calls):
    html = editor.get(LIST, {"lacks": "picture"}).content.decode()
    assert re.search(r'<option value="picture" selected>', html)
    by_words = calls(lambda: editor.get(LIST, {"q": "lamp"}))
    assert sorted(calls(lambda: editor.get(LIST, {"lacks": "picture"}))) == sorted(by_words)


def test_no_other_wrong_is_known(editor):
    assert editor.get(LIST, {"lacks": "sense"}).status_code == 404


@pytest.fixture
def crowd(search_index):
    """A brand and a category that have many deals, but few together."""
    for number in range(30):
        make_deal(title=f"Other {number}", live_at=NOW - number * DAY)
    toys = "toys-hobbies"
    make_deal(title="Robot", live_at=NOW - 40 * DAY, category=toys)
    make_deal(title="Train", live_at=NOW - 41 * DAY, expires_at=NOW + 2 * HOUR, category=toys)
    make_deal(title="Kite", live_at=NOW - 42 * DAY, expires_at=NOW + HOUR, category=toys)
    make_deal(title="Drum", live_at=NOW - 43 * DAY, expires_at=NOW - 2 * HOUR, category=toys)
    make_deal(title="Doll", live_at=NOW - 44 * DAY, expires_at=NOW - HOUR, category=toys)
    make_draft(title="Puzzle", brand="Nordlicht", category=toys)
    make_draft(title="Puzzle of another", brand="Vela", category=toys)


TOGETHER = {"brand": "Nordlicht", "category": "toys-hobbies"}


@pytest.mark.parametrize("ready", [True, False], ids=["by search", "while search is set up"])
@pytest.mark.parametrize(
    ("state", "listed"),
    [
        ("all", ["Robot", "Train", "Kite", "Drum", "Doll"]),
        ("live", ["Robot", "Train", "Kite"]),
        ("ending", ["Kite", "Train"]),
        ("expired", ["Doll", "Drum"]),
        ("draft", ["Puzzle"]),
    ],
)
def test_a_brand_and_a_category_together_are_listed(editor, crowd, search_index, state, listed, ready):
    if ready:
        search_index()
    response = editor.get(LIST, TOGETHER | {"state": state})
    assert [row.card.title for row in response.context["deals"]] == listed


def test_a_brand_and_a_category_together_cost_nothing_more_where_the_brand_has_many_deals(
    editor, crowd, search_index, calls
):
    search_index()
    by_words = calls(lambda: editor.get(LIST, {"q": "robot"}))
    assert sorted(calls(lambda: editor.get(LIST, TOGETHER))) == sorted(by_words)
    preview = {"all": "1", "action": "category", "to_category": "home-furniture", "state": "live"}
    address = reverse("cms_bulk")
    few = calls(lambda: editor.get(address, preview | {"q": "robot"}))
    assert calls(lambda: editor.get(address, preview | TOGETHER)) == few
