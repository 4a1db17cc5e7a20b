"""The rejected rows of an import, as a table to fix them in; they go again as an import of their own."""

import csv
import io
import json
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.imports.upload import check_file, keep, open_file
from cms.shared.requests import EditorRequest, editor_form
from dealsite.accounts.decorators import sent_again
from dealsite.data.editing import imports
from dealsite.data.editing.imports import Import, SourceFile
from dealsite.data.entities.batches import CHECKED, IMPORTED, UPLOADED
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.errors import Invalid, NotFound, Unavailable
from dealsite.data.table.ids import new_id
from dealsite.imports.layout import Layout
from dealsite.worker import imports as running

MOST_CELLS = 2_500  # as many fields as a form may have, with some to spare
MOST_CHARACTERS = 100_000
LONG_CELL = 60


@dataclass(frozen=True)
class Cell:
    """A cell to fix: the name of its input, what the file calls it, and what is wrong with it."""

    name: str
    title: str
    value: str
    reason: str

    @property
    def is_long(self) -> bool:
        return len(self.value) > LONG_CELL or "\n" in self.value


@dataclass(frozen=True)
class RejectedRow:
    """A rejected row; `reasons` are those that no cell is to blame for."""

    number: int
    line: int
    cells: list[Cell]
    reasons: list[str]
    is_left_out: bool = False


@editor_form("1 get")
@sent_again
def fix_import(request: EditorRequest, import_id: str) -> HttpResponse:
    """Show the rejected rows of an import as a table, or have them checked again as they were fixed."""
    one = imports.get(import_id)
    if one.stage not in (CHECKED, IMPORTED) or one.kept_until <= timezone.now():
        raise NotFound(_("There are no rejected rows to fix here."))
    layout = from_item(Layout, one.layout)
    shown = _rows(one, layout)
    if not shown:
        raise NotFound(_("There are no rejected rows to fix here."))
    trouble, status = "", 200
    if request.method == "POST":
        shown = [_as_sent(row, request.POST) for row in shown]
        fixed = [[cell.value for cell in row.cells] for row in shown if not row.is_left_out]
        if any(any(cell.strip() for cell in cells) for cells in fixed):
            try:
                return redirect("cms_import", _again(request, one, layout, fixed).id)
            except Invalid as error:
                trouble, status = str(error), 422
            except Unavailable as error:
                trouble, status = str(error), 503
        else:
            messages.warning(request, _("All rows are left out: there is nothing to check."))
    context = {
        "one": one,
        "rows": shown,
        "trouble": trouble,
        "token": new_id(request.POST.get("token", ""), timezone.now()),
        "titles": [cell.title for cell in shown[0].cells],
        "more": max(one.totals.get("refused", 0) - len(shown), 0),
        "trail": [
            (reverse("cms_imports"), _("Imports")),
            (reverse("cms_import", args=[one.id]), one.source_file.name),
            ("", _("Fix rows")),
        ],
    }
    return render(request, "cms/imports/rejected_rows.html", context, status=status)


def _as_sent(row: RejectedRow, sent: QueryDict) -> RejectedRow:
    """Return a row with what was typed into its cells."""
    cells = [replace(cell, value=sent.get(cell.name, "")) for cell in row.cells]
    return replace(row, cells=cells, is_left_out=f"skip-{row.number}" in sent)


def _rows(one: Import, layout: Layout) -> list[RejectedRow]:
    """Return the rejected rows, as many of the first ones as a form can hold."""
    with open_file(one, running.FIXABLE_ROWS) as file:
        kept: list[dict[str, Any]] = json.load(file)
    places = [n for n, field in enumerate(layout.columns) if field]
    found, characters = [], 0
    for number, row in enumerate(kept[: MOST_CELLS // (len(places) + 1)]):
        reasons: dict[str, str] = {}
        for column, reason in row["wrong"]:
            reasons[column] = f"{reasons[column]} {reason}" if column in reasons else reason
        titles = {layout.titles[place] for place in places}
        values, cells = dict(enumerate(row["cells"])), []
        for place in places:
            title = layout.titles[place]
            cells.append(Cell(f"cell-{number}-{place}", title, values.get(place, ""), reasons.get(title, "")))
        characters += sum(len(cell.value) for cell in cells)
        if characters > MOST_CHARACTERS:
            break
        others = [reason for column, reason in reasons.items() if column not in titles]
        found.append(RejectedRow(number, row["line"], cells, others))
    return found


def _again(request: EditorRequest, one: Import, layout: Layout, rows: list[list[str]]) -> Import:
    """Have fixed rows checked, in the way in which they were read before."""
    now = timezone.now()
    places = [n for n, field in enumerate(layout.columns) if field]
    titles = tuple(layout.titles[place] for place in places)
    text = io.StringIO(newline="")
    csv.writer(text).writerows([titles, *([cell.replace("\r\n", "\n") for cell in row] for row in rows)])
    content = text.getvalue().encode("utf-8", "replace")
    source_file = SourceFile(
        name=one.source_file.name,
        bytes=len(content),
        rows=len(rows),
        encoding="utf-8",
        separator=",",
        titles=titles,
        decimal=layout.decimal,
        dates=layout.dates,
        of=one.id,
    )
    chosen = replace(layout, titles=titles, columns=tuple(layout.columns[n] for n in places), moment=now)
    if len(content) > MOST_CHARACTERS * 10:
        raise Invalid(_("These rows are too long to be fixed here."))
    token = request.POST.get("token", "")
    fixed = keep(source_file, io.BytesIO(content), token=token, by=request.user.username, now=now)
    if fixed.stage == UPLOADED:  # else it is a second click
        check_file(fixed, chosen, version=fixed.version, now=now)
    return fixed
