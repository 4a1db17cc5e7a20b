"""The security log: sign-ins, failures, refusals and what else happened at the site's doors."""

from collections.abc import Mapping
from datetime import timedelta

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from cms.people.log_pages import PLAIN, LogForm, asked_by, log_context
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.accounts.security_log import FAILURES
from dealsite.data.entities.work import Event
from dealsite.data.people import security_events
from dealsite.data.people.security_events import ALARM_SPAN
from dealsite.text.lazy import Text
from dealsite.web.pages import page

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
        required=False,
        label=gettext_lazy("Event"),
        choices=[("", gettext_lazy("Any")), *EVENTS.items()],
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


@page(
    "2 queries",
    at=("", "?username=eve", "?event=sign_in_failed", "?network=127.0.0.1", "?day=2020-01-01"),
)
@role("admin")
@require_safe
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
        "rows": [(one, LABELS.get(one.event, one.event), one.event in FAILURES) for one in log.events],
        "lately": lately,
        "in_an_hour": sum(failed.values()),
        "is_alarm": 0 < settings.DEALSITE_ALARM_FAILURES <= lately,
    }
    return render(request, "cms/people/security.html", context)
