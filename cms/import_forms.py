"""The forms of an import: a file or pasted rows, which are inspected and stored, and what the columns of it are."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from datetime import datetime
from typing import IO, Any

from django import forms
from django.core.files.base import File
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import get_language, gettext, gettext_lazy, gettext_lazy as _

from cms.shared.forms import BRAND_INPUT
from cms.shared.requests import EditorRequest
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.editing import imports
from dealsite.data.editing.imports import Import, SourceFile
from dealsite.data.entities.deals import NAME_CHARACTERS
from dealsite.data.entities.imports import ALL, NAME_OF_FILE_CHARACTERS, PRICES, UPLOADED
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.names import as_typed, is_web_link
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_id, new_ulid
from dealsite.imports import cells, csv_files, csv_format, layout
from dealsite.imports.csv_files import CHUNK, ENCODINGS, MAX_BYTES
from dealsite.imports.layout import Layout, format_of, missing
from dealsite.worker import imports as running

PASTED_CHARACTERS = 300_000
ENDINGS = (".csv", ".tsv", ".txt")
FIELDS = {
    "id": _("Id"),
    "title": _("Title"),
    "brand": _("Brand"),
    "category": _("Category"),
    "price": _("Price"),
    "instead_of_price": _("Instead of a price"),
    "was_price": _("RRP"),
    "currency": _("Currency"),
    "sold": _("Who sells it"),
    "voucher_code": _("Voucher code"),
    "article_number": _("Article number"),
    "url": _("Link to the shop"),
    "ad": _("Ad link"),
    "image_url": _("Address of a picture"),
    "description": _("Description"),
    "stock": _("Stock"),
    "published_at": _("Publish at"),
    "expires_at": _("Expires"),
}
SEPARATORS = {",": _("Comma"), ";": _("Semicolon"), "\t": _("Tab"), "|": _("Vertical bar")}


TOO_LARGE = format_lazy(
    _("The file is larger than {most} MB. Divide it into smaller ones."), most=MAX_BYTES // 1_000_000
)


class UploadForm(forms.Form):
    """A CSV file, or rows copied from a spreadsheet; `token` is the id that its import is to have, so that a second
    click uploads nothing twice."""

    token = forms.CharField(required=False, widget=forms.HiddenInput)
    file = forms.FileField(
        label=_("CSV file"),
        required=False,
        allow_empty_file=True,  # rejected where files are inspected, with a better sentence
        widget=forms.FileInput(
            attrs={
                "accept": ".csv,.tsv,.txt,text/csv,text/tab-separated-values",
                "data-most-bytes": MAX_BYTES,  # drop.js refuses what is larger, before all of it is sent in vain
            }
        ),
        help_text=format_lazy(
            _("Up to {most} MB. Encoding, separator and columns are found out."), most=MAX_BYTES // 1_000_000
        ),
    )
    rows = forms.CharField(
        label=_("Rows of a spreadsheet"),
        required=False,
        max_length=PASTED_CHARACTERS,
        strip=False,
        widget=forms.Textarea(
            attrs={
                "rows": 7,
                "class": "min-h-44 flex-1 font-mono placeholder:whitespace-pre-wrap lg:text-xs!",
                "spellcheck": "false",
                "wrap": "off",
                "placeholder": format_lazy(
                    "{words}\n\n{title}\t{brand}\t{price}\t{url}",
                    words=_("… or paste rows of a spreadsheet here, with their headings"),
                    **FIELDS,
                ),
            }
        ),
    )
    has_titles = forms.BooleanField(label=_("The first row names the columns"), required=False, initial=True)

    def clean_file(self) -> UploadedFile | None:
        file: UploadedFile | None = self.cleaned_data["file"]
        if file and not (file.name or "").lower().endswith(ENDINGS):
            raise forms.ValidationError(_("Choose a file whose name ends with .csv, .tsv or .txt."))
        if file and (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return file

    def clean(self) -> dict[str, Any]:
        if not self.errors and not self.cleaned_data["file"] and not self.cleaned_data["rows"].strip():
            self.add_error("file", _("Choose a file, or paste rows."))
        return self.cleaned_data


class ReadForm(forms.Form):
    """What to take a file for, where that was found out wrongly."""

    encoding = forms.ChoiceField(
        label=_("Letters"),
        choices=list(ENCODINGS.items()),
        widget=forms.Select(attrs={"class": "appearance-none!"}),  # which cuts what is too long for it
    )
    separator = forms.ChoiceField(
        label=_("Separator"),
        choices=[(name, SEPARATORS[mark]) for mark, name in csv_files.SEPARATORS.items()],
    )

    def show_letters(self, samples: Mapping[str, str]) -> None:
        """Show beside each encoding how the file's first letters that are not ASCII look in it."""
        choices = {
            name: format_lazy("{label}: {sample}", label=ENCODINGS[name], sample=sample)
            for name, sample in samples.items()
        }
        self.fields["encoding"].widget.choices = list((ENCODINGS | choices).items())

    def clean_separator(self) -> str:
        chosen: str = self.cleaned_data["separator"]
        return next(mark for mark, name in csv_files.SEPARATORS.items() if name == chosen)


