"""Changing many deals at once: preview, order, progress, report, and undo."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from cms.bulk.bulk_form import BulkChoice, ChangeForm, chosen_in, in_words, total_of, value_in_words
from cms.jobs.jobs import row as job_row
from cms.lists.deal_list import STATES, query
from cms.lists.list_address import list_query
from cms.lists.search import LACKS, find_deals, is_found
from cms.shared.requests import EditorRequest, editor_action, editor_page, new_id_in
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import deal_lists
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BRAND, FIELDS, Bulk, BulkChange, BulkResult, BulkTarget
from dealsite.data.editing.bulk_change import applying, bulk_progress
from dealsite.data.editing.bulk_change.applying import Prefetched, Thing
from dealsite.data.entities.batches import REFUSED
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import from_iso, is_new, iso, new_ulid
from dealsite.text.spreadsheets import safe_cell
from dealsite.web.pages import part

SHOWN = 25
PREVIEW_HOLDS = timedelta(days=1)  # what was shown longer ago is no longer what would change
ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Preview:
    """What would become of a deal or draft: its value before and after, or why it stays as it is."""

    id: str
    title: str
    address: str
    before: str = ""
    after: str = ""
    refusal: str = ""


@dataclass
class BulkPreview:
    """What would change: all of a selection, of a list the first ones."""

    change: BulkChange
    open: list[Preview] = field(default_factory=list)
    refused: list[Preview] = field(default_factory=list)
    missing: int = 0
    total: int | None = None
    how: str = "exact"


@editor_page(
    "none or 3 queries + 3 batch gets",
    at=(
        "?all=1&action=expiry",
        "?all=1&action=expiry&to_expiry=2020-01-01T09:00",
        "?all=1&action=category&to_category=toys-hobbies",
        "?all=1&state=draft&action=publish",
        "?deal={live.id}&action=",
    ),
)
def preview(request: EditorRequest) -> HttpResponse:
    """Ask for the value of a change where it is missing, then show what would change."""
    now = timezone.now()
    chosen, back = chosen_in(request.GET), list_query(request.GET.get("back", ""))
    if not chosen.ids and chosen.matching is None:
        messages.warning(request, _("No deals were chosen. Tick some of them, or all that match."))
        return HttpResponseRedirect(_list_address(chosen, back))
    form = ChangeForm(request.GET, kind=chosen.kind, now=now)
    context: dict[str, Any] = {"form": form, "chosen": chosen, "back": _list_address(chosen, back)}
    total, how = total_of(chosen.matching, now) if chosen.matching else (len(chosen.ids), "exact")
    context |= {"list_query": back, "number": total}
    if not form.has_value or not form.is_valid():
        context |= {"field": form.value_field, "wrong": form.has_value}
        return render(request, "cms/bulk/bulk_value.html", context, status=422 if form.has_value else 200)
    outlook = _outlook(form.change(), chosen, now, total=total, how=how)
    context |= {"outlook": outlook, "title": in_words(outlook.change)}
    context |= {"token": new_ulid(now), "asked_at": iso(now)}
    return render(request, "cms/bulk/bulk_preview.html", context)


def _list_address(chosen: BulkChoice, back: str) -> str:
    if back:
        return reverse("cms_deals") + back
    return reverse("cms_deals") + query(chosen.typed)


def _outlook(
    change: BulkChange, chosen: BulkChoice, now: datetime, *, total: int | None, how: str
) -> BulkPreview:
    """Return what would change. 2 batch gets and 1 more or a get; for a list what its first page costs besides."""
    outlook = BulkPreview(change, total=total, how=how)
    ids = list(chosen.ids)
    if (matching := chosen.matching) is not None:
        found = is_found(matching)
        page = find_deals(matching, now=now) if found else deal_lists.cms_list(matching, now=now, size=SHOWN)
        ids = [card.id for card in page.cards]
    things = applying.read(change.kind, ids)
    prefetched = applying.prefetched_for(change, things.values())
    for one in ids:
        if one not in things:
            outlook.missing += 1
            continue
        row = _previewed(change, things[one], prefetched, now)
        (outlook.refused if row.refusal else outlook.open).append(row)
    return outlook


def _previewed(change: BulkChange, thing: Thing, prefetched: Prefetched, now: datetime) -> Preview:
    refusal = applying.refusal(change, thing, prefetched, now=now)
    before, after = "", ""
    if change.action in FIELDS:
        before = value_in_words(change, applying.value_in(change, thing))
        after = value_in_words(change, change.value or iso(now))
    if change.action == BRAND:
        before = thing.card.brand_name or before
        after = prefetched.brands[change.value].name if change.value in prefetched.brands else after
    address = reverse(f"cms_{change.kind}", args=[thing.id])
    return Preview(thing.id, thing.content.title, address, before, after, refusal)


@editor_action
def start(request: EditorRequest) -> HttpResponse:
    """Order what was shown, and lead to the page that says how far it has come."""
    now = timezone.now()
    chosen = chosen_in(request.POST)
    form = ChangeForm(request.POST, kind=chosen.kind, now=now)
    token, asked_at = request.POST.get("token", ""), _previewed_at(request.POST.get("asked_at", ""), now)
    if not is_new(token, now) or asked_at is None:
        sentence = _("What was shown is too old, or this form is damaged. Look at what will change again.")
        raise Invalid(sentence)
    if not form.is_valid():
        raise Invalid(" ".join(str(error) for errors in form.errors.values() for error in errors))
    change, by = form.change(), request.user.username
    if (matching := chosen.matching) is not None:
        number, how = total_of(matching, now)
        matching = replace(matching, how=how)
        bulk.start(
            change, job_id=token, by=by, asked_at=asked_at, now=now, matching=matching, total=number or 0
        )
    else:
        found = applying.read(change.kind, chosen.ids)
        things = [found[one] for one in chosen.ids if one in found]
        targets = [BulkTarget(one.id, one.content.title, applying.value_in(change, one)) for one in things]
        bulk.start(change, job_id=token, by=by, asked_at=asked_at, now=now, targets=targets)
    return redirect("cms_bulk_job", token)


def _previewed_at(text: str, now: datetime) -> datetime | None:
    """Return when the page was shown that the order comes from; None if that cannot be, or is long ago."""
    try:
        moment = from_iso(text)
    except ValueError:
        return None
    is_sound = moment.tzinfo and now - PREVIEW_HOLDS < moment <= now + timedelta(seconds=1)
    return moment if is_sound else None


@editor_page("1 get + 1 query", at=("/cms/deals/bulk/{bulk[0]}/", "/cms/deals/bulk/{bulk[1]}/"))
@vary_on_headers("HX-Request")
def bulk_job(request: EditorRequest, job_id: str) -> HttpResponse:
    """How far a change has come, what was left alone and why; renews itself while it goes on."""
    now = timezone.now()
    one = bulk.get(job_id)
    title = in_words(one.change)
    refused = bulk_progress.rows(job_id, REFUSED, after=request.GET.get("after", ""), limit=SHOWN + 1)
    context = {
        "bulk": one,
        "row": job_row(one.job, now),
        "title": _("Undo: %(change)s") % {"change": title} if one.order.undoes else title,
        "what": _filters(one),
        "refused": [_refused(one, row) for row in refused[:SHOWN]],
        "after": f"?after={refused[SHOWN - 1].id}" if len(refused) > SHOWN else "",
        "busy": one.job.state == "open",
        "may_undo": one.may_be_undone(now),
        "undo_token": new_ulid(now),
        "here": request.get_full_path(),
    }
    is_part = request.htmx and not request.htmx.boosted
    return render(request, "cms/bulk/_bulk_job.html" if is_part else "cms/bulk/bulk_job.html", context)


def _filters(one: Bulk) -> dict[str, str]:
    """Return the filters of the list that is changed, {} for a selection."""
    if (matching := one.order.matching) is None:
        return {}
    change = BulkChange(one.change.kind, bulk.CATEGORY)
    return {
        "state": str(STATES[matching.state]),
        "brand": matching.brand,
        "category": value_in_words(change, matching.category) if matching.category else "",
        "words": matching.words,
        "lacks": str(LACKS.get(matching.lacks, "")),
    }


def _refused(one: Bulk, row: BulkResult) -> Preview:
    if one.change.action == bulk.IMPORT:  # whose rows change deals and drafts
        address = reverse("cms_find_deal") + query({"q": row.id})
    else:
        address = reverse(f"cms_{one.change.kind}", args=[row.id])
    return Preview(row.id, row.title, address, refusal=_reason(row))


def _reason(row: BulkResult) -> str:
    """Return why a deal was left alone, in the reader's language where the worker noted a whole sentence."""
    return _(row.reason) if row.reason else ""


