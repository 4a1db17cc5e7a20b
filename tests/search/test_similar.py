"""Which titles are near another."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from dealsite.search.documents import is_near
from dealsite.search.finding import NEAR_LOOKED_AT, near_titles
from dealsite.search.site_index import search_index
from tests.builders import DAY, HOUR, NOW, make_id
from tests.hostile import EXAMPLES, huge, texts
from tests.search.conftest import deal_item, draft_item

GUITAR = "Tonrausch Garage electric guitar, left-handed"


@pytest.mark.parametrize(
    "other",
    [
        GUITAR.upper(),
        "Garage electric guitar (left handed)",
        "Left-handed electric guitar Garage by Tonrausch",
        "Garage electric guitar, lefthanded",
        "Tonrausch Garage eletric guitar, left-handed",
        "Tonrausch Garage electric guitar, left-handed, with cable",
    ],
)
def test_the_brand_the_order_the_spelling_and_a_few_more_words_make_no_other_title(other):
    assert is_near(GUITAR, other, "Tonrausch")
    assert is_near(other, GUITAR, "Tonrausch")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Drill, 18V", "Drill 18 V"),
        ("Wi-Fi router", "WiFi router"),
        ("Bebida de avena sin azucares", "Bebida de avena sin azúcares"),
    ],
)
def test_how_words_are_put_together_and_accented_makes_no_other_title(one, other):
    assert is_near(one, other, "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Headphones WH-1000XM4", "Headphones WH-1000XM5"),
        ("Drill, 18 V", "Drill, 12 V"),
        ("Phone 15, black", "Phone 15, white"),
        ("Toner, cyan", "Toner, magenta"),
        ("Drill", "Drill bits"),
        ("Drill", "Tonrausch"),
        ("Garage", GUITAR),
        ("", GUITAR),
    ],
)
def test_numbers_colours_and_many_more_words_make_another_title(one, other):
    assert not is_near(one, other, "Tonrausch")
    assert not is_near(other, one, "Tonrausch")


def test_titles_are_near_within_a_brand_be_it_named_in_the_title(index):
    there = deal_item(GUITAR, brand="Tonrausch")
    index(there, deal_item(GUITAR, brand="Nordlicht", deal_id=make_id(NOW - 2 * HOUR)))
    for title, brand, found in [
        ("Garage electric guitar left-handed", "tonrausch", [there["id"]]),
        ("Garage electric guitar left-handed", "", []),
        ("Garage electric guitar left-handed", "quite-other", []),
        (GUITAR, "", [there["id"]]),
        ("Another thing", "tonrausch", []),
        ("!", "tonrausch", []),
    ]:
        assert near_titles(title, brand, now=NOW) == found, (title, brand)


def test_drafts_and_what_is_scheduled_are_found_what_is_over_is_not(index):
    draft = draft_item(GUITAR, brand="tonrausch")
    scheduled = deal_item(GUITAR, brand="Tonrausch", live_at=NOW + DAY)
    index(draft, scheduled, deal_item(GUITAR, brand="Tonrausch", expires_at=NOW - HOUR, live_at=NOW - DAY))
    assert sorted(near_titles(GUITAR, "tonrausch", now=NOW)) == sorted([draft["id"], scheduled["id"]])


def test_one_is_found_among_many_of_its_brand(index):
    many = [
        deal_item(f"Garage electric guitar number {n}", brand="Tonrausch", deal_id=make_id(NOW - HOUR, n))
        for n in range(3 * NEAR_LOOKED_AT)
    ]
    there = deal_item(GUITAR, brand="Tonrausch", deal_id=make_id(NOW - HOUR, 3 * NEAR_LOOKED_AT))
    index(*many, there)
    assert near_titles("Garage guitar electric, left-handed", "tonrausch", now=NOW) == [there["id"]]


def test_without_an_index_nothing_is_near():
    assert near_titles(GUITAR, "", now=NOW) == []


@settings(max_examples=EXAMPLES * 4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=texts | huge)
def test_no_title_is_an_error(index, title):
    if not search_index().checkpoint():
        index(deal_item(GUITAR, brand="Tonrausch"))
    assert near_titles(title, "tonrausch", now=NOW) == []
    assert is_near(title, title, "Tonrausch")
