"""The audit log: what was done, by whom and to what."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from cms.people.log_pages import PLAIN, LogForm, asked_by, log_context
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.editing import audit, bulk
from dealsite.data.editing.audit import Entry
from dealsite.data.editing.bulk_progress import OF_JOB, OF_UNDO
from dealsite.data.entities.work import SITE
from dealsite.data.table.errors import Invalid
from dealsite.text import stored_words
from dealsite.web.pages import page
from dealsite.worker.list_export import every, exported

KINDS = {
    "deal": gettext_lazy("Deal"),
    "draft": gettext_lazy("Draft"),
    "brand": gettext_lazy("Brand"),
    "category": gettext_lazy("Category"),
    "page": gettext_lazy("Featured list"),
    "message": gettext_lazy("Message"),
    "job": gettext_lazy("Job"),
    "user": gettext_lazy("User"),
    "order": gettext_lazy("Order"),
    "payment": gettext_lazy("Payment"),
    "export": gettext_lazy("Export"),
    "import": gettext_lazy("Import"),
    "question": gettext_lazy("Question"),
    "site": gettext_lazy("Site"),
    "site_page": gettext_lazy("Page text"),
}
PAGES = {  # kind -> the page of such a thing
    "deal": "cms_deal",
    "draft": "cms_draft",
    "brand": "cms_brand",
    "category": "cms_category",
    "page": "cms_featured_page",
    "user": "cms_user",
    "site_page": "cms_site_page",
}
SUBJECT_CHARACTERS = 200


@dataclass(frozen=True)
class AuditChange:
    """A field of a thing, before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class AuditRow:
    """An entry as its list shows it; `address` leads to the thing, where it has a page.

    `job`: the id of the job that it is part of, as long as that can be undone; `note`: what else is to be said.
    """

    entry: Entry
    kind: str
    by: str
    address: str
    changes: list[AuditChange]
    note: str
    job: str


class FilterForm(LogForm):
    """What of the audit log one wants to see."""

    by = forms.CharField(
        required=False,
        max_length=30,
        label=gettext_lazy("Person"),
        widget=forms.TextInput(PLAIN),
    )
    kind = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Kind of thing"),
        choices=[("", gettext_lazy("Any")), *KINDS.items()],
    )
    subject = forms.CharField(
        required=False,
        max_length=SUBJECT_CHARACTERS,
        label=gettext_lazy("Its id or short name"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        if bool(data.get("kind")) != bool(data.get("subject")) and not self.errors:
            name = "subject" if data.get("kind") else "kind"
            self.add_error(name, _("A thing is named by its kind and its id together."))
        elif data.get("by") and data.get("subject"):
            self.add_error("by", _("Ask for a person or for a thing, not for both."))
        return data


def _all_entries(query: QueryDict, now: datetime) -> Iterator[dict[str, Any]]:
    asked = asked_by(FilterForm(query if query else None), now.date())
    if asked is None:
        raise Invalid(_("This form is damaged. Load the page again."))
    for entry in every(partial(audit.page, **asked), "entries"):
        changes = [f"{one.name}: {one.before} → {one.after}" for one in row(entry).changes]
        yield {"entry": entry, "changes": changes}


@page(
    "1 query or 1 query + 1 batch get",
    at=("", "?by=eve", "?kind=deal&subject={live.id}", "?kind=deal", "?day=2020-01-01"),
)
@role("admin")
@require_safe
@exported(
    gettext_lazy("Audit log"),
    "id=entry.id, @at=entry.at, person=entry.by, kind=entry.kind, subject=entry.subject, what=entry.what, "
    "note=entry.note, changes",
    _all_entries,
)
def audit_entries(request: EditorRequest) -> HttpResponse:
    """What was done: today, on a day, by somebody, or to a thing. 1 query, and 1 batch get for the last two."""
    form = FilterForm(request.GET if request.GET else None)
    today = timezone.now().date()
    asked = asked_by(form, today)
    if asked is None:
        return render(request, "cms/people/audit.html", {"form": form, "rows": []}, status=422)
    log = audit.page(**asked, after=request.GET.get("after"))
    context = log_context(request, form, asked, today=today, after=log.after)
    context["rows"] = [row(entry) for entry in log.entries]
    return render(request, "cms/people/audit.html", context)


def row(entry: Entry) -> AuditRow:
    """Return what the list shows of an entry."""
    changes = []
    for name in sorted({*entry.before, *entry.after}):
        shown = stored_words.shown(name.replace("_", " ").capitalize())
        changes.append(AuditChange(shown, str(entry.before.get(name, "")), str(entry.after.get(name, ""))))
    page = PAGES.get(entry.kind, "")
    address = reverse(page, args=[entry.subject]) if page and "deleted" not in entry.what else ""
    by = _("the site itself") if entry.by == SITE else entry.by
    kind, note, job = str(KINDS.get(entry.kind, entry.kind)), entry.note, ""
    if note.startswith(OF_JOB):
        job, note = note.removeprefix(OF_JOB) if timezone.now() < entry.at + bulk.KEPT else "", ""
    elif note.startswith(OF_UNDO):
        note = _("Undo")
    return AuditRow(entry, kind, by, address, changes, note, job)
