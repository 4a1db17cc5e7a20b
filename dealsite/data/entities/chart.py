"""The entity chart: each type of item, declared once; what converts, checks and describes it follows."""

from collections.abc import Mapping
from types import ModuleType

from dealsite.data.entities import commerce, deals, imports, operations, people, taxonomy, work
from dealsite.data.entities.entity import Entity

ROOMS: tuple[ModuleType, ...] = (deals, taxonomy, commerce, work, imports, people, operations)
ENTITIES: Mapping[str, Entity] = {
    one.type: one for room in ROOMS for one in vars(room).values() if isinstance(one, Entity)
}
# Types that the site had once: nothing reads their items, and check_table --repair deletes them.
RETIRED = frozenset({"BrandLetter", "CheckRun", "JobSegment", "Quarantined", "SavedViews"})
