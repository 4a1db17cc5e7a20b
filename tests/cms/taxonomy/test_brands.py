import re

import pytest
from django.urls import reverse

from dealsite.data.catalogue import brands
from dealsite.data.table import errors
from tests.builders import NOW, all_brands, make_brand, make_deal, make_id
from tests.cms.conftest import HTMX, inputs, picture_file

LIST = reverse("cms_brands")
NORDLICHT = reverse("cms_brand", args=["nordlicht"])


def listed(response):
    """Return the brands of a page of the list, with their deals."""
    rows = re.findall(
        r'<a class="thing-title"[^>]*>([^<]+)</a>\s*</div>\s*</td>\s*<td[^>]*>(\d+)</td>',
        response.content.decode(),
    )
    return [(name, int(deals)) for name, deals in rows]


def test_the_list_shows_all_brands_with_their_deals(editor, calls):
    make_deal(), make_deal(), make_brand("Åkerström"), make_brand("3 Oaks")
    assert listed(editor.get(LIST)) == [("3 Oaks", 0), ("Åkerström", 0), ("Nordlicht", 2)]
    assert calls(lambda: editor.get(LIST)) == ["Query", "BatchGetItem"]


def test_the_list_is_narrowed_by_letter_and_by_words_of_the_name(editor, search_index):
    make_brand("Nova"), make_brand("Vela"), make_brand("Casa Nordica", also=["Vela Nord"])
    assert listed(editor.get(LIST, {"letter": "N"})) == [("Nordlicht", 0), ("Nova", 0)]
    assert listed(editor.get(LIST, {"letter": "?"})) == listed(editor.get(LIST))
    assert listed(editor.get(LIST, {"q": "NORD"})) == [("Nordlicht", 0)]  # without an index, how names begin
    search_index()
    part = editor.get(LIST, {"q": "NORD"}, headers=HTMX)
    assert listed(part) == [("Nordlicht", 0), ("Casa Nordica", 0)]
    assert listed(editor.get(LIST, {"q": "vela"})) == [("Vela", 0), ("Casa Nordica", 0)]
    assert 'name="address" value="/cms/brands/?q=NORD"' in part.text  # what is exported comes along
    assert listed(editor.get(LIST, {"q": "\x00#"})) == []


def test_a_long_list_has_pages(editor):
    for number in range(60):
        make_brand(f"Brand {number:02}")
    first = editor.get(LIST)
    assert len(listed(first)) == 50
    second = editor.get(LIST + re.search(r'href="(\?[^"]+)" rel="next"', first.content.decode())[1])
    assert listed(second)[-1] == ("Nordlicht", 0)
    assert len(listed(second)) == 11
    assert 'rel="prev"' in second.content.decode()
    assert listed(editor.get(LIST + re.search(r'href="(\?[^"]+)" rel="prev"', second.text)[1])) == listed(
        first
    )
    assert editor.get(LIST, {"after": "9" * 5000}).status_code == 400


def test_a_brand_is_created(editor, calls):
    post = {
        "name": "Åkerström & Co",
        "description": "Chairs.",
        "picture_file": picture_file(),
        "picture_alt": "Logo",
    }
    operations = calls(lambda: editor.post(reverse("cms_new_brand"), post))
    assert operations == ["PutItem", "TransactWriteItems"]  # the put asks for the logo's further files
    brand = brands.get("akerstrom-co")
    assert (brand.name, brand.description, brand.logo.alt) == ("Åkerström & Co", "Chairs.", "Logo")


def test_creating_a_brand_twice_ends_at_the_brand(editor):
    post = {"name": "Vela", "description": "x"}
    answers = [editor.post(reverse("cms_new_brand"), post) for _ in range(2)]
    assert {answer.headers["Location"] for answer in answers} == {reverse("cms_brand", args=["vela"])}


def test_a_name_that_is_taken_is_refused_and_nothing_typed_is_lost(editor):
    response = editor.post(
        reverse("cms_new_brand"), {"name": "nord-licht".replace("-", ""), "description": "Mine"}
    )
    assert response.status_code == 409
    assert inputs(response)["description"] == "Mine"
    assert '<a href="#id_name">' in response.content.decode()


