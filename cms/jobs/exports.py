"""Exports: files of orders, payments and lists of the CMS, asked for here, fetched by those who may see them."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.contrib import messages
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from cms.jobs.export_forms import ALL, CHOICES, ListForm, SpanForm
from cms.lists.deal_list import query
from cms.shared.requests import STALE, EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import role
from dealsite.accounts.security_log import note
from dealsite.data.commerce.orders import STATUSES
from dealsite.data.entities.work import ADMINS_EXPORT, EDITORS_EXPORT, EXPORT, EXPORTS
from dealsite.data.jobs import exports
from dealsite.data.jobs.exports import Export, ExportRequest, ListRequest, Payload
from dealsite.data.table.errors import Forbidden, Invalid, NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.templatetags.design import order_status, payment_status
from dealsite.text.lazy import Text
from dealsite.web.pages import action, page, part
from dealsite.worker import exports as files
from dealsite.worker.export_lists import LISTS

STATES = {
    "open": (gettext_lazy("Waiting"), "scheduled"),
    "running": (gettext_lazy("Being written"), "live"),
    "done": (gettext_lazy("Ready"), "live"),
    "failed": (gettext_lazy("Failed"), "failed"),
}


@dataclass(frozen=True)
class Audience:
    """Those who may have the files of a kind of job: their role, and the name and title of the list of their files."""

    name: str
    label: Text
    role: str


AUDIENCES = {
    EDITORS_EXPORT: Audience("editors", gettext_lazy("Of editors"), "editor"),
    EXPORT: Audience("office", gettext_lazy("Of the back office"), "back office"),
    ADMINS_EXPORT: Audience("admins", gettext_lazy("Of admins"), "admin"),
}


@action
@role("editor", "back office")
@require_POST
def export_listed(request: EditorRequest, what: str) -> HttpResponse:
    """Have a list of the CMS written into a file, as its filters show it."""
    wanted = LISTS.get(what)
    if wanted is None or wanted.filters is None:
        raise NotFound(_("There is no such list."))
    if not request.user.has_role(AUDIENCES[wanted.kind].role):
        raise Forbidden()
    form = ListForm(request.POST)
    if not form.is_valid():
        raise Invalid(STALE)
    filters = {name: str(value) for name in wanted.filters if (value := form.cleaned_data[name])}
    if not filters.keys() >= set(wanted.needed):
        raise NotFound(_("There is no such list."))
    if what == exports.DEALS and filters.get("state") == "draft":
        what = exports.DRAFTS
        del filters["state"]
    if what == exports.AUDIT and not filters:  # as its page shows today where nothing else is asked for
        filters = {"day": f"{timezone.now():%Y-%m-%d}"}
    payload = ListRequest(what, filters, timezone.get_current_timezone_name(), request.user.username)
    _ask(request, payload, form.cleaned_data["token"])
    return redirect(reverse("cms_exports") + query({"list": AUDIENCES[wanted.kind].name}))


def _ask(request: EditorRequest, payload: Payload, token: str) -> None:
    now = timezone.now()
    limits.count_use(request, "export", now=now)
    exports.request(payload, kind=LISTS[payload.what].kind, job_id=token, now=now)
    note(request, "export_asked", username=request.user.username, detail=payload.what)
    messages.success(request, _("The file is being written. It appears here when it is ready."))


@page("none")
@role("back office")
@require_http_methods(["GET", "HEAD", "POST"])
def export_orders(request: EditorRequest) -> HttpResponse:
    """Ask for a file of the orders placed in a span."""
    choices = [(status, order_status(status)) for status in STATUSES]
    return ask_for_file(request, exports.ORDERS, choices)


def ask_for_file(request: EditorRequest, what: str, choices: list[tuple[str, str]]) -> HttpResponse:
    """Show the form of a file, or have it written and lead to the list of files."""
    if request.method == "POST":
        form = SpanForm(request.POST, choices=choices)
        if form.is_valid():
            _ask(request, form.payload(what, request.user.username), form.cleaned_data["token"])
            return redirect("cms_exports")
    else:
        now = timezone.now()
        today, status = timezone.localtime(now).date(), request.GET.get("status", "").upper()
        status = status if status in dict(choices) else ALL
        initial = {"status": status, "first": today.replace(day=1), "last": today, "token": new_ulid(now)}
        form = SpanForm(choices=choices, initial=initial)
    page = {"form": form, "what": what}
    return render(request, "cms/jobs/export.html", page, status=422 if form.errors else 200)


@dataclass(frozen=True)
class ExportRow:
    """A file as the list shows it; `first` and `last` are the days of a span, None where there is none."""

    export: Export
    state: Text
    look: str
    label: str
    first: date | None
    last: date | None
    is_over: bool

    @property
    def is_ready(self) -> bool:
        return self.export.job.state == "done" and not self.is_over


def _row(export: Export, now: datetime) -> ExportRow:
    job, payload = export.job, export.payload
    state: Text
    state, look = STATES.get(
        "running" if job.state == "open" and job.taken_by else job.state, (pgettext("job", "Cancelled"), "")
    )
    is_over = export.kept_until <= now
    if is_over:
        state, look = _("Deleted"), ""
    first = last = None
    if isinstance(payload, ExportRequest):
        zone = timezone.get_current_timezone()
        first = payload.first.astimezone(zone).date()
        last = (payload.until - timedelta(seconds=1)).astimezone(zone).date()
    label = f"{LISTS[payload.what].title}: {_label(payload)}"
    return ExportRow(export, state, look, label, first, last, is_over)


def _label(payload: Payload) -> str:
    """Return what narrows a list down, in words."""
    if isinstance(payload, ListRequest):
        names = LISTS[payload.what].filters or tuple(payload.filters)
        given = [(name, payload.filters[name]) for name in names if name in payload.filters]
        said = ", ".join(str(CHOICES.get(name, {}).get(value, value)) for name, value in given)
    elif payload.status == exports.CLOSED:
        said = _("of closed days")
    else:
        words = order_status if payload.what == exports.ORDERS else payment_status
        said = words(payload.status).lower() if payload.status else ""
    return said or pgettext("orders or payments", "all")


@page("1 query + 1 batch get", at=("", "?list=editors", "?list=admins"), seen_by="admin")
@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def export_list(request: EditorRequest) -> HttpResponse:
    """One page of the files that were asked for, of those for one's roles; renews itself while one is being written."""
    now = timezone.now()
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    lists = {one.name: (kind, one) for kind, one in AUDIENCES.items()}
    own = {name: of for name, of in lists.items() if request.user.has_role(of[1].role)}
    usual = "office" if "office" in own else "editors"
    chosen = request.GET.get("list") or usual
    if chosen not in lists:
        raise NotFound(_("There is no such list."))
    if chosen not in own:
        raise Forbidden()
    page = exports.newest(EXPORTS[own[chosen][0]], after=after, before=before)
    rows = [_row(export, now) for export in page.exports]
    link = {"list": chosen}
    context = {
        "rows": rows,
        "busy": any(row.export.job.state == "open" and not row.is_over for row in rows),
        "here": reverse("cms_exports") + query(link | {"after": after or "", "before": before or ""}),
        "days": exports.kept_for().days,
        "chosen": chosen,
        "lists": [(name, one.label, query({"list": name})) for name, (_kind, one) in own.items()],
        "after": page.after and query(link | {"after": page.after}),
        "before": page.before and query(link | {"before": page.before}),
    }
    return render(request, "cms/jobs/_export_rows.html" if request.htmx else "cms/jobs/exports.html", context)


@part("1 get", seen_by="admin")
@role("editor", "back office")
@require_safe
def download_export(request: EditorRequest, job_id: str) -> HttpResponseBase:
    """A file that is ready, as a download."""
    export = exports.get(job_id, now=timezone.now())
    if not request.user.has_role(AUDIENCES[export.job.kind].role):
        raise Forbidden()
    if export.job.state != "done":
        raise NotFound(_("This file is not ready yet."))
    try:
        file = files.storage().open(files.file_name(job_id))
    except FileNotFoundError:
        raise NotFound(_("This file is gone.")) from None
    row = _row(export, timezone.now())
    days = f"{row.first:%Y-%m-%d}-{row.last:%Y-%m-%d}" if row.first else f"{export.job.created_at:%Y-%m-%d}"
    name = f"{export.payload.what}-{days}.csv"
    response = FileResponse(file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response
