"""What a site takes of Amazon DynamoDB, as docs/capacity.md says it, and the estimator behind it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from benchmarks import capacity, volume
from benchmarks.generated_payments import GeneratedSource
from benchmarks.paper_site import Site, fullest, hottest
from benchmarks.paper_table import PaperTable, places_of
from benchmarks.volume import EXAMPLE, EXAMPLE_OF_8_KB
from dealsite.data import keys, table
from dealsite.data.catalogue import brands, categories, publishing, relations
from dealsite.data.catalogue.brands import Brand
from dealsite.data.commerce.payment_record import payment_item
from tests.builders import DAY, EDITOR, NOW, make_content, make_id
from tests.capacity import Units, recorded

# A million payments


def test_no_partition_takes_more_than_a_partition_can_but_that_of_the_notices():
    loads = volume.partition_loads(EXAMPLE, now=NOW)
    too_hot = [load.partition for load in loads if load.units > capacity.PARTITION_WRITES]
    assert too_hot == ["GSI1 JOBS#month"]  # if all were payments of orders


def test_an_index_of_whole_items_would_take_what_the_model_says_and_not_fit_into_ten_shards():
    whole = volume.stages(EXAMPLE_OF_8_KB, now=NOW, whole=True)
    slim = volume.stages(EXAMPLE_OF_8_KB, now=NOW)
    assert capacity.item_size(whole.inserted) == volume.MODEL_BYTES
    assert (whole.insert.indexes[keys.GSI3], slim.insert.indexes[keys.GSI3]) == (8, 1)
    assert volume.index_rows(whole) / 10 > capacity.PARTITION_WRITES > volume.index_rows(slim) / 10


def test_a_change_of_status_deletes_one_row_and_writes_another():
    assert volume.stages(EXAMPLE, now=NOW).claim.indexes == {keys.GSI3: 2}


def test_the_shards_are_even():
    share = volume.fullest_share(
        payment.id for payment, _, _ in GeneratedSource(20_000, first=NOW).payments(0, 20_000)
    )
    assert 0.1 <= share < 0.11


# The table on paper


def publish_some(numbers):
    brands.create("Acme", by=EDITOR, now=NOW)
    for slug in ("toys-hobbies", "fashion-beauty"):
        categories.create(slug)
    for number in numbers:
        content = make_content(
            brand="acme", category="toys-hobbies" if number % 3 else "fashion-beauty", expires_at=NOW + DAY
        )
        live_at = NOW - DAY * 40 * number
        publishing.publish(
            content, deal_id=make_id(live_at, number), brand=Brand("acme", "Acme"), by=EDITOR, now=NOW
        )


@pytest.mark.usefixtures("fresh_table")
def test_partitions_on_paper_hold_what_the_engine_holds_and_take_as_many_units():
    paper = PaperTable()
    with paper.instead():
        publish_some(range(5))
        first = paper.units.copy()
        relations.add(relations.BRAND_LIKE, "acme", "ann", now=NOW)
    with recorded() as units:
        publish_some(range(5))
    relations.add(relations.BRAND_LIKE, "acme", "ann", now=NOW)
    on_paper, stored = (
        Counter(place[:2] for item in items for place in places_of(item))
        for items in (paper.items.values(), table.scan_all())
    )
    assert on_paper == stored
    assert stored["GSI3", "CATEGORY#fashion-beauty#2026-11"] == 1
    assert sum(first.values()) == units.write + units.index


@pytest.fixture(scope="module")
def site():
    return Site()


def test_as_visitors_ask_for_pages_no_partition_takes_half_of_what_it_can(site):
    usual, *_ = site.loads()
    assert usual.a_second == 10_000
    assert hottest(site, usual)[0].part < 0.5


def test_a_like_takes_two_units_of_the_counter_and_two_of_the_check_of_its_deal(site):
    (likes,) = [load for load in site.loads() if load.what == "likes of one deal"]
    first, second, *_ = hottest(site, likes)
    assert [first.name, second.name] == ["DEAL#…", "DEALLIKE#…"]
    assert [first.units, first.of_item, second.units] == pytest.approx([400, 200, 200])
    assert first.gives_way == pytest.approx(250)
    more = replace(likes, a_second=300, parts=[(300, *part[1:]) for part in likes.parts])
    assert [one.name for one in hottest(site, more) if one.part > 1] == ["DEAL#…"]


def test_the_fullest_partition_of_a_category_is_that_of_the_first_one_and_of_the_busiest_month(site):
    (found,) = [
        one for one in fullest(site) if one.name.startswith("CATEGORY#") and one.index_name == keys.GSI3
    ]
    assert found.name == "CATEGORY#computers-components#2026-11"
    assert found.items == pytest.approx(100_000_000 * 0.3679 * 0.2241 / 12 * 2, rel=0.001)


# The estimator


@pytest.mark.usefixtures("fresh_table")
def test_each_step_of_a_payment_costs_what_the_engine_counts():
    from dealsite.data.commerce import charging
    from dealsite.gateways.interface import ChargeResult

    with recorded() as inserting:
        table.insert([payment_item(EXAMPLE)])
    (row,) = charging.due(now=EXAMPLE.due_at)
    with recorded() as claiming:
        claimed = charging.claim(row, now=EXAMPLE.due_at)
    with recorded() as settling:
        charging.record(claimed, ChargeResult(f"pi_{'0' * 24}"), now=EXAMPLE.due_at + timedelta(seconds=1))
    steps = volume.stages(EXAMPLE, now=EXAMPLE.due_at)
    assert _written(inserting) == (steps.insert.item, steps.insert.total - steps.insert.item)
    assert _written(claiming) == (steps.claim.item, steps.claim.total - steps.claim.item)
    counters_and_guard = 2 + 2
    assert _written(settling) == (
        steps.settle.item + counters_and_guard,
        steps.settle.total - steps.settle.item,
    )
    for units in (inserting, claiming, settling):
        assert units.reported_write == units.write + units.index


def _written(units: Units) -> tuple[int, int]:
    return units.write, units.index


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "Grüße"}, 7),
        ({"N": "0"}, 1),
        ({"N": "100"}, 2),
        ({"N": "-12.50"}, 4),
        ({"N": "12345"}, 4),
        ({"B": "AAAA"}, 3),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"L": [{"S": "a"}, {"S": "bc"}]}, 8),
        ({"M": {"x": {"S": "a"}}}, 6),
    ],
)
def test_a_value_is_as_large_as_dynamodb_says(value, size):
    assert capacity.item_size({"n": value}) == 1 + size


def test_units_are_rounded_up():
    assert [capacity.write_units(size) for size in (0, 1024, 1025)] == [1, 1, 2]
    assert [capacity.read_units(size, consistent=True) for size in (0, 4096, 4097)] == [1, 1, 2]
    assert capacity.read_units(5000, consistent=False) == 1
