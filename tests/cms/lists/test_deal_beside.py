"""A deal that was opened from a list leads to the ones beside it, and to the next one after saving."""

import re
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deal_changes, deals, drafts
from dealsite.data.catalogue.buckets import PAGE_SIZE
from tests.builders import DAY, HOUR, NOW, make_brand, make_deal, make_draft
from tests.cms.conftest import do, inputs

BESIDE, LIST = reverse("cms_deal_beside"), reverse("cms_deals")


def page_of(target, back=""):
    """Return the address of a deal's page as a list links to it."""
    name = "cms_draft" if hasattr(target, "published_as") else "cms_deal"
    return reverse(name, args=[target.id], query={"back": back})


def leads(editor, address, way):
    """Return where the arrow of a page leads."""
    html = editor.get(address).content.decode()
    found = re.search(rf'href="({BESIDE}\?[^"]+way={way})"', html)
    assert found, "The page has no such arrow."
    return editor.get(unescape(found[1]))["Location"]


def action_of(page):
    """Return where the form of a page is sent."""
    html = page.content.decode()
    return unescape(re.search(r'id="edit-form"\s+method="post"\s+action="([^"]+)"', html)[1])


def change(editor, address, **fields):
    """Send the form of a page with other fields."""
    page = editor.get(address)
    return editor.post(action_of(page), inputs(page) | fields)


def said(editor):
    return editor.get(LIST).content.decode()


@pytest.fixture
def three():
    """Three live deals, the newest first, which end in the same order."""
    return [
        make_deal(title=f"Lamp {n}", live_at=NOW - n * HOUR, expires_at=NOW + n * HOUR) for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "back", ["", "?state=live", "?state=ending", "?brand=nordlicht", "?rows=50&columns=price"]
)
def test_the_arrows_lead_through_the_list(editor, three, back):
    first, middle, last = three
    assert leads(editor, page_of(middle, back), "next") == page_of(last, back)
    assert leads(editor, page_of(middle, back), "previous") == page_of(first, back)


@pytest.mark.parametrize(
    ("way", "index", "sentence"),
    [("next", -1, "That was the last one."), ("previous", 0, "That was the first one.")],
)
@pytest.mark.parametrize("back", ["?state=live", "?state=ending", "?state=live&sort=expires"])
def test_at_the_end_one_is_led_back_to_the_list(editor, three, search_index, back, way, index, sentence):
    search_index()
    assert leads(editor, page_of(three[index], back), way) == LIST + back
    assert sentence in said(editor)


def test_drafts_lead_to_drafts_and_what_has_expired_to_what_has_expired(editor):
    older, newer = (make_draft(title=f"Draft {n}", now=NOW + n * HOUR) for n in (1, 2))
    assert leads(editor, page_of(newer, "?state=draft"), "next") == page_of(older, "?state=draft")
    assert leads(editor, page_of(older, "?state=draft"), "previous") == page_of(newer, "?state=draft")
    long_over, over = (make_deal(live_at=NOW - 3 * DAY, expires_at=NOW - n * HOUR) for n in (2, 1))
    assert leads(editor, page_of(over, "?state=expired"), "next") == page_of(long_over, "?state=expired")


def test_a_page_that_was_opened_from_no_list_has_no_arrows(editor, three):
    html = editor.get(reverse("cms_deal", args=[three[0].id])).content.decode()
    assert BESIDE not in html
    assert "Save and next" not in html
    assert f'action="{reverse("cms_deal", args=[three[0].id])}"' in html


@pytest.mark.parametrize(
    ("back", "expires"), [("?state=live", "2026-11-21T12:01"), ("?state=ending", "2026-12-24T12:00")]
)
def test_what_has_left_the_list_has_neighbours_by_the_place_at_which_it_was_opened(
    editor, three, back, expires
):
    first, middle, last = three
    address = page_of(middle, back)
    saved = change(editor, address, expires_at=expires)["Location"]
    assert saved.startswith(f"{address}&at=")
    assert leads(editor, saved, "next") == page_of(last, back)
    assert leads(editor, saved, "previous") == page_of(first, back)
    deal_changes.delete(deals.get(middle.id), by="eve", now=NOW)
    assert beside(editor, middle, back) == page_of(last, back)


