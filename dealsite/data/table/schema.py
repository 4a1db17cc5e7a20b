"""What is made from the definition of a table: the table, its switches, a template; and how one that is there differs.

Deleting by `ttl` is done here for engines that do not: DynamoDB does it by itself, the embedded engine never.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from . import client, errors, items
from .configuration import KEYS, Index, configuration
from .convert import Item
from .ids import epoch_seconds
from .writes import Delete, at_most

TTL_ATTRIBUTE = "ttl"
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
RECOVERY = {"PointInTimeRecoveryEnabled": True}
TTL = {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
SWITCH_SECONDS = 90.0  # how long a switch may be refused, as recovery is of a table that is new
PASSING = (errors.DataError, errors.Busy)  # exactly these: with the others, trying again is no use


@dataclass(frozen=True, slots=True)
class Throughput:
    """Read and write units a second that a table and each of its indexes take from its first moment on."""

    read: int
    write: int

    def parameters(self) -> dict[str, int]:
        return {"ReadUnitsPerSecond": self.read, "WriteUnitsPerSecond": self.write}


def key_schema(index: Index) -> list[dict[str, str]]:
    kinds = (("HASH", index.partition_key), ("RANGE", index.sort_key))
    return [{"AttributeName": attribute, "KeyType": kind} for kind, attribute in kinds if attribute]


def projection(index: Index) -> dict[str, Any]:
    if not index.includes:
        return {"ProjectionType": "KEYS_ONLY"}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.includes)}


def definition() -> dict[str, Any]:
    """The parameters of CreateTable but for the table's name; TTL is switched on apart."""
    indexes = configuration().indexes
    attributes = sorted(
        {key["AttributeName"] for keys in (KEYS, *indexes.values()) for key in key_schema(keys)}
    )
    projected = [
        {"IndexName": name, "KeySchema": key_schema(index), "Projection": projection(index)}
        for name, index in indexes.items()
    ]
    return {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        "KeySchema": key_schema(KEYS),
        **({"GlobalSecondaryIndexes": projected} if projected else {}),
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": STREAM,
    }


