"""Reading items: one, many by their keys, a partition in order, or everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from . import connection, retries
from .configuration import KEYS, configuration, name, names
from .convert import Item, from_attributes, to_attribute
from .errors import Busy
from .retries import ATTEMPTS_WHEN_REFUSED
from .writes import Key, key_attributes

BATCH_GET_KEYS = 100


class Rows(NamedTuple):
    """One page of a query or scan; `start` leads to the next page, None at the end."""

    items: list[Item]
    start: dict[str, Any] | None


def get(key: Key, *, consistent: bool = True) -> Item | None:
    """Return an item, or None. 1 request."""
    request = {
        "TableName": configuration().name_of(key[0]),
        "Key": key_attributes(key),
        "ConsistentRead": consistent,
    }
    answer = connection.send("GetItem", request)
    return from_attributes(answer["Item"]) if "Item" in answer else None


def batch_get(keys: Iterable[Key], *, consistent: bool = True) -> dict[Key, Item]:
    """Return the items that exist, by key. 1 request for each 100 keys; more only for what was left unprocessed."""
    wanted = list(dict.fromkeys(keys))
    found: dict[Key, Item] = {}
    name_of = configuration().name_of
    for first in range(0, len(wanted), BATCH_GET_KEYS):
        left: dict[str, Any] = {}
        for key in wanted[first : first + BATCH_GET_KEYS]:
            of_table = left.setdefault(name_of(key[0]), {"Keys": [], "ConsistentRead": consistent})
            of_table["Keys"].append(key_attributes(key))
        for attempt in range(ATTEMPTS_WHEN_REFUSED):
            if attempt:
                retries.back_off(attempt)
            answer = connection.send("BatchGetItem", {"RequestItems": left})
            for items in answer.get("Responses", {}).values():
                for attributes in items:
                    found[attributes["PK"]["S"], attributes["SK"]["S"]] = from_attributes(attributes)
            left = {
                table_name: keys | {"ConsistentRead": consistent}
                for table_name, keys in answer.get("UnprocessedKeys", {}).items()
            }
            if not left:
                break
        else:
            raise Busy()
    return found


def query(
    pk: str,
    *,
    index: str | None = None,
    low: str | None = None,
    high: str | None = None,
    newest_first: bool = False,
    limit: int = 100,
    consistent: bool = False,
    table_name: str | None = None,
) -> list[Item]:
    """Return up to `limit` items of a partition, sort key between low and high (both inclusive). 1 request."""
    return query_page(
        pk,
        index=index,
        low=low,
        high=high,
        newest_first=newest_first,
        limit=limit,
        consistent=consistent,
        table_name=table_name,
    ).items


def query_page(
    pk: str,
    *,
    index: str | None = None,
    low: str | None = None,
    high: str | None = None,
    newest_first: bool = False,
    limit: int = 100,
    consistent: bool = False,
    start: dict[str, Any] | None = None,
    table_name: str | None = None,
) -> Rows:
    """Return one page of a partition; as `query`, with where to go on. 1 request for each page of 1 MB.

    `table_name`: where to look, if not where such a partition belongs.
    """
    if index and consistent:
        raise ValueError("An index cannot be read consistently.")
    if low is not None and high is not None and low > high:
        return Rows([], None)
    configured = configuration()
    keys = KEYS if index is None else configured.indexes[index]
    attributes, values, condition = {"#h": keys.partition_key}, {":h": {"S": pk}}, "#h = :h"
    if low is not None and high is not None:
        condition += " AND #s BETWEEN :low AND :high"
    elif low is not None:
        condition += " AND #s >= :low"
    elif high is not None:
        condition += " AND #s <= :high"
    if low is not None or high is not None:
        attributes["#s"] = str(keys.sort_key)
    if low is not None:
        values[":low"] = {"S": low}
    if high is not None:
        values[":high"] = {"S": high}
    request: dict[str, Any] = {
        "TableName": table_name or configured.name_of(pk),
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": attributes,
        "ExpressionAttributeValues": values,
        "ScanIndexForward": not newest_first,
    }
    if index:
        request["IndexName"] = index
    else:
        request["ConsistentRead"] = consistent
    return _pages("Query", request, limit, start)


def scan_page(
    *,
    index: str | None = None,
    limit: int = 1000,
    start: dict[str, Any] | None = None,
    segment: tuple[int, int] | None = None,
    consistent: bool = False,
    table_name: str | None = None,
) -> Rows:
    """Return one page of the whole table or of an index. 1 request for each page of 1 MB.

    Only an index is read in segments `(number, of)`: on the embedded engine a segment of the table sorts it whole.
    """
    request: dict[str, Any] = {"TableName": table_name or name()}
    if index:
        request["IndexName"] = index
    else:
        request["ConsistentRead"] = consistent
    if segment:
        request |= {"Segment": segment[0], "TotalSegments": segment[1]}
    return _pages("Scan", request, limit, start)


def scan_all(*, limit: int = 500, consistent: bool = False) -> Iterator[Item]:
    """Yield every item of the table, and of those that it routes to, for repairs and exports; never for a page."""
    for table_name in names():
        start: dict[str, Any] | None = None
        while True:
            rows = scan_page(limit=limit, start=start, consistent=consistent, table_name=table_name)
            yield from rows.items
            start = rows.start
            if start is None:
                break


def _pages(operation: str, request: dict[str, Any], limit: int, start: dict[str, Any] | None) -> Rows:
    """Follow short and empty pages until `limit` items are there or the range ends."""
    items: list[Item] = []
    while True:
        asked = request | {"Limit": limit - len(items)}
        if start:
            asked["ExclusiveStartKey"] = {part: to_attribute(value) for part, value in start.items()}
        answer = connection.send(operation, asked)
        items += [from_attributes(attributes) for attributes in answer.get("Items", ())]
        last = answer.get("LastEvaluatedKey")
        start = from_attributes(last) if last else None
        if start is None or len(items) >= limit:
            return Rows(items, start)
