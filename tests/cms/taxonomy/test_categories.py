import pytest
from django.urls import reverse

from dealsite.data.catalogue import categories
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table import errors
from tests.builders import NOW, make_deal
from tests.cms.conftest import inputs, picture_file

TOYS = reverse("cms_category", args=["toys-hobbies"])


def test_the_list_shows_the_eight_categories_with_their_deals(editor, calls):
    make_deal()
    html = editor.get(reverse("cms_categories")).content.decode()
    assert all(f"/cms/categories/{slug}/" in html for slug in categories.CATEGORIES)
    assert calls(lambda: editor.get(reverse("cms_categories"))) == ["BatchGetItem"]


def test_a_category_gets_its_text_and_picture(editor, calls):
    categories.create_all()
    form = inputs(editor.get(TOYS))
    post = form | {
        "name": "Toys",
        "description": "Play.",
        "picture_file": picture_file(),
        "picture_alt": "A kite",
    }
    operations = calls(lambda: editor.post(TOYS, post))
    assert operations == [
        "BatchGetItem",
        "PutItem",
        "BatchGetItem",
        "TransactWriteItems",
    ]  # one for its files
    stored = categories.get("toys-hobbies")
    assert (stored.name, stored.description, stored.logo.alt) == ("Toys", "Play.", "A kite")
    assert category_names.names()["toys-hobbies"] == "Toys"


def test_of_two_editors_the_second_sees_both_texts_and_can_save_on_top(editor):
    categories.create_all()
    form = inputs(editor.get(TOYS))
    stored = categories.get("toys-hobbies")
    categories.edit(stored, name="Theirs", description="", logo=None, by="oscar", now=NOW)
    conflict = editor.post(TOYS, form | {"name": "Mine"})
    assert conflict.status_code == 409
    assert "Theirs" in conflict.content.decode()
    assert editor.post(TOYS, inputs(conflict)).status_code == 302
    assert categories.get("toys-hobbies").name == "Mine"


def test_a_category_needs_a_name(editor):
    categories.create_all()
    response = editor.post(TOYS, inputs(editor.get(TOYS)) | {"name": ""})
    assert response.status_code == 422
    assert '<a href="#id_name">' in response.content.decode()


def test_when_the_table_is_away_the_form_comes_back(editor, monkeypatch):
    categories.create_all()
    form = inputs(editor.get(TOYS))

    def fail(*arguments, **options):
        raise errors.Busy()

    monkeypatch.setattr(categories, "edit", fail)
    response = editor.post(TOYS, form | {"description": "Typed"})
    assert response.status_code == 503
    assert inputs(response)["description"] == "Typed"


@pytest.mark.parametrize("slug", ["nothing", "%00", "front"])
def test_a_category_that_does_not_exist_is_404(editor, slug):
    assert editor.get(f"/cms/categories/{slug}/").status_code == 404


def test_editors_are_told_which_categories_a_site_lacks_that_was_never_set_up(editor):
    category_names.forget()
    assert (
        "it has no category computers-components, audio-tv-photo,"
        in editor.get(reverse("cms_categories")).text
    )
    categories.create_all()
    category_names.forget()
    assert "This site is not set up" not in editor.get(reverse("cms_categories")).text
