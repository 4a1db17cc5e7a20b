"""The page on which a featured list is worked on: where to add from, its deals, how it will look, and its plans."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from cms.featured.arrangement import Arrangement
from cms.featured.picker import ORDERS, STATES, Picker
from cms.shared.fields import LocalTimeField, typed_time
from cms.shared.forms import show_zone
from cms.shared.requests import EditorRequest
from dealsite.data.catalogue import entries, featured_plans
from dealsite.data.catalogue.cards import OVER, DealCard
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.featured import MAX_CARDS, PAGES, FeaturedPage, shown_of
from dealsite.data.catalogue.featured_plans import FeaturedPlan
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_id
from dealsite.data.table.parallel import together
from dealsite.search.finding import known_of


class PlanForm(forms.Form):
    """From when on a list is to be shown."""

    at = LocalTimeField(label=gettext_lazy("From"))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        show_zone(self)
        self.fields["at"].widget.attrs["form"] = "featured"


@dataclass(frozen=True)
class FeaturedRow:
    """A deal of the list being worked on; `was` is its saved place if it was moved.

    `card` is None where the table did not answer.
    """

    id: str
    title: str
    card: DealCard | None
    state: str
    place: int
    was: int | None = None

    @property
    def is_over(self) -> bool:
        return self.state in OVER


def check_page(page_id: str) -> None:
    """Raise NotFound where no page of this id features deals."""
    if page_id not in PAGES:
        raise NotFound(_("There is no such page."))


def plan_of(page_id: str, plan_id: str) -> FeaturedPlan:
    """Return a plan for a page; NotFound for another's. 1 get."""
    plan = featured_plans.get(plan_id)
    if plan.page != page_id:
        raise NotFound(_("There is no such plan for this page."))
    return plan


def show(
    request: EditorRequest,
    page: FeaturedPage,
    work: Arrangement,
    found: dict[str, Deal] | None,
    *,
    known: Iterable[DealCard] = (),
    version: int | None = None,
    conflict: bool = False,
    plan: FeaturedPlan | None = None,
    plan_form: PlanForm | None = None,
    trouble: str = "",
    status: int = 200,
) -> HttpResponse:
    """The list being worked on, where to add from, and, in a conflict, what others made of it.

    `found` and `known` are those deals of the list that exist, None where the table did not answer. In a conflict the
    form takes the version of now, so that saving it again stands on top.
    """
    now = timezone.now()
    cards = None
    if found is not None:
        cards = {card.id: card for card in known} | {deal.id: deal.card for deal in found.values()}
    gone = [work.title(deal_id) for deal_id in work.ids if cards is not None and deal_id not in cards]
    rows = _rows(work, cards, page.ids, now)
    if work.said == "added":
        row = next((row for row in rows if row.id == work.moved), None)
        work.said = _("This deal does not exist (any more).")
        if row:
            said = _("“%(title)s” is added at position %(place)d.")
            work.said = said % {"title": row.title, "place": row.place}
    asked = request.POST if request.method == "POST" else request.GET
    picker = (
        Picker.of(asked, now=now) if cards is not None else Picker(note=_("No deals can be shown just now."))
    )
    picked = {row.id for row in rows}
    context: dict[str, Any] = {
        "page": page,
        "rows": rows,
        "work": work,
        "version": page.version if version is None else version,
        "gone": gone,
        "most": MAX_CARDS,
        "too_many": max(len(rows) - MAX_CARDS, 0),
        "faults": _faults(rows, now),
        "changes": work.changes(page.ids),
        "conflict": conflict,
        "direction": request.POST.get("do", "").partition(":")[0],
        "theirs": [(card, card.state(now), card.id in picked) for card in page.cards] if conflict else [],
        "only_mine": [row for row in rows if row.id not in set(page.ids)] if conflict else [],
        "picker": picker,
        "states": STATES,
        "orders": ORDERS,
        "category_choices": category_names.names(),
        "choices": [(card, likes, card.state(now), card.id in picked) for card, likes in picker.found],
        "trouble": trouble,
        "plan": plan,
        "plan_form": plan_form or _plan_form(request, plan),
        "new_plan": new_id(request.POST.get("new_plan", ""), now),
    }
    template = "featured_page"
    if request.htmx:
        template = "_choices" if request.htmx.target == "choices" else "_arranged"
    elif cards is not None:
        plans, data = together(featured_plans.newest, partial(entries.look, {}, pages=True))
        own = [one for one in plans if one.page == page.id and one.is_open]
        context["plans"] = with_faults(own)
        context["times"] = _times(
            plan or next((one for one in own if one.at > now), None), is_chosen=bool(plan)
        )
        context |= {"tabs": tabs(page.id, data.pages, now), "trail": []}
    return render(request, f"cms/featured/{template}.html", context, status=status)


