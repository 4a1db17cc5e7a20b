"""Saved views of the list of deals: filters and columns that an editor gave a name; their own, and the team's.

All views of an owner stand in one item, in the order in which they are shown, so that how many there
are and where each stands is right by itself. Every change says what is to be there, not what is to be
done: repeating it, after a lost answer or by a second click, changes nothing more.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.people import COLUMN_CHARACTERS, MOST_COLUMNS
from dealsite.data.entities.texts import UNSTORABLE
from dealsite.data.entities.work import (
    FILTER_CHARACTERS,
    FILTERS,
    MOST_VIEWS,
    SAVED_VIEWS,
    SITE,
    VIEW_NAME_CHARACTERS,
)
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.names import normalise, without_unseen
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Busy, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso
from dealsite.data.table.writes import Delete, Put, Write, at_version

TEAM = SITE  # whose views all editors share
TRIES = 8


@dataclass(frozen=True, slots=True)
class SavedView:
    """Filters of the list (see FILTERS) by name, without those that are empty; `columns` () for the usual ones."""

    id: str
    name: str
    filters: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()


Views = tuple[SavedView, ...]


@access_pattern("saved views of an editor and of the team", "1 batch get")
def of(username: str) -> tuple[Views, Views]:
    """Return an editor's own views and the team's, each in its order."""
    items = table.batch_get([keys.saved_views(username), keys.saved_views(TEAM)])
    mine, team = items.get(keys.saved_views(username)), items.get(keys.saved_views(TEAM))
    return _views(mine), _views(team)


@access_pattern("save a view of the list of deals", "1 get + 1 transaction")
def save(
    owner: str,
    view: SavedView,
    *,
    by: str,
    now: datetime,
    place: int | None = None,
    instead_of: str | None = None,
) -> SavedView | None:
    """Keep a view: as the last one, at a place (0 is the first), or instead of the one with its id or name.

    Return the one that it replaced, if any. Where something is undone, `instead_of` is the mark of what was done, ''
    where that left no view: Conflict if somebody has put another one there since. Invalid for what is no view, and
    above 30 of an owner.
    """
    view = _checked(view)
    replaced: list[SavedView] = []

    def change(views: Views) -> Views:
        there = [other for other in views if _is_same(other, view)]
        done = [instead_of] if instead_of else []
        if instead_of is not None and there != [view] and [mark_of(other) for other in there] != done:
            raise Conflict(_("Somebody has changed this view since, so it stays as it is."))
        replaced[:] = [other for other in there if other != view] or replaced
        if there:
            kept = [view if _is_same(other, view) else other for other in views]
            return tuple(one for n, one in enumerate(kept) if one not in kept[:n])
        if len(views) >= MOST_VIEWS:
            raise Invalid(
                name=_("There are %(most)d saved views already. Delete one first.") % {"most": MOST_VIEWS}
            )
        at = len(views) if place is None else place
        return (*views[:at], view, *views[at:])

    _change(owner, change, "saved", view.name, by=by, now=now)
    return replaced[0] if replaced else None


def mark_of(view: SavedView) -> str:
    """Return what tells a view from every other one, and from itself with another name, filters or columns."""
    view = _checked(view)
    told = [view.id, view.name, sorted(view.filters.items()), view.columns]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


@access_pattern("rename a view", "1 get + 1 transaction")
def rename(owner: str, view_id: str, name: str, *, by: str, now: datetime) -> SavedView:
    """Give a view another name; return it as it was. Invalid, also for a name in use; NotFound."""
    before: list[SavedView] = []

    def change(views: Views) -> Views:
        view = _find(views, view_id)
        named = _checked(replace(view, name=name))
        if named != view or not before:
            before[:] = [view]
        if any(_key(other.name) == _key(named.name) and other.id != view_id for other in views):
            raise Invalid(name=_("Another view has this name. Choose another one."))
        return tuple(named if other.id == view_id else other for other in views)

    _change(owner, change, "renamed", name, by=by, now=now)
    return before[0]


@access_pattern("put a view elsewhere in the order", "1 get + 1 transaction")
def move(owner: str, view_id: str, place: int, *, by: str, now: datetime) -> Views:
    """Put a view at a place (0 is the first); return all in their order. NotFound."""

    def change(views: Views) -> Views:
        view = _find(views, view_id)
        others = [other for other in views if other.id != view_id]
        at = min(max(place, 0), len(others))
        return (*others[:at], view, *others[at:])

    return _change(owner, change, "moved", view_id, by=by, now=now)


@access_pattern("delete a view", "1 get + 1 transaction")
def delete(owner: str, view_id: str, *, by: str, now: datetime) -> tuple[SavedView, int] | None:
    """Delete a view; return it with its place, for whoever wants it back, or None if it was gone."""
    deleted: list[tuple[SavedView, int]] = []

    def change(views: Views) -> Views:
        deleted[:] = [(view, place) for place, view in enumerate(views) if view.id == view_id] or deleted
        return tuple(view for view in views if view.id != view_id)

    _change(owner, change, "deleted", view_id, by=by, now=now)
    return deleted[0] if deleted else None


@access_pattern("forget the views of a deleted user", "1 delete")
def forget(username: str) -> None:
    """Remove the views of a user who was deleted."""
    table.write(Delete(key=keys.saved_views(username)))


def _change(
    owner: str, change: Callable[[Views], Views], what: str, note: str, *, by: str, now: datetime
) -> Views:
    """Change an owner's views as they are now; nothing is written where nothing changes."""
    for _try in range(TRIES):
        item = table.get(keys.saved_views(owner))
        views = _views(item)
        wanted = change(views)
        if wanted == views:
            return views
        writes: list[Write] = [_put(owner, wanted, item["version"] if item else 0, now)]
        if owner == TEAM:  # what somebody lists is nobody else's business
            old, new = ({"views": ", ".join(view.name for view in some)} for some in (views, wanted))
            entry = {"by": by, "kind": "view", "subject": "team", "what": what}
            entry["note"] = note[:VIEW_NAME_CHARACTERS]
            writes.append(audit.entry_write(**entry, now=now, **audit.changed(old, new)))
        try:
            table.transact(writes)
        except VersionConflict:
            continue
        return wanted
    raise Busy()


