"""Saved views of the list of deals: over the list, and a page on which they are named, ordered and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from cms import undo
from cms.columns import shown_columns
from cms.list_address import FILTERS, list_query, query_of
from cms.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data import saved_views
from dealsite.data.errors import Invalid, NotFound
from dealsite.data.ids import new_ulid, slugify
from dealsite.data.saved_views import LONGEST_NAME, TEAM, SavedView
from dealsite.digits import number_in

OWNERS = ("mine", "team")


@dataclass(frozen=True)
class ShownView:
    """A saved view with the address that shows it."""

    view: SavedView
    owner: str
    address: str
    is_current: bool = False


def view_bar(
    username: str, chosen: Mapping[str, str], columns: tuple[str, ...], now: datetime
) -> dict[str, Any]:
    """Return what the list says of its saved views; `chosen` is what it is narrowed by now. 1 batch get."""
    mine, team = saved_views.of(username)
    return {
        "saved_views": [
            _shown(view, owner, _compared(chosen) == _compared(view.filters) and columns == view.columns)
            for owner, views in (("mine", mine), ("team", team))
            for view in views
        ],
        "new_view_id": new_ulid(now),
        "longest_name": LONGEST_NAME,
    }


def _compared(filters: Mapping[str, str]) -> dict[str, str]:
    """Return filters so that those which show the same are the same."""
    same = {name: filters.get(name, "") for name in FILTERS}
    return same | {"state": same["state"] or "all", "brand": slugify(same["brand"])}


def _shown(view: SavedView, owner: str, is_current: bool = False) -> ShownView:
    address = query_of({**view.filters, "columns": ",".join(view.columns)})
    return ShownView(view, owner, reverse("cms_deals") + address, is_current)


@role("editor")
@require_safe
def view_list(request: EditorRequest) -> HttpResponse:
    """The saved views: to rename, put in order and delete."""
    return _page(request)


def _page(
    request: EditorRequest, *, wrong: str = "", typed: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    mine, team = saved_views.of(request.user.username)
    groups = [
        ("mine", _("My views"), [_shown(view, "mine") for view in mine]),
        ("team", _("Views for all editors"), [_shown(view, "team") for view in team]),
    ]
    page = {"groups": groups, "wrong": wrong, "typed": typed, "error": error, "longest_name": LONGEST_NAME}
    return render(request, "cms/saved_views.html", page, status=status)


@role("editor")
@require_POST
def save_view(request: EditorRequest) -> HttpResponse:
    """Keep the filters of the list under a name; also what brings a deleted or replaced view back."""
    given = QueryDict(list_query(request.POST.get("back", "")).removeprefix("?"))
    columns = shown_columns(request, given.get("columns", ""))
    filters = {name: given.get(name, "") for name in FILTERS}
    view = SavedView(request.POST.get("id", ""), request.POST.get("name", ""), filters, columns)
    owner = _owner(request)
    place = number_in(request.POST.get("place", ""), most=3)
    try:
        replaced = saved_views.save(
            _username(request, owner), view, by=request.user.username, now=timezone.now(), place=place
        )
    except Invalid as error:
        messages.error(request, str(error))
        return redirect(reverse("cms_deals") + list_query(request.POST.get("back", "")))
    name = view.name.strip()
    if replaced:
        _offer(request, _("“%(name)s” now shows this list.") % {"name": name}, replaced, owner)
    else:
        messages.success(request, _("The view “%(name)s” is saved.") % {"name": name})
    if request.POST.get("to") == "views":
        return redirect("cms_views")
    return redirect(_shown(view, owner).address)


@role("editor")
@require_POST
def rename_view(request: EditorRequest, view_id: str) -> HttpResponse:
    """Give a view another name."""
    owner, name = _owner(request), request.POST.get("name", "")
    try:
        before = saved_views.rename(
            _username(request, owner), view_id, name, by=request.user.username, now=timezone.now()
        )
    except Invalid as error:
        return _page(request, wrong=view_id, typed=name, error=str(error), status=422)
    said = _("The view “%(before)s” is now called “%(name)s”.") % {
        "before": before.name,
        "name": name.strip(),
    }
    _offer(request, said, before, owner, to="views")
    return redirect("cms_views")


@role("editor")
@require_POST
def move_view(request: EditorRequest, view_id: str) -> HttpResponse:
    """Put a view at another place in its order."""
    place = number_in(request.POST.get("place", ""), most=3)
    if place is None:
        raise NotFound(_("There is no such place."))
    owner = _owner(request)
    views = saved_views.move(
        _username(request, owner), view_id, place, by=request.user.username, now=timezone.now()
    )
    at, name = next((n, view.name) for n, view in enumerate(views, 1) if view.id == view_id)
    said = _("“%(name)s” is now number %(at)d of %(all)d.") % {"name": name, "at": at, "all": len(views)}
    messages.success(request, said)
    return redirect(f"{reverse('cms_views')}#view-{view_id}")


@role("editor")
@require_POST
def delete_view(request: EditorRequest, view_id: str) -> HttpResponse:
    """Delete a view; a notice brings it back."""
    owner = _owner(request)
    deleted = saved_views.delete(
        _username(request, owner), view_id, by=request.user.username, now=timezone.now()
    )
    if deleted:
        view, place = deleted
        said = _("The view “%(name)s” is deleted.") % {"name": view.name}
        _offer(request, said, view, owner, place=str(place), to="views")
    return redirect("cms_views")


def _offer(request: EditorRequest, text: str, view: SavedView, owner: str, **more: str) -> None:
    """Say what was done, with a button that brings a view back as it was."""
    back = query_of({**view.filters, "columns": ",".join(view.columns)})
    fields = {"id": view.id, "name": view.name, "owner": owner, "back": back, **more}
    undo.offer(request, text, reverse("cms_save_view"), **fields)


def _owner(request: EditorRequest) -> str:
    owner = request.POST.get("owner") or "mine"
    if owner not in OWNERS:
        raise NotFound(_("There are no such views."))
    return owner


def _username(request: EditorRequest, owner: str) -> str:
    return TEAM if owner == "team" else request.user.username