def beside(editor, deal, back, way="next"):
    at = f"{deal.content.expires_at:%Y-%m-%dT%H:%M:%S.000Z}~{deal.id}"
    return editor.get(BESIDE, {"at": at, "way": way, "back": back})["Location"]


def test_an_end_that_moves_a_deal_within_the_list_leads_to_no_deal_itself(editor, three):
    middle = three[1]
    change(editor, page_of(middle, "?state=ending"), expires_at="2026-11-21T14:30")
    assert beside(editor, middle, "?state=ending") == page_of(three[2], "?state=ending")


def test_a_published_draft_leads_to_the_draft_that_was_beside_it(editor):
    older, newer = (make_draft(title="Draft", now=NOW - n * HOUR) for n in (2, 1))
    address = page_of(newer, "?state=draft")
    fields = {"brand": "Nordlicht", "category": "peripherals-networking", "link": "https://shop.example/"}
    texts = {"price": "5", "description": "It shines."}
    published = change(editor, address, action="publish", **fields, **texts)["Location"]
    assert published.startswith("/cms/deals/")
    assert leads(editor, published, "next") == page_of(older, "?state=draft")


# Lists by search


def test_the_arrows_lead_over_the_pages_of_what_is_found(editor, search_index):
    made = [make_deal(title="Lamp", live_at=NOW - (n + 1) * HOUR) for n in range(PAGE_SIZE + 1)]
    search_index()
    for query in ("lacks=picture", "state=live&sort=price"):
        back, second = f"?{query}", f"?{query}&page=2"
        assert leads(editor, page_of(made[3], back), "next") == page_of(made[4], back)
        assert leads(editor, page_of(made[24], back), "next") == page_of(made[25], second)
        assert leads(editor, page_of(made[25], second), "previous") == page_of(made[24], f"{back}&page=1")
        assert leads(editor, page_of(made[25], second), "next") == LIST + second


def test_what_is_no_longer_found_leads_on_where_the_order_says_its_place(editor, search_index):
    made = [make_deal(title="Lamp", live_at=NOW - (n + 1) * HOUR) for n in range(3)]
    deal_changes.delete(deals.get(made[1].id), by="eve", now=NOW)
    search_index()
    for way, other in (("next", made[2]), ("previous", made[0])):
        asked = {"at": made[1].id, "way": way}
        assert editor.get(BESIDE, asked | {"back": "?lacks=picture"})["Location"] == page_of(
            other, "?lacks=picture"
        )
        for back in ("?q=lamp", "?state=live&sort=price"):
            assert editor.get(BESIDE, asked | {"back": back})["Location"] == LIST + back
            assert "It was not found in this list any more." in said(editor)


# What is done on the page


def test_a_save_keeps_the_list_that_the_deal_was_opened_from(editor, three):
    address, back = page_of(three[1], "?state=live"), f'href="{LIST}?state=live"'
    refused = change(editor, address, title="")
    assert refused.status_code == 422
    assert back in refused.content.decode()
    for action, more in (("save", {}), ("keep", {"changes": ["1"]})):
        saved = change(editor, address, title=f"Desk to {action}", action=action)["Location"]
        kept = {"back": ["?state=live"], "at": [f"2026-11-21T14:00:00.000Z~{three[1].id}"]}
        assert parse_qs(urlsplit(saved).query) == kept | more
        page = editor.get(saved)
        assert back in page.content.decode()
        assert action_of(page) == saved


def test_a_conflict_keeps_the_list(editor, three):
    page = editor.get(page_of(three[1], "?state=live"))
    content = replace(three[1].content, title="Chair")
    deal_changes.edit(three[1], content, version=1, brand=make_brand(), by="oscar", now=NOW)
    conflict = editor.post(action_of(page), inputs(page) | {"title": "Desk"})
    assert conflict.status_code == 409
    assert f'href="{LIST}?state=live"' in conflict.content.decode()
    assert action_of(conflict) == action_of(page)


