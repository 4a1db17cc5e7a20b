"""Who else has a form open: its page says so every 20 seconds, and hears of the others and of a newer version."""

from __future__ import annotations

import zlib

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from cms.edit_form import VERSION_PATTERN
from cms.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data import presence
from dealsite.data.errors import NotFound
from dealsite.data.ids import is_ulid
from dealsite.data.presence import Beat


@role("editor")
@require_POST
def beat(request: EditorRequest, kind: str, thing_id: str) -> HttpResponse:
    """Note that the form is open; answers with who else has it open, or 204 if nothing is new since the last time."""
    _check(kind, thing_id)
    user = request.user
    beat = presence.beat(kind, thing_id, username=user.username, name=user.name, now=timezone.now())
    version = request.POST.get("version", "")
    opened_at = int(version) if VERSION_PATTERN.fullmatch(version) else 0
    news = _news(beat, opened_at, user.username)
    shown = str(zlib.crc32(repr((beat.others, news, beat.version if news else 0)).encode()))
    if request.POST.get("presence_shown") == shown:
        return HttpResponse(status=204)
    names = {one.username: one.name for one in beat.others}
    saved_by = names.get(beat.updated_by, beat.updated_by)
    page = {"beat": beat, "kind": kind, "news": news, "saved_by": saved_by, "shown": shown}
    return render(request, "cms/_presence_now.html", page)


@role("editor")
@require_POST
def leave(request: EditorRequest, kind: str, thing_id: str) -> HttpResponse:
    """Note that the form was closed."""
    _check(kind, thing_id)
    presence.leave(kind, thing_id, username=request.user.username)
    return HttpResponse(status=204)


def _news(beat: Beat, opened_at: int, username: str) -> str:
    """Return what became of the thing since the form was opened: saved, published, deleted; '' for nothing.

    What one saves oneself is no news: a draft that is saved by itself is a moment ahead of its form.
    """
    if opened_at and not beat.version:
        return "deleted"
    if beat.version <= opened_at:
        return ""
    if beat.published:
        return "published"
    return "" if beat.updated_by == username else "saved"


def _check(kind: str, thing_id: str) -> None:
    if kind not in presence.KINDS or not is_ulid(thing_id):
        raise NotFound(_("There is no such form."))
