"""What holds of a sound item of any type."""

from collections.abc import Mapping
from typing import Any

from dealsite.data.entities import ENTITIES
from dealsite.data.entities.entity import INDEX_KEYS, own_copies


def problems(item: Mapping[str, Any], **changes: Any) -> list[str]:
    """Return what the chart says of an item with other attributes; None takes one away."""
    changed = {name: value for name, value in {**item, **changes}.items() if value is not None}
    entity = ENTITIES[item["type"]]
    copies = [f"{path} is not {right}." for path, _, right, _ in own_copies(entity, changed)]
    return [*entity.problems(changed), *copies]


def assert_sound(item: dict[str, Any]) -> None:
    """The chart finds nothing wrong with an item, and computes its key and its index rows from it."""
    entity = ENTITIES[item["type"]]
    assert problems(item) == []
    assert entity.key_of(item) == (item["PK"], item["SK"])
    assert entity.rows_of(item) == {name: item[name] for name in INDEX_KEYS if name in item}
