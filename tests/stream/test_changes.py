from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec

from dealsite.data.table.convert import Record
from dealsite.stream.projection import FINISHED, Checkpoint
from dealsite.stream.records import BEFORE_ALL, ItemChange, Shard, change_of, changes_of, in_order, padded
from tests.builders import NOW

RECORD: dict[str, Any] = {
    "eventID": "1",
    "eventName": "MODIFY",
    "eventSource": "aws:dynamodb",
    "dynamodb": {
        "ApproximateCreationDateTime": 1795262400.0,
        "Keys": {"PK": {"S": "DEAL#1"}, "SK": {"S": "OFFER"}},
        "OldImage": {
            "PK": {"S": "DEAL#1"},
            "SK": {"S": "OFFER"},
            "type": {"S": "Offer"},
            "price": {"N": "9.5"},
        },
        "NewImage": {
            "PK": {"S": "DEAL#1"},
            "SK": {"S": "OFFER"},
            "type": {"S": "Offer"},
            "price": {"N": "9"},
        },
        "SequenceNumber": "4421584500000000017450439091",
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    },
}


def read(record: dict[str, Any]) -> Record:
    return msgspec.convert(record, Record)


def told(record: dict[str, Any]) -> ItemChange:
    return change_of(read(record))


def test_a_record_is_read_as_a_change():
    change = told(RECORD)
    assert change.key == ("DEAL#1", "OFFER")
    assert (change.old["price"], change.new["price"]) == (Decimal("9.5"), 9)
    assert change.sequence == "0000000000004421584500000000017450439091"
    assert change.at == datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    assert change.type == "Offer"


def test_a_new_item_has_no_old_image_and_a_deleted_one_no_new_one():
    new = {**RECORD, "dynamodb": {k: v for k, v in RECORD["dynamodb"].items() if k != "OldImage"}}
    gone = {**RECORD, "dynamodb": {k: v for k, v in RECORD["dynamodb"].items() if k != "NewImage"}}
    assert told(new).old is None
    assert told(gone).new is None
    assert told(gone).type == "Offer"


def test_a_write_that_changes_nothing_is_no_change():
    data = RECORD["dynamodb"]
    same = {**RECORD, "dynamodb": {**data, "NewImage": data["OldImage"]}}
    assert [change.sequence for change in changes_of([read(same), read(RECORD)])] == [
        padded(data["SequenceNumber"])
    ]


def test_a_migration_is_no_change():
    """An item's schema is nothing that a projection shows."""
    data = RECORD["dynamodb"]
    image = {"PK": {"S": "A"}, "SK": {"S": "B"}, "type": {"S": "Job"}}
    noted = {**RECORD, "dynamodb": {**data, "OldImage": image, "NewImage": {**image, "schema": {"N": "1"}}}}
    assert changes_of([read(noted)]) == []


def test_sequence_numbers_sort_as_numbers_do():
    numbers = ["9", "10", "300000000000000499659", "4421584500000000017450439091"]
    assert sorted(map(padded, reversed(numbers))) == [padded(number) for number in numbers]


def test_a_shard_waits_for_its_parent_unless_that_is_finished_or_gone():
    shards = [Shard("b", "a"), Shard("a"), Shard("d", "c"), Shard("e", "b")]
    assert [shard.id for shard in in_order(shards, set())] == ["a", "d"]
    assert [shard.id for shard in in_order(shards, {"a"})] == ["b", "d"]
    assert [shard.id for shard in in_order(shards, {"a", "b", "d"})] == ["e"]


def test_a_checkpoint_is_the_same_after_a_trip_to_json():
    checkpoint = Checkpoint("arn", NOW, {"a": FINISHED, "b": padded("7"), "c": ""})
    assert Checkpoint.from_json(checkpoint.to_json()) == checkpoint


def test_what_a_scan_finds_counts_as_older_than_what_is_still_to_come():
    assert Checkpoint("arn", NOW, {"a": padded("7")}).floor == padded("7")
    assert Checkpoint("arn", NOW, {"a": ""}).floor == BEFORE_ALL
    assert Checkpoint("arn", NOW, {}).floor == BEFORE_ALL
    assert Checkpoint("arn", NOW, {"a": padded("7"), "b": padded("9")}).floor == BEFORE_ALL
    assert Checkpoint("arn", NOW, {"a": FINISHED}).floor == BEFORE_ALL
