"""Writing items: one write, a transaction of many, or many new items at once."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Sequence
from typing import Any

from . import connection, retries
from .configuration import configuration, name
from .convert import Item, to_attributes
from .errors import Busy
from .refusals import TRY_AGAIN, Refused, as_error
from .retries import ATTEMPTS_WHEN_REFUSED
from .writes import Write, merge

BATCH_STATEMENTS = 25


def write(action: Write) -> None:
    """Carry out one write; its `otherwise` is raised where a condition fails. 1 request."""
    kind, request = action.request()
    request["TableName"] = configuration().name_of(action.key[0])
    try:
        connection.send(f"{kind}Item", request)
    except Refused as refused:
        if refused.code == "ConditionalCheckFailedException":
            raise action.error() from None
        raise as_error(refused) from refused


def transact(writes: Sequence[Write]) -> None:
    """Carry out all writes or none; raises the `otherwise` of the first whose condition failed. 1 request.

    Writes of one item are merged first. The token saves a transaction whose answer was lost and
    that is sent again at once; what must hold for good stands in conditions.
    """
    actions = merge(writes)
    requests = []
    name_of = configuration().name_of
    for action in actions:
        kind, request = action.request()
        requests.append({kind: request | {"TableName": name_of(action.key[0])}})
    body = {"TransactItems": requests, "ClientRequestToken": str(uuid.uuid4())}
    try:
        connection.send("TransactWriteItems", body)
    except Refused as refused:
        for action, reason in zip(actions, refused.reasons, strict=False):
            if reason.get("Code") == "ConditionalCheckFailed":
                raise action.error() from None
        raise as_error(refused) from refused


def insert(items: Sequence[Item]) -> int:
    """Write items that are not there yet and leave the others as they are; return how many were new.

    Keys must differ from each other. 1 request for each 25 (PartiQL INSERT, which batches and refuses
    existing keys one by one), more for what was not processed.
    """
    new = 0
    for first in range(0, len(items), BATCH_STATEMENTS):
        left = [_insert_statement(item) for item in items[first : first + BATCH_STATEMENTS]]
        for attempt in range(ATTEMPTS_WHEN_REFUSED):
            if attempt:
                retries.back_off(attempt)
            answer = connection.send("BatchExecuteStatement", {"Statements": left})
            again = []
            for statement, response in zip(left, answer.get("Responses", ()), strict=True):
                error = response.get("Error")
                if error is None:
                    new += 1
                elif error.get("Code") in TRY_AGAIN:
                    again.append(statement)
                elif error.get("Code") != "DuplicateItem":
                    raise as_error(Refused(error.get("Code", ""), error.get("Message", ""), []))
            left = again
            if not left:
                break
        else:
            raise Busy()
    return new


def _insert_statement(item: Item) -> dict[str, Any]:
    attributes = to_attributes(item)
    return {
        "Statement": _insert_text(name(), tuple(attributes)),
        "Parameters": list(attributes.values()),
    }


@functools.lru_cache(maxsize=64)
def _insert_text(table_name: str, attributes: tuple[str, ...]) -> str:
    """Return the PartiQL of an item with these attributes, whose values are its parameters."""
    fields = ", ".join(f"'{attribute}': ?" for attribute in attributes)
    return f'INSERT INTO "{table_name}" VALUE {{{fields}}}'
