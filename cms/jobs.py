"""The page of jobs, to see, pause, resume, cancel and retry them; and lists as CSV, by a job where they are long."""

import io
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from typing import IO

from django.contrib import messages
from django.http import FileResponse, HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.bulk_form import in_words
from cms.lists.deal_list import query
from cms.shared.requests import EditorRequest, new_id_in, next_address
from dealsite.accounts import limits
from dealsite.accounts.decorators import editors, staff
from dealsite.accounts.requests import SignedIn
from dealsite.accounts.security_log import note
from dealsite.data.catalogue.content import MAKE_RENDITIONS
from dealsite.data.catalogue.deals import MARK_SOLD_OUT
from dealsite.data.catalogue.featured_plans import SET_PLANNED
from dealsite.data.commerce.order_changes import EXPIRE_ORDER
from dealsite.data.commerce.payment_record import PAYMENT_TOTALS
from dealsite.data.commerce.payments import REFUND_PAYMENT
from dealsite.data.editing import bulk
from dealsite.data.editing.imports import DELETE_IMPORT
from dealsite.data.editing.links import CHECK_LINK, CHECK_LINKS
from dealsite.data.editing.trash_record import EMPTY_TRASH
from dealsite.data.entities.work import FORMER_EXPORTS, PART, SEND_MESSAGE
from dealsite.data.jobs import exports, jobs, processes, queue
from dealsite.data.jobs.command_runs import BACKUP, CHECK_TABLE, CLOSE_DAY, RETENTION, SNAPSHOT
from dealsite.data.jobs.exports import DELETE_EXPORT, EXPORT_LIST, ExportPayload, kept_until
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO, Job
from dealsite.data.table.errors import Conflict, Forbidden, NotFound
from dealsite.text import stored_words
from dealsite.text.stored_words import Text
from dealsite.worker import exports as files
from dealsite.worker.exports import ShownList, every, exported, list_at

MONTH_PATTERN = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")
EXPORT = gettext_lazy("Export")
KINDS = {
    SEND_MESSAGE: gettext_lazy("Message"),
    "rename_brand": gettext_lazy("New name of a brand"),
    "remove_user": gettext_lazy("Removal of a deleted account"),
    "read_all": gettext_lazy("Marking messages read"),
    "mute_all": gettext_lazy("Muting of watches"),
    MARK_SOLD_OUT: gettext_lazy("Sold-out marks of deals"),
    PAYMENT_TOTALS: gettext_lazy("Sums of payments"),
    REFUND_PAYMENT: gettext_lazy("Refund"),
    EXPIRE_ORDER: gettext_lazy("Cancellation of an unpaid order"),
    MAKE_RENDITIONS: gettext_lazy("Further sizes of pictures"),
    BULK_CHANGE: gettext_lazy("Bulk change"),
    BULK_UNDO: gettext_lazy("Undoing of a change"),
    SET_PLANNED: gettext_lazy("Planned featured list"),
    EXPORT_LIST: EXPORT,
    **dict.fromkeys(FORMER_EXPORTS, EXPORT),
    DELETE_EXPORT: gettext_lazy("Deletion of a file"),
    jobs.CHECK_IMPORT: gettext_lazy("Check of an import"),
    jobs.RUN_IMPORT: gettext_lazy("Import of deals"),
    DELETE_IMPORT: gettext_lazy("Deletion of an import's files"),
    EMPTY_TRASH: gettext_lazy("Emptying of the trash"),
    CHECK_LINKS: gettext_lazy("Check of links to shops"),
    CHECK_LINK: gettext_lazy("Check of a link"),
    PART: gettext_lazy("Part of a large job"),
    CHECK_TABLE: gettext_lazy("Check of the table"),
    CLOSE_DAY: gettext_lazy("Closing of the day"),
    BACKUP: gettext_lazy("Backup"),
    SNAPSHOT: gettext_lazy("Snapshot for questions"),
    RETENTION: gettext_lazy("Removal of what is old"),
}
MAIL = gettext_lazy("Mail")  # of whatever kind; to whom stays the worker's business
STATES = {
    "open": (gettext_lazy("Waiting"), "scheduled"),
    "running": (gettext_lazy("Running"), "live"),
    "paused": (gettext_lazy("Paused"), "ending"),
    "done": (gettext_lazy("Done"), ""),
    "failed": (gettext_lazy("Failed"), "ending"),
    "cancelled": (pgettext_lazy("job", "Cancelled"), ""),
}


@dataclass(frozen=True)
class JobRow:
    """A job as its list shows it; `percent` is None where nothing is counted, `rate` in messages a second.

    `file_until` is until when an exported list can be fetched, None where it cannot; `again_at` when a job that failed
    is tried again.
    """

    job: Job
    label: Text
    state: Text
    look: str
    done: int
    total: int
    percent: int | None
    rate: int | None
    may: tuple[str, ...]
    is_silent: bool = False
    file_until: datetime | None = None
    again_at: datetime | None = None

    @property
    def deal(self) -> str:
        return str(self.job.payload.get("deal", "")) if self.job.kind == SEND_MESSAGE else ""

    @property
    def error(self) -> str:
        """What went wrong; of a mail only that it did, since mail servers name the address."""
        if self.is_silent:
            return _(jobs.SILENT)
        if self.job.error and self.job.kind not in KINDS:
            return _("The mail could not be sent.")
        return stored_words.shown(self.job.error)

    @property
    def is_bulk(self) -> bool:
        return self.job.kind in (BULK_CHANGE, BULK_UNDO)

    @property
    def exported(self) -> ShownList | None:
        """The list that the job exports; None for one that a later build no longer has."""
        with suppress(NotFound):
            return list_at(self.job.payload["address"]) if self.job.kind == EXPORT_LIST else None
        return None

    @property
    def headline(self) -> str:
        if self.is_bulk:
            return in_words(bulk.of_job(self.job).change)
        if shown := self.exported:
            return str(shown.export.title)
        if self.job.kind != SEND_MESSAGE:
            return ""
        return str((self.job.checkpoint or self.job.payload).get("headline", ""))


