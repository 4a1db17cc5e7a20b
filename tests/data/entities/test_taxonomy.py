"""What the chart says of brands, categories, their counters, days, likes and watches."""

from datetime import datetime
from typing import Any

import pytest

from dealsite.data.catalogue import brands, categories, relations
from dealsite.data.table.ids import from_iso
from tests.data.entities.examples_deals import PUBLISHED
from tests.data.entities.examples_taxonomy import EXAMPLES, MUTED
from tests.data.entities.sound import assert_is_sound, problems


@pytest.mark.parametrize("item", EXAMPLES.values(), ids=EXAMPLES)
def test_a_sound_item_of_the_taxonomy_is_what_the_chart_says(item):
    assert_is_sound(item)


def test_a_new_category_has_neither_texts_nor_a_list():
    names = ("PK", "SK", "type", "slug", "name", "version")
    assert_is_sound({name: EXAMPLES["Category"][name] for name in names})


def test_brands_and_categories_are_read_as_they_were_stored():
    brand = brands.from_items(EXAMPLES["Brand"], EXAMPLES["BrandCounts"])
    category = categories.from_items("toys-hobbies", None, None)
    assert (brand.slug, brand.name, brand.logo.focal_x, brand.counts.buckets) == (
        "nordlicht",
        "Nordlicht",
        40,
        {"2025": 5},
    )
    assert (category.name, category.version, category.counts) == ("Toys & Hobbies", 0, None)


@pytest.mark.parametrize("relation", relations.RELATIONS, ids=lambda one: one.type)
def test_a_new_relation_is_sound_and_not_muted(relation):
    now: datetime = from_iso(PUBLISHED)
    slug = EXAMPLES[relation.type]["slug"]
    made, key = relation.item(slug, "ada", now=now), relation.key(slug, "ada")
    kept = {name: value for name, value in EXAMPLES[relation.type].items() if name not in MUTED}
    assert made | {"PK": key[0], "SK": key[1]} == kept
    assert_is_sound(kept)


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("Brand", {"slug": "Nordlicht"}, "slug is 'Nordlicht', which is not the key part of a name."),
        ("Category", {"slug": "books"}, "slug is 'books', which is not one of "),
        ("BrandCounts", {"likes": -1}, "likes is '-1', which is not a whole number from 0."),
        ("BrandCounts", {"deals_2025-11": 1}, "It has deals_2025-11, which cannot be."),
        ("CategoryCounts", {"deals_2025-13": 1}, "It has deals_2025-13, which cannot be."),
        ("Years", {"years": {"2025", "1024"}}, "It lists 1024."),
        ("Days", {"day:2026-01-01": True}, "2026-01-01 cannot be listed here."),
        ("Days", {"day:2025-02-30": True}, "2025-02-30 cannot be listed here."),
        ("Days", {"day:2025-11-22": False}, "2025-11-22 cannot be listed here."),
        ("DayCount", {"SK": "DAY#yesterday"}, "It is of no day."),
        ("DayCount", {"deals": 0}, "deals is '0', which is not a whole number from 1"),
        ("BrandWatch", {"card": None}, "Lists show it otherwise than it is muted."),
    ],
)
def test_what_the_taxonomy_cannot_be_is_named(kind: str, changes: dict[str, Any], said: str):
    (found,) = problems(EXAMPLES[kind], **changes)
    assert found.startswith(said.rstrip("."))
