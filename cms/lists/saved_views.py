"""Saved views: lists of the CMS kept under a name, opened and deleted by whoever saved them."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from cms.shared import undo
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role, sent_again
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import SavedView
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.web.pages import action, page
from dealsite.worker.list_export import list_at


@page("1 get")
@role("editor", "back office")
@require_safe
def view_list(request: EditorRequest) -> HttpResponse:
    """A user's saved views: to open and delete."""
    views = [(view, _is_list(view.address)) for view in saved_views.of(request.user.username)]
    return render(request, "cms/lists/saved_views.html", {"views": views})


@action
@role("editor", "back office")
@require_POST
@sent_again
def save_view(request: EditorRequest) -> HttpResponse:
    """Keep a list under a name; also what brings a deleted or replaced view back."""
    view = SavedView(request.POST.get("name", ""), list_at(request.POST.get("list", "")).address)
    try:
        replaced = saved_views.save(request.user.username, view, now=timezone.now())
    except Invalid as error:
        messages.error(request, str(error))
        return redirect("cms_views")
    name = view.name.strip()
    if replaced:
        _offer(request, _("“%(name)s” now shows this list.") % {"name": name}, replaced)
    else:
        messages.success(request, _("The view “%(name)s” is saved.") % {"name": name})
    return redirect(view.address)


@action
@role("editor", "back office")
@require_POST
def delete_view(request: EditorRequest) -> HttpResponse:
    """Delete a view; a notice brings it back."""
    deleted = saved_views.delete(request.user.username, request.POST.get("name", ""), now=timezone.now())
    if deleted:
        _offer(request, _("The view “%(name)s” is deleted.") % {"name": deleted.name}, deleted)
    return redirect("cms_views")


def _offer(request: EditorRequest, text: str, view: SavedView) -> None:
    """Say what was done, with a button that brings a view back if its list still exists."""
    if _is_list(view.address):
        undo.offer(request, text, reverse("cms_save_view"), name=view.name, list=view.address)
    else:
        messages.success(request, text)


def _is_list(address: str) -> bool:
    try:
        list_at(address)
    except NotFound:
        return False
    return True
