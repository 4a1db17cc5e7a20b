"""Who else has a form open: its page says so every 20 seconds, and hears of the others and of a newer version."""

import zlib

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.shared.fields import version_in
from cms.shared.requests import EditorRequest, editor_action
from dealsite.data.editing import presence
from dealsite.data.editing.presence import Heartbeat
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid
from dealsite.web.pages import open_while


@editor_action
@open_while("read-only")
def heartbeat(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Note that the form is open; answers with who else has it open, or 204 if nothing is new since the last time."""
    _check(entry_id)
    user = request.user
    heartbeat = presence.heartbeat(kind, entry_id, username=user.username, name=user.name, now=timezone.now())
    opened_at = version_in(request.POST.get("version", ""))
    news = _news(heartbeat, opened_at, user.username)
    shown = str(zlib.crc32(repr((heartbeat.others, news, heartbeat.version if news else 0)).encode()))
    if request.POST.get("presence_shown") == shown:
        return HttpResponse(status=204)
    names = {one.username: one.name for one in heartbeat.others}
    saved_by = names.get(heartbeat.updated_by, heartbeat.updated_by)
    page = {"heartbeat": heartbeat, "kind": kind, "news": news, "saved_by": saved_by, "shown": shown}
    return render(request, "cms/deals/_presence_now.html", page)


@editor_action
@open_while("read-only")
def leave(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Note that the form was closed."""
    _check(entry_id)
    presence.leave(kind, entry_id, username=request.user.username)
    return HttpResponse(status=204)


def _news(heartbeat: Heartbeat, opened_at: int, username: str) -> str:
    """Return what became of the thing since the form was opened: saved, published, deleted; '' for nothing.

    What one saves oneself is no news: a draft that is saved by itself is a moment ahead of its form.
    """
    if opened_at and not heartbeat.version:
        return "deleted"
    if heartbeat.version <= opened_at:
        return ""
    if heartbeat.published:
        return "published"
    return "" if heartbeat.updated_by == username else "saved"


def _check(entry_id: str) -> None:
    if not is_ulid(entry_id):
        raise NotFound(_("There is no such form."))
