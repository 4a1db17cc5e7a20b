"""Items of an older schema, stored in the shape of now."""

from typing import Any

from .configuration import SCHEMA, configuration, schema_of
from .convert import Item
from .writes import Update, equals, exists, missing


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
