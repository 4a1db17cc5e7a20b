"""Items, read and written: one, many by their keys, a range of a partition, everything; alone, or all or none.

Many new ones at once: each only where there is none yet, or all of them into a table that is empty.
"""

import functools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

from . import client
from .client import as_error
from .configuration import KEYS, configuration, name
from .convert import Item, Key, StatementError, key_attributes, to_attribute, to_attributes
from .errors import TRY_AGAIN, DataError, NewerItem, OutcomeUnknown, Refused
from .writes import Write, merge

BATCH_GET_KEYS, BATCH_STATEMENTS, TRANSACTION_WRITES = 100, 25, 100


class Rows(NamedTuple):
    """One page of a query or scan; `start` leads to the next page, None at the end."""

    items: list[Item]
    start: dict[str, Any] | None


def current(item: Item) -> Item:
    """Return an item that is kept within another, or came otherwise, in the shape that this build knows."""
    return configuration().schemas.current(item)


def _current(items: list[Item]) -> list[Item]:
    schemas = configuration().schemas
    return [schemas.current(item) for item in items] if schemas.upgrades else items


def get(key: Key, *, consistent: bool = True, as_stored: bool = False) -> Item | None:
    """Return an item, or None. 1 request. `as_stored`: in the shape in which it was written, here as elsewhere."""
    configured = configuration()
    request = {"TableName": configured.table_name, "Key": key_attributes(key), "ConsistentRead": consistent}
    item: Item | None = client.send("GetItem", request)
    return item if item is None or as_stored else configured.schemas.current(item)


def batch_get(keys: Iterable[Key], *, consistent: bool = True) -> dict[Key, Item]:
    """Return the items that exist, by key. 1 request for each 100 keys; more only for what was left unprocessed."""
    wanted = [key_attributes(key) for key in dict.fromkeys(keys)]
    found: dict[Key, Item] = {}
    of_table = configuration().table_name

    def ask(left: list[dict[str, Any]]) -> list[dict[str, Any]]:
        request = {"RequestItems": {of_table: {"Keys": left, "ConsistentRead": consistent}}}
        items, unprocessed = client.send("BatchGetItem", request)
        found.update({(item["PK"], item["SK"]): item for item in _current(items)})
        return [key_attributes(key) for key in unprocessed]

    for first in range(0, len(wanted), BATCH_GET_KEYS):
        client.in_parts(wanted[first : first + BATCH_GET_KEYS], ask)
    return found


class QueryOptions(TypedDict, total=False):
    """What of a partition is asked for, as `query_page` takes it."""

    index: str | None
    low: str | None
    high: str | None
    newest_first: bool
    limit: int
    consistent: bool


def query(pk: str, **options: Unpack[QueryOptions]) -> list[Item]:
    """Return up to `limit` items of a partition, sort key between low and high (both inclusive). 1 request."""
    return query_page(pk, **options).items


def query_all(pk: str, **options: Unpack[QueryOptions]) -> Iterator[Item]:
    """Yield all items of a partition, or of a range of it. 1 request for each `limit` items, or 1 MB."""
    start: dict[str, Any] | None = None
    while True:
        rows = query_page(pk, **options, start=start)
        yield from rows.items
        if (start := rows.start) is None:
            return


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
) -> Rows:
    """Return one page of a partition; as `query`, with where to go on. 1 request for each page of 1 MB."""
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
        "TableName": configured.table_name,
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
    as_stored: bool = False,
) -> Rows:
    """Return one page of the whole table or of an index. 1 request for each page of 1 MB.

    Only an index is read in segments `(number, of)`: on the embedded engine a segment of the table sorts it whole.
    """
    request: dict[str, Any] = {"TableName": name()}
    if index:
        request["IndexName"] = index
    else:
        request["ConsistentRead"] = consistent
    if segment:
        request |= {"Segment": segment[0], "TotalSegments": segment[1]}
    return _pages("Scan", request, limit, start, as_stored=as_stored)


def scan_all(*, limit: int = 500, consistent: bool = False, as_stored: bool = False) -> Iterator[Item]:
    """Yield every item of the table, for repairs and exports; never for a page."""
    start: dict[str, Any] | None = None
    while True:
        rows = scan_page(limit=limit, start=start, consistent=consistent, as_stored=as_stored)
        yield from rows.items
        if (start := rows.start) is None:
            return


def _pages(
    operation: str,
    request: dict[str, Any],
    limit: int,
    start: dict[str, Any] | None,
    *,
    as_stored: bool = False,
) -> Rows:
    """Follow short and empty pages until `limit` items are there or the range ends."""
    items: list[Item] = []
    while True:
        asked = request | {"Limit": limit - len(items)}
        if start:
            asked["ExclusiveStartKey"] = {part: to_attribute(value) for part, value in start.items()}
        more, start = client.send(operation, asked)
        items += more
        if start is None or len(items) >= limit:
            return Rows(items if as_stored else _current(items), start)


