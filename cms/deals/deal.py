"""The page of one deal, scheduled or live: its form, its pending edits, who else has it open, and who has bought it."""

import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.deals.while_typing import holds_a_frame, read_link, show_while_typing
from cms.lists.attention import topics_of
from cms.lists.deal_list import query
from cms.lists.list_address import Tab, after_saving, in_list, position_of
from cms.shared import requests
from cms.shared.edit_form import Show, with_text
from cms.shared.fields import day_of, typed_time, version_in
from cms.shared.forms import NOUNS, DealForm, keep_times, typed, typed_deal
from cms.shared.requests import EditorRequest
from cms.taxonomy import create_brand, named_content
from dealsite.accounts.decorators import back_office, editors
from dealsite.data.catalogue import activity, deals
from dealsite.data.catalogue.activity import Day
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.commerce import orders
from dealsite.data.commerce.carts import Line
from dealsite.data.editing import bulk, pending_edits
from dealsite.data.editing.pending_edits import Heartbeat, PendingEdits
from dealsite.data.entities.commerce import ACTIVE, PURCHASED, RETURNED, SAVED
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid, new_ulid
from dealsite.data.table.parallel import together
from dealsite.web.pages import open_while
from dealsite.web.uploads import PICTURE_FORM, takes_files
from dealsite.worker.exports import every, exported

ACTIVITY_SHOWN = timedelta(days=29)  # before today
DEAL_DELETED = gettext_lazy(
    "This deal was deleted, or moved to another time, since. Save it to keep it as a new draft."
)


@takes_files(PICTURE_FORM)
@editors.form("1 batch get + 1 get + 1 query")
@holds_a_frame
def deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """One deal: its form; changed by POST."""
    if request.method == "POST":
        form = DealForm.posted(request.POST, request.FILES)
        show = partial(entry_page, request, form, "deal", deal_id)

        def attempt() -> HttpResponse:
            try:
                return _change(request, form, deal_id, show)
            except NotFound:
                if form.version:
                    return as_new_draft(request, form)
                raise

        return form.save(attempt, show)
    stored, today = deals.get(deal_id, likes=True), timezone.now().astimezone(UTC).date()
    kept, by_day = together(
        partial(pending_edits.find, stored), partial(activity.of_deal, deal_id, since=today - ACTIVITY_SHOWN)
    )
    if kept and not kept.is_discarded and "changes" in request.GET:
        form = opened_form(kept, stored)
    else:
        form = DealForm.opened(typed(stored), stored.version)
        form.kept, form.changes = kept, kept.version if kept and kept.is_discarded else 0
    form.entry = stored
    return entry_page(
        request, form, "deal", deal_id, happened=(by_day.get(today, Day()), _sum(by_day.values()))
    )


def as_new_draft(request: EditorRequest, form: DealForm) -> HttpResponse:
    """Show the form of a deal that is not there any more as that of a new draft."""
    form.is_valid()  # stores its picture
    form.entry = form.kept = None
    form.version = 0
    draft_id = new_ulid(timezone.now())
    return entry_page(request, form, "draft", draft_id, trouble=str(DEAL_DELETED), status=409)


def action_of(request: EditorRequest) -> str:
    """Return what the button says is to be done, without where it leads then."""
    return request.POST.get("action", "save").partition("-")[0]


def _sum(days: Iterable[Day]) -> Day:
    return Day(*map(sum, zip(Day(), *days, strict=True)))


def _change(request: EditorRequest, form: DealForm, deal_id: str, show: Show) -> HttpResponse:
    form.entry = stored = deals.get(deal_id)
    form.kept, form.opens_changes = pending_edits.find(stored), "changes" in request.GET
    now, by = timezone.now(), request.user.username
    action = action_of(request)
    kept = active(form)
    keep_times(form, stored.content)
    form.take_chosen(typed_changes(kept) if kept and form.against else typed(stored))
    is_valid = form.is_valid()
    if action == "compare":  # to what another has saved meanwhile; nothing is saved
        return show(status=form.compare(typed(stored), stored.version))
    if action == "read":
        return show(status=read_link(request, form))
    if not is_valid:
        return show(status=422)
    overtaken = kept and (form.opens_changes or action == "keep") and not stands_on(form, kept)
    if kept and overtaken and not settle(form, kept, stored, takes_unseen=action == "keep"):
        return show(status=409)
    if action == "keep":
        return _keep(request, form, stored, show)
    sold = "" if stored.version != form.version else _("Pieces were sold or came back meanwhile.")
    if not form.settle(typed(stored), stored.version):
        return show(status=409, trouble=sold)
    content, brand = named_content(form)
    form.refuse(problems(content, live_at=stored.live_at))
    if form.errors:
        return show(status=422)
    address, writes = reverse("cms_deal", args=[stored.id]), []
    if kept and stands_on(form, kept):
        writes = [pending_edits.publish_write(kept)]
    if stored.content == content:
        if kept and writes:
            pending_edits.discard(kept, by=by, now=now)
        messages.info(request, _("Nothing was to be changed."))
        return after_saving(request, address)
    brand = brand or create_brand(form, by=by, now=now)
    _saved, job_id = bulk.edit_alone(stored, content, brand=brand, by=by, now=now, writes=writes)
    requests.offer_undo_for(
        request, _("The deal is saved.") + form.also_said(stored.updated_by), job_id, address
    )
    return after_saving(request, address)


