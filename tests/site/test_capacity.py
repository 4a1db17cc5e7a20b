"""The capacity units of each question in docs/access-patterns.md are true, and docs/capacity.md, on a million payments.

`UPDATE_DOCS=1` in the environment writes both anew.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks import capacity, volume
from dealsite.data import keys, table
from dealsite.data.commerce.payment.payment_record import payment_item
from dealsite.data.table.convert import to_attributes
from dealsite.loads.payments import GeneratedSource
from tests import questions_page
from tests.builders import NOW
from tests.capacity import Units, recorded
from tests.data.examples import EXAMPLES
from tests.questions import QUESTIONS

pytestmark = pytest.mark.promise

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "capacity.md"
UPDATE = os.environ.get("UPDATE_DOCS") == "1"
MODEL_BYTES = 8 * 1024  # of a payment's whole item, in the model
(PAYMENT,) = (payment for payment, _, _ in GeneratedSource(1, first=NOW, size=8192).payments(0, 1))
# The model's item is 8 KB in all.
MODEL = replace(
    PAYMENT,
    data=PAYMENT.data[: 2 * MODEL_BYTES - capacity.item_size(to_attributes(payment_item(PAYMENT)))],
)


def section(heading: str) -> dict[str, list[str]]:
    """The rows of the page's table under a heading, by their first cell."""
    text = PAGE.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {cells[0]: cells[1:] for cells in found}


def rewrite(heading: str, name: str, cells: list[str]) -> None:
    """Put a row into the page's table under a heading: in its place, or last."""
    before, _, rest = PAGE.read_text("utf-8").partition(f"## {heading}\n")
    part, joint, after = rest.partition("\n## ")
    lines = part.rstrip().split("\n")
    row = f"| {name} | {' | '.join(cells)} |"
    old = [number for number, line in enumerate(lines) if line.startswith(f"| {name} |")]
    if old:
        lines[old[0]] = row
    else:
        lines.append(row)
    part = "\n".join(lines) + "\n"
    PAGE.write_text(f"{before}## {heading}\n{part}{joint}{after}", "utf-8")


def agree(heading: str, name: str, cells: list[str]) -> None:
    if UPDATE:
        rewrite(heading, name, cells)
    assert section(heading).get(name) == cells, (
        "UPDATE_DOCS=1 pytest tests/site/test_capacity.py writes the page"
    )


# What each question costs


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.usefixtures("shop")
def test_a_question_takes_the_units_that_its_row_says_and_the_engine_counts(question: str):
    ask = EXAMPLES[QUESTIONS[question]]()
    with recorded() as units:
        ask()
    assert (units.read, units.write + units.index) == (units.reported_read, units.reported_write)
    cells = [f"{units.read:g}", f"{units.write} + {units.index}"]
    if UPDATE:
        questions_page.write(questions_page.units() | {question: cells})
    assert questions_page.units().get(question) == cells, questions_page.HOW_TO_WRITE


# A million payments


def partitions() -> list[volume.Load]:
    return volume.partition_loads(PAYMENT, now=NOW)


def test_no_partition_takes_more_than_a_partition_can():
    for load in partitions():
        assert load.units < capacity.PARTITION_WRITES, load


def test_the_page_says_what_each_partition_takes():
    for load in partitions():
        agree("Partitions", f"`{load.partition}`", [load.what, f"{load.units:,.0f}"])


def test_the_page_says_what_an_index_of_whole_items_would_take_as_the_model_does():
    whole = volume.stages(MODEL, now=NOW, whole=True)
    slim = volume.stages(MODEL, now=NOW)
    assert capacity.item_size(whole.inserted) == MODEL_BYTES
    units = whole.insert.indexes[keys.GSI3] * volume.rate()
    assert f"{units:,.0f}" == "4,444"  # 4,445 where each of 555.6 payments a second is rounded up
    rows = {
        "whole items, inserting": [f"{units:,.0f}", f"{units / 5:,.0f}", f"{units / 10:,.0f}"],
        "`type` and `card`, inserting": (found := _spread(slim.insert.indexes[keys.GSI3] * volume.rate())),
        "whole items, all three at once": _spread(_index(whole) * volume.rate()),
        "`type` and `card`, all three at once": _spread(_index(slim) * volume.rate()),
    }
    assert found[0] == "556"
    for name, cells in rows.items():
        agree("Indexes", name, cells)
    over = _index(whole) * volume.rate() / 10
    assert over > capacity.PARTITION_WRITES  # whole items would not fit even into 10 shards


def _index(steps: volume.Stages) -> int:
    return sum(step.indexes.get(keys.GSI3, 0) for step in (steps.insert, steps.claim, steps.settle))


def _spread(units: float) -> list[str]:
    return [f"{units:,.0f}", f"{units / 5:,.0f}", f"{units / 10:,.0f}"]


def test_the_page_says_what_each_step_of_a_payment_costs():
    steps = volume.stages(PAYMENT, now=NOW)
    for name, cost in (
        ("insert", steps.insert),
        ("claim", steps.claim),
        ("settle", steps.settle),
    ):
        agree("Steps", name, [f"{cost.item}", f"{cost.total - cost.item}"])
    assert steps.claim.indexes == {keys.GSI3: 2}  # a change of status deletes one row and writes another


def test_the_page_says_how_many_owners_can_be_told():
    told = volume.told_at_most(now=NOW)
    agree("Notices", "payments of orders a second", [f"{told:,.0f}"])


def test_the_shards_are_even():
    share = volume.fullest_share(
        payment.id for payment, _, _ in GeneratedSource(20_000, first=NOW).payments(0, 20_000)
    )
    assert 0.1 <= share < 0.11


# The estimator


@pytest.mark.usefixtures("fresh_table")
def test_each_step_of_a_payment_costs_what_the_engine_counts():
    from dealsite.data.commerce.payment import charging
    from dealsite.gateways.interface import ChargeResult

    with recorded() as inserting:
        table.insert([payment_item(PAYMENT)])
    (row,) = charging.due(now=PAYMENT.due_at)
    with recorded() as claiming:
        claimed = charging.claim(row, now=PAYMENT.due_at)
    with recorded() as settling:
        charging.record(claimed, ChargeResult(f"pi_{'0' * 24}"), now=PAYMENT.due_at + timedelta(seconds=1))
    steps = volume.stages(PAYMENT, now=PAYMENT.due_at)
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
