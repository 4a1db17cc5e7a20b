"""The trash: delete deals and drafts, list them, restore them, delete them for good."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from cms.lists.deal_list import query
from cms.people.audit import KINDS
from cms.shared.requests import EditorRequest, editor_action, editor_page
from dealsite.accounts.decorators import fresh, role
from dealsite.data.editing import trash
from dealsite.data.editing.trash import TrashEntry
from dealsite.data.editing.verbs.publish import not_featured_again
from dealsite.data.table.errors import Conflict
from dealsite.web.pages import action
from dealsite.worker.list_export import every, exported

DAY = timedelta(days=1)


@dataclass(frozen=True)
class TrashRow:
    """A thing in the trash as its list shows it."""

    thing: TrashEntry
    title: str
    kind: object
    days_left: int


@editor_page("1 query")
@exported(
    gettext_lazy("Trash"),
    "id, kind, title=card.title, brand=card.brand_name, category=card.category, price=card.price, "
    "was_price=card.was_price, @deleted_at=at, deleted_by=by, @kept_until=until",
    lambda query, now: every(trash.newest, "things"),
)
def trash_list(request: EditorRequest) -> HttpResponse:
    """What was deleted in the last 30 days, newest first. 1 query."""
    now = timezone.now()
    page = trash.newest(after=request.GET.get("after"))
    context = {
        "rows": [_row(thing, now) for thing in page.things],
        "days": trash.KEPT_FOR.days,
        "before": "?" if request.GET.get("after") else "",
        "after": query({"after": page.after}) if page.after else "",
    }
    return render(request, "cms/deals/trash.html", context)


def _row(thing: TrashEntry, now: datetime) -> TrashRow:
    days_left = max(0, -((now - thing.until) // DAY))
    return TrashRow(thing, thing.card.title or _("Without a title"), KINDS[thing.kind], days_left)


@editor_action
def restore(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Bring a deal or draft back from the trash; where that cannot be, the note says why."""
    try:
        back = trash.restore(kind, entry_id, by=request.user.username, now=timezone.now())
    except Conflict as error:
        messages.error(request, str(error))
        return redirect("cms_trash")
    text = _("“%(title)s” is back.") % {"title": back.title or _("Without a title")}
    messages.success(request, f"{text} {not_featured_again(back.was_featured_on)}".rstrip())
    return redirect(f"cms_{back.kind}", back.id)


@action
@role("editor")
@fresh
@require_POST
def purge(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Delete for good what lies in the trash."""
    thing = trash.get(kind, entry_id)
    trash.purge(kind, entry_id, by=request.user.username, now=timezone.now())
    title = thing.card.title or _("Without a title")
    messages.success(request, _("“%(title)s” is deleted for good.") % {"title": title})
    return redirect("cms_trash")
