"""The forms that ask for a file: of a list of the CMS with its filters, and of orders or payments of a span."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.deals import buyers
from cms.lists import attention
from cms.lists.search import LACKS
from cms.shared.requests import OPEN_FOR_LONG
from dealsite.data.catalogue import deal_lists
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.featured import PAGES
from dealsite.data.jobs.exports import ExportRequest
from dealsite.data.table.ids import is_new, is_ulid, new_id

MOST_DAYS = 366
ALL = "all"
DAY_INPUT = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
CHOICES: dict[str, Mapping[str, Any]] = {  # of filters, and what they are called
    "topic": {name: topic.title for name, topic in attention.TOPICS.items()},
    "lacks": LACKS,
    "page": PAGES,
    "status": dict(buyers.LISTS.values()),
}


class UlidField(forms.CharField):
    """The id of a deal."""

    def validate(self, value: str) -> None:
        super().validate(value)
        if value and not is_ulid(value):
            raise forms.ValidationError(_("This form is damaged. Load the page again."))


class NewIdField(forms.CharField):
    """The id that a page gave to its form, for the file; once it is too old, the form comes back with another one."""

    widget = forms.HiddenInput

    def validate(self, value: str) -> None:
        if not is_new(value, timezone.now()):
            raise forms.ValidationError(OPEN_FOR_LONG)

    def bound_data(self, data: Any, initial: Any) -> str:
        return new_id(data or "", timezone.now())


def _choice(values: Mapping[str, Any]) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, choices=list(values.items()))


class ListForm(forms.Form):
    """The filters of a list that is to be exported, as its page has them."""

    state = _choice(dict.fromkeys(deal_lists.STATES, ""))
    category = _choice(CATEGORIES)
    topic, lacks, page, status = (_choice(CHOICES[name]) for name in ("topic", "lacks", "page", "status"))
    brand, q, by, kind, subject = (forms.CharField(required=False, max_length=400) for _ in range(5))
    deal = UlidField(required=False)
    month = forms.RegexField("^20[0-9]{2}-(0[1-9]|1[0-2])$", required=False)
    day = forms.DateField(required=False, input_formats=["%Y-%m-%d"])
    token = NewIdField()


class SpanForm(forms.Form):
    """Which orders or payments a file is to hold; days are those of the zone that is shown."""

    status = forms.ChoiceField(label=gettext_lazy("State"))
    first = forms.DateField(label=gettext_lazy("From"), widget=DAY_INPUT)
    last = forms.DateField(label=gettext_lazy("To"), widget=DAY_INPUT)
    token = NewIdField()

    def __init__(self, *arguments: Any, choices: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["status"].choices = [(ALL, _("All")), *choices]  # type: ignore[attr-defined]
        zone = timezone.get_current_timezone_name()
        self.fields["last"].help_text = _("Both days are included. Time zone: %(zone)s") % {"zone": zone}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "token" in self.errors:
            self.add_error(None, self.errors.pop("token").data)
        first, last = cleaned.get("first"), cleaned.get("last")
        if first and last and last < first:
            self.add_error("last", _("This is before the first day."))
        elif first and last and (last - first).days >= MOST_DAYS:
            sentence = _("A file holds up to %(most_days)s days. Choose a shorter span.")
            self.add_error("last", sentence % {"most_days": MOST_DAYS})
        return cleaned

    def payload(self, what: str, by: str) -> ExportRequest:
        return ExportRequest(
            what=what,
            status="" if (status := self.cleaned_data["status"]) == ALL else status,
            first=_midnight(self.cleaned_data["first"]),
            until=_midnight(self.cleaned_data["last"] + timedelta(days=1)),
            zone=timezone.get_current_timezone_name(),
            by=by,
        )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.get_current_timezone()).astimezone(UTC)
