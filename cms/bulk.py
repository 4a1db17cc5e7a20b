"""Changing many deals at once: preview, order, progress, report, and undo."""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from cms.bulk_form import (
    BulkChoice,
    ChangeForm,
    asked_in_words,
    chosen_in,
    in_words,
    total_of,
    value_in_words,
    verb_called,
)
from cms.jobs import row as job_row
from cms.lists.deal_list import STATES, query
from cms.shared import requests as toast
from cms.shared.requests import EditorRequest, next_address
from dealsite.accounts.decorators import editors, sent_again
from dealsite.data.catalogue import drafts, lists
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import Bulk, BulkChange, BulkResult
from dealsite.data.editing.verbs.fields import FieldVerb
from dealsite.data.editing.verbs.verb import Prefetched
from dealsite.data.entities.imports import REFUSED
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import new_ulid
from dealsite.search.lists import LACKS, find_deals, is_found
from dealsite.text import stored_words
from dealsite.text.writing import number_in, safe_cell
from dealsite.worker.bulk import AT_ONCE, Outcome, change_at_once, targets_of, undo_at_once

SHOWN = 25
SHOWN_FOR = timedelta(days=1)  # what was shown longer ago is no longer what would change
LEAD_ELSEWHERE = {"duplicate": "cms_draft", "reschedule": "cms_deal"}  # to what was made of one
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


@editors.page(
    "none or 3 queries + 3 batch gets",
    at=(
        "?all=1&action=expiry",
        "?all=1&action=expiry&to_expiry=2020-01-01T09:00",
        "?all=1&action=category&to_category=toys-hobbies",
        "?all=1&action=price&to_price=-%25&amount=10&ends_in_99=on",
        "?all=1&state=draft&action=publish",
        "?deal={live.id}&action=reschedule",
    ),
)
def preview(request: EditorRequest) -> HttpResponse:
    """Ask for the value of a change where it is missing, then show what would change."""
    now, chosen = timezone.now(), chosen_in(request.GET)
    verb = verb_called(request.GET.get("action", ""), chosen.kind)
    form = ChangeForm(request.GET, kind=chosen.kind, verb=verb, now=now)
    context = _context(request, form, chosen)
    if not chosen.ids and chosen.matching is None:
        messages.warning(request, _("No deals were chosen. Tick some of them, or all that match."))
        return HttpResponseRedirect(context["back"])
    if (chosen.is_one and form.fields) or not form.is_valid():
        return _value_page(request, context)
    outlook = _outlook(form.change(), chosen, now)
    context |= {"outlook": outlook, "title": in_words(outlook.change)}
    return render(request, "cms/bulk/bulk_preview.html", context)


def _value_page(request: EditorRequest, context: dict[str, Any], *, why_not: str = "") -> HttpResponse:
    """Ask for a value, of one entry from the one that it has; `why_not`: what stands against the one that was given."""
    form, chosen = context["form"], context["chosen"]
    if chosen.is_one:
        context["entry"] = entry = drafts.get_entries(chosen.kind, chosen.ids).get(chosen.ids[0])
        if entry is None:
            messages.error(request, _("It was deleted meanwhile."))
            return HttpResponseRedirect(context["back"])
        form.begin_with(entry)
    if why_not:
        form.add_error(form.first, why_not)
    return render(request, "cms/bulk/bulk_value.html", context, status=422 if form.errors else 200)


def _context(request: EditorRequest, form: ChangeForm, chosen: BulkChoice) -> dict[str, Any]:
    total = total_of(chosen.matching, form.now)[0] if chosen.matching else len(chosen.ids)
    back = next_address(request, reverse("cms_deals") + query(chosen.typed))
    return {"form": form, "chosen": chosen, "back": back, "number": total}


def _outlook(change: BulkChange, chosen: BulkChoice, now: datetime) -> BulkPreview:
    """Return what would change. 2 batch gets and 1 more or a get; for a list what its first page costs besides."""
    outlook = BulkPreview(change)
    ids = list(chosen.ids)
    if (matching := chosen.matching) is not None:
        read = find_deals if is_found(matching) else partial(lists.cms_list, size=SHOWN)
        page = read(matching, now=now)
        ids = [card.id for card in page.cards]
    found = drafts.get_entries(change.kind, ids)
    prefetched = change.verb.prefetch(change.value, found.values())
    for one in ids:
        if one not in found:
            outlook.missing += 1
            continue
        row = _previewed(change, found[one], prefetched, now)
        (outlook.refused if row.refusal else outlook.open).append(row)
    return outlook