@part("1 get + 1 query")
@role("editor")
@require_safe
def report(request: EditorRequest, job_id: str) -> HttpResponseBase:
    """All that were left alone, and why, as a file for spreadsheets; read while it is sent, but for its first part."""
    one = bulk.get(job_id)
    first = bulk_progress.rows(one.job.id, REFUSED, after="", limit=ROWS_AT_ONCE)
    parts = _report_lines(one, first, translation.get_language())
    response = StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="not-changed-{job_id}.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _report_lines(one: Bulk, rows: list[BulkResult], language: str | None) -> Iterator[bytes]:
    """Yield the file in parts, in the language of who asked, which is not active any more then.

    1 query a part, but for the first one, whose rows are there.
    """
    with translation.override(language):
        titles = _csv([[_("Id"), _("Title"), _("Why it was not changed")]])
    yield "\ufeff".encode() + titles
    while rows:
        with translation.override(language):
            part = _csv([[row.id, row.title, _reason(row)] for row in rows])
        yield part
        if len(rows) < ROWS_AT_ONCE:
            return
        rows = bulk_progress.rows(one.job.id, REFUSED, after=rows[-1].id, limit=ROWS_AT_ONCE)


def _csv(rows: list[list[str]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows([safe_cell(cell) for cell in row] for row in rows)
    return file.getvalue().encode()


@editor_action
def undo(request: EditorRequest, job_id: str) -> HttpResponse:
    """Take a change back as far as nobody else has changed the same since, and lead to the page of that."""
    token = new_id_in(request, "token")
    try:
        bulk.undo(job_id, undo_id=token, by=request.user.username, now=timezone.now())
    except Conflict as conflict:
        messages.warning(request, str(conflict))
        token = job_id
    return redirect("cms_bulk_job", token)