def _keep(request: EditorRequest, form: DealForm, stored: Deal, show: Show) -> HttpResponse:
    """Keep what is in the form, however incomplete, without shoppers seeing it."""
    content, brand = named_content(form)
    form.refuse(text_problems(content))
    if form.errors:
        return show(status=422)
    by, before = request.user.username, form.kept
    if content.brand and brand is None:
        brand = create_brand(form, by=by, now=timezone.now())
    keep_form(form, stored, content, brand, by=by)
    text = _("The changes are kept. Shoppers do not see them before they are published.")
    messages.success(request, text + form.also_said(before.updated_by if before else ""))
    return after_saving(request, address_of(stored.id))


def entry_page(
    request: EditorRequest,
    form: DealForm,
    kind: str,
    entry_id: str,
    *,
    trouble: str = "",
    status: int = 200,
    happened: tuple[Day, Day] | None = None,
) -> HttpResponse:
    """The form of a deal or draft, and what that is at. `happened`: to it to it, today and in the last month."""
    entry, kept, address = form.entry, active(form), reverse(f"cms_{kind}", args=[entry_id])
    opened, place = bool(kept and form.opens_changes), position_of(entry.card) if entry else ""
    is_deal = kind == "deal"
    page: dict[str, Any] = {
        "form": form,
        "kind": kind,
        "noun": NOUNS[kind],
        "entry": entry,
        "entry_id": entry_id,
        "kept": kept,
        "opened": opened,
        "happened": happened,
        "draft_action": "keep" if is_deal else "save",
        "publish_action": "save" if is_deal else "publish",
        "publish_label": _("Publish changes") if is_deal else _("Publish now"),
        "live_address": address,
        "address": in_list(request, f"{address}?changes=1" if opened else address, place),
        "in_list": in_list(request, "", place),
        "list_address": reverse("cms_deals") + ("?state=draft" if kind == "draft" else ""),
        "preview_address": reverse("cms_preview_deal") + (f"?deal={entry_id}" if is_deal else ""),
        "zone": timezone.get_current_timezone_name(),
        "trouble": trouble,
    }
    if entry and not trouble:
        theirs = kept if kept and form.against else entry
        page |= {"by": theirs.updated_by, "at": theirs.updated_at}
    if kept and not opened and not stands_on(form, kept):
        page["autosave_note"] = _("It is not saved automatically: there are unpublished changes.")
    elif status in (200, 422):  # where somebody else was faster, the editor decides how it goes on
        page["autosave_address"] = reverse("cms_autosave", args=[kind, entry_id])
    if not is_deal:
        show_while_typing(form, entry_id)
    page["state"] = "draft"
    if isinstance(entry, Deal):
        page["state"] = state = entry.card.state(timezone.now())
        page["problems"] = topics_of(entry, state)
        featured = [(name, title, name in entry.featured_on) for name, title in page_names().items()]
        page["featured_on"] = [(name, title) for name, title, is_on in featured if is_on]
        page["not_featured_on"] = [(name, title) for name, title, is_on in featured if not is_on]
    return render(request, "cms/deals/entry.html", page, status=status)


LISTS = {
    "in-carts": (ACTIVE, gettext_lazy("In carts")),
    "saved": (SAVED, gettext_lazy("Saved for later")),
    "bought": (PURCHASED, gettext_lazy("Bought")),
    "returned": (RETURNED, gettext_lazy("Returned")),
}


def _asked(query: QueryDict) -> tuple[str, date | None, str]:
    """Return which list is asked for, of which day, and what is wrong with the day."""
    listed, typed = query.get("list", "in-carts"), query.get("day", "")[:40]
    if listed not in LISTS:
        raise NotFound(_("There is no such list."))
    try:
        return listed, day_of(typed) if typed else None, ""
    except ValueError:
        return listed, None, _("Enter a day, such as 2026-11-27.")


def _all_lines(query: QueryDict, now: datetime, deal_id: str) -> Iterator[Line]:
    listed, day, _error = _asked(query)
    status = LISTS[listed][0]
    return every(partial(orders.carts_with, deal_id, status, day=day, size=orders.TOTALLED))


