"""Featured deals: choose, order and save those of the front page, Editors' Choice and each category page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from cms.arrangement import Arrangement
from cms.deal_list import id_in
from cms.picker import Picker
from cms.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data import featured
from dealsite.data.cards import DealCard
from dealsite.data.deals import Deal
from dealsite.data.errors import Invalid, NotFound, Unavailable, VersionConflict
from dealsite.data.featured import MAX_CARDS, PAGES, FeaturedPage
from dealsite.data.ids import is_ulid

WARNINGS = {
    "expired": "It has expired: shoppers see it marked as over.",
    "sold_out": "It is sold out: shoppers see it marked so.",
    "scheduled": "It is not live yet: shoppers see it here from its time on.",
}


@dataclass(frozen=True)
class Row:
    """A deal of the working list; `card` is None where the table did not answer."""

    id: str
    title: str
    card: DealCard | None
    state: str
    place: int

    @property
    def warning(self) -> str:
        return WARNINGS.get(self.state, "")


@role("editor")
@require_safe
def featured_pages(request: EditorRequest) -> HttpResponse:
    """The pages that feature deals."""
    return render(request, "cms/featured.html", {"pages": PAGES, "most": MAX_CARDS})


@role("editor")
@require_http_methods(["GET", "HEAD", "POST"])
def featured_page(request: EditorRequest, page_id: str) -> HttpResponse:
    """The featured list of one page; POST changes the list in the form, or saves it."""
    if page_id not in PAGES:
        raise NotFound("There is no such page.")
    if request.method == "POST":
        return arrange(request, page_id)
    added = request.GET.get("add", "")
    page, found = featured.load(page_id, [added] if is_ulid(added) else [])
    work = Arrangement.of(page.cards)
    work.add(added)
    cards = {card.id: card for card in page.cards} | {deal_id: deal.card for deal_id, deal in found.items()}
    return show(request, page, work, cards, version=page.version)


def arrange(request: EditorRequest, page_id: str) -> HttpResponse:
    """Carry out a button; whatever fails, the list as the editor left it comes back."""
    work = Arrangement.posted(request.POST)
    action, _, deal_id = request.POST.get("do", "").partition(":")
    version = request.POST.get("version", "")
    seen = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0
    if action in ("up", "down"):
        work.move(deal_id, -1 if action == "up" else 1)
    elif action == "remove":
        work.remove(deal_id)
    elif action == "add":
        work.add(deal_id)
    elif action == "find" or (action == "order" and request.POST.get("pasted")):
        # Without script, Enter in its field presses the form's first button.
        pasted = id_in(request.POST.get("pasted", "")[:2000])
        work.add(pasted)
        work.said = work.said or "This is no id or link of a deal."
    try:
        page, found = featured.load(page_id, work.ids)
        if action == "save":
            return _save(request, page, work, found, seen)
        cards = {found_id: deal.card for found_id, deal in found.items()}
        conflict = request.POST.get("conflict") == "1"
        return show(request, page, work, cards, version=seen, conflict=conflict)
    except Unavailable as error:
        page = FeaturedPage(page_id, PAGES[page_id], seen, [])
        return show(request, page, work, None, version=seen, trouble=str(error), status=503)


def _save(
    request: EditorRequest, page: FeaturedPage, work: Arrangement, found: dict[str, Deal], seen: int
) -> HttpResponse:
    """Save the list on top of the version that the editor saw; otherwise show both lists."""
    cards = {deal_id: deal.card for deal_id, deal in found.items()}
    if len(found) < len(work.ids):
        return show(request, page, work, cards, version=seen, status=409)
    try:
        if page.ids != work.ids:  # else a second click finds what the first has saved
            deals = [found[deal_id] for deal_id in work.ids]
            featured.set_featured(page, deals, version=seen, by=request.user.username, now=timezone.now())
    except VersionConflict as conflict:
        return show(request, conflict.current or page, work, cards, conflict=True, status=409)
    except NotFound:
        page, found = featured.load(page.id, work.ids)
        cards = {deal_id: deal.card for deal_id, deal in found.items()}
        return show(request, page, work, cards, version=seen, status=409)
    except Invalid as error:
        return show(request, page, work, cards, version=seen, trouble=str(error), status=422)
    messages.success(request, f"{page.title}: the featured deals are saved.")
    return redirect("cms_featured_page", page.id)


def show(
    request: EditorRequest,
    page: FeaturedPage,
    work: Arrangement,
    cards: dict[str, DealCard] | None,
    *,
    version: int | None = None,
    conflict: bool = False,
    trouble: str = "",
    status: int = 200,
) -> HttpResponse:
    """The working list, where to add from, and, in a conflict, what others made of it.

    `cards` holds those deals of the list that exist. In a conflict the form takes the version of now,
    so that saving it again stands on top.
    """
    now = timezone.now()
    gone = [work.title(deal_id) for deal_id in work.ids if cards is not None and deal_id not in cards]
    rows = _rows(work, cards, now)
    if work.said == "added":
        row = next((row for row in rows if row.id == work.moved), None)
        work.said = (
            f"“{row.title}” is added at position {row.place}."
            if row
            else "This deal does not exist (any more)."
        )
    picker = Picker.of(request, now=now, answers=cards is not None)
    picked = {row.id for row in rows}
    context: dict[str, Any] = {
        "page": page,
        "pages": PAGES,
        "rows": rows,
        "work": work,
        "version": page.version if version is None else version,
        "gone": gone,
        "most": MAX_CARDS,
        "too_many": max(len(rows) - MAX_CARDS, 0),
        "changed": [row.id for row in rows] != page.ids,
        "conflict": conflict,
        "direction": request.POST.get("do", "").partition(":")[0],
        "theirs": [(card, card.state(now), card.id in picked) for card in page.cards] if conflict else [],
        "only_mine": [row for row in rows if row.id not in set(page.ids)] if conflict else [],
        "picker": picker,
        "choices": [(card, card.state(now), card.id in picked) for card in picker.cards],
        "trouble": trouble,
    }
    template = "cms/featured_page.html"
    if request.htmx:
        template = (
            f"cms/_featured_{'picker' if request.htmx.target in ('picker', 'choices') else 'page'}.html"
        )
    return render(request, template, context, status=status)


def _rows(work: Arrangement, cards: dict[str, DealCard] | None, now: datetime) -> list[Row]:
    """Return the deals of the list that exist; all of them where the table did not answer."""
    if cards is None:
        return [Row(deal_id, work.title(deal_id), None, "", work.place(deal_id)) for deal_id in work.ids]
    there = enumerate((cards[deal_id] for deal_id in work.ids if deal_id in cards), start=1)
    return [Row(card.id, card.title, card, card.state(now), place) for place, card in there]
