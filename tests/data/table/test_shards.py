"""Lists that are spread over partitions read as one list."""

from __future__ import annotations

import pytest

from dealsite.data import keys, table
from dealsite.data.table import errors, items, paging
from dealsite.data.table.writes import Put

pytestmark = [pytest.mark.engines_differ, pytest.mark.usefixtures("fresh_table")]
PARTITIONS = [f"P{number}" for number in range(4)]


def put(partition: int, position: str) -> None:
    item = {"type": "Row", "card": {}, "GSI3PK": PARTITIONS[partition], "GSI3SK": position}
    table.write(Put(key=(f"X{partition}", position), item=item))


def read(**options) -> list[str]:
    return [row["GSI3SK"] for row in paging.merged(PARTITIONS, index=keys.GSI3, **options)]


def test_rows_of_all_partitions_come_in_one_order(wait_for_indexes):
    for number in range(20):
        put(number * 7 % 4, f"{number:02d}")
    wait_for_indexes()
    assert read() == [f"{number:02d}" for number in range(20)]
    assert read(newest_first=True, limit=3) == ["19", "18", "17"]
    assert read(low="05", high="08~") == ["05", "06", "07", "08"]
    assert read(low="05", limit=2) == ["05", "06"]


def test_one_partition_may_hold_all_and_another_nothing(wait_for_indexes):
    for number in range(10):
        put(2, f"{number:02d}")
    wait_for_indexes()
    assert read(limit=5) == ["00", "01", "02", "03", "04"]


def test_a_partition_that_cannot_be_read_is_not_left_out(monkeypatch):
    real = items.query

    def query(partition, **options):
        if partition == "P3":
            raise errors.Unavailable
        return real(partition, **options)

    monkeypatch.setattr(items, "query", query)
    with pytest.raises(errors.Unavailable):
        read()


@pytest.mark.budget
def test_all_partitions_are_read_and_counted():
    with table.metered() as meter:
        read()
    assert meter.log == [("Query", "GSI3")] * 4