def create_table(
    *,
    protected: bool = False,
    warm: Throughput | None = None,
    wait: float = 120,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Create the table where it is missing, wait until it and its indexes are active; True if it was made.

    `protected` against deletion, and with point-in-time recovery where there is such a thing; `warm` for the first
    rush. Raises errors.Unavailable when it is not active within `wait` seconds.
    """
    name = configuration().table_name
    is_made = _create_table(name, protected, warm)
    _wait_until_active(name, wait, clock, sleep)
    if is_made:
        switch_on(name, protected=protected, clock=clock, sleep=sleep)
    return is_made


def _wait_until_active(
    name: str, wait: float, clock: Callable[[], float], sleep: Callable[[float], None]
) -> None:
    end = clock() + wait
    while not _active(name):
        if clock() > end:
            raise errors.Unavailable(f"The table {name} is not active after {wait:g} seconds.")
        sleep(0.2)


def _create_table(name: str, protected: bool, warm: Throughput | None) -> bool:
    try:
        client.call("DescribeTable", TableName=name)
    except errors.NotFound:
        pass
    else:
        return False
    parameters = definition() | ({"DeletionProtectionEnabled": True} if protected else {})
    if warm:
        for one in (parameters, *parameters.get("GlobalSecondaryIndexes", [])):
            one["WarmThroughput"] = warm.parameters()
    try:
        client.call("CreateTable", TableName=name, **parameters)
    except errors.DataError as error:
        if "ResourceInUse" not in str(error):
            raise
    return True  # in use: made a moment ago, by another process or by a first try whose answer was lost


def switch_on(
    name: str,
    *,
    protected: bool,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Turn on what a table of ours has, and what needs no new one: TTL, stream, protection and recovery if `protected`.

    Harmless where it is on, and where another process does the same. 2 requests, 2 more for protection.
    """
    switches: list[tuple[Callable[[str], bool], str, dict[str, Any]]] = [
        (_has_ttl, "UpdateTimeToLive", {"TimeToLiveSpecification": TTL}),
        (_has_stream, "UpdateTable", {"StreamSpecification": STREAM}),
    ]
    if protected:
        switches += [
            (_is_protected, "UpdateTable", {"DeletionProtectionEnabled": True}),
            (
                lambda name: recovery(name) is not False,
                "UpdateContinuousBackups",
                {"PointInTimeRecoverySpecification": RECOVERY},
            ),
        ]
    for is_on, operation, parameters in switches:
        end = clock() + SWITCH_SECONDS
        while not is_on(name):
            try:
                client.call(operation, TableName=name, **parameters)
                _wait_until_active(name, SWITCH_SECONDS, clock, sleep)
                break
            except errors.DataError as error:
                if type(error) not in PASSING or clock() > end:
                    raise
                sleep(0.5)


def _has_ttl(name: str) -> bool:
    ttl = client.call("DescribeTimeToLive", TableName=name)["TimeToLiveDescription"]
    return ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")


def _has_stream(name: str) -> bool:
    stream = client.call("DescribeTable", TableName=name)["Table"].get("StreamSpecification", {})
    return bool(stream.get("StreamEnabled"))


def _is_protected(name: str) -> bool:
    return bool(client.call("DescribeTable", TableName=name)["Table"].get("DeletionProtectionEnabled"))


def recovery(name: str) -> bool | None:
    """Tell whether a table can be restored to any moment of the last weeks; None where the engine never can."""
    try:
        found = client.call("DescribeContinuousBackups", TableName=name)["ContinuousBackupsDescription"]
    except errors.UnknownOperation:
        return None
    status = found.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    return bool(status == "ENABLED")


def server_time() -> datetime | None:
    """Return what time it is where the table is, to the second; None if it does not say. 1 request."""
    client.call("DescribeTable", TableName=configuration().table_name)
    said = client.connect().date
    return parsedate_to_datetime(said) if said else None


def _active(name: str) -> bool:
    try:
        described = client.call("DescribeTable", TableName=name)["Table"]
    except errors.NotFound:  # just created, and not everywhere known yet
        return False
    parts = [described, *described.get("GlobalSecondaryIndexes", [])]
    return all(one.get("TableStatus", one.get("IndexStatus", "ACTIVE")) == "ACTIVE" for one in parts)


def answer() -> None:
    """Ask every index for a key that nothing has. 1 request for each index.

    Raises errors.Unavailable, errors.Misconfigured where the table is missing, errors.Incomplete where an index is.
    """
    nobody = "READY"
    for name, index in configuration().indexes.items():
        try:
            if index.sort_key:
                items.query(nobody, index=name, limit=1)
            else:
                items.scan_page(index=name, limit=1)
        except errors.DataError as error:
            if "the specified index" in str(error):  # DynamoDB's words: a ValidationException can be anything
                raise errors.Incomplete(reason=f"The index {name} is missing.") from error
            raise


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
        "TimeToLiveSpecification": TTL,
        "PointInTimeRecoverySpecification": RECOVERY,
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
    """Return how many items the table has: on Amazon as of up to six hours ago. 1 request."""
    described = client.call("DescribeTable", TableName=configuration().table_name)["Table"]
    return int(described.get("ItemCount") or 0)


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


def drift(*, protected: bool = False, warm: Throughput | None = None) -> list[str]:
    """One sentence for each way in which the existing table differs from the definition. 2 requests.

    `protected`: also from one that is protected against deletion and can be restored to any moment (1 request more);
    `warm`: and takes so much at once. Raises errors.NotFound when there is no such table.
    """
    table = configuration().table_name
    described = client.call("DescribeTable", TableName=table)["Table"]
    ttl = client.call("DescribeTimeToLive", TableName=table)["TimeToLiveDescription"]
    found = _differences("The table's key", _keys_of(described["KeySchema"]), _keys_of(key_schema(KEYS)))
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
    found += _differences("The TTL attribute", attribute, TTL_ATTRIBUTE)
    if protected:
        is_protected = "on" if described.get("DeletionProtectionEnabled") else "off"
        found += _differences("The protection against deletion", is_protected, "on")
        found += _differences("The point-in-time recovery", "off" if recovery(table) is False else "on", "on")
    if warm:
        found += _coldness(described, warm)
    return found


def _coldness(described: dict[str, Any], warm: Throughput) -> list[str]:
    """Say of the table and each index that it takes less at once than it should, where the engine tells."""
    found = []
    for one in [described, *described.get("GlobalSecondaryIndexes", [])]:
        is_now = one.get("WarmThroughput", warm.parameters())
        if any(is_now[unit] < wanted for unit, wanted in warm.parameters().items()):
            what = f"index {one['IndexName']}" if "IndexName" in one else "table"
            said = f"{is_now['ReadUnitsPerSecond']} reads and {is_now['WriteUnitsPerSecond']} writes a second"
            wanted = f"{warm.read} and {warm.write}"
            found.append(f"The {what} takes {said} from the start, and should take {wanted}.")
    return found


def _index_differences(described: list[dict[str, Any]]) -> list[str]:
    there, indexes = {index["IndexName"]: index for index in described}, configuration().indexes
    found = [f"The index {name} is not in the definition." for name in sorted(there.keys() - indexes.keys())]
    for name, wanted in indexes.items():
        if name not in there:
            found.append(f"The index {name} is missing.")
            continue
        keys = _keys_of(there[name]["KeySchema"])
        found += _differences(f"The key of the index {name}", keys, _keys_of(key_schema(wanted)))
        is_now = _projection_text(there[name].get("Projection", {}))
        should_be = _projection_text(projection(wanted))
        found += _differences(f"The projection of the index {name}", is_now, should_be)
    return found


def _keys_of(schema: list[dict[str, str]]) -> str:
    return ", ".join(f"{key['AttributeName']} ({key['KeyType']})" for key in schema)


def _projection_text(one: dict[str, Any]) -> str:
    attributes = sorted(one.get("NonKeyAttributes") or [])
    return " ".join([one.get("ProjectionType", "missing"), *attributes])


def _differences(what: str, is_now: object, should_be: object) -> list[str]:
    return [] if is_now == should_be else [f"{what} is {is_now}, and should be {should_be}."]