def row(job: Job, now: datetime) -> JobRow:
    """Return what the list shows of a job."""
    progress = job.progress
    done = sum(progress.get(name, 0) for name in ("sent", "skipped", "changed", "refused"))
    total = max(progress.get("total", 0), done)
    state: Text
    state, look = STATES["running" if job.state == "open" and (job.taken_by or job.parts) else job.state]
    if job.state == "open" and job.kind == SEND_MESSAGE and job.created_at > now:
        state = _("Planned")
    percent = None
    if progress and job.kind in (SEND_MESSAGE, BULK_CHANGE, BULK_UNDO):
        percent = 100 if job.state == "done" or not total else min(99, done * 100 // total)
    seconds = progress.get("milliseconds", 0) / 1000
    rate = round((progress.get("sent", 0) or done) / seconds) if seconds >= 1 else None
    until = kept_until(job) if job.kind == EXPORT_LIST and job.state == "done" else None
    return JobRow(
        job,
        KINDS.get(job.kind, MAIL),
        state,
        look,
        done,
        total,
        percent,
        rate,
        queue.may_act(job),
        job.error == jobs.SILENT or (job.is_silent(now) and not job.error),
        until if until and until > now else None,
        job.due if job.is_put_off else None,
    )


def _month_of(query: QueryDict, now: datetime) -> str:
    month = query.get("month") or f"{now:%Y-%m}"
    if not MONTH_PATTERN.fullmatch(month):
        raise NotFound(_("There is no such month."))
    return month


@staff.page("1 query + 1 batch get + 1 get")
@vary_on_headers("HX-Request")
@exported(
    gettext_lazy("Jobs"),
    "id, @created_at, kind, state, tries",
    lambda query, now: every(partial(jobs.of_month, _month_of(query, now))),
)
def job_list(request: EditorRequest) -> HttpResponse:
    """One page of a month's jobs; renews itself every two seconds."""
    now = timezone.now()
    month = _month_of(request.GET, now)
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    listed = jobs.of_month(month, after=after, before=before)
    first = date(int(month[:4]), int(month[5:]), 1)
    context = {
        "rows": [_for_reader(row(job, now), request.user) for job in listed.rows],
        "waits_for_worker": any(job.state == "open" for job in listed.rows)
        and processes.heartbeat_is_missing(processes.last_heartbeat("worker"), now=now),
        "is_editor": request.user.has_role("editor"),
        "month": first,
        "earlier": _month(first, -1),
        "later": _month(first, 1),
        "here": reverse("cms_jobs") + query({"month": month, "after": after or "", "before": before or ""}),
        "after": listed.after and query({"month": month, "after": listed.after}),
        "before": listed.before and query({"month": month, "before": listed.before}),
    }
    return render(request, "cms/jobs/_job_rows.html" if request.htmx else "cms/jobs/jobs.html", context)


def _for_reader(shown: JobRow, user: SignedIn) -> JobRow:
    """Return a row without the buttons and the file that are not for somebody."""
    may = shown.may if user.has_role("editor") else ()
    is_theirs = shown.exported is not None and user.has_role(*shown.exported.roles)
    return replace(shown, may=may, file_until=shown.file_until if is_theirs else None)


def _month(first: date, step: int) -> date:
    number = first.year * 12 + first.month - 1 + step
    return date(number // 12, number % 12 + 1, 1)


def _act(request: EditorRequest, job_id: str, act: Callable[..., None], said: str) -> HttpResponse:
    """Do it and lead back to the list that the button stands in; a job that went on meanwhile is no error."""
    try:
        act(job_id, by=request.user.username, now=timezone.now())
    except Conflict as conflict:
        messages.warning(request, str(conflict))
    else:
        messages.success(request, said)
    return HttpResponseRedirect(next_address(request, reverse("cms_jobs")))


@editors.action
def pause_job(request: EditorRequest, job_id: str) -> HttpResponse:
    """Let a job rest until it is resumed."""
    return _act(request, job_id, queue.pause, _("The job is paused."))


@editors.action
def resume_job(request: EditorRequest, job_id: str) -> HttpResponse:
    """Let a paused job go on."""
    return _act(request, job_id, queue.resume, _("The job goes on."))


@editors.action
def cancel_job(request: EditorRequest, job_id: str) -> HttpResponse:
    """End a job for good; messages that were sent stay."""
    return _act(request, job_id, queue.cancel, _("The job is cancelled. What it did already stays."))


@editors.action
def retry_job(request: EditorRequest, job_id: str) -> HttpResponse:
    """Try a failed job again."""
    limits.count_use(request, "retry", now=timezone.now())
    return _act(request, job_id, queue.retry, _("The job is tried again."))


MOST_ROWS = 2_000  # of a file that is written while somebody waits
MOST_SECONDS = 1.0  # that this may take

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


class _TooLong(Exception):
    """A list has more than is written while somebody waits."""


@staff.action
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


@staff.part("1 get", seen_by="admin")
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
