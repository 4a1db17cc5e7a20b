"""Brands and categories: created once, listed, counted, edited by one editor at a time, and renamed everywhere."""

from __future__ import annotations

from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brand_merges, brands, categories, deals, drafts, lists
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from tests.builders import DAY, EDITOR, NOW, PICTURE, make_brand, make_deal, make_draft
from tests.hostile import TRICKS
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


def rename(brand: brands.Brand, name: str, **changes) -> brands.Brand:
    given: dict[str, Any] = {
        "description": brand.description,
        "logo": brand.logo,
        "by": EDITOR,
        "now": NOW,
    } | changes
    return brands.edit(brand, name=name, **given)


def test_a_brand_is_read_back_as_it_was_created():
    made = measured(brands.create)("Café  Olé!", by=EDITOR, now=NOW, description="Coffee", logo=PICTURE)
    assert (made.slug, made.name, made.version, made.deals) == ("cafe-ole", "Café Olé!", 1, 0)
    assert measured(brands.get_with_counts)("cafe-ole") == made
    assert brands.get("cafe-ole").logo == PICTURE


def test_a_brand_spelt_otherwise_is_the_same_brand():
    make_brand("Lian Li")
    for name in ("LIAN LI", "lian-li", "Lian\u00a0Li", " Lian  Li! "):
        with pytest.raises(errors.AlreadyExists, match="lian-li"):
            brands.create(name, by="otto", now=NOW)
    assert measured(brands.get)("lian-li").name == "Lian Li"


@pytest.mark.parametrize(
    "name", ["", "   ", "#", "\uff03\ufe5f", "\x00", "!!!", "x" * 81, "a" * 400_000, "\u202e"]
)
@pytest.mark.engines("native")
def test_a_name_that_says_nothing_is_refused(name):
    with pytest.raises(errors.Invalid) as invalid:
        brands.create(name, by=EDITOR, now=NOW)
    assert list(invalid.value.fields) == ["name"]


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.engines("native")
def test_no_name_gets_more_into_a_key_than_its_slug(trick):
    brand = brands.create(f"A{trick}B", by=EDITOR, now=NOW)
    assert brands.get(brand.slug) == brand or brands.get(brand.slug).name == brand.name
    assert {item["PK"] for item in table.scan_all(consistent=True)} == {
        f"BRAND#{brand.slug}",
        "BRANDS",
        "AUDIT#2026-11-21",
    }
    assert "#" not in brand.slug


def test_all_brands_are_listed_by_letter(wait_for_indexes):
    for name in ("Zeta", "alpha", "3com", "Ärger", "Beta"):
        make_brand(name)
    wait_for_indexes()
    listed = measured(brands.all_brands)()
    assert [(brand.letter, brand.name) for brand in listed] == [
        ("0-9", "3com"),
        ("A", "alpha"),
        ("A", "Ärger"),
        ("B", "Beta"),
        ("Z", "Zeta"),
    ]


def test_a_brand_that_does_not_exist_is_not_found():
    for slug in ("ghost", "", "No Slug", "x#y"):
        with pytest.raises(errors.NotFound):
            brands.get(slug)
        with pytest.raises(errors.NotFound):
            brands.get_with_counts(slug)


def test_the_second_editor_of_a_brand_is_shown_the_firsts_work():
    brand = make_brand()
    first = rename(brand, "Nordlicht", description="By the first", by="first")
    with pytest.raises(errors.VersionConflict) as conflict:
        rename(brand, "Nordlicht", description="By the second", by="second")
    assert conflict.value.current.description == "By the first"
    assert (first.version, brands.get("nordlicht").description) == (2, "By the first")


def test_a_logo_can_be_taken_away():
    brand = brands.create("Nordlicht", by=EDITOR, now=NOW, logo=PICTURE)
    rename(brand, "Nordlicht", logo=None)
    assert brands.get("nordlicht").logo is None


