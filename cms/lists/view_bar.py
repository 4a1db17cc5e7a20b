"""The saved views over the list of deals, and the form that saves what is shown as another one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone

from cms.lists.list_address import query_of
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import SavedView, Views
from dealsite.data.entities.work import FILTERS, VIEW_NAME_CHARACTERS
from dealsite.data.names import slugify
from dealsite.data.table.ids import new_ulid


@dataclass(frozen=True)
class ViewTab:
    """A saved view with the address that shows it."""

    view: SavedView
    owner: str
    address: str
    is_current: bool = False


@dataclass(frozen=True)
class ViewProblem:
    """What was typed for a view that was not saved, and why it was not."""

    name: str
    owner: str
    error: str


def view_bar(
    username: str,
    chosen: Mapping[str, str],
    columns: tuple[str, ...],
    *,
    refused: ViewProblem | None,
    views: Sequence[tuple[Views, Views]] = (),
) -> dict[str, Any]:
    """Return what the list says of its saved views; `chosen` is what it is narrowed by now. 1 batch get, or `views`.

    `refused` is one that could not be saved just now.
    """
    tabs = []
    for owner, saved in zip(("mine", "team"), *(views or [saved_views.of(username)]), strict=True):
        for view in saved:
            is_current = columns == view.columns and _compared(chosen) == _compared(view.filters)
            tabs.append(view_tab(view, owner, is_current))
    return {
        "saved_views": tabs,
        "new_view_id": new_ulid(timezone.now()),
        "longest_name": VIEW_NAME_CHARACTERS,
        "refused_view": refused,
    }


def _compared(filters: Mapping[str, str]) -> dict[str, str]:
    """Return filters so that those which show the same are the same."""
    same = {name: filters.get(name, "") for name in FILTERS}
    return same | {"state": same["state"] or "all", "brand": slugify(same["brand"])}


def view_tab(view: SavedView, owner: str, is_current: bool = False) -> ViewTab:
    """Return a view with the address that shows it."""
    address = query_of({**view.filters, "columns": ",".join(view.columns)})
    return ViewTab(view, owner, reverse("cms_deals") + address, is_current)
