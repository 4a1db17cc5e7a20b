"""The texts of pages such as the terms."""

from __future__ import annotations

import pytest

from dealsite.data.editing import audit, site_pages
from dealsite.data.editing.site_pages import SitePage
from dealsite.data.entities.operations import SITE_PAGES
from dealsite.data.table import errors
from tests import races
from tests.builders import HOUR, NOW
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


def test_a_page_that_nobody_edited_has_no_text_of_its_own():
    assert measured(site_pages.get)("terms") == SitePage("terms")
    assert not site_pages.get("terms").is_edited
    with pytest.raises(errors.NotFound):
        site_pages.get("careers")


def test_a_page_is_read_back_as_it_was_edited_and_the_edit_is_on_record(wait_for_indexes):
    page = measured(site_pages.edit)(site_pages.get("terms"), en="Ours.", de="", by="ada", now=NOW)
    assert site_pages.get("terms") == page
    assert (page.version, page.by, page.at, page.is_edited) == (1, "ada", NOW, True)
    assert [page.text(language) for language in ("en-gb", "de")] == ["Ours.", "Ours."]
    page = site_pages.edit(page, en="Ours.", de="Unsere.", by="bob", now=NOW + HOUR)
    assert page.text("de") == "Unsere."
    assert measured(site_pages.all_pages)() == [
        page if slug == "terms" else SitePage(slug) for slug in SITE_PAGES
    ]
    wait_for_indexes()
    last, first = audit.page(kind="site_page", subject="terms").rows
    assert (first.by, first.what, first.after) == ("ada", "changed", {"en": "Ours."})
    assert (last.by, last.before, last.after) == ("bob", {}, {"de": "Unsere."})


def test_back_to_the_sample_is_an_edit_like_others():
    page = site_pages.edit(site_pages.get("terms"), en="Ours.", de="", by="ada", now=NOW)
    left = site_pages.edit(page, en="", de="", by="ada", now=NOW)
    assert (left.version, left.is_edited) == (2, False)
    with pytest.raises(errors.VersionConflict) as conflict:
        site_pages.edit(page, en="Late.", de="", by="bob", now=NOW)
    assert conflict.value.current == left


@pytest.mark.parametrize("version", [0, 1])
def test_of_two_edits_at_once_one_wins(version: int):
    page = site_pages.get("privacy")
    if version:
        page = site_pages.edit(page, en="First.", de="", by="ada", now=NOW)
    outcomes = races.at_once(
        *(lambda n=n: site_pages.edit(page, en=f"Edit {n}", de="", by="ada", now=NOW) for n in range(2))
    )
    assert [type(one) for one in outcomes if isinstance(one, Exception)] == [errors.VersionConflict]
    assert site_pages.get("privacy") in outcomes
    assert site_pages.get("privacy").version == version + 1
