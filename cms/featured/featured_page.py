"""The page on which a featured list is worked on: its deals, where to add from, and what is planned for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.featured.arrangement import Arrangement
from cms.featured.picker import Picker
from cms.shared.fields import LocalTimeField, typed_time
from cms.shared.forms import show_zone
from cms.shared.requests import EditorRequest
from dealsite.data.catalogue import featured_plans
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.catalogue.featured import MAX_CARDS, PAGES, FeaturedPage
from dealsite.data.catalogue.featured_plans import FeaturedPlan
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_id

WARNINGS = {
    "expired": gettext_lazy("It has expired: shoppers see it marked as over."),
    "sold_out": gettext_lazy("It is sold out: shoppers see it marked so."),
    "scheduled": gettext_lazy("It is not live yet: shoppers see it here from its time on."),
}


class PlanForm(forms.Form):
    """From when on a list is to be shown."""

    at = LocalTimeField(label=gettext_lazy("From"))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        show_zone(self)
        self.fields["at"].widget.attrs["data-enter"] = "plan-list"


@dataclass(frozen=True)
class FeaturedRow:
    """A deal of the list being worked on; `card` is None where the table did not answer."""

    id: str
    title: str
    card: DealCard | None
    state: str
    place: int

    @property
    def warning(self) -> str:
        return str(WARNINGS.get(self.state, ""))


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
    rows = _rows(work, cards, now)
    if work.said == "added":
        row = next((row for row in rows if row.id == work.moved), None)
        work.said = _("This deal does not exist (any more).")
        if row:
            said = _("“%(title)s” is added at position %(place)d.")
            work.said = said % {"title": row.title, "place": row.place}
    picker = Picker.of(request, now=now, answers=cards is not None)
    picked = {row.id for row in rows}
    context: dict[str, Any] = {
        "page": page,
        "pages": page_names(),
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
        "plan": plan,
        "plan_form": plan_form or _plan_form(request, plan),
        "new_plan": new_id(request.POST.get("new_plan", ""), now),
    }
    template = "featured_page"
    if request.htmx:
        template = "_featured_picker" if request.htmx.target in ("picker", "choices") else "_featured_page"
    elif cards is not None:
        context["plans"] = [one for one in featured_plans.newest() if one.page == page.id]
    return render(request, f"cms/featured/{template}.html", context, status=status)


def _plan_form(request: EditorRequest, plan: FeaturedPlan | None) -> PlanForm:
    """Return the form with the time that was typed, or else the plan's."""
    typed = request.POST.get("at", typed_time(plan.at) if plan else "")
    return PlanForm(initial={"at": typed[:40]})


def _rows(work: Arrangement, cards: dict[str, DealCard] | None, now: datetime) -> list[FeaturedRow]:
    """Return the deals of the list that exist; all of them where the table did not answer."""
    if cards is None:
        return [FeaturedRow(id_, work.title(id_), None, "", work.place(id_)) for id_ in work.ids]
    there = enumerate((cards[deal_id] for deal_id in work.ids if deal_id in cards), start=1)
    return [FeaturedRow(card.id, card.title, card, card.state(now), place) for place, card in there]
