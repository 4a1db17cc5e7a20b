"""Files of orders, payments and lists of the CMS: asked for here, written by a job, fetched by those who may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from cms.deal_list import query
from cms.exported_lists import AUDIENCES, ROLE_FOR, WHAT, label_of
from cms.requests import EditorRequest
from dealsite import exports as files
from dealsite.accounts.decorators import role
from dealsite.data import exports
from dealsite.data.errors import Forbidden, NotFound, Text
from dealsite.data.exports import Export, Wanted, WantedList
from dealsite.data.ids import is_ulid, new_ulid
from dealsite.data.orders import STATUSES
from dealsite.templatetags.orders import order_status, payment_status

MOST_DAYS = 366
ALL = "all"
STATES = {
    "open": (gettext_lazy("Waiting"), "scheduled"),
    "running": (gettext_lazy("Being written"), "live"),
    "done": (gettext_lazy("Ready"), "live"),
    "failed": (gettext_lazy("Failed"), "failed"),
}


class ExportForm(forms.Form):
    """Which orders or payments a file is to hold; days are those of the zone that is shown."""

    status = forms.ChoiceField(label=gettext_lazy("State"))
    first = forms.DateField(
        label=gettext_lazy("From"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    last = forms.DateField(
        label=gettext_lazy("To"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    token = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, choices: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["status"].choices = [(ALL, _("All")), *choices]  # type: ignore[attr-defined]
        zone = timezone.get_current_timezone_name()
        self.fields["last"].help_text = _("Both days are included. Time zone: %(zone)s") % {"zone": zone}

    def clean_token(self) -> str:
        token = str(self.cleaned_data["token"])
        if not is_ulid(token):
            raise forms.ValidationError(_("This form is damaged. Load the page again."))
        return token

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        first, last = cleaned.get("first"), cleaned.get("last")
        if first and last and last < first:
            self.add_error("last", _("This is before the first day."))
        elif first and last and (last - first).days >= MOST_DAYS:
            self.add_error(
                "last",
                _("A file holds up to %(most_days)s days. Choose a shorter span.") % {"most_days": MOST_DAYS},
            )
        return cleaned

    def wanted(self, what: str, by: str) -> Wanted:
        """Return what was asked for."""
        return Wanted(
            what=what,
            status="" if (status := self.cleaned_data["status"]) == ALL else status,
            first=_midnight(self.cleaned_data["first"]),
            until=_midnight(self.cleaned_data["last"] + timedelta(days=1)),
            zone=timezone.get_current_timezone_name(),
            by=by,
        )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.get_current_timezone()).astimezone(UTC)


@role("back office")
@require_http_methods(["GET", "HEAD", "POST"])
def export_orders(request: EditorRequest) -> HttpResponse:
    """Ask for a file of the orders placed in a span."""
    choices = [(status, order_status(status)) for status in STATUSES]
    return ask_for_file(request, exports.ORDERS, choices)


def ask_for_file(request: EditorRequest, what: str, choices: list[tuple[str, str]]) -> HttpResponse:
    """Show the form of a file, or have it written and lead to the list of files."""
    now = timezone.now()
    if request.method == "POST":
        form = ExportForm(request.POST, choices=choices)
        if form.is_valid():
            exports.request(
                form.wanted(what, request.user.username), job_id=form.cleaned_data["token"], now=now
            )
            messages.success(request, _("The file is being written. It stands here when it is ready."))
            return redirect("cms_exports")
    else:
        today = timezone.localtime(now).date()
        asked = request.GET.get("status", "").upper()
        initial = {
            "status": asked if asked in dict(choices) else ALL,
            "first": today.replace(day=1),
            "last": today,
            "token": new_ulid(now),
        }
        form = ExportForm(choices=choices, initial=initial)
    page = {"form": form, "what": what}
    return render(request, "cms/export.html", page, status=422 if form.errors else 200)


@dataclass(frozen=True)
class Row:
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


def _row(export: Export, now: datetime) -> Row:
    job, wanted = export.job, export.wanted
    state: Text
    state, look = STATES.get(
        "running" if job.state == "open" and job.taken_by else job.state, (pgettext("job", "Cancelled"), "")
    )
    is_over = export.kept_until <= now
    if is_over:
        state, look = _("Deleted"), ""
    if isinstance(wanted, WantedList):
        label = label_of(wanted)
        return Row(export, state, look, f"{WHAT[wanted.what]}: {label}", None, None, is_over)
    if not wanted.status:
        label = pgettext("orders or payments", "all")
    elif wanted.status == exports.CLOSED:
        label = _("of closed days")
    else:
        words = order_status if wanted.what == exports.ORDERS else payment_status
        label = words(wanted.status).lower()
    zone = timezone.get_current_timezone()
    first, last = (
        moment.astimezone(zone).date() for moment in (wanted.first, wanted.until - timedelta(seconds=1))
    )
    return Row(export, state, look, f"{WHAT[wanted.what]}: {label}", first, last, is_over)


@role("editor", "back office")
@require_safe
@vary_on_headers("HX-Request")
def export_list(request: EditorRequest) -> HttpResponse:
    """One page of the files that were asked for, of those for one's roles; renews itself while one is being written."""
    now = timezone.now()
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    own = {name: of for name, of in AUDIENCES.items() if request.user.has_role(of[2])}
    usual = "office" if "office" in own else "editors"
    chosen = request.GET.get("list") or usual
    if chosen not in AUDIENCES:
        raise NotFound(_("There is no such list."))
    if chosen not in own:
        raise Forbidden()
    page = exports.newest(own[chosen][0], after=after, before=before)
    rows = [_row(export, now) for export in page.exports]
    link = {"list": chosen}
    context = {
        "rows": rows,
        "busy": any(row.export.job.state == "open" and not row.is_over for row in rows),
        "here": reverse("cms_exports") + query(link | {"after": after or "", "before": before or ""}),
        "days": exports.KEPT.days,
        "chosen": chosen,
        "lists": [(name, of[1], query({"list": name})) for name, of in own.items()],
        "after": page.after and query(link | {"after": page.after}),
        "before": page.before and query(link | {"before": page.before}),
    }
    return render(request, "cms/_export_rows.html" if request.htmx else "cms/exports.html", context)


@role("editor", "back office")
@require_safe
def download_export(request: EditorRequest, job_id: str) -> HttpResponseBase:
    """A file that is ready, as a download."""
    export = exports.get(job_id, now=timezone.now())
    if not request.user.has_role(ROLE_FOR[export.audience]):
        raise Forbidden()
    if export.job.state != "done":
        raise NotFound(_("This file is not ready yet."))
    try:
        file = files.storage().open(files.file_name(job_id))
    except FileNotFoundError:
        raise NotFound(_("This file is gone.")) from None
    row = _row(export, timezone.now())
    days = f"{row.first:%Y-%m-%d}-{row.last:%Y-%m-%d}" if row.first else f"{export.job.created_at:%Y-%m-%d}"
    name = f"{export.wanted.what}-{days}.csv"
    response = FileResponse(file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response