def _previewed(change: BulkChange, entry: Entry, prefetched: Prefetched, now: datetime) -> Preview:
    refusal = change.verb.refusal(change.value, entry, prefetched, now)
    before, after = "", ""
    if isinstance(change.verb, FieldVerb):
        before = value_in_words(change.verb, change.verb.value_in(entry.content))
        if not refusal:
            after = value_in_words(change.verb, change.verb.value_after(change.value, entry, now))
    address = reverse(f"cms_{change.kind}", args=[entry.id])
    return Preview(entry.id, entry.content.title, address, before, after, refusal)


@editors.action
@sent_again
def do(request: EditorRequest, action: str) -> HttpResponse:
    """Do what a button says: up to 25 at once, more by a job; ask first for a value, and before many are changed."""
    now = timezone.now()
    chosen, asked = chosen_in(request.POST), request.POST.copy()
    asked["action"] = action
    form = ChangeForm(asked, kind=chosen.kind, verb=verb_called(action, chosen.kind), now=now)
    gives_value = chosen.is_one and "given" in asked
    if gives_value and not form.is_valid():
        return _value_page(request, _context(request, form, chosen))
    is_clear = form.is_valid() and (chosen.ids or chosen.matching)
    if not is_clear or (chosen.is_many and "previewed" not in request.POST):
        return redirect(_preview_of(asked))
    asked_at = _asked_at(request.POST.get("asked_at", ""), now)
    if asked_at is None:
        raise Invalid(
            _("What was shown is too old, or this form is damaged. Look at what will change again.")
        )
    change, by = form.change(), request.user.username
    if not chosen.is_many:
        job_id = bulk.job_id_of(change, chosen.ids, by=by, asked_at=asked_at)
        version = number_in(request.POST.get("version", ""), most=9)
        outcome = change_at_once(
            change, chosen.ids, job_id=job_id, by=by, asked_at=asked_at, now=now, version=version
        )
        if gives_value and outcome.refused:
            reason = why_not(change, outcome.refused[0])
            return _value_page(request, _context(request, form, chosen), why_not=reason)
        return _said(request, change, outcome, undone=False)
    of = chosen.ids or (str(chosen.matching),)
    job_id = bulk.job_id_of(change, of, by=by, asked_at=asked_at)
    more: dict[str, Any] = {}
    with suppress(bulk.DoneBefore):
        if (matching := chosen.matching) is not None:
            number, how = total_of(matching, now)
            more = {"matching": replace(matching, how=how), "total": number or 0}
        else:
            more = {"targets": targets_of(change, chosen.ids, drafts.get_entries(change.kind, chosen.ids))}
        bulk.start(change, job_id=job_id, by=by, asked_at=asked_at, now=now, **more)
    return redirect("cms_bulk_job", job_id)


def _preview_of(asked: QueryDict) -> str:
    """Return the page that asks for what a form lacks, or shows what it would change."""
    for name in ("csrfmiddlewaretoken", "asked_at", "version"):
        asked.pop(name, None)
    return f"{reverse('cms_bulk')}?{asked.urlencode()}"


