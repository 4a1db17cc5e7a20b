"""Bringing rows into the site: a file is looked at, stored and noted as an import. Pasted rows become a file."""

from __future__ import annotations

import io
from typing import IO

from django.core.files.base import File
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from cms.import_forms import NAME_OF_FILE_CHARACTERS, PasteForm
from cms.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data import imports
from dealsite.data.ids import new_ulid, normalise
from dealsite.data.imports import Brought, Import
from dealsite.imports import formats, layout, reports, running, uploads
from dealsite.imports.lines import BadFile


@role("editor")
@require_http_methods(["GET", "HEAD", "POST"])
def paste_rows(request: EditorRequest) -> HttpResponse:
    """A form for rows copied from a spreadsheet; they become a file."""
    form = PasteForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        text = form.cleaned_data["rows"].replace("\r\n", "\n")
        if not form.cleaned_data["has_titles"]:
            width = max(line.count("\t") for line in text.split("\n")) + 1
            text = "\t".join(_("Column %(number)s") % {"number": n + 1} for n in range(width)) + "\n" + text
        try:
            content = text.encode("utf-8", "replace")
            one = bring(request, io.BytesIO(content), _("Pasted rows"), encoding="utf-8")
            return redirect("cms_import", one.id)
        except BadFile as error:
            form.add_error("rows", str(error))
    trail = [(reverse("cms_imports"), _("Imports")), ("", _("Paste rows"))]
    context = {"form": form, "trail": trail}
    return render(request, "cms/paste_rows.html", context, status=422 if form.errors else 200)


def bring(request: EditorRequest, file: IO[bytes], name: str | None, *, encoding: str = "") -> Import:
    """Store a file and note the import; raises lines.BadFile."""
    upload = uploads.look(file, encoding=encoding)
    brought = brought_of(upload, name or "", file.seek(0, io.SEEK_END) or file.tell())
    now = timezone.now()
    import_id = new_ulid(now)
    # First what sees to it that the file is deleted, then the file.
    noted = imports.create(brought, import_id=import_id, by=request.user.username, now=now)
    store(import_id, file)
    return noted


def store(import_id: str, file: IO[bytes]) -> None:
    file.seek(0)
    running.storage().save(reports.file_name(import_id, running.ROWS), File(file))


def brought_of(upload: uploads.Upload, name: str, size: int) -> Brought:
    """Return what is noted of a file."""
    columns = layout.guess_columns(upload.titles)

    def cells(fields: tuple[str, ...]) -> list[str]:
        places = [n for n, field in enumerate(columns) if field in fields]
        return [cells[n] for cells in upload.first_rows for n in places]

    return Brought(
        name=normalise(name)[-NAME_OF_FILE_CHARACTERS:] or _("Rows"),
        bytes=size,
        rows=upload.rows,
        encoding=upload.encoding,
        separator=upload.separator,
        titles=tuple(upload.titles),
        decimal=formats.guess_decimal(cells(layout.AMOUNTS)),
        dates=formats.guess_dates(cells(layout.TIMES)),
        samples=tuple(tuple(row) for row in upload.samples),
    )
