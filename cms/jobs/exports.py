"""Exports: a list of the CMS as CSV, at once where it is short, by a job where it is long."""

import io
import time
from collections.abc import Callable
from typing import IO

from django.contrib import messages
from django.http import FileResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from cms.shared.requests import EditorRequest, new_id_in
from dealsite.accounts import limits
from dealsite.accounts.decorators import role
from dealsite.accounts.security_log import note
from dealsite.data.jobs import exports
from dealsite.data.jobs.exports import ExportPayload
from dealsite.data.table.errors import Forbidden, NotFound
from dealsite.web.pages import action, part
from dealsite.worker import exports as files
from dealsite.worker.list_export import ShownList, list_at

MOST_ROWS = 2_000  # of a file that is written while somebody waits
MOST_SECONDS = 1.0  # that this may take

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


class _TooLong(Exception):
    """A list has more than is written while somebody waits."""


@action
@role("editor", "back office")
@require_POST
def export_list(request: EditorRequest) -> HttpResponseBase:
    """Export the list that an address shows, as far as its filters go: all pages of it."""
    token, now = new_id_in(request, "token"), timezone.now()
    payload = ExportPayload(_address_in(request.POST), request.user.username)
    shown = _seen_by(request, payload.address)
    limits.count_use(request, "export", now=now)
    note(request, "export_asked", username=payload.by, detail=shown.name)
    file, ends = io.BytesIO(), monotonic() + MOST_SECONDS

    def stop_when_long(rows: int) -> None:
        if rows > MOST_ROWS or monotonic() > ends:
            raise _TooLong

    try:
        shown.write(file, now=now, note=stop_when_long)
    except _TooLong:
        exports.request(payload, name=shown.name, job_id=token, now=now)
        messages.success(request, _("This list is long. Its file is being written, and appears here."))
        return redirect("cms_jobs")
    exports.note(payload, name=shown.name, now=now)
    file.seek(0)
    return _download(file, f"{shown.name}-{now:%Y-%m-%d}.csv")


@part("1 get", seen_by="admin")
@role("editor", "back office")
@require_safe
def download_export(request: EditorRequest, job_id: str) -> HttpResponseBase:
    """The file that a job has written, for who may see its list."""
    job, payload = exports.get(job_id, now=timezone.now())
    shown = _seen_by(request, payload.address)
    try:
        file = files.storage().open(files.file_name(job_id))
    except FileNotFoundError:
        raise NotFound(_("This file is gone.")) from None
    return _download(file, f"{shown.name}-{job.created_at:%Y-%m-%d}.csv")


def _address_in(sent: QueryDict) -> str:
    """Return the address of a list, narrowed down to the days that a form brings beside it."""
    days = [(name, sent.get(name, "")) for name in ("first", "last") if name in sent]
    return sent.get("address", "") + (f"&{urlencode(days)}" if days else "")


def _seen_by(request: EditorRequest, address: str) -> ShownList:
    shown = list_at(address)
    if not request.user.has_role(*shown.roles):
        raise Forbidden()
    return shown


def _download(file: IO[bytes], name: str) -> FileResponse:
    response = FileResponse(file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response
