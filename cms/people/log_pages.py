"""What the pages of the audit log and the security log have in common: a filter, the days beside one, older entries."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from cms.lists.deal_list import query

DAY = timedelta(days=1)
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
    return {
        "form": form if form.is_bound else type(form)(initial={"day": today}),
        "day": only_day,
        "earlier": only_day - DAY if only_day and only_day > date.min + DAY else None,
        "later": only_day + DAY if only_day and only_day < today else None,
        "newest": query(link) if request.GET.get("after") else "",
        "after": query(link | {"after": after}) if after else "",
    }
