"""A planned featured list as it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dealsite.data.catalogue.featured import PAGES
from dealsite.data.catalogue.featured_versions import FeaturedEntry
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import epoch_seconds, from_iso, iso

KEPT = timedelta(days=30)  # that what became of a plan can be seen
PLANNED, SET, PUT_ASIDE, CANCELLED = "planned", "set", "put aside", "cancelled"
OPEN = (PLANNED, PUT_ASIDE)


@dataclass(frozen=True, slots=True)
class PlanPayload:
    """The plan whose list is to be set."""

    plan: str


@dataclass(frozen=True, slots=True)
class FeaturedPlan:
    """A list for a page from a time on.

    `why` says why it was put aside: `hand` (somebody set the page meanwhile) or `gone` (none of its deals holds
    any more); `left_out` are the titles of deals that it was set without.
    """

    id: str
    page: str
    deals: tuple[FeaturedEntry, ...]
    at: datetime
    base: int
    state: str
    version: int
    job: str
    by: str
    updated_at: datetime
    why: str = ""
    left_out: tuple[str, ...] = ()
    last_edit: str = ""

    @property
    def ids(self) -> list[str]:
        return [deal.id for deal in self.deals]

    @property
    def title(self) -> str:
        """The page's."""
        return str(PAGES[self.page])

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


def plan_item(plan: FeaturedPlan) -> Item:
    """Return a plan as it is stored."""
    return {
        "type": "FeaturedPlan",
        "id": plan.id,
        "page": plan.page,
        "deals": [deal.as_item() for deal in plan.deals],
        "at": iso(plan.at),
        "base": plan.base,
        "state": plan.state,
        "version": plan.version,
        "job": plan.job,
        "by": plan.by,
        "updated_at": iso(plan.updated_at),
        "why": plan.why,
        "left_out": list(plan.left_out),
        "last_edit": plan.last_edit,
        "ttl": None if plan.is_open else epoch_seconds(plan.updated_at + KEPT),
    }


def from_item(item: Item) -> FeaturedPlan:
    """Return the plan of its item."""
    return FeaturedPlan(
        id=item["id"],
        page=item["page"],
        deals=tuple(FeaturedEntry(deal["id"], deal["title"]) for deal in item["deals"]),
        at=from_iso(item["at"]),
        base=item["base"],
        state=item["state"],
        version=item["version"],
        job=item["job"],
        by=item["by"],
        updated_at=from_iso(item["updated_at"]),
        why=item.get("why", ""),
        left_out=tuple(item.get("left_out", ())),
        last_edit=item.get("last_edit", ""),
    )
