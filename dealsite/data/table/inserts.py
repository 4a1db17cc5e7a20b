"""Many new items at once: each only where there is none yet, or all of them into a table that is empty."""

import functools
import uuid
from collections.abc import Sequence
from typing import Any

from . import client
from .client import as_error
from .configuration import configuration
from .convert import Item, to_attributes
from .errors import TRY_AGAIN, Refused

BATCH_STATEMENTS = 25
TRANSACTION_WRITES = 100


def insert(items: Sequence[Item], *, as_stored: bool = False) -> int:
    """Write items that are not there yet and leave the others as they are; return how many were new.

    `as_stored`: they come from a table, and keep the schema that they note there, or that they note none.

    Keys must differ from each other. What an attempt whose answer was lost had written may count as there before.
    1 request for each 25 (PartiQL INSERT, which batches and refuses existing keys one by one), more for what was not
    processed.
    """
    new = 0
    for first in range(0, len(items), BATCH_STATEMENTS):
        left = [_insert_statement(item, as_stored) for item in items[first : first + BATCH_STATEMENTS]]
        for _ in client.tries():
            answer = client.send("BatchExecuteStatement", {"Statements": left})
            again = []
            for statement, response in zip(left, answer["Responses"], strict=True):
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
        client.send("TransactWriteItems", {"TransactItems": puts, "ClientRequestToken": str(uuid.uuid4())})


def _insert_statement(item: Item, as_stored: bool) -> dict[str, Any]:
    configured = configuration()
    attributes = to_attributes(item if as_stored else configured.schemas.noted_in(item))
    text = _insert_text(configured.table_name, tuple(attributes))
    return {"Statement": text, "Parameters": list(attributes.values())}


@functools.lru_cache(maxsize=64)
def _insert_text(table_name: str, attributes: tuple[str, ...]) -> str:
    """Return the PartiQL of an item with these attributes, whose values are its parameters."""
    fields = ", ".join(f"'{attribute}': ?" for attribute in attributes)
    return f'INSERT INTO "{table_name}" VALUE {{{fields}}}'
