"""Where the table is, what it is called, and which indexes it has."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from . import errors
from .item_schemas import Schemas


class Index(NamedTuple):
    """A secondary index: the attributes that are its keys, and what its rows hold beside keys."""

    partition_key: str
    sort_key: str | None = None
    includes: tuple[str, ...] = ()  # none: rows hold keys only


KEYS = Index("PK", "SK")  # of the table itself


class Configuration(NamedTuple):
    """One table of a project."""

    table_name: str
    region: str
    endpoint_url: str = ""  # of an engine, also `unix:/path` of a socket (`sockets`); "" is Amazon's own
    indexes: Mapping[str, Index] = MappingProxyType({})
    routes: Mapping[str, str] = MappingProxyType({})  # to other tables, by how partition keys begin
    schemas: Schemas = Schemas()  # of the items by their types; none: nothing is noted, refused or upgraded
    local_key: str = "local"  # names who asks an engine on this machine, which checks no credentials
    missing: str = "The table does not exist. `schema.create_table()` makes it."

    def name_of(self, pk: str) -> str:
        """Return the name of the table in which a partition belongs."""
        for beginning, table_name in self.routes.items():
            if pk.startswith(beginning):
                return table_name
        return self.table_name

    def names(self) -> list[str]:
        """Return the name of the table, and those of the tables that partitions are routed to."""
        return list(dict.fromkeys([self.table_name, *self.routes.values()]))


def _nothing() -> Configuration:
    raise RuntimeError("No table is configured. Call table.configure() first.")


_read: Callable[[], Configuration] = _nothing


def configure(read: Callable[[], Configuration], *, translate: Callable[[str], Any] = str) -> None:
    """Take a function that returns the configuration, and one that translates the errors' sentences.

    Both are called whenever they are needed, so that settings may still change; a connection is kept until `reset`.
    """
    global _read
    _read = read
    errors.translate = translate


def configuration() -> Configuration:
    """Return the configuration as it is now."""
    return _read()


def name() -> str:
    """Return the table's name."""
    return _read().table_name


def names() -> list[str]:
    """Return the table's name, and those of the tables that partitions are routed to."""
    return _read().names()
