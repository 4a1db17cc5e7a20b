"""Where the table is, what it is called, its indexes, and which shapes its items have, upgraded when they are old."""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from . import errors
from .convert import Item
from .writes import SCHEMA as SCHEMA, Check, Condition, Put, Update, Write, absent, equals, exists, missing


def upgrade_write(item: Item) -> Update | None:
    """Return the write that stores an item, as it was read, in the shape of now; None if it is, or is not known.

    It holds only while all that the upgrades saw, or missed, is as it was: nobody's change is lost.
    """
    known = configuration().schemas.known(item)
    if known is None or (schema := schema_of(item)) >= known.version:
        return None
    shape, asked = item, {SCHEMA}
    for upgrade in known.upgrades[schema:]:
        watched = _Watched(shape)
        shape = dict(upgrade(watched))
        asked |= watched.asked
    changed = {name: value for name, value in shape.items() if name not in item or item[name] != value}
    seen = item if known.upgrades else {"type": item["type"]}
    return Update(
        key=(item["PK"], item["SK"]),
        set={**changed, SCHEMA: known.version},
        remove=[name for name in item if name not in shape],
        when=(
            exists(),
            *(equals(name, value) for name, value in seen.items() if name not in ("PK", "SK", SCHEMA)),
            *(missing(name) for name in sorted({*asked, *changed} - item.keys())),
            *((equals(SCHEMA, item[SCHEMA]),) if SCHEMA in item else ()),
        ),
    )


class _Watched(dict[str, Any]):
    """An item that remembers which attributes it was asked for."""

    def __init__(self, item: Item) -> None:
        super().__init__(item)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


NOT_ABOVE = "NOT {p0} > {v0}"  # holds where there is none, too, and where it is no number


class Index(NamedTuple):
    """A secondary index: the attributes that are its keys, and what its rows hold beside keys."""

    partition_key: str
    sort_key: str | None = None
    includes: tuple[str, ...] = ()  # none: rows hold keys only


KEYS = Index("PK", "SK")  # of the table itself


class Schema(NamedTuple):
    """What a build knows of a type: its schema, and what makes schema n + 1 out of n, from 0 on."""

    version: int = 1
    upgrades: tuple[Callable[[Item], Item], ...] = ()  # none: all schemas up to this one have the same shape


def schema_of(item: Item) -> int:
    """Return the schema that an item notes; 0 where it notes none, or something that is none."""
    schema = item.get(SCHEMA)
    return schema if isinstance(schema, int) and schema > 0 else 0


class Schemas(dict[str, Schema]):
    """What a build knows of all types, by their names."""

    def known(self, item: Mapping[Any, Any]) -> Schema | None:
        """Return what is known of an item's type; None if nothing is, or it has none."""
        kind = item.get("type")
        return self.get(kind) if isinstance(kind, str) else None

    def current(self, item: Item) -> Item:
        """Return an item in the shape that this build knows; what is newer or of another type stays as it is."""
        known = self.known(item)
        if known is None or not known.upgrades or (schema := schema_of(item)) >= known.version:
            return item
        for upgrade in known.upgrades[schema:]:
            item = upgrade(item)
        return {**item, SCHEMA: known.version}

    @cached_property
    def upgrades(self) -> bool:
        """Whether any type has had another shape; if none has, reading costs nothing."""
        return any(known.upgrades for known in self.values())

    def is_newer(self, item: Item) -> bool:
        """Whether a newer build wrote an item."""
        known = self.known(item)
        return schema_of(item) > (known.version if known else self._lowest)

    def item_with_schema(self, item: Item) -> Item:
        """Return a whole item that notes its schema."""
        known = self.known(item)
        return {**item, SCHEMA: known.version} if known else item

    def request(self, write: Write) -> tuple[str, dict[str, Any]]:
        """Return a write's request, which notes the schema and is refused where the item is newer than this build."""
        if not self or isinstance(write, Check):
            return write.request()
        known = self.known(_made(write))
        # An update may meet an item of an old shape that has yet to be upgraded: it notes nothing if there is any.
        notes = known is not None and (isinstance(write, Put) or not known.upgrades)
        schema = known.version if known is not None and notes else None
        if absent() in write.when:
            return write.request(schema=schema)
        allowed = Condition(NOT_ABOVE, (SCHEMA,), (known.version,)) if known else self._up_to_known
        kind, request = write.request((allowed,), schema)
        return kind, request | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

    @cached_property
    def _lowest(self) -> int:
        return min(known.version for known in self.values()) if self else 0

    @cached_property
    def _up_to_known(self) -> Condition:
        """The item's schema is known, whatever its type: a write that names a key alone knows none."""
        values: list[Any] = [self._lowest]
        texts = [NOT_ABOVE]
        for name, known in sorted(self.items()):
            if known.version > self._lowest:
                texts.append(f"({{p0}} <= {{v{len(values)}}} AND {{p1}} = {{v{len(values) + 1}}})")
                values += [known.version, name]
        paths = (SCHEMA, "type") if len(texts) > 1 else (SCHEMA,)
        return Condition(f"({' OR '.join(texts)})", paths, tuple(values))


def _made(write: Write) -> Mapping[Any, Any]:
    """Return the attributes that a write gives its item, which may tell its type."""
    return write.item if isinstance(write, Put) else write.set if isinstance(write, Update) else {}


class Configuration(NamedTuple):
    """One table of a project."""

    table_name: str
    region: str
    endpoint_url: str = ""  # of an engine, also `unix:/path` of a socket (`connection`); "" is Amazon's own
    indexes: Mapping[str, Index] = MappingProxyType({})
    schemas: Schemas = Schemas()  # of the items by their types; none: nothing is noted, refused or upgraded
    local_key: str = "local"  # names who asks an engine on this machine, which checks no credentials
    missing: str = "The table does not exist. `schema.create_table()` makes it."


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
