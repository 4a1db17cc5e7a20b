"""How an existing table differs from its definition, in sentences for whoever runs the site."""

from typing import Any

from . import client
from .configuration import KEYS, configuration
from .schema import STREAM, TTL_ATTRIBUTE, Throughput, definition, key_schema, projection, recovery


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
