"""The bar below the list of deals: what can be done with those that are ticked, or with all that match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cms.bulk.bulk_form import LABELS, ChangeForm
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.editing import bulk
from dealsite.data.names import slugify
from dealsite.search.deal_lists import question_of
from dealsite.search.finding import SearchPage, find


@dataclass(frozen=True)
class Bar:
    """The bar of a list: its form, its filters as they were typed, and how many deals it holds in all, if known."""

    form: ChangeForm
    filters: dict[str, str]
    total: int | None

    @property
    def actions(self) -> list[tuple[str, str]]:
        return [(action, str(LABELS[action])) for action in bulk.ACTIONS[self.form.kind]]


def bulk_bar(
    chosen: Mapping[str, str], brand: str, now: datetime, *, found: SearchPage | None
) -> dict[str, Bar]:
    """Return the bar for the context of a list; `brand` is as it was typed. No requests.

    `found` is what search has of the list, None where it was not asked.
    """
    state = chosen["state"]
    kind = "draft" if state == "draft" else "deal"
    filters = {"state": state, "brand": brand, "category": chosen["category"], "q": chosen.get("q", "")}
    filters["lacks"] = chosen.get("lacks", "")
    if found is None:
        found = find(question_of(DealFilter(state, slugify(brand), chosen["category"])), now=now, size=1)
    return {"bulk": Bar(ChangeForm(kind=kind, now=now), filters, _number(found))}


def total_of(matching: DealFilter, now: datetime) -> tuple[int | None, str]:
    """Return how many deals a list holds, None where search cannot tell, and how search found them. No requests."""
    found = find(question_of(matching), now=now, size=1)
    return _number(found), found.how


def _number(found: SearchPage) -> int | None:
    return found.total if found.ready else None
