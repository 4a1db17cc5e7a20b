"""The CMS's pages of texts such as the terms."""

from __future__ import annotations

from html import unescape

import pytest

from dealsite.data import table
from dealsite.data.editing import audit, site_pages
from dealsite.data.editing.site_pages import sample
from dealsite.data.table.errors import Unavailable
from tests.builders import NOW

LIST, ADDRESS = "/cms/pages/", "/cms/pages/terms/"


@pytest.fixture
def admin(sign_in):
    return sign_in("admin", username="root")


def page(browser, address: str = ADDRESS) -> str:
    response = browser.get(address)
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_only_admins_see_and_change_them(editor, office):
    for browser in (editor, office):
        assert browser.get(LIST).status_code == 403
        assert browser.post(ADDRESS, {"en": "Mine.", "version": "0"}).status_code == 403
    assert not site_pages.get("terms").is_edited


def test_an_admin_writes_a_page_and_the_list_says_who_and_when(admin):
    assert page(admin, LIST).count("As it came with the site") == 6
    assert sample("terms", "de") in page(admin)
    response = admin.post(ADDRESS, {"en": "Ours.", "de": "Unsere.", "version": "0"})
    assert (response.status_code, response["Location"]) == (302, ADDRESS)
    assert site_pages.get("terms").texts == {"en": "Ours.", "de": "Unsere."}
    html = page(admin, LIST)
    assert html.count("As it came with the site") == 5
    assert "by root" in html
    assert 'href="/cms/pages/terms/"' in page(admin, "/cms/audit/?kind=site_page&subject=terms")


def test_a_sample_that_is_saved_as_it_is_stays_one(admin):
    texts = {language: sample("terms", language) for language in ("en", "de")}
    as_browsers_send_it = {language: text.replace("\n", "\r\n") for language, text in texts.items()}
    assert admin.post(ADDRESS, {**as_browsers_send_it, "version": "0"}).status_code == 302
    assert site_pages.get("terms").version == 0


def test_a_text_can_be_dropped_for_the_sample(admin):
    site_pages.edit(site_pages.get("terms"), en="Ours.", de="", by="ada", now=NOW)
    assert admin.post(ADDRESS, {"sample": "yes", "version": "1"}).status_code == 302
    assert not site_pages.get("terms").is_edited
    assert sample("terms", "en") in page(admin)
    assert "given its sample again" in [one.what for one in audit.of_target("site_page", "terms")]


@pytest.mark.parametrize("sent", [{"en": "Mine.", "de": ""}, {"sample": "yes", "en": "Mine."}])
def test_another_admins_change_is_not_overwritten_but_shown(admin, sent):
    page(admin)
    site_pages.edit(site_pages.get("terms"), en="Theirs.", de="", by="ada", now=NOW)
    response = admin.post(ADDRESS, {**sent, "version": "0"})
    html = unescape(response.content.decode())
    assert response.status_code == 409
    assert "ada changed this page while you worked on it" in html
    assert "Theirs." in html
    assert "Mine." in html
    assert 'name="version" value="1"' in html
    assert site_pages.get("terms").en == "Theirs."
    assert admin.post(ADDRESS, {"en": "Mine.", "de": "", "version": "1"}).status_code == 302
    assert site_pages.get("terms").en == "Mine."


def test_of_two_texts_each_is_chosen_for_itself(admin):
    site_pages.edit(site_pages.get("terms"), en="Theirs.", de="Ihres.", by="ada", now=NOW)
    refused = admin.post(ADDRESS, {"en": "Mine.", "de": "Meins.", "version": "0"})
    assert refused.status_code == 409
    sent = {"en": "Mine.", "de": "Meins.", "choice_en": "mine", "choice_de": "theirs", "version": "1"}
    assert admin.post(ADDRESS, sent).status_code == 302
    assert site_pages.get("terms").texts == {"en": "Mine.", "de": "Ihres."}


def test_the_same_text_again_changes_nothing(admin):
    for _ in range(2):
        assert admin.post(ADDRESS, {"en": "Ours.", "de": "", "version": "0"}).status_code == 302
    assert site_pages.get("terms").version == 1


def test_what_is_too_long_is_said_beside_its_field(admin):
    response = admin.post(ADDRESS, {"en": "x" * 30_001, "version": "0"})
    assert response.status_code == 422
    assert list(response.context["form"].errors) == ["en"]


def test_while_the_table_is_away_the_text_stays_in_the_form(admin, monkeypatch):
    page(admin)

    def away(*_args: object, **_options: object) -> None:
        raise Unavailable

    monkeypatch.setattr(table, "transact", away)
    response = admin.post(ADDRESS, {"en": "Mine.", "de": "", "version": "0"})
    assert response.status_code == 503
    assert "Mine." in response.content.decode()
