"""What is made from the definition of a table: the table itself, the check of one that exists, a template.

And deleting by `ttl` for engines that do not: DynamoDB does it by itself, the embedded engine never."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from . import client, errors, items
from .configuration import KEYS, Index, configuration, names
from .convert import Item
from .ids import epoch_seconds
from .writes import Delete, at_most

TTL_ATTRIBUTE = "ttl"
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def _key_schema(index: Index) -> list[dict[str, str]]:
    kinds = (("HASH", index.partition_key), ("RANGE", index.sort_key))
    return [{"AttributeName": attribute, "KeyType": kind} for kind, attribute in kinds if attribute]


def _projection(index: Index) -> dict[str, Any]:
    if not index.includes:
        return {"ProjectionType": "KEYS_ONLY"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.includes)}


def definition() -> dict[str, Any]:
    """The parameters of CreateTable but for the table's name; TTL is switched on apart."""
    indexes = configuration().indexes
    attributes = sorted(
        {key["AttributeName"] for keys in (KEYS, *indexes.values()) for key in _key_schema(keys)}
    )
    projected = [
        {"IndexName": name, "KeySchema": _key_schema(index), "Projection": _projection(index)}
        for name, index in indexes.items()
    ]
    return {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        "KeySchema": _key_schema(KEYS),
        **({"GlobalSecondaryIndexes": projected} if projected else {}),
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": STREAM,
    }


