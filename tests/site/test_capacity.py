"""What a million payments cost on Amazon DynamoDB, as docs/capacity.md says it, and the estimator behind it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from benchmarks import capacity, volume
from benchmarks.generated_payments import GeneratedSource
from benchmarks.volume import EXAMPLE, EXAMPLE_OF_8_KB
from dealsite.data import keys, table
from dealsite.data.commerce.payment_record import payment_item
from tests.builders import NOW
from tests.capacity import Units, recorded

# A million payments


def test_no_partition_takes_more_than_a_partition_can():
    for load in volume.partition_loads(EXAMPLE, now=NOW):
        assert load.units < capacity.PARTITION_WRITES, load


def test_an_index_of_whole_items_would_take_what_the_model_says_and_not_fit_into_ten_shards():
    whole = volume.stages(EXAMPLE_OF_8_KB, now=NOW, whole=True)
    slim = volume.stages(EXAMPLE_OF_8_KB, now=NOW)
    assert capacity.item_size(whole.inserted) == volume.MODEL_BYTES
    assert f"{volume.inserted_rows(whole):,.0f}" == "4,444"  # 4,445 where each of 555.6 is rounded up
    assert f"{volume.inserted_rows(slim):,.0f}" == "556"
    assert volume.index_rows(whole) / 10 > capacity.PARTITION_WRITES > volume.index_rows(slim) / 10


def test_a_change_of_status_deletes_one_row_and_writes_another():
    assert volume.stages(EXAMPLE, now=NOW).claim.indexes == {keys.GSI3: 2}


def test_the_shards_are_even():
    share = volume.fullest_share(
        payment.id for payment, _, _ in GeneratedSource(20_000, first=NOW).payments(0, 20_000)
    )
    assert 0.1 <= share < 0.11


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
