"""Imports of deals: say what the columns of a file are, have it checked, import it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.vary import vary_on_headers
from rapidfuzz.distance import OSA

from cms.deals.history import ENTRY_KINDS
from cms.import_forms import (
    FIELDS,
    GONE,
    SEPARATORS,
    TOO_LARGE,
    LayoutForm,
    ReadForm,
    UploadForm,
    check_file,
    open_file,
    source_file_of,
    upload,
)
from cms.jobs import row as job_row
from cms.lists.deal_list import query
from cms.shared.forms import FIELD_LABELS
from cms.shared.requests import EditorRequest, new_id_in
from dealsite.accounts.decorators import editors, sent_again
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.editing import imports
from dealsite.data.editing.imports import Import
from dealsite.data.entities.imports import (
    CHECKED,
    CHECKING,
    IMPORTED,
    IMPORTING,
    MAX_CHOICES,
    OF_PRICES,
    UPLOADED,
)
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.names import DAMAGED_FORM, slugify
from dealsite.data.table.errors import Conflict, Invalid, NotFound, Unavailable
from dealsite.data.table.ids import from_iso, new_ulid
from dealsite.imports import csv_files, csv_format, layout
from dealsite.imports.csv_files import ENCODINGS, BadFile, in_each
from dealsite.imports.csv_format import START_BYTES
from dealsite.imports.layout import Layout, NameChoice, format_of, name_key
from dealsite.search.brands import brands_near
from dealsite.templatetags.design import moment
from dealsite.text.writing import grouped, money, number_in
from dealsite.web.uploads import takes_files
from dealsite.worker import imports as running
from dealsite.worker.exports import every, exported

STATES = {
    UPLOADED: (gettext_lazy("Columns to be chosen"), "scheduled"),
    CHECKING: (gettext_lazy("Being checked"), "live"),
    CHECKED: (gettext_lazy("Checked"), "scheduled"),
    IMPORTING: (gettext_lazy("Being imported"), "live"),
    IMPORTED: (gettext_lazy("Imported"), ""),
}
JOB_STATES = {
    "paused": (gettext_lazy("Paused"), "ending"),
    "failed": (gettext_lazy("Failed"), "failed"),
    "cancelled": (gettext_lazy("Cancelled"), "ending"),
}
LABELS = FIELD_LABELS | FIELDS
MAY_DOWNLOAD = (running.REPORT, running.REJECTED, running.CHANGES)


@dataclass(frozen=True)
class ImportRow:
    """An import as the list shows it."""

    id: str
    at: datetime
    card: dict[str, Any]
    state: str
    look: str
    percent: int | None


@takes_files(2 * csv_files.MAX_BYTES, file_bytes=csv_files.MAX_BYTES)
@editors.form("1 query")
@sent_again
@exported(
    gettext_lazy("Imports"),
    "id, file=card.name, @uploaded_at=at, uploaded_by=card.by, state=card.stage, rows=card.rows, "
    "imported=card.totals.imported, rejected=card.totals.refused",
    lambda query, now: every(imports.newest),
)
def import_list(request: EditorRequest) -> HttpResponse:
    """The imports so far, and a form for a file or pasted rows."""
    is_sent, token = request.method == "POST", {"token": new_ulid(timezone.now())}
    form = UploadForm(request.POST, request.FILES) if is_sent else UploadForm(initial=token)
    if form.is_valid():
        try:
            return redirect("cms_import", upload(request, **form.cleaned_data).id)
        except BadFile as error:
            form.add_error("file" if form.cleaned_data["file"] else "rows", str(error))
    page = imports.newest(after=request.GET.get("after"), before=request.GET.get("before"))
    context = {
        "form": form,
        "too_large": TOO_LARGE,
        "fields": FIELDS,
        "rows": [
            ImportRow(one.id, one.at, one.card, *state_of(one.card["stage"], one.job), percent_of(one.job))
            for one in page.rows
        ],
        "days": imports.KEPT.days,
        "after": page.after and query({"after": page.after}),
        "before": page.before and query({"before": page.before}),
    }
    return render(request, "cms/imports/imports.html", context, status=422 if form.errors else 200)


@editors.form(
    "2 gets", at=("/cms/imports/{imports[0]}/", "/cms/imports/{imports[1]}/", "/cms/imports/{imports[2]}/")
)
@sent_again
@vary_on_headers("HX-Request")
def deal_import(request: EditorRequest, import_id: str) -> HttpResponse:
    """One import: what its columns are, how far it is, what came of it."""
    one, job = imports.load(import_id)
    if request.method == "POST":
        return _steps(request, one)
    wants_columns = "columns" in request.GET and not _is_busy(one, job)
    if one.stage == UPLOADED or (wants_columns and one.stage in (CHECKING, CHECKED)):
        return _columns_page(request, one, None)
    template = "cms/imports/_import_state.html" if request.htmx else "cms/imports/import.html"
    response = render(request, template, _context(request, one, job))
    if request.htmx and not _is_busy(one, job):
        response["HX-Refresh"] = "true"  # its bar and tabs say more now
    return response


def _steps(request: EditorRequest, one: Import) -> HttpResponse:
    """Go on with an import by what its button says."""
    steps = {"read": _read_again, "check": _check, "names": _name, "import": _run, "undo": _undo}
    if step := steps.get(request.POST.get("do", "")):
        return step(request, one)
    raise Invalid(DAMAGED_FORM)


def _version(request: EditorRequest) -> int:
    if (version := number_in(request.POST.get("version", ""), most=8)) is None:
        raise Invalid(DAMAGED_FORM)
    return version


def _read_again(request: EditorRequest, one: Import) -> HttpResponse:
    form = ReadForm(request.POST)
    if not form.is_valid():
        return _columns_page(request, one, None, form)
    try:
        with open_file(one, running.ROWS) as stored:
            found = csv_format.inspect(stored, **form.cleaned_data)
    except BadFile as error:
        form.add_error(None, str(error))
        return _columns_page(request, one, None, form)
    old = one.source_file
    again = source_file_of(found, old.name, old.bytes)
    imports.read_again(one, again, version=_version(request))
    return redirect("cms_import", one.id)


def _check(request: EditorRequest, one: Import) -> HttpResponse:
    form, now = LayoutForm(one, request.POST, remembered={}), timezone.now()
    if not form.is_valid():
        return _columns_page(request, one, form)
    try:
        chosen = form.layout(now, _remembered(one))
        check_file(one, chosen, version=form.cleaned_data["version"], now=now)
    except Unavailable as error:
        return _columns_page(request, one, form, trouble=str(error))
    return redirect("cms_import", one.id)


def _name(request: EditorRequest, one: Import) -> HttpResponse:
    """Note which of the site's own the file's categories and brands are, and have it checked again."""
    if one.stage != CHECKED:
        raise Conflict(_("This file is not checked yet."))
    chosen, wrong = payload_from_item(Layout, one.layout), []
    categories, own_brands = list[NameChoice](), list[NameChoice]()
    for number, category in enumerate(one.categories):
        if (slug := request.POST.get(f"category_{number}", "")) in CATEGORIES:
            categories.append(NameChoice(name_key(category["name"]), slug))
    named = [*zip(one.brands, (typed[:200] for typed in request.POST.getlist("brand")), strict=False)]
    found = brands.named_by(filter(None, (slugify(typed) for _brand, typed in named)))
    for brand, typed in named:
        if own := found.get(slugify(typed)):
            own_brands.append(NameChoice(name_key(brand["name"]), own.slug))
        elif slugify(typed):
            wrong.append(typed)
    if wrong:
        messages.error(request, _("There is no brand “%(name)s”.") % {"name": wrong[0][:80]})
        return redirect("cms_import", one.id)
    now = timezone.now()
    chosen = replace(
        chosen,
        categories=(*categories, *chosen.categories)[:MAX_CHOICES],
        brands=(*own_brands, *chosen.brands)[:MAX_CHOICES],
        moment=now,
    )
    check_file(one, chosen, version=_version(request), now=now)
    return redirect("cms_import", one.id)


def _run(request: EditorRequest, one: Import) -> HttpResponse:
    now, by = timezone.now(), request.user.username
    unticked = {*request.POST.getlist("line")} - {*request.POST.getlist("keep")}
    left_out = [change["line"] for change in one.changes if str(change["line"]) in unticked]
    version = _version(request)
    imports.run(one, version=version, job_id=new_ulid(now), by=by, now=now, left_out=left_out)
    return redirect("cms_import", one.id)


def _undo(request: EditorRequest, one: Import) -> HttpResponse:
    job = jobs.get(one.job)
    now, version, token = timezone.now(), _version(request), new_id_in(request, "token")
    imports.undo(one, job, version=version, undo_id=token, by=request.user.username, now=now)
    return redirect("cms_bulk_job", token)


def _remembered(one: Import) -> dict[str, Any]:
    """Return how the file is read, or how one with such a first line was the last time."""
    return one.layout or imports.layout_of(layout.fingerprint(one.source_file.titles))


def _letters(one: Import) -> dict[str, str]:
    """Return how the first letters of a file look in each encoding that may still be chosen."""
    if one.stage != UPLOADED:
        return {}
    try:
        with open_file(one, running.ROWS) as stored:
            return in_each(stored.read(START_BYTES))
    except NotFound:
        return {}


def _columns_page(
    request: EditorRequest,
    one: Import,
    form: LayoutForm | None,
    read_form: ReadForm | None = None,
    *,
    trouble: str = "",
) -> HttpResponse:
    """Ask which column is which field."""
    file = one.source_file
    remembered = one.layout if form else _remembered(one)
    initial = {"encoding": file.encoding, "separator": csv_files.SEPARATORS[file.separator]}
    read_form = read_form or ReadForm(initial=initial)
    read_form.show_letters(_letters(one))
    context = {
        "one": one,
        "form": form or LayoutForm(one, remembered=remembered),
        "read_form": read_form,
        "may_read_again": one.stage == UPLOADED,
        "remembered": bool(remembered) and not one.layout,
        "trouble": trouble,
        "known": format_of(tuple(file.titles)),
        "encoding": ENCODINGS[file.encoding],
        "separator": SEPARATORS[file.separator],
        "zone": timezone.get_current_timezone_name(),
        "trail": _trail(one),
    }
    errors = (form and form.errors) or read_form.errors
    status = 503 if trouble else 422 if errors else 200
    return render(request, "cms/imports/import_columns.html", context, status=status)


def _context(request: EditorRequest, one: Import, job: Job | None) -> dict[str, Any]:
    state, look = state_of(one.stage, job)
    ended = job is not None and job.state in ("cancelled", "failed")
    totals, now = one.totals, timezone.now()
    without = {*request.GET.get("without", "").split(",")} if one.stage == CHECKED else set()
    left_out = [n for change in one.changes if str(n := change["line"]) in without]
    tabs = _tabs(one, left_out) if totals else []
    counts = {name: number for name, _label, _address, number in tabs}
    first = next((name for name, number in counts.items() if number), "new")
    to_do = totals.get("imported", 0) + totals.get("changed", 0)
    return {
        "one": one,
        "job": job,
        "row": job_row(job, now) if job else None,
        "state": state,
        "look": look,
        "busy": _is_busy(one, job),
        "ended": ended and one.stage in (CHECKING, IMPORTING),
        "is_over": one.stage in (CHECKED, IMPORTED),
        "step": 3 if one.stage in (CHECKING, CHECKED) else 4,
        "percent": percent_of(job),
        "silent": jobs.SILENT if job and job.is_silent(now) else "",
        "drafts": one.layout.get("drafts", True),
        "tabs": tabs,
        "listed": tab if (tab := request.GET.get("tab", "")) in counts else first,
        "to_do": to_do,
        "more": to_do - len(one.changes),
        "left_out": left_out,
        "changes": [
            _change_row(change, left_out or one.layout.get("left_out", ())) for change in one.changes
        ],
        "changed": ", ".join(
            f"{LABELS[name]} {grouped(totals[name])}" for name in OF_PRICES if name in totals
        ),
        "import_label": _import_label(one, number := to_do - len(left_out), grouped(number)),
        "import_labels": (_import_label(one, 1, "1"), _import_label(one, 2, "{n}")),
        "may_undo": imports.may_be_undone(one, job, now),
        "undo_token": new_ulid(now),
        "undo_days": -(now - one.undoable_until).days,
        "brands": [brand | _near(brand["slug"]) for brand in one.brands if one.stage == CHECKED],
        "more_brands": totals.get("brands", 0) - len(one.brands) if one.brands else 0,
        "category_choices": category_names.names(),
        "kept": one.kept_until > now,
        "here": reverse("cms_import", args=[one.id]),
        "trail": _trail(one),
    }


def _tabs(one: Import, left_out: list[int]) -> list[tuple[str, str, str, int]]:
    """Return the name, label, address and number of each group of rows; the address keeps what is left out."""
    totals, is_done = one.totals, one.stage == IMPORTED
    faults = totals["refused"] + (0 if is_done else len(one.categories))
    tabs = [("needs", _("Rejected") if is_done else _("Needs you"), faults)]
    if one.layout.get("update"):
        tabs.append(("changes", _("Changed") if is_done else _("Changes"), totals.get("changed", 0)))
    tabs.append(("new", _("Imported") if is_done else _("New"), totals["imported"]))
    tabs.append(("same", _("Left as it was") if is_done else _("As it is"), totals["there"]))
    without = ",".join(map(str, left_out))
    return [(name, label, query({"tab": name, "without": without}), number) for name, label, number in tabs]


def _import_label(one: Import, number: int, shown: str) -> str:
    """Return what the button says that imports a number of rows."""
    if one.totals.get("changed"):
        words = ngettext("Import %(number)s row", "Import %(number)s rows", number)
    elif one.layout.get("drafts", True):
        words = ngettext("Import %(number)s draft", "Import %(number)s drafts", number)
    else:
        words = ngettext("Import %(number)s deal", "Import %(number)s deals", number)
    return words % {"number": shown}


def _near(slug: str) -> dict[str, Any]:
    """Return the name of the brand that is one or two letters apart from a new one, if there is one."""
    apart = {brand.name: OSA.distance(slug, brand.slug) for brand in brands_near(slug)}
    near = min(apart, key=apart.__getitem__, default="")
    return {"near": near, "apart": apart[near]} if near and apart[near] <= min(2, len(slug) // 4) else {}


def _change_row(change: dict[str, Any], left_out: Collection[int]) -> dict[str, Any]:
    """Return what a row changes in a deal or draft, as its page shows it; `dearer` is by how many percent."""
    fields = {one["name"]: one for one in change["fields"]}
    shown = {
        name: {"label": LABELS[name]} | {side: _shown(name, one[side]) for side in ("before", "after")}
        for name, one in fields.items()
    }
    before, after = (Decimal(fields.get("price", {}).get(side) or 0) for side in ("before", "after"))
    return change | {
        "cells": [(name, LABELS[name], shown.pop(name, None)) for name in OF_PRICES],
        "others": list(shown.values()),
        "is_dearer": 0 < before < after,
        "dearer": int((after / before - 1) * 100) if before else 0,
        "is_left_out": change["line"] in left_out,
        "address": reverse("cms_find_deal") + query({"q": change["id"]}),
    }


def _shown(name: str, value: str) -> str:
    """Return what a field holds as its page shows it, '' for nothing."""
    match ENTRY_KINDS.get(name, name) if value else None:
        case "money":
            return money(Decimal(value))
        case "time":
            return moment(from_iso(value))
        case "category":
            return category_names.names().get(value, value)
    return value


def _trail(one: Import) -> list[tuple[str, str]]:
    return [(reverse("cms_imports"), _("Imports")), ("", one.source_file.name)]


def _is_busy(one: Import, job: Job | None) -> bool:
    return one.stage in (CHECKING, IMPORTING) and job is not None and job.state in ("open", "paused", "done")


def state_of(stage: str, job: Job | None) -> tuple[str, str]:
    """Return what an import's badge says, and its look."""
    is_stopped = stage in (CHECKING, IMPORTING) and job is not None and job.state in JOB_STATES
    label, look = JOB_STATES[job.state] if job is not None and is_stopped else STATES[stage]
    return str(label), look


def percent_of(job: Job | None) -> int | None:
    """Return how much of its rows a job has done; None where it does not say."""
    if job is None or not job.progress:
        return None
    progress = payload_from_item(imports.ImportProgress, job.progress)
    return min(99, progress.done * 100 // progress.total) if progress.total else None


@editors.part("1 get")
def import_file(request: EditorRequest, import_id: str, part: str) -> HttpResponseBase:
    """The report of an import, or its rejected rows, as a download."""
    one = imports.get(import_id)
    if part not in MAY_DOWNLOAD or one.kept_until <= timezone.now() or not one.totals:
        raise NotFound(GONE)
    file, name = open_file(one, part), f"{one.at:%Y-%m-%d}-{part}"
    response = FileResponse(file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response