class LayoutForm(forms.Form):
    """Which column is which field, how amounts and times are written, and what becomes of the rows."""

    become = forms.ChoiceField(
        label=_("Rows become"),
        choices=[("deals", _("Deals")), ("drafts", _("Drafts"))],
        widget=forms.RadioSelect,
    )
    at_once = forms.BooleanField(
        label=_("Publish rows without a time at once"),
        required=False,
        help_text=_("Otherwise they are rejected."),
    )
    update = forms.ChoiceField(
        label=_("A row that is there already (same id, link or article number)"),
        required=False,
        choices=[
            (PRICES, _("Change price, RRP and stock")),
            (ALL, _("Change all that the file has columns for")),
            ("", _("Leave it as it is")),
        ],
        widget=forms.RadioSelect,
    )
    decimal = forms.ChoiceField(
        label=_("Amounts"), choices=[(cells.POINT, "1,299.90"), (cells.COMMA, "1.299,90")]
    )
    dates = forms.ChoiceField(
        label=_("Dates"),
        choices=[
            (cells.DAY_FIRST, _("Day first: 21.11.2026")),
            (cells.MONTH_FIRST, _("Month first: 11/21/2026")),
        ],
    )
    category = forms.ChoiceField(
        label=_("Category"),
        required=False,
        choices=lambda: [("", _("None")), *category_names.names().items()],
        widget=forms.Select(attrs={"autocomplete": "off", "data-combobox": ""}),
    )
    brand = forms.CharField(
        label=_("Brand"),
        required=False,
        max_length=NAME_CHARACTERS,
        help_text=_("A brand that does not exist is created."),
        widget=forms.TextInput(attrs=BRAND_INPUT | {"placeholder": _("None")}),
    )
    shop = forms.CharField(
        label=_("Address of the shop"),
        required=False,
        max_length=200,
        help_text=_("Where the file holds only parts of links, they are below this address."),
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off"}),
    )
    pictures = forms.BooleanField(
        label=_("Fetch the pictures"),
        required=False,
        help_text=_("From the addresses in the column chosen for them; this takes a while."),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, one: Import, *arguments: Any, remembered: dict[str, Any], **options: Any) -> None:
        file = one.source_file
        initial = remembered or {"decimal": file.decimal, "dates": file.dates, "at_once": False}
        become = "deals" if initial and not initial.get("drafts", True) else "drafts"
        options["initial"] = {"update": "", **initial, "become": become, "version": one.version}
        super().__init__(*arguments, **options)
        self.titles = file.titles
        columns = initial.get("columns") or file.columns or [""] * len(self.titles)
        for number, (title, field) in enumerate(zip(self.titles, columns, strict=True)):
            self.fields[f"column_{number}"] = forms.ChoiceField(
                label=title, required=False, choices=[("", _("Leave out")), *FIELDS.items()], initial=field
            )
        zone = timezone.get_current_timezone_name()
        self.fields["dates"].help_text = _(
            "2026-11-21 09:00 is always understood. Times without a zone are of %(zone)s."
        ) % {"zone": zone}
        self.samples = file.samples

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of the file, each with its first cells and its control."""
        return [
            {"field": self[f"column_{n}"], "samples": [cells[n] for cells in self.samples if cells[n]]}
            for n in range(len(self.titles))
        ]

    @property
    def recognised(self) -> int:
        """How many columns become a field."""
        return sum(bool(column["field"].value()) for column in self.columns)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        chosen: dict[str, int] = {}
        for number in range(len(self.titles)):
            field = cleaned.get(f"column_{number}", "")
            if field and field in chosen:
                self.add_error(f"column_{number}", _("This is another column already."))
            elif field:
                chosen[field] = number
        changes_by_number = cleaned.get("update") and "article_number" in chosen
        if "id" in chosen or changes_by_number:  # rows may mean what is there, and need nothing else then
            return cleaned
        is_draft = cleaned.get("become") == "drafts"  # which may lack the rest
        for field in missing(chosen):
            if field != "url" or not is_draft:
                self.add_error(None, _("Choose the column for: %(field)s.") % {"field": FIELDS[field]})
        if is_draft:
            return cleaned
        if "category" not in chosen and not cleaned.get("category"):
            self.add_error("category", _("No column holds the category. Choose one for all rows."))
        if "brand" not in chosen and not cleaned.get("brand"):
            self.add_error("brand", _("No column holds the brand. Enter one for all rows."))
        if "published_at" not in chosen and not cleaned.get("at_once"):
            self.add_error(
                "at_once", _("No column holds the time of publication. Tick this, or choose drafts.")
            )
        known = format_of(self.titles)
        if known and known.page and "url" in chosen and not cleaned.get("shop"):
            self.add_error("shop", _("The file holds only parts of links. Enter the address of the shop."))
        return cleaned

    def clean_shop(self) -> str:
        shop: str = self.cleaned_data["shop"].strip()
        if shop and not is_web_link(shop):
            raise forms.ValidationError(_("Enter a full web address that starts with https:// or http://."))
        return shop

    def layout(self, now: datetime, remembered: dict[str, Any]) -> Layout:
        """Return what was chosen; which of the site's own the file's categories and brands are, is as `remembered`."""
        cleaned, before = self.cleaned_data, payload_from_item(Layout, remembered) if remembered else None
        return Layout(
            titles=tuple(self.titles),
            columns=tuple(cleaned[f"column_{number}"] for number in range(len(self.titles))),
            decimal=cleaned["decimal"],
            dates=cleaned["dates"],
            zone=timezone.get_current_timezone_name(),
            moment=now,
            category=cleaned["category"],
            brand=cleaned["brand"],
            drafts=cleaned["become"] == "drafts",
            at_once=cleaned["at_once"],
            pictures=cleaned["pictures"],
            language=get_language(),
            shop=cleaned["shop"],
            update=cleaned["update"],
            categories=before.categories if before else (),
            brands=before.brands if before else (),
        )


GONE = gettext_lazy("This file is gone: files are kept for a week.")


def upload(
    request: EditorRequest, *, file: UploadedFile | None, rows: str, has_titles: bool, token: str
) -> Import:
    """Store a file, or one made of rows of a spreadsheet, and note the import, as `keep` does; raises BadFile."""
    name, encoding = (file.name, "") if file else (gettext("Pasted rows"), "utf-8")
    sent: IO[bytes] = file or _file_of(rows, has_titles=has_titles)
    found = csv_format.inspect(sent, encoding=encoding)
    source_file = source_file_of(found, name or "", sent.seek(0, io.SEEK_END) or sent.tell())
    return keep(source_file, sent, token=token, by=request.user.username, now=timezone.now())


def _file_of(rows: str, *, has_titles: bool) -> IO[bytes]:
    text = rows.replace("\r\n", "\n")
    if not has_titles:
        width = max(line.count("\t") for line in text.split("\n")) + 1
        text = "\t".join(gettext("Column %(number)s") % {"number": n + 1} for n in range(width)) + "\n" + text
    return io.BytesIO(text.encode("utf-8", "replace"))


def keep(source_file: SourceFile, file: IO[bytes], *, token: str, by: str, now: datetime) -> Import:
    """Note an import and store its file; a second click leads to the import of the first one.

    `token` is the id that the form had ready for it. One that is too old, or was used for something else, is not taken.
    """
    # First what sees to it that the file is deleted, then the file.
    noted = imports.create(source_file, import_id=new_id(token, now), by=by, now=now)
    is_same = (noted.by, noted.source_file) == (by, source_file)
    if not is_same or (noted.stage != UPLOADED and not _is_stored(noted.id, file)):
        noted = imports.create(source_file, import_id=new_ulid(now), by=by, now=now)
    if noted.stage == UPLOADED:
        file.seek(0)
        running.storage().save(running.file_name(noted.id, running.ROWS), File(file))
    return noted


def open_file(one: Import, part: str) -> File[bytes]:
    """Open a file of an import; NotFound when it was deleted."""
    try:
        return running.storage().open(running.file_name(one.id, part))
    except FileNotFoundError:
        raise NotFound(GONE) from None


def check_file(one: Import, chosen: Layout, *, version: int, now: datetime) -> None:
    """Have a file checked as its layout says."""
    fingerprint = layout.fingerprint(chosen.titles)
    imports.check(
        one, payload_to_item(chosen), fingerprint=fingerprint, version=version, job_id=new_ulid(now), now=now
    )


def _is_stored(import_id: str, file: IO[bytes]) -> bool:
    """Tell whether the file of an import is this one."""
    file.seek(0)
    try:
        with running.storage().open(running.file_name(import_id, running.ROWS)) as stored:
            return _digest(stored) == _digest(file)
    except FileNotFoundError:
        return False


def _digest(file: IO[bytes] | File[bytes]) -> bytes:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.digest()


def source_file_of(upload: csv_format.Upload, name: str, size: int) -> SourceFile:
    """Return what is noted of a file."""
    found = layout.guessed(upload.titles, upload.first_rows, zone="UTC", moment=timezone.now())
    return SourceFile(
        name=as_typed(name)[-NAME_OF_FILE_CHARACTERS:] or gettext("Rows"),
        bytes=size,
        rows=upload.rows,
        encoding=upload.encoding,
        separator=upload.separator,
        titles=found.titles,
        columns=found.columns,
        decimal=found.decimal,
        dates=found.dates,
        samples=tuple(tuple(row) for row in upload.samples),
    )