def _asked_at(text: str, now: datetime) -> datetime | None:
    """Return when the page was shown that the order comes from; None if that cannot be, or is long ago."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    is_sound = moment.tzinfo and now - SHOWN_FOR < moment <= now + timedelta(seconds=1)
    return moment.astimezone(UTC) if is_sound else None


def _said(request: EditorRequest, change: BulkChange, outcome: Outcome, *, undone: bool) -> HttpResponse:
    """Say what was done, with its undo, or what stood against it, and lead to where that can be seen."""
    done, refused, back = outcome.changed, outcome.refused, next_address(request)
    if not outcome.is_over or (outcome.job_id and (refused or not done)):
        return redirect("cms_bulk_job", outcome.job_id)
    if refused:
        messages.error(request, why_not(change, refused[0]))
        return HttpResponseRedirect(back)
    first, *others = done
    title, words = first.title or _("Without a title"), in_words(change)
    if undone:
        text = _("Undone: %(change)s.") if others else _("“%(title)s” is as it was before.")
        text %= {"change": words, "title": title}
        messages.success(request, f"{text} {change.verb.also_said(first)}".rstrip())
        return HttpResponseRedirect(back)
    text = str(change.verb.did) % {"title": title, "value": asked_in_words(change)}
    if others:
        text = _("%(change)s: %(number)s changed.") % {"change": words, "number": len(done)}
    toast.offer_undo_for(request, text, outcome.job_id, back)
    if not others and change.action in LEAD_ELSEWHERE:
        return redirect(LEAD_ELSEWHERE[change.action], first.after)
    return HttpResponseRedirect(back)


def why_not(change: BulkChange, row: BulkResult) -> str:
    """Return why an entry was left alone, with both values where others changed the same."""
    reason = _(stored_words.shown(row.reason))
    if not row.after:
        return reason
    is_now, wanted = (value_in_words(change.verb, one) for one in (row.before, row.after))
    said = _("%(reason)s Its value is now: %(is_now)s. You asked for: %(wanted)s.")
    return said % {"reason": reason, "is_now": is_now, "wanted": wanted}


@editors.page("1 get + 1 query", at=("/cms/deals/bulk/{bulk[0]}/", "/cms/deals/bulk/{bulk[1]}/"))
@vary_on_headers("HX-Request")
def bulk_job(request: EditorRequest, job_id: str) -> HttpResponse:
    """How far a change has come, what was left alone and why; renews itself while it goes on."""
    now = timezone.now()
    one = bulk.get(job_id)
    title = in_words(one.change)
    refused = bulk.rows(job_id, REFUSED, after=request.GET.get("after", ""), limit=SHOWN + 1)
    context = {
        "bulk": one,
        "row": job_row(one.job, now),
        "title": _("Undo: %(change)s") % {"change": title} if one.order.undoes else title,
        "what": _filters(one),
        "refused": [_refused(one, row) for row in refused[:SHOWN]],
        "after": f"?after={refused[SHOWN - 1].id}" if len(refused) > SHOWN else "",
        "busy": one.job.state == "open",
        "may_undo": one.may_be_undone(now),
        "here": request.get_full_path(),
    }
    is_part = request.htmx and not request.htmx.boosted
    return render(request, "cms/bulk/_bulk_job.html" if is_part else "cms/bulk/bulk_job.html", context)


def _filters(one: Bulk) -> dict[str, str]:
    """Return the filters of the list that is changed, {} for a selection."""
    if (matching := one.order.matching) is None:
        return {}
    return {
        "state": str(STATES[matching.state]),
        "brand": matching.brand,
        "category": category_names.names().get(matching.category, "") if matching.category else "",
        "words": matching.words,
        "lacks": str(LACKS.get(matching.lacks, "")),
    }


def _refused(one: Bulk, row: BulkResult) -> Preview:
    if one.change.action == "import":  # whose rows change deals and drafts
        address = reverse("cms_find_deal") + query({"q": row.id})
    else:
        address = reverse(f"cms_{one.change.kind}", args=[row.id])
    return Preview(row.id, row.title, address, refusal=why_not(one.change, row))


@editors.part("1 get + 1 query")
def report(request: EditorRequest, job_id: str) -> HttpResponseBase:
    """All that were left alone, and why, as a file for spreadsheets; read while it is sent, but for its first part."""
    one = bulk.get(job_id)
    first = bulk.rows(one.job.id, REFUSED, after="", limit=ROWS_AT_ONCE)
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
            part = _csv([[row.id, row.title, why_not(one.change, row)] for row in rows])
        yield part
        if len(rows) < ROWS_AT_ONCE:
            return
        rows = bulk.rows(one.job.id, REFUSED, after=rows[-1].id, limit=ROWS_AT_ONCE)


def _csv(rows: list[list[str]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows([safe_cell(cell) for cell in row] for row in rows)
    return file.getvalue().encode()


@editors.action
def undo(request: EditorRequest, job_id: str) -> HttpResponse:
    """Take a change back as far as nobody else has changed the same since; of up to 25 at once."""
    one, now, by = bulk.get(job_id), timezone.now(), request.user.username
    undo_id = new_ulid(now)
    try:
        if one.changed <= AT_ONCE:
            outcome = undo_at_once(one, undo_id=undo_id, by=by, now=now)
            return _said(request, one.change, outcome, undone=True)
        bulk.undo(one, undo_id=undo_id, by=by, now=now)
    except Conflict as conflict:
        messages.warning(request, str(conflict))
        return redirect("cms_bulk_job", one.undone_by or job_id)
    return redirect("cms_bulk_job", undo_id)