def write(action: Write) -> None:
    """Carry out one write; its `otherwise` is raised where a condition fails, NewerItem by one. 1 request.

    Where an answer was lost, or the engine failed, it is sent again, unless it might be counted twice: then
    errors.OutcomeUnknown. 1 batch get more where the repeat's condition fails.
    """
    configured = configuration()
    kind, request = configured.schemas.request(action)
    request["TableName"] = configured.table_name
    may_repeat = client.is_guarded(action) or not client.repeat_counts(action)
    send = client.send if may_repeat else functools.partial(client.send, may_repeat=False)
    try:
        send(f"{kind}Item", request)
    except Refused as refused:
        if refused.code != "ConditionalCheckFailedException":
            raise as_error(refused) from refused
        if not _was_ours(refused, [action]):
            raise _failure(action, refused.reasons[0] if refused.reasons else {}) from None


def transact(writes: Sequence[Write]) -> None:
    """Carry out all writes or none; raises the `otherwise` of the first whose condition failed. 1 request.

    Writes of one item are merged first. The token saves a transaction whose answer was lost and that is sent again at
    once; where an engine forgot it, conditions have to: if one of the repeat's fails, what is stored tells whether
    it was the first that was carried out. 1 batch get more then.
    """
    configured = configuration()
    actions = merge(writes)
    requests = []
    for action in actions:
        kind, request = configured.schemas.request(action)
        requests.append({kind: request | {"TableName": configured.table_name}})
    body = {"TransactItems": requests, "ClientRequestToken": str(uuid.uuid4())}
    try:
        client.send("TransactWriteItems", body)
    except Refused as refused:
        for action, reason in zip(actions, refused.reasons, strict=False):
            if reason.get("Code") == "ConditionalCheckFailed":
                if _was_ours(refused, actions):
                    return
                raise _failure(action, reason) from None
        raise as_error(refused) from refused


def _failure(action: Write, reason: dict[str, Any]) -> DataError:
    """Return the error of a write whose condition failed."""
    is_newer = configuration().schemas.is_newer(reason.get("Item", {}))
    return NewerItem() if is_newer else action.error()


def _was_ours(refused: Refused, actions: Sequence[Write]) -> bool:
    """Whether a condition failed because an attempt whose answer was lost had been carried out.

    OutcomeUnknown where what is stored cannot tell.
    """
    if not refused.is_repeat:
        return False
    were_done = client.were_writes_done(actions, batch_get([action.key for action in actions]))
    if were_done is None:
        raise OutcomeUnknown(reason="answer lost: nothing tells if this was carried out") from refused
    return were_done


def insert(items: Sequence[Item], *, as_stored: bool = False) -> int:
    """Write items that are not there yet and leave the others as they are; return how many were new.

    `as_stored`: they come from a table, and keep the schema that they note there, or that they note none.

    Keys must differ from each other. What an attempt whose answer was lost had written may count as there before.
    1 request for each 25 (PartiQL INSERT, which batches and refuses existing keys one by one), more for what was not
    processed.
    """
    new = 0

    def ask(left: list[dict[str, Any]]) -> list[dict[str, Any]]:
        nonlocal new
        refusals: list[StatementError | None] = client.send("BatchExecuteStatement", {"Statements": left})
        again = []
        for statement, error in zip(left, refusals, strict=True):
            if error is None:
                new += 1
            elif error.Code in TRY_AGAIN:
                again.append(statement)
            elif error.Code != "DuplicateItem":
                raise as_error(Refused(error.Code, error.Message, []))
        return again

    configured = configuration()
    for first in range(0, len(items), BATCH_STATEMENTS):
        some = items[first : first + BATCH_STATEMENTS]
        stored = some if as_stored else map(configured.schemas.item_with_schema, some)
        statements = []
        for attributes in map(to_attributes, stored):
            text = _insert_text(configured.table_name, tuple(attributes))
            statements.append({"Statement": text, "Parameters": list(attributes.values())})
        client.in_parts(statements, ask)
    return new


def load(items: Sequence[Item]) -> None:
    """Write items as they are, over whatever is there: for a table that nobody else uses. Keys must differ.

    1 transaction for each 100. An engine of one's own waits for the disk once for each, and once for each item of
    `insert`; on Amazon it would cost twice as much.
    """
    for first in range(0, len(items), TRANSACTION_WRITES):
        puts = []
        for item in items[first : first + TRANSACTION_WRITES]:
            name = configuration().table_name
            puts.append({"Put": {"TableName": name, "Item": to_attributes(item)}})
        try:
            client.send(
                "TransactWriteItems", {"TransactItems": puts, "ClientRequestToken": str(uuid.uuid4())}
            )
        except Refused as refused:
            raise as_error(refused) from refused


@functools.lru_cache(maxsize=64)
def _insert_text(table_name: str, attributes: tuple[str, ...]) -> str:
    """Return the PartiQL of an item with these attributes, whose values are its parameters."""
    fields = ", ".join(f"'{attribute}': ?" for attribute in attributes)
    return f'INSERT INTO "{table_name}" VALUE {{{fields}}}'