def test_brands_are_found_by_their_names(wait_for_indexes):
    rename(make_brand(), "Polarlicht", also=["Nordlicht", "Aurora Borealis"])
    make_brand("Vela")
    found = measured(brands.named_by)(["vela", "nordlicht"])
    assert {slug: brand.name for slug, brand in found.items()} == {"vela": "Vela", "nordlicht": "Polarlicht"}
    found = brands.named_by(["polarlicht", "aurora-borealis", "vela", "nobody"])
    assert {slug: brand.slug for slug, brand in found.items()} == {
        "polarlicht": "nordlicht", "aurora-borealis": "nordlicht", "vela": "vela",
    }  # fmt: skip
    assert measured(brands.named)(" NORDLICHT! ") == brands.named("Polarlicht")
    for name in ("", "!", "Nobody"):
        with pytest.raises(errors.NotFound):
            brands.named(name)
    wait_for_indexes()
    assert [(one.letter, one.name, set(one.also)) for one in brands.all_brands()] == [
        ("P", "Polarlicht", {"polarlicht", "aurora-borealis"}),
        ("V", "Vela", set()),
    ]


def test_a_new_description_alone_starts_no_job(wait_for_indexes):
    rename(make_brand(), "Nordlicht", description="New")
    wait_for_indexes()
    assert jobs.take_next(now=NOW + DAY) is None


def test_a_new_name_reaches_deals_drafts_and_lists_and_the_slug_stays(wait_for_indexes):
    deal = make_deal()
    draft = make_draft(title="Idea", brand="Nordlicht")
    other = make_deal(brand="Aurora")
    rename(brands.get("nordlicht"), "Polarlicht")
    wait_for_indexes()
    job = jobs.take_next(now=NOW + DAY)
    assert job is not None
    assert measured(brand_merges.rename_brand)(job, NOW + DAY) is None
    jobs.finish(job)
    wait_for_indexes()
    assert deals.get(deal.id).card.brand_name == "Polarlicht"
    assert drafts.get(draft.id).card.brand_name == "Polarlicht"
    assert deals.get(other.id).card.brand_name == "Aurora"
    assert [brand.name for brand in brands.all_brands()] == ["Aurora", "Polarlicht"]
    assert lists.brand_page("nordlicht", now=NOW)[1].cards[0].brand_name == "Polarlicht"
    assert deals.get(deal.id).version == deal.version


def test_the_eight_categories_are_created_once():
    measured(categories.create_all)()
    categories.create_all()
    assert measured(categories.missing)() == []
    assert [category.slug for category in measured(categories.all_categories)()] == list(
        categories.CATEGORIES
    )
    with pytest.raises(errors.AlreadyExists):
        categories.create("toys-hobbies")


def test_a_categorys_texts_change_and_its_counters_stay():
    make_deal(category="toys-hobbies")
    category = categories.get("toys-hobbies")
    categories.edit(category, name="Toys", description="Fun", logo=PICTURE, by=EDITOR, now=NOW)
    changed = categories.get_with_counts("toys-hobbies")
    assert (changed.name, changed.description, changed.logo, changed.version, changed.deals) == (
        "Toys", "Fun", PICTURE, 2, 1,
    )  # fmt: skip
    with pytest.raises(errors.VersionConflict) as conflict:
        categories.edit(category, name="Games", description="", logo=None, by=EDITOR, now=NOW)
    assert conflict.value.current.name == "Toys"


def test_a_like_would_not_rewrite_a_brands_page():
    make_brand()
    brand, counts = table.get(keys.brand("nordlicht")), table.get(keys.brand_counts("nordlicht"))
    assert brand is not None
    assert counts is not None
    assert "likes" not in brand
    assert counts["likes"] == 0


def test_several_brands_are_read_at_once(wait_for_indexes):
    some = {brand.slug: brand for brand in (make_brand("Nordlicht"), make_brand("Aurora"))}
    make_deal()
    wait_for_indexes()
    assert {slug: brand.name for slug, brand in measured(brands.get_many)([*some, "none"]).items()} == {
        slug: brand.name for slug, brand in some.items()
    }
    assert {slug: found.deals for slug, found in measured(brands.counts)(some).items()} == {
        "nordlicht": 1,
        "aurora": 0,
    }