@back_office.page("1 batch get + 1 query", at=("", "?list=bought&day=x"))
@exported(
    gettext_lazy("Carts and buyers"),
    "@since=at, user_name=username, pieces=quantity, price, amount=total, order, deal, title",
    _all_lines,
)
def buyers(request: EditorRequest, deal_id: str) -> HttpResponse:
    """One page of the cart lines of a deal, with what they come to."""
    listed, day, day_error = _asked(request.GET)
    found = deals.get_many([deal_id])
    page = orders.carts_with(deal_id, LISTS[listed][0], day=day, after=request.GET.get("after") or None)
    chosen = {"list": listed, "day": day.isoformat() if day else ""}
    context = {
        "deal": found.get(deal_id),
        "deal_id": deal_id,
        "state": found[deal_id].card.state(timezone.now()) if deal_id in found else "",
        "listed": listed,
        "status": LISTS[listed][0],
        "label": LISTS[listed][1],
        "lists": [Tab(name, words, query(chosen | {"list": name})) for name, (_, words) in LISTS.items()],
        "day": chosen["day"],
        "day_error": day_error,
        "page": page,
        "after": page.after and query(chosen | {"after": page.after}),
        "first_page": query(chosen) if request.GET.get("after") else "",
    }
    return render(request, "cms/deals/buyers.html", context, status=422 if day_error else 200)


def typed_changes(kept: PendingEdits) -> dict[str, str]:
    """Return unpublished changes as a deal's form's inputs hold them."""
    return typed_deal(kept.content, kept.brand_name)


def opened_form(kept: PendingEdits, deal: Deal) -> DealForm:
    """Return the form of unpublished changes: what it stands on is the deal that they began from."""
    form = DealForm.opened(typed_changes(kept), kept.base)
    _stand_on_base(form, kept, deal)
    form.kept, form.changes, form.opens_changes = kept, kept.version, True
    return form


def active(form: DealForm) -> PendingEdits | None:
    """Return the unpublished changes that there are while a form is open, None if they were discarded."""
    return form.kept if form.kept and not form.kept.is_discarded else None


def stands_on(form: DealForm, kept: PendingEdits) -> bool:
    """Tell whether a form shows changes as they are now, or its own page kept them last."""
    return kept.version == form.changes or kept.last_edit in form.autosaves


def keep_form(
    form: DealForm, deal: Deal, content: DealContent, brand: Brand | None, *, by: str, autosave: str = ""
) -> PendingEdits:
    """Keep what is in a form as the unpublished changes of its deal; VersionConflict if others were kept since."""
    return pending_edits.keep(
        deal,
        content,
        brand_name=brand.name if brand else "",
        base=form.version,
        seen=form.seen,
        before=form.kept,
        by=by,
        now=timezone.now(),
        autosave=autosave,
    )


def _stand_on_base(form: DealForm, kept: PendingEdits, deal: Deal) -> None:
    """Let a form stand on what unpublished changes began from, its end in the time zone of whoever opens them."""
    form.seen = kept.seen or form.seen
    if kept.base == deal.version:
        form.seen = with_text(form.seen, "expires_at", typed_time(deal.content.expires_at))


def settle(form: DealForm, kept: PendingEdits, deal: Deal, *, takes_unseen: bool) -> bool:
    """Merge a form with the unpublished changes that somebody else kept since, as `EditForm.settle` does."""
    is_settled = form.settle(typed_changes(kept), kept.base, takes_unseen=takes_unseen, is_newer=True)
    _stand_on_base(form, kept, deal)
    form.changes, form.opens_changes, form.against = kept.version, True, "changes"
    return is_settled


def address_of(deal_id: str) -> str:
    """Return where the unpublished changes of a deal are edited."""
    return reverse("cms_deal", args=[deal_id]) + "?changes=1"


@editors.action
@open_while("read-only")
def heartbeat(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Note that the form is open; answers with who else has it open, or 204 if nothing is new since the last time."""
    _check(entry_id)
    user = request.user
    heartbeat = pending_edits.heartbeat(
        kind, entry_id, username=user.username, name=user.name, now=timezone.now()
    )
    opened_at = version_in(request.POST.get("version", ""))
    news = _news(heartbeat, opened_at, user.username)
    shown = str(zlib.crc32(repr((heartbeat.others, news, heartbeat.version if news else 0)).encode()))
    if request.POST.get("presence_shown") == shown:
        return HttpResponse(status=204)
    names = {one.username: one.name for one in heartbeat.others}
    saved_by = names.get(heartbeat.updated_by, heartbeat.updated_by)
    page = {"heartbeat": heartbeat, "kind": kind, "news": news, "saved_by": saved_by, "shown": shown}
    return render(request, "cms/deals/_presence_now.html", page)


@editors.action
@open_while("read-only")
def leave(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Note that the form was closed."""
    _check(entry_id)
    pending_edits.leave_form(kind, entry_id, username=request.user.username)
    return HttpResponse(status=204)


def _news(heartbeat: Heartbeat, opened_at: int, username: str) -> str:
    """Return what became of the thing since the form was opened: saved, published, deleted; '' for nothing.

    What one saves oneself is no news: a draft that is saved by itself is a moment ahead of its form.
    """
    if opened_at and not heartbeat.version:
        return "deleted"
    if heartbeat.version <= opened_at:
        return ""
    if heartbeat.published:
        return "published"
    return "" if heartbeat.updated_by == username else "saved"


def _check(entry_id: str) -> None:
    if not is_ulid(entry_id):
        raise NotFound(_("There is no such form."))
