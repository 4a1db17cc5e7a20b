"""Saved views: addresses of the CMS's lists that somebody gave a name, all of one user's in one item."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.entities.work import LIST_VIEWS, MOST_VIEWS, VIEW_ADDRESS_CHARACTERS, VIEW_NAME_CHARACTERS
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.names import as_typed, normalise, without_unseen
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Invalid, VersionConflict
from dealsite.data.table.ids import iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Delete, Put, at_version


@dataclass(frozen=True, slots=True)
class SavedView:
    """A name, and the address of a list: its path with its query."""

    name: str
    address: str


Views = tuple[SavedView, ...]


@access_pattern("a user's saved views", "1 get")
def of(username: str) -> Views:
    """Return a user's views in the order in which they were first saved."""
    return _views(table.get(keys.list_views(username)))


@access_pattern("save a view", "1 get + 1 put")
def save(username: str, view: SavedView, *, now: datetime) -> SavedView | None:
    """Keep a view whose address was checked, in place of the one with its name, which is returned; Invalid."""
    name = as_typed(view.name)
    if not name:
        raise Invalid(name=_("Give the view a name."))
    if len(name) > VIEW_NAME_CHARACTERS:
        raise Invalid(name=_("A name has at most %(most)d characters.") % {"most": VIEW_NAME_CHARACTERS})
    if len(view.address) > VIEW_ADDRESS_CHARACTERS:
        raise Invalid(name=_("These filters cannot be saved. Shorten the words that you look for."))
    view = SavedView(name, view.address)
    replaced: list[SavedView] = []

    def change(views: Views) -> Views:
        there = [other for other in views if _key(other.name) == _key(name)]
        replaced[:] = [other for other in there if other != view] or replaced
        if there:
            return tuple(view if other in there else other for other in views)
        if len(views) >= MOST_VIEWS:
            text = _("There are %(most)d saved views already. Delete one first.") % {"most": MOST_VIEWS}
            raise Invalid(name=text)
        return (*views, view)

    _change(username, change, now)
    return replaced[0] if replaced else None


@access_pattern("delete a view", "1 get + 1 put")
def delete(username: str, name: str, *, now: datetime) -> SavedView | None:
    """Delete the view with a name; return it, or None if it was gone."""
    deleted: list[SavedView] = []

    def change(views: Views) -> Views:
        deleted[:] = [view for view in views if _key(view.name) == _key(name)] or deleted
        return tuple(view for view in views if _key(view.name) != _key(name))

    _change(username, change, now)
    return deleted[0] if deleted else None


@access_pattern("forget the views of a deleted user", "1 delete")
def forget(username: str) -> None:
    """Remove the views of a user who was deleted."""
    table.write(Delete(key=keys.list_views(username)))


def _change(username: str, change: Callable[[Views], Views], now: datetime) -> None:
    """Change a user's views as they are now; nothing is written where nothing changes."""
    key = keys.list_views(username)

    def attempt() -> None:
        item = table.get(key)
        views, version = _views(item), item["version"] if item else 0
        wanted = change(views)
        if wanted != views:
            stored = {
                "username": username,
                "views": [payload_to_item(view) for view in wanted],
                "version": version + 1,
            }
            put = LIST_VIEWS.item(stored | {"updated_at": iso(now)})
            table.write(Put(key=key, item=put, when=at_version(version), otherwise=VersionConflict()))

    table.retrying(attempt)


def _views(item: Item | None) -> Views:
    return tuple(payload_from_item(SavedView, one) for one in (item or {}).get("views", ()))


def _key(name: str) -> str:
    return without_unseen(normalise(name)).casefold()
