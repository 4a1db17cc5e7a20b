"""Saved views of the CMS's lists, the columns of the list of deals, and duplicates made from its rows."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.urls import reverse

from cms.lists.list_address import OF_DEALS
from dealsite.data.catalogue import drafts
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import SavedView
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW, PICTURE, STATED, make_deal, make_draft, make_id
from tests.cms.conftest import HTMX, do, said
from tests.cms.lists.test_deal_list import titles

LIST, VIEWS, SAVE = reverse("cms_deals"), reverse("cms_views"), reverse("cms_save_view")
DELETE = reverse("cms_delete_view")


def save(browser, name, query="?state=live&q=lamp"):
    return browser.post(SAVE, {"name": name, "list": LIST + query})


def mine(username="eve"):
    return [(view.name, view.address) for view in saved_views.of(username)]


def chips(response):
    nav = re.search(r'<nav[^>]*aria-label="Saved views">.*?</nav>', response.content.decode(), re.S)
    found = r'href="([^"]+)"\s*(aria-current="true")?[^>]*>\s*<svg.*?</svg>\s*<span dir="auto">([^<]+)<'
    return [(unescape(one), *more) for one, *more in re.findall(found, nav[0], re.S)] if nav else []


def undo_fields(response, action):
    """What the Undo button of a notice sends."""
    forms = re.findall(r"<form.*?</form>", response.content.decode(), re.S)
    form = next(form for form in forms if f'action="{action}"' in form and "Undo" in form)
    tags = re.findall(r"<input[^>]*>", form, re.S)
    pairs = [dict(re.findall(r'(name|value)="([^"]*)"', tag)) for tag in tags]
    return {pair["name"]: unescape(pair.get("value", "")) for pair in pairs}


def test_a_list_is_kept_under_a_name_with_filters_order_and_columns_but_not_its_page(editor):
    response = save(editor, "Lamps", "?state=live&q=lamp&columns=price,state&page=3&after=x")
    address = f"{LIST}?state=live&q=lamp&columns=price%2Cstate"
    assert mine() == [("Lamps", address)]
    assert response.headers["Location"] == address
    assert chips(editor.get(LIST)) == [(address, "", "Lamps")]


@pytest.mark.parametrize("query", ["", "?state=live&columns=price", "?state=draft&brand=nordlicht"])
def test_what_the_form_below_a_list_saves_is_the_list_that_is_shown(editor, query):
    make_deal()
    make_draft(brand="Nordlicht")
    html = editor.get(LIST + query).content.decode()
    form = next(one for one in re.findall(r"<form.*?</form>", html, re.S) if f'action="{SAVE}"' in one)
    address = unescape(re.search(r'name="list" value="([^"]+)"', form)[1])
    shown = editor.post(SAVE, {"name": "One", "list": address}, follow=True)
    assert [chip[1:] for chip in chips(shown)] == [('aria-current="true"', "One")]


def test_a_part_of_the_page_brings_along_what_would_be_saved(editor, search_index):
    make_deal(title="Lamp")
    search_index()
    part = editor.get(LIST, {"q": "lamp", "state": "live"}, headers=HTMX).content.decode()
    assert re.findall(r'name="list" value="([^"]+)"', part) == ["/cms/deals/?q=lamp&amp;state=live"] * 2


def test_a_second_view_of_a_name_replaces_the_first_until_undo(editor):
    save(editor, "Lamps", "?state=live")
    response = save(editor, "lamps", "?state=draft")
    assert mine() == [("lamps", f"{LIST}?state=draft")]
    editor.post(SAVE, undo_fields(editor.get(response.headers["Location"]), SAVE))
    assert mine() == [("Lamps", f"{LIST}?state=live")]


def test_a_view_is_deleted_until_undo(editor):
    save(editor, "Lamps")
    kept = mine()
    page = editor.post(DELETE, {"name": "Lamps"}, follow=True)
    assert mine() == []
    assert "You have no views yet." in page.content.decode()
    editor.post(SAVE, undo_fields(page, SAVE))
    assert mine() == kept
    assert editor.post(DELETE, {"name": "Other"}).headers["Location"] == VIEWS
    assert mine() == kept


def test_views_are_ones_own(editor, other_editor):
    save(editor, "Mine")
    assert chips(other_editor.get(LIST)) == []
    other_editor.post(DELETE, {"name": "Mine"})
    assert [name for name, _ in mine()] == ["Mine"]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://elsewhere.example/cms/deals/",
        "//elsewhere.example/cms/deals/",
        "/\\elsewhere.example/cms/deals/",
        "javascript:alert(1)",
        "/cms/gone/",
        "/cms/",
        "/cms/views/",
        "/deals/",
        "/cms/deals/\r\nX: 1",
        f"/cms/deals/?q={'x' * 4_000}",
    ],
)
def test_what_is_no_list_of_the_cms_is_refused(editor, address):
    assert editor.post(SAVE, {"name": "Bad", "list": address}).status_code == 404
    assert mine() == []


@pytest.mark.parametrize(
    ("name", "query", "said"),
    [
        (" ", "", "Give the view a name."),
        ("L" * 61, "", "A name has at most 60 characters."),
        ("Long", f"?q={'x' * 1_000}", "These filters cannot be saved."),
    ],
)
def test_what_cannot_be_saved_says_why(editor, name, query, said):
    page = editor.post(SAVE, {"name": name, "list": LIST + query}, follow=True)
    assert said in page.content.decode()
    assert mine() == []


def test_a_view_of_a_list_that_is_gone_is_named_but_leads_nowhere(editor):
    saved_views.save("eve", SavedView("Old <b>", "/cms/gone/?x=1"), now=NOW)
    html = editor.get(VIEWS).content.decode()
    assert "Old &lt;b&gt;" in html
    assert "This list no longer exists." in html
    assert 'href="/cms/gone/' not in html
    page = editor.post(DELETE, {"name": "Old <b>"}, follow=True)
    assert "is deleted" in page.content.decode()
    assert mine() == []


def test_other_lists_are_saved_too(office):
    office.post(SAVE, {"name": "Mine", "list": "/cms/orders/?state=paid"})
    assert 'href="/cms/orders/?state=paid"' in office.get(VIEWS).content.decode()


def test_a_view_that_came_while_the_table_was_away_is_kept(editor, monkeypatch):
    def away(*arguments, **options):
        raise errors.Unavailable()

    monkeypatch.setattr(saved_views, "save", away)
    page = save(editor, "Lamps")
    assert page.status_code == 503
    assert ("name", "Lamps") in page.context["kept"]


# Columns


def headings(response):
    head = re.search(r"<thead.*?</thead>", response.content.decode(), re.S)
    return (
        [re.sub(r"<[^>]+>", "", one).strip() for one in re.findall(r"<th .*?</th>", head[0], re.S)][2:]
        if head
        else []
    )


def test_the_usual_columns_are_shown(editor):
    make_deal()
    assert headings(editor.get(LIST)) == [
        "State",
        "Price",
        "Compared",
        "Off",
        "Ends",
        "Category",
        "Live",
        "Changed",
    ]


def test_chosen_columns_stand_in_the_address_and_nowhere_else(editor):
    make_deal(voucher_code="SAVE5")
    choose = reverse("cms_choose_columns")
    html = editor.get(LIST, {"state": "live", "columns": "id"}).content.decode()
    form = next(one for one in re.findall(r"<form.*?</form>", html, re.S) if f'action="{choose}"' in one)
    shown = unescape(re.search(r'name="list" value="([^"]+)"', form)[1])
    address = editor.post(choose, {"column": ["voucher", "price"], "list": shown}).headers["Location"]
    assert address == f"{LIST}?state=live&columns=voucher%2Cprice"
    assert editor.post(choose, {"column": ["price"], "list": "/cms/"}).status_code == 404
    page = editor.get(address)
    assert 'value="/cms/deals/?state=live&amp;columns=price%2Cvoucher"' in page.content.decode()
    assert headings(page) == ["Price", "Voucher"]
    assert "SAVE5" in page.content.decode()
    assert "Live" in headings(editor.get(LIST))
    for usual in ([], [*OF_DEALS.usual]):
        address = editor.post(choose, {"column": usual, "list": LIST}).headers["Location"]
        assert headings(editor.get(address)) == headings(editor.get(LIST))
        assert "columns=" not in editor.get(address, headers=HTMX).headers["HX-Replace-Url"]


def test_an_address_names_columns(editor):
    deal = make_deal(**STATED)
    page = editor.get(LIST, {"columns": "category,discount,was_price,id"})
    assert headings(page) == ["Compared", "Off", "Category", "Id"]
    html = page.content.decode()
    assert "Peripherals" in html
    assert "−32%" in html
    assert f">{deal.id}<" in html
    assert 'name="columns" value="was_price,discount,category,id"' in html


@pytest.mark.parametrize("columns", ["x", ",", "\x00", "price" * 500])
def test_columns_that_do_not_exist_are_the_usual_ones(editor, columns):
    make_deal()
    assert headings(editor.get(LIST, {"columns": columns}))[-1] == "Changed"


def test_the_export_has_the_columns_of_the_address(editor):
    make_deal(article_number="KB 87", stock=41)
    for query, titles_ in (
        ("?columns=state,price", "title,price,state,id"),
        ("?columns=id", "title,id"),
        ("?columns=stock,article_number", "title,stock,article_number,id"),
    ):
        sent = {"token": make_id(NOW), "address": LIST + query}
        written = b"".join(editor.post(reverse("cms_export_list"), sent).streaming_content)
        assert written.decode("utf-8-sig").splitlines()[0] == titles_
    assert ",41,KB 87," in written.decode()
    assert ">KB 87<" in editor.get(LIST, {"columns": "article_number"}).content.decode()


# Duplicates


def is_copied_by(response, stored):
    """Tell whether a row of a list has the button that makes a copy."""
    target = reverse("cms_do", args=["duplicate"])
    button = rf'formaction="{target}"\s+name="deal"\s+value="{stored.id}"'
    return re.search(button, response.content.decode()) is not None


def copy_made_by(answer):
    """Return the draft that a button led to."""
    return drafts.get(answer.headers["Location"].removeprefix("/cms/drafts/").strip("/"))


def test_a_deal_is_duplicated_once_however_often_it_is_clicked(editor):
    deal = make_deal(picture=PICTURE, expires_at=NOW + DAY, voucher_code="SAVE5")
    assert is_copied_by(editor.get(LIST), deal)
    copy, again = (copy_made_by(do(editor, "duplicate", deal)) for _ in range(2))
    assert copy == again
    assert copy.content.picture == PICTURE
    assert (copy.content.stock, copy.content.expires_at) == (None, NOW + DAY)
    assert (copy.content.title, copy.content.voucher_code) == (deal.content.title, "SAVE5")
    assert (copy.card.brand_name, copy.created_by, copy.version) == ("Nordlicht", "eve", 1)
    assert titles(editor.get(LIST, {"state": "draft"})) == ["Mechanical keyboard"]


def test_the_copy_of_an_expired_deal_expires_never(editor):
    deal = make_deal(live_at=NOW - DAY, expires_at=NOW - HOUR)
    assert is_copied_by(editor.get(LIST), deal)
    assert copy_made_by(do(editor, "duplicate", deal)).content.expires_at is None


def test_a_half_empty_draft_is_duplicated_too(editor):
    draft = make_draft(title="Half")
    assert is_copied_by(editor.get(LIST, {"state": "draft"}), draft)
    assert copy_made_by(do(editor, "duplicate", draft, state="draft")).content == draft.content


def test_a_published_draft_is_no_draft_that_could_be_duplicated(editor):
    draft = make_draft(title="Half")
    make_deal(draft=draft)
    answer = do(editor, "duplicate", draft, state="draft")
    assert said(answer) == "It was published already."
    assert answer.headers["Location"] == LIST
    assert titles(editor.get(LIST, {"state": "draft"})) == []


def test_what_is_not_there_is_not_duplicated(editor):
    for wrong in ("x", "0" * 26):
        answer = do(editor, "duplicate", deal=wrong, follow=True)
        assert answer.request["PATH_INFO"] == LIST
    assert "It was deleted meanwhile." in answer.content.decode()
    assert titles(editor.get(LIST, {"state": "draft"})) == []
