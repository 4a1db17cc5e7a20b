"""To-do lists on one table: all that another project writes to use the library."""

from datetime import UTC, datetime

from dealsite.data import table
from dealsite.data.table import ids, schema
from dealsite.data.table.errors import AlreadyExists, NotFound
from dealsite.data.table.writes import Put, Update, absent, exists


def use(endpoint_url: str) -> None:
    """Say where the table is, and create it where it is missing."""
    table.configure(lambda: table.Configuration("todos", "eu-central-1", endpoint_url))
    schema.create_table()


def create(name: str) -> None:
    """Begin a list; AlreadyExists where there is one of this name. 1 request."""
    taken = AlreadyExists(f"There is a list {name} already.")
    table.write(Put(key=(f"LIST#{name}", "LIST"), item={"entries": 0}, when=(absent(),), otherwise=taken))


def add(name: str, text: str) -> None:
    """Add an entry to a list and count it, both or neither; NotFound without the list. 1 request."""
    entry, missing = ids.new_ulid(datetime.now(UTC)), NotFound(f"There is no list {name}.")
    table.transact(
        [
            Put(key=(f"LIST#{name}", f"ENTRY#{entry}"), item={"text": text}),
            Update(key=(f"LIST#{name}", "LIST"), add={"entries": 1}, when=(exists(),), otherwise=missing),
        ]
    )


def newest(name: str, limit: int = 10) -> list[str]:
    """Return the texts of a list, the newest first. 1 request."""
    found = table.query(f"LIST#{name}", low="ENTRY#", high="ENTRY#~", newest_first=True, limit=limit)
    return [item["text"] for item in found]
