"""Saved views of the list of deals: over the list, and a page on which they are named, ordered and deleted."""

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.lists.deal_list import show_list
from cms.lists.list_address import list_query, query_of, shown_columns
from cms.lists.view_bar import ViewProblem, view_tab
from cms.shared import undo
from cms.shared.requests import EditorRequest, editor_action, editor_page
from dealsite.accounts.decorators import sent_again
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import TEAM, SavedView
from dealsite.data.entities.work import FILTERS, VIEW_NAME_CHARACTERS
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.text.digits import number_in

OWNERS = ("mine", "team")
MOST_SHOWN = 200  # characters of a name that was refused


@editor_page("1 batch get")
def view_list(request: EditorRequest) -> HttpResponse:
    """The saved views: to rename, put in order and delete."""
    return _page(request)


def _page(
    request: EditorRequest, *, wrong: str = "", typed: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    mine, team = saved_views.of(request.user.username)
    groups = [
        ("mine", _("My views"), [view_tab(view, "mine") for view in mine]),
        ("team", _("Views for all editors"), [view_tab(view, "team") for view in team]),
    ]
    page = {
        "groups": groups,
        "wrong": wrong,
        "typed": typed,
        "error": error,
        "longest_name": VIEW_NAME_CHARACTERS,
    }
    return render(request, "cms/lists/saved_views.html", page, status=status)


@editor_action
@sent_again
def save_view(request: EditorRequest) -> HttpResponse:
    """Keep the filters of the list under a name; also what brings a deleted or replaced view back."""
    given = QueryDict(list_query(request.POST.get("back", "")).removeprefix("?"))
    columns = shown_columns(request, given.get("columns", ""))
    filters = {name: given.get(name, "") for name in FILTERS}
    view = SavedView(request.POST.get("id", ""), request.POST.get("name", ""), filters, columns)
    owner = _owner(request)
    place = number_in(request.POST.get("place", ""), most=3)
    by, now = request.user.username, timezone.now()
    try:
        username, instead_of = _username(request, owner), request.POST.get("instead_of")
        replaced = saved_views.save(username, view, by=by, now=now, place=place, instead_of=instead_of)
    except Invalid as error:
        if request.POST.get("to") == "views":
            messages.error(request, str(error))
            return redirect("cms_views")
        request.GET = given
        return show_list(request, refused=ViewProblem(view.name[:MOST_SHOWN], owner, str(error)))
    except Conflict as conflict:
        messages.warning(request, str(conflict))
        return redirect("cms_views")
    name = view.name.strip()
    if replaced:
        said = _("“%(name)s” now shows this list.") % {"name": name}
        _offer(request, said, replaced, owner, instead_of=saved_views.mark_of(view))
    else:
        messages.success(request, _("The view “%(name)s” is saved.") % {"name": name})
    if request.POST.get("to") == "views":
        return redirect("cms_views")
    return redirect(view_tab(view, owner).address)


@editor_action
@sent_again
def rename_view(request: EditorRequest, view_id: str) -> HttpResponse:
    """Give a view another name."""
    owner, name = _owner(request), request.POST.get("name", "")
    username, by = _username(request, owner), request.user.username
    try:
        before = saved_views.rename(username, view_id, name, by=by, now=timezone.now())
    except Invalid as error:
        return _page(request, wrong=view_id, typed=name, error=str(error), status=422)
    names = {"before": before.name, "name": name.strip()}
    said = _("The view “%(before)s” is now called “%(name)s”.") % names
    renamed = saved_views.mark_of(replace(before, name=name))
    _offer(request, said, before, owner, to="views", instead_of=renamed)
    return redirect("cms_views")


@editor_action
def move_view(request: EditorRequest, view_id: str) -> HttpResponse:
    """Put a view at another place in its order."""
    place = number_in(request.POST.get("place", ""), most=3)
    if place is None:
        raise NotFound(_("There is no such place."))
    username, by = _username(request, _owner(request)), request.user.username
    views = saved_views.move(username, view_id, place, by=by, now=timezone.now())
    at, name = next((n, view.name) for n, view in enumerate(views, 1) if view.id == view_id)
    said = _("“%(name)s” is now number %(at)d of %(all)d.") % {"name": name, "at": at, "all": len(views)}
    messages.success(request, said)
    return redirect(f"{reverse('cms_views')}#view-{view_id}")


@editor_action
def delete_view(request: EditorRequest, view_id: str) -> HttpResponse:
    """Delete a view; a notice brings it back."""
    owner, by = _owner(request), request.user.username
    deleted = saved_views.delete(_username(request, owner), view_id, by=by, now=timezone.now())
    if deleted:
        view, place = deleted
        said = _("The view “%(name)s” is deleted.") % {"name": view.name}
        _offer(request, said, view, owner, place=str(place), to="views", instead_of="")
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