def _put(owner: str, views: Views, version: int, now: datetime) -> Put:
    stored = [to_item(view) for view in views]
    item = SAVED_VIEWS.item({"owner": owner, "views": stored, "version": version + 1, "updated_at": iso(now)})
    when = at_version(version)
    return Put(key=keys.saved_views(owner), item=item, when=when, otherwise=VersionConflict())


def _find(views: Iterable[SavedView], view_id: str) -> SavedView:
    for view in views:
        if view.id == view_id:
            return view
    raise NotFound(_("There is no such saved view, or no longer."))


def _is_same(one: SavedView, other: SavedView) -> bool:
    return one.id == other.id or _key(one.name) == _key(other.name)


def _key(name: str) -> str:
    return without_unseen(name).casefold()


def _checked(view: SavedView) -> SavedView:
    """Return a view as it is stored; Invalid for what is none."""
    name = normalise(view.name)
    if not name:
        raise Invalid(name=_("Give the view a name."))
    if len(name) > VIEW_NAME_CHARACTERS:
        raise Invalid(name=_("A name has at most %(most)d characters.") % {"most": VIEW_NAME_CHARACTERS})
    filters = {key: view.filters[key] for key in FILTERS if view.filters.get(key)}
    if any(len(text) > FILTER_CHARACTERS or UNSTORABLE.search(text) for text in filters.values()):
        raise Invalid(name=_("These filters cannot be saved. Shorten the words that you look for."))
    columns = view.columns
    if len(columns) > MOST_COLUMNS or any(len(column) > COLUMN_CHARACTERS for column in columns):
        raise Invalid(name=_("These columns cannot be saved."))
    if not is_ulid(view.id):
        raise Invalid(name=_("This form is damaged. Load it again."))
    return SavedView(view.id, name, filters, tuple(columns))


def _views(item: Item | None) -> Views:
    return tuple(from_item(SavedView, one) for one in (item or {}).get("views", ()))
