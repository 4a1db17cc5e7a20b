"""Brands and categories: created once, listed, counted, edited by one editor at a time, and renamed everywhere."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brand_merges, brands, categories, deals, drafts, lists
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from dealsite.data.table.paging import to_end
from dealsite.data.table.writes import Delete, Put
from tests.builders import DAY, EDITOR, NOW, PICTURE, all_brands, make_brand, make_deal, make_draft
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
    make_brand("Łódź")
    make_brand("ニコン")
    wait_for_indexes()
    listed = measured(brands.names)().rows
    assert [(brand.letter, brand.name) for brand in listed] == [
        ("0-9", "3com"),
        ("A", "alpha"),
        ("A", "Ärger"),
        ("B", "Beta"),
        ("Z", "Zeta"),
        ("…", "Łódź"),
        ("…", "ニコン"),
    ]
    by_letter = {letter: [one.name for one in brands.names(letter=letter).rows] for letter in brands.LETTERS}
    assert {letter: found for letter, found in by_letter.items() if found} == {
        "0-9": ["3com"], "A": ["alpha", "Ärger"], "B": ["Beta"], "Z": ["Zeta"], "…": ["Łódź", "ニコン"],
    }  # fmt: skip


def test_brands_are_listed_a_page_at_a_time_there_and_back(wait_for_indexes):
    made = [make_brand(name).name for name in ("Ab", "Ab C", "Abc", "B", "B-b", "Bb", "C")]
    wait_for_indexes()
    for size in range(1, 5):
        pages = [*to_end(partial(brands.names, size=size))]
        assert [[one.name for one in page.rows] for page in pages] == [
            made[n : n + size] for n in range(0, len(made), size)
        ]
        assert pages[0].before is None
        for earlier, page in pairwise(pages):
            back = brands.names(before=page.before, size=size)
            assert (back.rows, back.after, back.before is None) == (
                earlier.rows,
                earlier.rows[-1].slug,
                earlier is pages[0],
            )
    assert [one.name for one in brands.names("b", after="b", size=9).rows] == ["B-b", "Bb"]
    assert [one.name for one in brands.names("b", before="bb", size=9).rows] == ["B", "B-b"]
    for after, before in (("x#y", None), (None, "No Slug"), ("a", "b")):
        with pytest.raises(errors.BadCursor):
            brands.names(after=after, before=before)


def test_a_brand_is_found_by_what_any_of_its_names_begins_with_and_listed_once(wait_for_indexes):
    rename(make_brand(), "Polarlicht", also=["Nordlicht", "Nordlicht AG", "Aurora"])
    make_brand("Nora")
    wait_for_indexes()
    assert [one.name for one in brands.names("nor").rows] == ["Nora", "Polarlicht"]
    assert [one.name for one in brands.names("nord", size=1).rows] == ["Polarlicht"]
    assert [one.name for one in all_brands()] == ["Nora", "Polarlicht"]
    rename(brands.get("nordlicht"), "Morgenrot", also=["Aurora"])
    wait_for_indexes()
    assert [one.name for one in brands.names("nord").rows] == []
    assert [(one.slug, one.name) for one in brands.names("au").rows] == [("nordlicht", "Morgenrot")]


def test_names_that_an_older_build_listed_by_letter_are_listed_again(wait_for_indexes):
    brands.create("Nordlicht", by=EDITOR, now=NOW, also=["Aurora"])
    make_brand("Vela")
    for name in ("nordlicht", "aurora"):
        table.write(Delete(key=keys.brand_name(name)))
    for letter, listed in (("n", {"brand:nordlicht": "Nordlicht"}), ("a", {"also:aurora": "nordlicht"})):
        table.write(Put(key=("BRANDS", f"LETTER#{letter}"), item={"type": "BrandLetter", **listed}))
    wait_for_indexes()
    assert [brand.name for brand in all_brands()] == ["Vela"]
    assert brands.list_names_anew() == 2
    wait_for_indexes()
    assert [brand.name for brand in all_brands()] == ["Nordlicht", "Vela"]
    assert brands.named("Aurora").slug == "nordlicht"
    assert measured(brands.list_names_anew)() == 0
    assert not any(item["SK"].startswith("LETTER#") for item in table.scan_all(consistent=True))


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
    assert [(one.letter, one.name) for one in all_brands()] == [("P", "Polarlicht"), ("V", "Vela")]


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
    assert [brand.name for brand in all_brands()] == ["Aurora", "Polarlicht"]
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
