"""How a test looks at one item of the chart."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.entity import INDEX_KEYS, own_copies
from dealsite.data.table.convert import Item, from_attributes, to_attributes


def assert_is_sound(item: Item) -> None:
    """Expect that an item, as the table gives it back, is as its declaration says."""
    stored, entity = from_attributes(to_attributes(item)), ENTITIES[item["type"]]
    assert list(entity.problems(stored)) == []
    assert entity.key_of(stored) == (item["PK"], item["SK"])
    assert entity.rows_of(stored) == {name: item[name] for name in INDEX_KEYS if name in item}


def problems_with(item: Item, changes: dict[str, Any]) -> list[str]:
    """Return what is said of an item with other values, by path; None takes one away."""
    changed = deepcopy(item)
    for path, value in changes.items():
        *outer, name = path.split(".")
        place = changed
        for one in outer:
            place = place[one]
        if value is None:
            del place[name]
        else:
            place[name] = value
    entity = ENTITIES[item["type"]]
    copies, _ = own_copies(entity, changed)
    said = [re.sub(r"(\S+) is .*, should be '(.*)'", r"\1 is not \2.", one) for one in copies]
    return [*entity.problems(changed), *said]


def problems(item: Item, **changes: Any) -> list[str]:
    """Return what is said of an item with other attributes; None takes one away, if it is there."""
    return problems_with(
        item, {name: one for name, one in changes.items() if one is not None or name in item}
    )


def without_key(item: Item) -> Item:
    return {name: value for name, value in item.items() if name not in ("PK", "SK")}
