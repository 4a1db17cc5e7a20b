"""What jobs store, typed: a payload, a checkpoint or a progress is a frozen dataclass, kept field by field.

    @dataclass(frozen=True, slots=True)
    class ImportPayload:
        import_id: str = stored_as("import")
        by: str | None = None               # left out while it is None

    job_write(RUN_IMPORT, ImportPayload(one.id, by), ...)
    payload = payload_from_item(ImportPayload, job.payload)

Times are stored as ISO text, tuples as lists, other dataclasses as maps. Whoever changes what a class stores gives it
`version: ClassVar[int] = 2`; it is stored from 2 on, and a worker refuses versions and fields that it does not know.
"""

import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from django.utils.translation import gettext_lazy

from dealsite.data.table.convert import Item
from dealsite.data.table.errors import DataError, Text
from dealsite.data.table.ids import from_iso, iso

VERSION = "version"
Value = TypeVar("Value")
Read = Callable[[Any], Any]


class UnknownVersion(DataError):
    """Another version of the site stored this, and it says something that this one does not know."""

    def __init__(self, message: Text = gettext_lazy("Another version of the site stored this.")) -> None:
        super().__init__(message)


def stored_as(name: str, *, default: Any = MISSING) -> Any:
    """Return a dataclass field that is stored under another name."""
    return field(default=default, metadata={"stored": name})


def payload_to_item(value: Any) -> Item:
    """Return what is stored of a dataclass: its fields that are not None, and its version from 2 on."""
    item = {
        _stored_name(one): plain(inner)
        for one in fields(value)
        if (inner := getattr(value, one.name)) is not None
    }
    version = getattr(value, VERSION, 1)
    return item if version == 1 else item | {VERSION: version}


def payload_from_item(cls: type[Value], item: Mapping[str, Any]) -> Value:
    """Return a dataclass of what is stored of it; UnknownVersion for another version, and for other fields."""
    known = _reads(cast(Hashable, cls))
    if item.get(VERSION, 1) != getattr(cls, VERSION, 1) or not item.keys() <= {*known, VERSION}:
        raise UnknownVersion()
    return cls(**{known[name][0]: known[name][1](value) for name, value in item.items() if name in known})


def _stored_name(one: Field[Any]) -> str:
    return str(one.metadata.get("stored", one.name))


def plain(value: Any) -> Any:
    """Return a value as it is stored."""
    match value:
        case datetime():
            return iso(value)
        case date():
            return value.isoformat()
        case Mapping():
            return {name: plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
    return payload_to_item(value) if is_dataclass(value) else value


@cache
def _reads(cls: Any) -> dict[str, tuple[str, Read]]:
    """Return, by stored name, the name of each field and how its stored value is read."""
    hints = get_type_hints(cls)
    return {_stored_name(one): (one.name, _read_as(hints[one.name])) for one in fields(cls)}


def _read_as(hint: Any) -> Read:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (known,) = (one for one in inner if one is not type(None))
        read = _read_as(known)
        return lambda value: None if value is None else read(value)
    if origin in (tuple, list):
        each = _read_as(inner[0])
        return lambda value: origin(each(one) for one in value)
    if origin in (dict, Mapping):
        of_name = _read_as(inner[1])
        return lambda value: {name: of_name(one) for name, one in value.items()}
    if is_dataclass(hint):
        return lambda value: payload_from_item(hint, value)  # type: ignore[arg-type]
    reads: dict[Any, Read] = {datetime: from_iso, date: date.fromisoformat, Decimal: Decimal}
    return reads.get(hint, lambda value: value)
