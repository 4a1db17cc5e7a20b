"""What the pages of the audit log and the security log have in common: a filter, the days beside one, older entries."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from cms.lists.deal_list import query

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
