"""Form fields that say clearly what they want: prices, links, times in the editor's zone, and pictures.

A picture is stored as soon as it arrives; its name then travels, signed, in a hidden field, through every error,
conflict and try, until the form is saved. A name that this site did not sign is refused.
"""

import dataclasses
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import structlog
from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.signing import BadSignature, Signer
from django.core.validators import URLValidator
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.formats import date_format, get_format
from django.utils.translation import gettext as _, gettext_lazy

from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import editors
from dealsite.data.catalogue import content
from dealsite.data.catalogue.cards import CENTRE, Picture
from dealsite.data.entities.attributes import WRONG_YEAR, YEARS
from dealsite.data.entities.deals import ALT_CHARACTERS
from dealsite.data.names import clean_text
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import from_iso, iso
from dealsite.pictures import uploads
from dealsite.text.markdown import to_markdown
from dealsite.text.writing import number_in
from dealsite.web.uploads import PICTURE_FORM, takes_files

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


logger = structlog.get_logger(__name__)

_signer = Signer(salt="cms.kept_pictures")
ACCEPTED = "image/jpeg,image/png,image/webp,image/avif,image/gif"
NOUNS = {"picture": gettext_lazy("Picture"), "logo": gettext_lazy("Logo")}
TEXTS = {"picture": gettext_lazy("Text for the picture"), "logo": gettext_lazy("Text for the logo")}
REMOVALS = {"picture": gettext_lazy("Remove the picture"), "logo": gettext_lazy("Remove the logo")}


def keep(picture: Picture | None) -> str:
    """Return a picture as signed text, the same for the same picture; '' for none."""
    return "" if picture is None else _sign(picture)


def kept(token: str, alt: str) -> Picture | None:
    """Return the picture of a hidden field with an alt text, or None if there is none or it is not ours."""
    return _read(token, alt)[0]


def _sign(picture: Picture, *, due: bool = False) -> str:
    parts: list[Any] = [picture.name, picture.width, picture.height]
    if due or not picture.is_centred:
        parts += [picture.focal_x, picture.focal_y]
    return _signer.sign_object([*parts, True] if due else parts)


def _read(token: str, alt: str = "") -> tuple[Picture | None, bool]:
    """Return the picture of a token, and whether its further files are still to be asked for."""
    if not token:
        return None, False
    try:
        name, width, height, *more = _signer.unsign_object(token)
        x, y, *due = more or (CENTRE, CENTRE)
    except (BadSignature, ValueError, TypeError):
        return None, False
    return Picture(name=name, width=width, height=height, alt=alt, focal_x=x, focal_y=y), bool(due)


class PictureForm(forms.Form):
    """The part of a form that holds one picture, as `picture` once the form was checked."""

    picture_file = forms.FileField(
        required=False,
        allow_empty_file=True,  # refused where pictures are checked, with a better sentence
        widget=forms.FileInput(attrs={"accept": ACCEPTED}),
        help_text=gettext_lazy("JPEG, PNG, WebP, AVIF or GIF, up to 10 MB and 20 megapixels."),
    )
    picture_alt = CleanTextField(
        required=False,
        max_length=ALT_CHARACTERS,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "placeholder": gettext_lazy("What it shows, in words")}
        ),
    )
    picture_remove = forms.BooleanField(required=False)
    picture_kept = forms.CharField(required=False, widget=forms.HiddenInput)

    picture_noun = "picture"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["picture_file"].label = NOUNS[self.picture_noun]
        self.fields["picture_alt"].label = TEXTS[self.picture_noun]
        self.fields["picture_remove"].label = REMOVALS[self.picture_noun]
        token = self.data.get("picture_kept", "") if self.is_bound else self.initial.get("picture_kept", "")
        picture, self._is_due = _read(token)
        self.picture: Picture | None = focused(picture, self.data) if picture and self.is_bound else picture

    @property
    def picture_token(self) -> str:
        """The value of the hidden field when the form is shown (again)."""
        return "" if self.picture is None else _sign(self.picture, due=self._is_due)

    @property
    def lacks_alt(self) -> bool:
        """Tell whether the picture has no text yet."""
        return self.picture is not None and not str(self["picture_alt"].value() or "").strip()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        alt = cleaned.get("picture_alt", "")
        upload = cleaned.get("picture_file")
        if isinstance(upload, UploadedFile):
            try:
                self.picture = uploads.store_picture(upload, alt)
                self._is_due = True
                self.files = MultiValueDict()  # stored once, however often this is checked
            except Invalid as error:
                self.add_error("picture_file", error.fields.get("picture", str(error)))
            except OSError as error:
                logger.warning("picture_not_stored", reason=repr(error))
                text = _("The picture could not be stored just now. Please try again.")
                self.add_error("picture_file", text)
        elif cleaned.get("picture_remove"):
            self.picture = None
        if self.picture is not None:
            self.picture = dataclasses.replace(self.picture, alt=alt)
            if self._is_due:
                content.request_renditions([self.picture.name], now=timezone.now())
                self._is_due = False  # not before: where the table does not answer, the next try asks
        return cleaned


def focused(picture: Picture, data: Mapping[str, Any]) -> Picture:
    """Return a picture with the focal point that a form's inputs say, as far as they say one."""
    x, y = (_percent(data.get(f"picture_{way}")) for way in "xy")
    x, y = (picture.focal_x if x is None else x), (picture.focal_y if y is None else y)
    return dataclasses.replace(picture, focal_x=x, focal_y=y)


def _percent(text: Any) -> int | None:
    number = number_in(str(text or "").strip(), most=5)
    return None if number is None else min(number, 100)


class UploadForm(PictureForm):
    """A picture alone."""

    def __init__(self, request: EditorRequest) -> None:
        noun = request.GET.get("noun", "")
        self.picture_noun = noun if noun in NOUNS else "picture"
        super().__init__(None, request.FILES)


@takes_files(PICTURE_FORM)
@editors.action
def upload_picture(request: EditorRequest) -> HttpResponse:
    """Store one picture as soon as it is chosen, dropped or pasted.

    Answers with what its form shows of it and keeps in a hidden field, or with its error.
    """
    form = UploadForm(request)
    if form.is_valid() and form.picture:
        return render(request, "cms/shared/_picture_now.html", {"form": form, "uploaded": True})
    context = {"errors": form.errors.get("picture_file")}
    response = render(request, "cms/shared/_picture_error.html", context, status=422)
    response["HX-Retarget"] = "#picture-error"
    return response