def test_what_is_ended_or_whose_changes_are_discarded_is_still_of_its_list(editor, three):
    address = page_of(three[1], "?state=live")
    kept = change(editor, address, title="Desk", action="keep")["Location"]
    discarded = do(editor, "discard-changes", three[1], to_changes="1", next=kept)
    assert f'href="{LIST}?state=live"' in editor.get(discarded["Location"]).content.decode()
    target = reverse("cms_do", args=["expire"])
    form = re.search(rf'<form[^>]*action="{target}".*?</form>', editor.get(address).content.decode(), re.S)
    here = unescape(re.search(r'name="next"\s+value="([^"]*)"', form[0])[1])
    assert here == address
    assert do(editor, "expire", three[1], next=here)["Location"] == address
    assert f'href="{LIST}?state=live"' in editor.get(address).content.decode()


@pytest.mark.parametrize("action", ["save-next", "keep-next"])
def test_save_and_next_saves_and_leads_to_the_next_one(editor, three, action):
    address = page_of(three[1], "?state=live")
    saved = change(editor, address, title="Desk", action=action)
    assert editor.get(saved["Location"])["Location"] == page_of(three[2], "?state=live")
    assert deals.get(three[1].id).content.title == ("Desk" if action == "save-next" else "Lamp 2")
    assert change(editor, address, title="", action="save-next").status_code == 422


def test_save_and_next_leads_from_draft_to_draft(editor):
    older, newer = (make_draft(title="Draft", now=NOW - n * HOUR) for n in (2, 1))
    saved = change(editor, page_of(newer, "?state=draft"), title="Desk", action="save-next")
    assert editor.get(saved["Location"])["Location"] == page_of(older, "?state=draft")
    assert drafts.get(newer.id).content.title == "Desk"


def test_save_and_next_without_a_list_leads_to_the_deal(editor, three):
    address = reverse("cms_deal", args=[three[1].id])
    assert change(editor, address, title="Desk", action="save-next")["Location"] == address


# Hostile addresses


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"way": "up"}, 400),
        ({"way": ""}, 400),
        ({"at": ""}, 400),
        ({"at": "8" * 26}, 400),
        ({"at": "\x00" * 26}, 400),
        ({"at": "x~01ARZ3NDEKTSV4RRFFQ69G5FAV", "back": "?state=ending"}, 400),
        ({"at": "x~01ARZ3NDEKTSV4RRFFQ69G5FAV", "back": "?state=ending&after=x"}, 400),
        ({"back": "?state=nobody"}, 404),
        ({"back": "?category=nobody"}, 404),
        ({"back": "?lacks=nobody"}, 404),
        ({"back": "?brand=nobody"}, 404),
        ({"back": "?q=lamp&page=-1"}, 400),
        ({"back": "?state=ending"}, 302),
        ({"back": "https://evil.example/"}, 302),
        ({"back": "//evil.example/?next=//evil.example/"}, 302),
        ({"back": "?state=all\r\nLocation: //evil.example/"}, 404),
    ],
)
def test_what_nobody_made_is_refused_or_leads_into_the_cms(editor, asked, status):
    whole = {"way": "next", "at": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "back": ""} | asked
    answer = editor.get(BESIDE, whole)
    assert answer.status_code == status
    if status == 302:
        assert re.fullmatch(r"/cms/deals/(\?state=ending)?", answer["Location"])


def test_a_page_keeps_nothing_of_its_address_but_what_lists_have(editor, three):
    address = reverse("cms_deal", args=[three[1].id])
    asked = {"back": "//evil.example/?x=1&state=live", "at": '"><script>' * 99}
    page = editor.get(address, asked)
    assert "evil" not in action_of(page)
    assert "<script>&" not in page.content.decode()
