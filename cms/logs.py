"""The audit log and the security log: what was done, by whom, to what, and what happened at the site's doors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.lists.deal_list import query
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import admins
from dealsite.accounts.security_log import FAILURES
from dealsite.data.editing import audit, bulk
from dealsite.data.editing.audit import Entry
from dealsite.data.editing.bulk import OF_JOB, OF_UNDO
from dealsite.data.entities.work import SITE, Event
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.people import security_events
from dealsite.data.people.security_events import ALARM_SPAN
from dealsite.data.table.errors import Invalid
from dealsite.text import stored_words
from dealsite.text.stored_words import Text
from dealsite.worker.exports import every, exported

DAY = timedelta(days=1)
DAYS_SHOWN = 7
PLAIN = {"autocapitalize": "none", "spellcheck": "false", "autocomplete": "off"}


class LogForm(forms.Form):
    """What of a log one wants to see."""

    day = forms.DateField(
        label=gettext_lazy("Day"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )


def asked_by(form: forms.Form, today: date) -> dict[str, Any] | None:
    """Return what a form asks for, today where that is nothing; None where the form says what is wrong."""
    if form.is_bound and not form.is_valid():
        return None
    asked = {name: value for name, value in form.cleaned_data.items() if value} if form.is_bound else {}
    return asked or {"day": today}


def log_context(
    request: HttpRequest, form: LogForm, asked: dict[str, Any], *, today: date, after: str | None
) -> dict[str, Any]:
    """Return what the frame of a log's page shows; `after` is the place of its next, older page."""
    only_day: date | None = asked["day"] if set(asked) == {"day"} else None
    link = {name: str(value) for name, value in asked.items()}
    of_day = query({name: value for name, value in link.items() if name == "day"})
    beside_day = query({name: value for name, value in link.items() if name != "day"})
    return {
        "form": form if form.is_bound else type(form)(initial={"day": today}),
        "today": today,
        "day": only_day,
        "days": days_beside(only_day or today, today),
        "chips": [
            (
                form.fields[name].label,
                _shown(form, name, value),
                beside_day if name == "day" else of_day or "?",
            )
            for name, value in ({} if only_day else asked).items()
        ],
        "newest": query(link) if request.GET.get("after") else "",
        "after": query(link | {"after": after}) if after else "",
    }


def days_beside(day: date, today: date) -> list[date]:
    """Return the days that lead on from one, newest first: today, the day after it, itself and some before it."""
    first = min(today, day + DAY) if day < today else day
    room = (first - date.min).days
    days = [first - DAY * back for back in range(min(DAYS_SHOWN, room))]
    return [today, *days] if first < today else days


def _shown(form: LogForm, name: str, value: object) -> object:
    return dict(getattr(form.fields[name], "choices", ())).get(value, value)


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
        required=False, max_length=30, label=gettext_lazy("Person"), widget=forms.TextInput(PLAIN)
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
        raise Invalid(DAMAGED_FORM)
    for entry in every(partial(audit.page, **asked)):
        changes = [f"{one.name}: {one.before} → {one.after}" for one in row(entry).changes]
        yield {"entry": entry, "changes": changes}


@admins.page(
    "1 query or 1 query + 1 batch get",
    at=("", "?by=eve", "?kind=deal&subject={live.id}", "?kind=deal", "?day=2020-01-01"),
)
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
    context["rows"] = [row(entry) for entry in log.rows]
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


EVENTS: Mapping[Event, Text] = {
    "signed_in": gettext_lazy("Signed in"),
    "sign_in_failed": gettext_lazy("Wrong password"),
    "code_failed": gettext_lazy("Wrong code"),
    "passkey_failed": gettext_lazy("Passkey refused"),
    "signed_up": gettext_lazy("Signed up"),
    "signed_out": gettext_lazy("Signed out"),
    "refused": gettext_lazy("Refused"),
    "throttled": gettext_lazy("Too many tries"),
    "csrf_refused": gettext_lazy("Form from elsewhere refused"),
    "question_asked": gettext_lazy("Question asked"),
    "export_asked": gettext_lazy("Export asked for"),
    "password_changed": gettext_lazy("Password changed"),
    "password_reset_asked": gettext_lazy("Reset link asked for"),
    "factor_changed": gettext_lazy("Second factor changed"),
    "email_changed": gettext_lazy("E-mail address changed"),
    "roles_changed": gettext_lazy("Roles changed"),
    "sessions_ended": gettext_lazy("Sessions ended"),
    "account_suspended": gettext_lazy("Suspension"),
    "account_deleted": gettext_lazy("Account deleted"),
}
LABELS: Mapping[str, Text] = dict(EVENTS.items())  # a row may say what another version of the site noted
HOUR = timedelta(hours=1)


class SecurityForm(LogForm):
    """What of the security log one wants to see."""

    username = forms.CharField(
        required=False, max_length=30, label=gettext_lazy("User"), widget=forms.TextInput(PLAIN)
    )
    event = forms.ChoiceField(
        required=False, label=gettext_lazy("Event"), choices=[("", gettext_lazy("Any")), *EVENTS.items()]
    )
    network = forms.CharField(
        required=False, max_length=50, label=gettext_lazy("Network"), widget=forms.TextInput(PLAIN)
    )

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        named = [name for name in ("username", "event", "network") if data.get(name)]
        if len(named) > 1:
            self.add_error(named[1], _("Ask for a user, an event or a network, not for several of them."))
        return data


@admins.page(
    "2 queries", at=("", "?username=eve", "?event=sign_in_failed", "?network=127.0.0.1", "?day=2020-01-01")
)
def security_log(request: EditorRequest) -> HttpResponse:
    """What happened today, on a day, to a user, from a network, or of a kind; and how many tries failed lately."""
    form = SecurityForm(request.GET if request.GET else None)
    now = timezone.now()
    today = now.date()
    asked = asked_by(form, today)
    if asked is None:
        return render(request, "cms/people/security.html", {"form": form, "rows": []}, status=422)
    log = security_events.page(**asked, after=request.GET.get("after"))
    failed = security_events.failures(within=HOUR, now=now)
    lately = sum(number for minute, number in failed.items() if minute >= now - ALARM_SPAN)
    context = log_context(request, form, asked, today=today, after=log.after) | {
        "rows": [(one, LABELS.get(one.event, one.event), one.event in FAILURES) for one in log.rows],
        "lately": lately,
        "in_an_hour": sum(failed.values()),
        "is_alarm": 0 < settings.DEALSITE_ALARM_FAILURES <= lately,
    }
    return render(request, "cms/people/security.html", context)