def tabs(shown: str, pages: Iterable[FeaturedPage], now: datetime) -> list[dict[str, Any]]:
    """Return the pages that feature deals: how many, and how many of them can no longer be had."""
    return [
        {
            "id": page.id,
            "title": page.title,
            "number": len(page.cards),
            "over": sum(card.state(now) in OVER for card in page.cards),
            "is_shown": page.id == shown,
        }
        for page in pages
    ]


def with_faults(plans: Iterable[FeaturedPlan]) -> list[tuple[FeaturedPlan, int]]:
    """Return plans, and of how many of its deals the index knows that they will be over at its time."""
    return [
        (plan, plan.is_open and sum(_is_over(one.card, plan.at) for one in known_of(plan.ids).values()))
        for plan in plans
    ]


def _is_over(card: DealCard | None, at: datetime) -> bool:
    return card is not None and card.state(at) in OVER


def _times(plan: FeaturedPlan | None, *, is_chosen: bool) -> list[tuple[str, str, bool]]:
    """Return the times that the page can be looked at: now and, where there is a plan, at its time."""
    if plan is None:
        return []
    day = date_format(timezone.localtime(plan.at), "j M")
    return [("", _("Now"), not is_chosen), (plan.id, day, is_chosen)]


def _plan_form(request: EditorRequest, plan: FeaturedPlan | None) -> PlanForm:
    """Return the form with the time that was typed, or else the plan's."""
    typed = request.POST.get("at", typed_time(plan.at) if plan else "")
    return PlanForm(initial={"at": typed[:40]})


def _rows(
    work: Arrangement, cards: dict[str, DealCard] | None, saved: list[str], now: datetime
) -> list[FeaturedRow]:
    """Return the deals of the list that exist; all of them where the table did not answer."""
    if cards is None:
        return [FeaturedRow(id_, work.title(id_), None, "", work.place(id_)) for id_ in work.ids]
    there = enumerate((cards[deal_id] for deal_id in work.ids if deal_id in cards), start=1)
    before = work.places_before(saved)
    return [
        FeaturedRow(card.id, card.title, card, card.state(now), place, before.get(card.id))
        for place, card in there
    ]


def _faults(rows: list[FeaturedRow], now: datetime) -> list[str]:
    """Return what is wrong with a list, in sentences: what shoppers do not see of it, cannot have, or not for long."""
    number = Counter(row.state for row in rows)
    seen = len(shown_of([row.card for row in rows if row.card], now)[:MAX_CARDS])
    said = []
    if number["expired"] + number["scheduled"] > 0:
        said.append(_("Shoppers see %(seen)d of these %(all)d deals.") % {"seen": seen, "all": len(rows)})
    for state, sentence in (
        ("expired", ngettext("%(n)d has expired.", "%(n)d have expired.", number["expired"])),
        ("sold_out", ngettext("%(n)d is sold out.", "%(n)d are sold out.", number["sold_out"])),
        ("scheduled", ngettext("%(n)d is not live yet.", "%(n)d are not live yet.", number["scheduled"])),
        ("ending", ngettext("%(n)d ends within 48 hours.", "%(n)d end within 48 hours.", number["ending"])),
    ):
        if number[state]:
            said.append(sentence % {"n": number[state]})
    return said