def create_table(
    *,
    wait: float = 120,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Create the table where it is missing, wait until it and its indexes are active; True if it was made.

    So, too, the tables that it routes to. Raises errors.Unavailable when one of them is not active within `wait`
    seconds.
    """
    made = [_create_table(name, wait, clock, sleep) for name in names()]
    return any(made)


def _create_table(name: str, wait: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> bool:
    made = False
    try:
        client.call("DescribeTable", TableName=name)
    except errors.NotFound:
        made = _create(name)
    end = clock() + wait
    while not _active(name):
        if clock() > end:
            raise errors.Unavailable(f"The table {name} is not active after {wait:g} seconds.")
        sleep(0.2)
    if made:
        ttl = {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
        client.call("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=ttl)
    return made


def _create(name: str) -> bool:
    try:
        client.call("CreateTable", TableName=name, **definition())
    except errors.DataError as error:
        if "ResourceInUse" not in str(error):
            raise
        return False  # another process was a moment faster
    return True


def _active(name: str) -> bool:
    try:
        described = client.call("DescribeTable", TableName=name)["Table"]
    except errors.NotFound:  # just created, and not everywhere known yet
        return False
    parts = [described, *described.get("GlobalSecondaryIndexes", [])]
    return all(one.get("TableStatus", one.get("IndexStatus", "ACTIVE")) == "ACTIVE" for one in parts)


def drift() -> list[str]:
    """One sentence for each way in which the existing table differs from the definition. 2 requests a table.

    Raises errors.NotFound when there is no such table.
    """
    return [sentence for name in names() for sentence in _drift(name)]


def _drift(name: str) -> list[str]:
    described = client.call("DescribeTable", TableName=name)["Table"]
    ttl = client.call("DescribeTimeToLive", TableName=name)["TimeToLiveDescription"]
    found = _differences("The table's key", _keys_of(described["KeySchema"]), _keys_of(_key_schema(KEYS)))
    types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
    for one in definition()["AttributeDefinitions"]:
        is_type = types.get(one["AttributeName"], "missing")
        found += _differences(f"The key attribute {one['AttributeName']}", is_type, one["AttributeType"])
    found += _index_differences(described.get("GlobalSecondaryIndexes", []))
    stream = described.get("StreamSpecification", {})
    view = stream.get("StreamViewType", "off") if stream.get("StreamEnabled") else "off"
    found += _differences("The stream", view, STREAM["StreamViewType"])
    is_on = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    attribute = ttl.get("AttributeName", "off") if is_on else "off"
    return found + _differences("The TTL attribute", attribute, TTL_ATTRIBUTE)


def _index_differences(described: list[dict[str, Any]]) -> list[str]:
    there, indexes = {index["IndexName"]: index for index in described}, configuration().indexes
    found = [f"The index {name} is not in the definition." for name in sorted(there.keys() - indexes.keys())]
    for name, wanted in indexes.items():
        if name not in there:
            found.append(f"The index {name} is missing.")
            continue
        keys = _keys_of(there[name]["KeySchema"])
        found += _differences(f"The key of the index {name}", keys, _keys_of(_key_schema(wanted)))
        projection = there[name].get("Projection", {})
        is_now, should_be = _projection_text(projection), _projection_text(_projection(wanted))
        found += _differences(f"The projection of the index {name}", is_now, should_be)
    return found


def _keys_of(key_schema: list[dict[str, str]]) -> str:
    return ", ".join(f"{key['AttributeName']} ({key['KeyType']})" for key in key_schema)


def _projection_text(projection: dict[str, Any]) -> str:
    names = sorted(projection.get("NonKeyAttributes") or [])
    return " ".join([projection.get("ProjectionType", "missing"), *names])


def _differences(what: str, is_now: object, should_be: object) -> list[str]:
    return [] if is_now == should_be else [f"{what} is {is_now}, and should be {should_be}."]


def answer() -> None:
    """Ask the table and every index for a key that nothing has. 1 request, and 1 for each index.

    Raises errors.Unavailable, or errors.Misconfigured where the table is missing.
    """
    nobody = "READY"
    items.get((nobody, nobody))
    for name, index in configuration().indexes.items():
        if index.sort_key:
            items.query(nobody, index=name, limit=1)
        else:
            items.scan_page(index=name, limit=1)


def cloudformation_template(description: str, *, table_name: str) -> dict[str, Any]:
    """A CloudFormation template of the table, kept when its stack is deleted, with point-in-time recovery.

    Its parameters warm the table up for a launch; without them it grows with what is asked of it.
    """
    warm = {
        f"{kind}UnitsPerSecond": {"Ref": parameter}
        for kind, parameter in (("Read", "WarmReads"), ("Write", "WarmWrites"))
    }
    warmed = {"WarmThroughput": {"Fn::If": ["IsWarmed", warm, {"Ref": "AWS::NoValue"}]}}
    parts = definition()
    indexes = [index | warmed for index in parts.get("GlobalSecondaryIndexes", [])]
    properties = {
        "TableName": {"Ref": "TableName"},
        **parts,
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
        **warmed,
        "StreamSpecification": {"StreamViewType": STREAM["StreamViewType"]},
        "TimeToLiveSpecification": {"AttributeName": TTL_ATTRIBUTE, "Enabled": True},
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        "SSESpecification": {"SSEEnabled": True},
        "DeletionProtectionEnabled": True,
    }
    table = {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": properties,
    }
    name = {"Type": "String", "Default": table_name, "AllowedPattern": "[a-zA-Z0-9_.-]{3,255}"}
    units = "units a second that table and indexes take at once, from {}; 0 leaves it to DynamoDB"
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": description,
        "Parameters": {
            "TableName": name,
            "WarmReads": {"Type": "Number", "Default": 0, "Description": f"Read {units.format('12000')}"},
            "WarmWrites": {"Type": "Number", "Default": 0, "Description": f"Write {units.format('4000')}"},
        },
        "Conditions": {
            "IsWarmed": {
                "Fn::Not": [
                    {"Fn::Or": [{"Fn::Equals": [{"Ref": one}, 0]} for one in ("WarmReads", "WarmWrites")]}
                ]
            }
        },
        "Resources": {"Table": table},
        "Outputs": {
            "TableName": {"Value": {"Ref": "Table"}},
            "TableArn": {"Value": {"Fn::GetAtt": ["Table", "Arn"]}},
            "StreamArn": {"Value": {"Fn::GetAtt": ["Table", "StreamArn"]}},
        },
    }


def count() -> int:
    """Return how many items the tables have: on Amazon as of up to six hours ago. 1 request a table."""
    described = (client.call("DescribeTable", TableName=name)["Table"] for name in names())
    return sum(int(one.get("ItemCount") or 0) for one in described)


def has_expired(item: Item, *, now: datetime) -> bool:
    """Tell whether an item's `ttl` has passed, so that it counts as gone although it may still be there."""
    return TTL_ATTRIBUTE in item and item[TTL_ATTRIBUTE] <= epoch_seconds(now)


def delete_expired(*, now: datetime) -> int:
    """Delete every expired item and return their number. 1 scan for each 500 items, 1 delete for each expired one."""
    deleted = 0
    for item in items.scan_all():
        if not has_expired(item, now=now):
            continue
        try:
            items.write(
                Delete(key=(item["PK"], item["SK"]), when=(at_most(TTL_ATTRIBUTE, epoch_seconds(now)),))
            )
            deleted += 1
        except errors.Conflict:
            continue  # it was renewed, or is gone already
    return deleted
