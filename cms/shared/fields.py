"""Form fields that say clearly what they want: prices, links, and times in the editor's zone."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.template.loader import render_to_string
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.formats import date_format, get_format
from django.utils.translation import gettext as _

from dealsite.data.entities.attributes import WRONG_YEAR, YEARS
from dealsite.data.names import clean_text
from dealsite.data.table.ids import from_iso, iso
from dealsite.text.digits import number_in
from dealsite.text.from_html import to_markdown

PRICE_PATTERN = re.compile(r"[0-9]{1,8}(\.[0-9]{1,2})?")


class CleanTextField(forms.CharField):
    """A text that others will read: what nobody sees is no part of it."""

    def to_python(self, value: Any) -> Any:
        text = clean_text(value or "")
        return super().to_python(
            text if isinstance(self.widget, forms.Textarea) else " ".join(text.splitlines())
        )


class MarkdownArea(forms.Textarea):
    """A text area with buttons that write Markdown."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        attrs = dict(attrs or {})
        hint = f"{attrs.get('id', name)}_hint"
        attrs["aria-describedby"] = f"{hint} {attrs.get('aria-describedby', '')}".rstrip()
        area = {"id": attrs.get("id", ""), "area": super().render(name, value, attrs, renderer), "hint": hint}
        return render_to_string("cms/shared/_markdown_area.html", area)


class MarkdownField(CleanTextField):
    """A text with Markdown; HTML becomes the Markdown that means the same, and lines end as they are stored."""

    def __init__(self, *, rows: int, **options: Any) -> None:
        widget = MarkdownArea(attrs={"rows": rows, "data-markdown": reverse_lazy("cms_markdown")})
        super().__init__(required=False, widget=widget, **options)

    def to_python(self, value: Any) -> Any:
        return super().to_python(to_markdown((value or "").replace("\r\n", "\n")))


class PriceField(forms.CharField):
    """An amount such as 1299.90, as Decimal; a comma for the point where the language writes it so, else none."""

    def __init__(self, **options: Any) -> None:
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        super().__init__(widget=widget, **options)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        if get_format("DECIMAL_SEPARATOR") == ",":
            text = text.replace(",", ".")  # 1.299,90 has two points then, and is refused
        if PRICE_PATTERN.fullmatch(text):
            return Decimal(text)
        error = _("Write the amount with digits and a point, such as 1299.90: no comma, currency or sign.")
        raise ValidationError(error)


class LinkField(forms.CharField):
    """A link to another site: http or https, nothing else."""

    def __init__(self, **options: Any) -> None:
        message = _("Enter a whole link, such as https://shop.example/deal.")
        whole = URLValidator(schemes=["http", "https"], message=message)
        super().__init__(
            widget=forms.URLInput(attrs={"placeholder": "https://"}), validators=[whole], **options
        )


class LocalTimeField(forms.CharField):
    """A date and time of day in the current zone, as an aware time; refuses what a clock change makes unclear.

    `stored` is the time that the input showed: left as it was, it stays that very moment.
    """

    stored: datetime | None = None

    def __init__(self, **options: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"})
        super().__init__(widget=widget, **options)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        if self.stored and text == typed_time(self.stored):
            return self.stored
        try:
            naive = datetime.fromisoformat(text)
            moment = in_current_zone(naive) if naive.tzinfo is None else None
        except (ValueError, OverflowError):
            moment = None
        if moment is None:
            raise ValidationError(_("Enter a date and a time of day, such as 2026-11-27T09:00."))
        if moment.year not in YEARS:
            raise ValidationError(WRONG_YEAR)
        return moment


def in_current_zone(naive: datetime) -> datetime:
    """Return the one moment (UTC) at which clocks show this; ValidationError if there is none, or two."""
    zone = timezone.get_current_timezone()
    first, second = naive.replace(tzinfo=zone, fold=0), naive.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    if before == after or before is None or after is None:
        return first.astimezone(UTC)
    place = {"time": f"{naive:%H:%M}", "day": date_format(naive, "j F Y"), "zone": zone}
    error = _(
        "%(time)s on %(day)s comes twice in %(zone)s: the clocks are put back over it. "
        "Choose a time before or after."
    )
    if before < after:
        error = _(
            "There is no %(time)s on %(day)s in %(zone)s: clocks are put forward over it. "
            "Choose a time before or after."
        )
    raise ValidationError(error % place)


def typed_time(moment: datetime | None) -> str:
    """Return a time as the input shows it: in the current zone, seconds only where there are some."""
    if moment is None:
        return ""
    local = timezone.localtime(moment)
    return local.strftime("%Y-%m-%dT%H:%M:%S" if local.second else "%Y-%m-%dT%H:%M")


def stored_time(text: str) -> datetime | None:
    """Return the time that a hidden field or a button holds as `iso` writes it; None for any other text."""
    try:
        moment = from_iso(text)
        return moment if iso(moment) == text else None
    except (ValueError, OverflowError):
        return None


def day_of(text: str) -> date:
    """Return the day that a text such as 2026-11-27 names; ValueError if none, or one on which nothing is stored."""
    day = date.fromisoformat(text)
    if day.year not in YEARS:
        raise ValueError(text)
    return day


def version_in(text: str) -> int:
    """Return the version that a hidden field holds, 0 if it holds none."""
    return number_in(text, most=9) or 0
