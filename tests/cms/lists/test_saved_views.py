"""Saved views and columns of the list of deals, and duplicates made from its rows."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.urls import reverse

from dealsite.data.catalogue import drafts
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import TEAM, SavedView
from dealsite.data.people import users
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW, PICTURE, make_deal, make_draft, make_id
from tests.cms.conftest import HTMX
from tests.cms.lists.test_deal_list import titles

LIST, VIEWS, SAVE = reverse("cms_deals"), reverse("cms_views"), reverse("cms_save_view")


def save(browser, name, back="?state=live&q=lamp", **more):
    return browser.post(SAVE, {"id": make_id(NOW), "name": name, "back": back, **more})


def mine(username="eve"):
    return [view.name for view in saved_views.of(username)[0]]


def chips(response):
    nav = re.search(r'<nav[^>]*aria-label="Saved views">.*?</nav>', response.content.decode(), re.S)
    return (
        re.findall(r'href="([^"]+)"\s*(aria-current="true")?.*?dir="auto">([^<]+)<', nav[0], re.S)
        if nav
        else []
    )


def undo_fields(response, action):
    """What the Undo button of a notice sends."""
    forms = re.findall(r"<form.*?</form>", response.content.decode(), re.S)
    form = next(form for form in forms if f'action="{action}"' in form and "Undo" in form)
    tags = re.findall(r"<input[^>]*>", form, re.S)
    pairs = [dict(re.findall(r'(name|value)="([^"]*)"', tag)) for tag in tags]
    return {pair["name"]: unescape(pair.get("value", "")) for pair in pairs}


def test_the_filters_of_the_list_are_kept_under_a_name(editor):
    response = save(editor, "Lamps", "?state=live&q=lamp&columns=price,state&page=3&x=1")
    view = saved_views.of("eve")[0][0]
    assert (view.name, view.filters, view.columns) == (
        "Lamps",
        {"state": "live", "q": "lamp"},
        ("price", "state"),
    )
    address = f"{LIST}?state=live&q=lamp&columns=price%2Cstate"
    assert response.headers["Location"] == address
    shown = editor.get(address, follow=True)
    assert chips(shown) == [(address.replace("&", "&amp;"), 'aria-current="true"', "Lamps")]
    assert chips(editor.get(LIST)) == [(address.replace("&", "&amp;"), "", "Lamps")]


def test_a_part_of_the_page_brings_along_what_would_be_saved(editor):
    part = editor.get(LIST, {"q": "lamp", "state": "live"}, headers=HTMX).content.decode()
    assert (
        re.findall(r'id="(?:view|columns)-back"\s+name="back"\s+value="([^"]+)"', part)
        == ["?state=live&amp;q=lamp"] * 2
    )


def test_views_for_all_editors_are_seen_by_all(editor, other_editor):
    save(editor, "Mine")
    save(editor, "Ours", owner="team")
    assert [chip[2] for chip in chips(editor.get(LIST))] == ["Mine", "Ours"]
    assert [chip[2] for chip in chips(other_editor.get(LIST))] == ["Ours"]


def test_a_second_view_of_a_name_replaces_the_first_until_undo(editor):
    save(editor, "Lamps", "?state=live")
    response = save(editor, "lamps", "?state=draft")
    assert mine() == ["lamps"]
    shown = editor.get(response.headers["Location"])
    editor.post(SAVE, undo_fields(shown, SAVE))
    assert [(view.name, view.filters) for view in saved_views.of("eve")[0]] == [("Lamps", {"state": "live"})]


@pytest.mark.parametrize("what", ["replaced", "renamed", "deleted"])
def test_undo_leaves_what_a_colleague_has_saved_since(editor, other_editor, what):
    save(editor, "Lamps", "?state=live", owner="team")
    view = saved_views.of(TEAM)[1][0]
    if what == "replaced":
        page = editor.get(save(editor, "lamps", "?state=draft", owner="team").headers["Location"])
    else:
        sent = {"owner": "team", "name": "Old lamps"}
        name = "cms_rename_view" if what == "renamed" else "cms_delete_view"
        page = editor.post(reverse(name, args=[view.id]), sent, follow=True)
    save(other_editor, "Lamps", "?state=expired", owner="team")
    kept = saved_views.of(TEAM)
    answer = editor.post(SAVE, undo_fields(page, SAVE), follow=True)
    assert "Somebody has changed this view since" in answer.content.decode()
    assert saved_views.of(TEAM) == kept


def test_a_deleted_view_comes_back_to_its_place_by_undo(editor):
    for name in "abc":
        save(editor, name)
    view = saved_views.of("eve")[0][1]
    page = editor.post(reverse("cms_delete_view", args=[view.id]), {"owner": "mine"}, follow=True)
    assert mine() == ["a", "c"]
    fields = undo_fields(page, SAVE)
    assert editor.post(SAVE, fields).headers["Location"] == VIEWS
    assert saved_views.of("eve")[0][1] == view


def test_views_are_renamed_and_put_in_order(editor):
    for name in "abc":
        save(editor, name)
    first = saved_views.of("eve")[0][0]
    editor.post(reverse("cms_move_view", args=[first.id]), {"owner": "mine", "place": "1"})
    assert mine() == ["b", "a", "c"]
    page = editor.post(
        reverse("cms_rename_view", args=[first.id]), {"owner": "mine", "name": "A <b>"}, follow=True
    )
    assert mine() == ["b", "A <b>", "c"]
    assert "A &lt;b&gt;" in page.content.decode()
    editor.post(SAVE, undo_fields(page, SAVE))
    assert mine() == ["b", "a", "c"]


def test_a_name_in_use_is_refused_beside_its_field(editor):
    for name in "ab":
        save(editor, name)
    first = saved_views.of("eve")[0][0]
    response = editor.post(reverse("cms_rename_view", args=[first.id]), {"owner": "mine", "name": "B"})
    assert response.status_code == 422
    assert "Another view has this name" in response.content.decode()
    assert re.search(rf'id="name-{first.id}"\s+name="name"\s+value="B"', response.content.decode())
    assert mine() == ["a", "b"]


@pytest.mark.parametrize("back", ["?state=live", "?state=draft&q=lamp&columns=price"])
@pytest.mark.parametrize("name", [" ", "L" * 61])
def test_what_is_no_name_comes_back_in_its_form_over_the_same_list(editor, name, back):
    response = save(editor, name, back, owner="team")
    html = response.content.decode()
    assert response.status_code == 422
    assert re.search(r'<details class="popup" data-popup open>', html)
    assert re.search(rf'name="name"\s+value="{name}"', html)
    assert re.search(r'value="team"\s+checked', html)
    said = re.search(r'id="view-error"\s+role="alert">.*?<span>([^<]+)</span>', html, re.S)
    assert said[1] in ("Give the view a name.", "A name has at most 60 characters.")
    assert re.search(r'id="view-back"\s+name="back"\s+value="([^"]+)"', html)[1] == back.replace("&", "&amp;")
    assert saved_views.of("eve") == ((), ())
    assert "open" not in re.search(r"<details[^>]*data-popup[^>]*>", editor.get(LIST).content.decode())[0]


def test_a_view_that_came_while_the_table_was_away_is_kept(editor, monkeypatch):
    def away(*arguments, **options):
        raise errors.Unavailable()

    monkeypatch.setattr(saved_views, "save", away)
    page = save(editor, "Lamps")
    assert page.status_code == 503
    assert ("name", "Lamps") in page.context["kept"]


@pytest.mark.parametrize("place", ["", "x", "-1", "²", "9" * 10])
def test_a_place_that_cannot_be_is_404(editor, place):
    save(editor, "a")
    view = saved_views.of("eve")[0][0]
    address = reverse("cms_move_view", args=[view.id])
    assert editor.post(address, {"owner": "mine", "place": place}).status_code == 404


def test_another_editors_views_are_not_found(editor, other_editor):
    save(editor, "Mine")
    view = saved_views.of("eve")[0][0]
    for name, more in (("cms_rename_view", {"name": "x"}), ("cms_move_view", {"place": "0"})):
        assert other_editor.post(reverse(name, args=[view.id]), more).status_code == 404
    other_editor.post(reverse("cms_delete_view", args=[view.id]))
    other_editor.post(reverse("cms_delete_view", args=[view.id]), {"owner": "team"})
    assert mine() == ["Mine"]
    assert other_editor.post(reverse("cms_delete_view", args=[view.id]), {"owner": "eve"}).status_code == 404


def test_a_page_without_views_says_how_to_make_one(editor):
    html = editor.get(VIEWS).content.decode()
    assert "You have no views yet." in html
    assert "Nobody has shared a view yet." in html


def test_views_cost_one_call(editor, calls):
    assert calls(lambda: editor.get(VIEWS)) == ["BatchGetItem"]


# Columns


def headings(response):
    return re.findall(r'role="columnheader">\s*([^<\s][^<]*?)\s*</th>', response.content.decode())


def test_the_usual_columns_are_shown(editor):
    make_deal()
    assert headings(editor.get(LIST)) == ["Price", "State", "Published", "Expires"]


def test_an_editor_chooses_columns_for_good(editor, other_editor):
    make_deal(voucher_code="SAVE5")
    response = editor.post(
        reverse("cms_choose_columns"),
        {"column": ["voucher", "price", "x"], "back": "?state=live&columns=id&after=1"},
    )
    assert response.headers["Location"] == f"{LIST}?state=live&after=1"
    assert users.get("eve").preferences.columns == ("price", "voucher")
    page = editor.get(LIST)
    assert headings(page) == ["Price", "Voucher"]
    assert "SAVE5" in page.content.decode()
    assert "was-price" not in page.content.decode()
    assert headings(other_editor.get(LIST)) != headings(page)
    editor.post(reverse("cms_choose_columns"), {})
    assert "Published" in headings(editor.get(LIST))


def test_an_address_names_columns_for_once(editor):
    deal = make_deal()
    page = editor.get(LIST, {"columns": "category,discount,was_price,id"})
    assert headings(page) == ["Category", "Was-price", "Discount", "Id"]
    html = page.content.decode()
    assert "Peripherals" in html
    assert "−33%" in html
    assert f">{deal.id}<" in html
    assert 'name="columns" value="category,discount,was_price,id"' in html


@pytest.mark.parametrize("columns", ["x", ",", "\x00", "price" * 500])
def test_columns_that_do_not_exist_are_the_usual_ones(editor, columns):
    make_deal()
    assert headings(editor.get(LIST, {"columns": columns}))[-1] == "Expires"


# Duplicates


def copy_button(response, stored):
    return re.search(
        rf'formaction="([^"]*/{stored.id}/duplicate/)"\s+name="copy"\s+value="([^"]+)"',
        response.content.decode(),
    ).groups()


def test_a_deal_is_duplicated_once_however_often_it_is_clicked(editor):
    deal = make_deal(picture=PICTURE, stock=3, expires_at=NOW + DAY, voucher_code="SAVE5")
    address, copy_id = copy_button(editor.get(LIST), deal)
    for _ in range(2):
        assert editor.post(address, {"copy": copy_id}).headers["Location"] == reverse(
            "cms_draft", args=[copy_id]
        )
    copy = drafts.get(copy_id)
    assert copy.content.picture == PICTURE
    assert (copy.content.stock, copy.content.expires_at) == (None, NOW + DAY)
    assert (copy.content.title, copy.content.voucher_code) == (deal.content.title, "SAVE5")
    assert (copy.card.brand_name, copy.created_by, copy.version) == ("Nordlicht", "eve", 1)
    assert titles(editor.get(LIST, {"state": "draft"})) == ["Mechanical keyboard"]


def test_the_copy_of_an_expired_deal_expires_never(editor):
    deal = make_deal(live_at=NOW - DAY, expires_at=NOW - HOUR)
    address, copy_id = copy_button(editor.get(LIST), deal)
    editor.post(address, {"copy": copy_id})
    assert drafts.get(copy_id).content.expires_at is None


def test_a_half_empty_draft_is_duplicated_too(editor):
    draft = make_draft(title="Half")
    address, copy_id = copy_button(editor.get(LIST, {"state": "draft"}), draft)
    editor.post(address, {"copy": copy_id})
    assert drafts.get(copy_id).content == draft.content


def test_the_copy_of_a_published_draft_is_its_deals(editor):
    draft = make_draft(title="Half")
    deal = make_deal(draft=draft)
    copy_id = make_id(NOW)
    editor.post(reverse("cms_duplicate_draft", args=[draft.id]), {"copy": copy_id})
    assert drafts.get(copy_id).content.title == deal.content.title


def test_a_copy_without_an_id_is_refused(editor):
    deal = make_deal()
    for wrong in ({}, {"copy": "x"}):
        assert editor.post(reverse("cms_duplicate_deal", args=[deal.id]), wrong).status_code == 400
    assert editor.post(reverse("cms_duplicate_deal", args=["0" * 26]), {"copy": make_id()}).status_code == 404
    with pytest.raises(errors.NotFound):
        drafts.get(make_id())


def test_what_is_for_all_editors_is_kept_apart_from_any_user(editor):
    save(editor, "Ours", owner="team")
    assert [view.name for view in saved_views.of("eve")[1]] == ["Ours"]
    assert saved_views.save(TEAM, SavedView(make_id(), "x"), by="eve", now=NOW) is None