@pytest.mark.parametrize("name", ["", "!!!", "x" * 81, "a\x00b"])
def test_a_name_that_cannot_be_a_brands_is_refused(editor, name):
    response = editor.post(reverse("cms_new_brand"), {"name": name})
    assert response.status_code == 422
    assert '<a href="#id_name">' in response.content.decode()


def test_a_logo_needs_an_alt_text(editor):
    response = editor.post(reverse("cms_new_brand"), {"name": "Vela", "picture_file": picture_file()})
    assert response.status_code == 422
    assert '<a href="#id_picture_alt">' in response.content.decode()
    again = inputs(response)
    assert editor.post(reverse("cms_new_brand"), again | {"picture_alt": "Sail"}).status_code == 302
    assert brands.get("vela").logo.alt == "Sail"


def test_renaming_keeps_the_slug(editor, calls):
    form = inputs(editor.get(NORDLICHT))
    operations = calls(lambda: editor.post(NORDLICHT, form | {"name": "Nordlicht AG"}))
    assert operations == ["BatchGetItem", "TransactWriteItems"]
    assert brands.get("nordlicht").name == "Nordlicht AG"
    assert [brand.name for brand in all_brands()] == ["Nordlicht AG"]


def test_of_two_editors_the_second_sees_both_texts_and_can_save_on_top(editor):
    form = inputs(editor.get(NORDLICHT))
    stored = brands.get("nordlicht")
    brands.edit(stored, name="Nordlicht", description="Theirs", logo=None, by="oscar", now=NOW)
    conflict = editor.post(NORDLICHT, form | {"description": "Mine"})
    assert conflict.status_code == 409
    assert "Theirs" in conflict.content.decode()
    assert editor.post(NORDLICHT, inputs(conflict)).status_code == 302
    assert brands.get("nordlicht").description == "Mine"


def test_when_the_table_is_away_the_form_comes_back(editor, monkeypatch):
    form = inputs(editor.get(NORDLICHT))

    def fail(*arguments, **options):
        raise errors.Unavailable()

    monkeypatch.setattr(brands, "edit", fail)
    response = editor.post(NORDLICHT, form | {"description": "Typed"})
    assert response.status_code == 503
    assert inputs(response)["description"] == "Typed"


@pytest.mark.parametrize("slug", ["nobody", "%00", "A#B".replace("#", "%23"), "x" * 300])
def test_a_brand_that_does_not_exist_is_404(editor, slug):
    assert editor.get(f"/cms/brands/{slug}/").status_code == 404


OFFERED = {
    "": ["Casa Nova", "Nordlicht", "Nova", "Vela"],
    "n": ["Nordlicht", "Nova", "Casa Nova"],
    "no": ["Nordlicht", "Nova", "Casa Nova"],
    "Nova": ["Nova", "Casa Nova"],
    "nordlihct": ["Nordlicht near"],
    "Nordlich": ["Nordlicht"],
    "zebra": [],
}


def offered(editor, typed, **more):
    """Return what a field for a brand offers, as it reads."""
    response = editor.get(reverse("cms_brand_names"), {"brand": typed, **more})
    rows = re.findall(r'<div role="option"[^>]*>(.*?)</div>', response.text, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", "", row).split()) for row in rows]


def test_names_are_offered_as_one_types(editor, calls, search_index):
    make_brand("Nova"), make_brand("Casa Nova"), make_brand("Vela")
    search_index()
    for typed, found in OFFERED.items():
        assert offered(editor, typed) == found, typed
    assert offered(editor, "Vella", create="on") == ["Vela near", "Create “Vella”"]
    assert offered(editor, "Zebra", create="on") == ["Create “Zebra”"]
    for typed in ("VELA", "", "!!!"):
        assert "Create" not in " ".join(offered(editor, typed, create="on")), typed
    assert calls(lambda: offered(editor, "vela", create="on")) == ["Query", "BatchGetItem"]


def test_an_unknown_brand_is_refused_with_those_that_may_be_meant(editor, search_index):
    make_brand("Tonrausch"), make_brand("Tonrasch")
    search_index()
    answers = {
        "Tonruasch": "Did you mean “Tonrasch” or “Tonrausch”? Choose one, or create it.",
        "Zebra": "There is no brand “Zebra”. Choose another, or create it.",
    }
    for typed, said in answers.items():
        post = {"title": "x", "brand": typed, "action": "publish", "version": "0"}
        assert said in editor.post(reverse("cms_draft", args=[make_id(NOW)]), post).text
