"""The entity chart: each type of item, declared once; what converts, checks and describes it follows."""

from collections.abc import Mapping
from types import ModuleType

from dealsite.data.entities import deals, people, work
from dealsite.data.entities.entity import Entity

ROOMS: tuple[ModuleType, ...] = (deals, people, work)
ENTITIES: Mapping[str, Entity] = {
    one.type: one for room in ROOMS for one in vars(room).values() if isinstance(one, Entity)
}
