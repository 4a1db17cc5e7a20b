"""The page on which a featured list is worked on: where to add from, its deals, how it will look, and its plans.

The list lives in the form alone until it is saved. Each button sends the whole of it: `deal` (the ids in order),
`title` (beside each, so that the list can be shown even when the table does not answer), `position` (the numbers as
typed), `replaced` (the deal in whose place the next one goes) and `do`, what to do.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from functools import partial
from typing import Any, Self

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from cms.lists import deal_list
from cms.lists.deal_list import id_in
from cms.shared.fields import LocalTimeField, typed_time
from cms.shared.forms import show_zone
from cms.shared.requests import EditorRequest
from dealsite.data.catalogue import deals, drafts, featured_plans
from dealsite.data.catalogue.cards import OVER, DealCard
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import brand_slug, category_names
from dealsite.data.catalogue.featured import MAX_CARDS, PAGES, FeaturedPage, shown_of
from dealsite.data.catalogue.featured_plans import FeaturedPlan
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid, new_id
from dealsite.data.table.parallel import together
from dealsite.search.finding import known_of
from dealsite.search.lists import NOT_READY, find_deals, page_number, words_in
from dealsite.text.stored_words import Text
from dealsite.text.writing import number_in

MOST_ROWS = 60  # more than a page may feature, so that an editor can add first and remove then


@dataclass
class Arrangement:
    """The ids in order with their titles; `said` tells what was done, `moved` is the deal it was done to.

    `replaced` is the deal in whose place the next one goes.
    """

    ids: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    said: str = ""
    moved: str = ""
    replaced: str = ""

    @classmethod
    def of(cls, cards: list[DealCard]) -> Self:
        return cls([card.id for card in cards], {card.id: card.title for card in cards})

    @classmethod
    def posted(cls, data: QueryDict) -> Self:
        """Return the list as it was sent, with typed position numbers carried out."""
        sent = data.getlist("deal")
        titles = dict(zip(sent, data.getlist("title"), strict=False))
        ids = dict.fromkeys(deal_id for deal_id in sent if is_ulid(deal_id))
        arrangement = cls(list(ids)[:MOST_ROWS], titles)
        arrangement.renumber(dict(zip(sent, data.getlist("position"), strict=False)))
        arrangement.replace(data.get("replaced", ""))
        return arrangement

    def place(self, deal_id: str) -> int:
        return self.ids.index(deal_id) + 1

    def title(self, deal_id: str) -> str:
        return self.titles.get(deal_id) or deal_id

    def renumber(self, positions: dict[str, str]) -> None:
        """Put each deal whose number was changed at that place; a number that is none changes nothing."""
        wanted = []
        for place, deal_id in enumerate(self.ids, start=1):
            typed = positions.get(deal_id, str(place)).strip()
            if typed == str(place):
                continue
            number = number_in(typed, most=5)
            if number is None:
                said = _("“%(typed)s” is no position; “%(title)s” stays where it was.")
                self.said = said % {"typed": typed[:20], "title": self.title(deal_id)}
                continue
            wanted.append((number, deal_id))
        for _place, deal_id in wanted:
            self.ids.remove(deal_id)
        for place, deal_id in sorted(wanted):
            self._insert(deal_id, place - 1)

    def move(self, deal_id: str, by: int) -> None:
        """Move a deal up (-1) or down (+1); at the end it stays."""
        if deal_id not in self.ids:
            return
        place = self.ids.index(deal_id)
        self.ids.remove(deal_id)
        self._insert(deal_id, max(place + by, 0))

    def _insert(self, deal_id: str, index: int) -> None:
        self.ids.insert(max(index, 0), deal_id)
        self.moved = deal_id
        said = _("“%(title)s” is now at position %(place)d of %(all)d.")
        places = {"place": self.place(deal_id), "all": len(self.ids)}
        self.said = said % {"title": self.title(deal_id), **places}

    def remove(self, deal_id: str) -> None:
        if deal_id in self.ids:
            self.ids.remove(deal_id)
            self.moved = deal_id
            said = _("“%(title)s” is taken out. It stays on the page until you save.")
            self.said = said % {"title": self.title(deal_id)}

    def replace(self, deal_id: str) -> None:
        """Have the deal that is added next take the place of one that is there; none for any other."""
        self.replaced = deal_id if deal_id in self.ids else ""

    def places_before(self, saved: Sequence[str]) -> dict[str, int]:
        """Return the saved places of the deals that were moved; those that these pushed along are not among them."""
        matches = SequenceMatcher(None, saved, self.ids, autojunk=False).get_matching_blocks()
        still = {deal_id for match in matches for deal_id in saved[match.a : match.a + match.size]}
        moved = set(self.ids) - still
        return {deal_id: place for place, deal_id in enumerate(saved, start=1) if deal_id in moved}

    def changes(self, saved: Sequence[str]) -> int:
        """Return how many deals were moved, added or taken out since the list was saved."""
        return len(self.places_before(saved)) + len(set(saved) ^ set(self.ids))

    def add(self, deal_id: str, place: int | None = None) -> None:
        """Put a deal at its place, at the end, or in that of the one that it replaces; one that is there stays."""
        if deal_id in self.ids:
            said = _("“%(title)s” is at position %(place)d already.")
            self.said = said % {"title": self.title(deal_id), "place": self.place(deal_id)}
        elif len(self.ids) >= MOST_ROWS and not self.replaced:
            self.said = _("The list is full. Take some deals out first.")
        elif is_ulid(deal_id):
            if self.replaced:
                place = self.place(self.replaced)
                self.ids.remove(self.replaced)
                self.replaced = ""
            self.ids.insert(len(self.ids) if place is None else max(place - 1, 0), deal_id)
            self.moved = deal_id
            self.said = "added"  # the title is known only once the deal is read


STATES = {name: deal_list.STATES[name] for name in ("live", "ending", "scheduled")}
ORDERS = {
    "likes": gettext_lazy("Most liked"),
    "newest": gettext_lazy("Newest"),
    "discount": gettext_lazy("Biggest discount"),
    "ending": gettext_lazy("Ending first"),
}


@dataclass
class Picker:
    """One page of deals to pick from, each with its likes; `note` says why there is none."""

    words: str = ""
    state: str = "live"
    order: str = "likes"
    brand: str = ""
    category: str = ""
    page: int = 1
    found: list[tuple[DealCard, int]] = field(default_factory=list)
    after: int = 0
    before: int = 0
    note: Text = ""

    @classmethod
    def of(cls, asked: QueryDict, *, now: datetime) -> Self:
        """Return what a form asks for. No requests; 1 batch get for an id or a link."""
        state, order, category = (asked.get(name, "") for name in ("state", "sort", "category"))
        picker = cls(
            words_in(asked.get("words", "")),
            state if state in STATES else "live",
            order if order in ORDERS else "likes",
            asked.get("brand", "")[:100].strip(),
            category if category in CATEGORIES else "",
        )
        action, _colon, number = asked.get("do", "").partition(":")
        # What is asked for anew starts at its first page; every other button leaves the picker where it was.
        if action != "pick":
            picker.page = page_number(number if action == "page" else asked.get("page", "")) or 1
        picker.read(now)
        return picker

    @property
    def is_narrowed(self) -> bool:
        return bool(self.brand or self.category)

    def read(self, now: datetime) -> None:
        if deal_id := id_in(self.words):
            deal = deals.get_many([deal_id]).get(deal_id)
            self.found = [(deal.card, 0)] if deal else []
            self.note = "" if deal else _("This deal does not exist (any more).")
            return
        chosen = DealFilter(self.state, brand_slug(self.brand), self.category, self.words)
        found = find_deals(chosen, page=self.page, now=now, sort="" if self.words else self.order)
        known = known_of(card.id for card in found.cards)
        self.found = [(card, known[card.id].likes if card.id in known else 0) for card in found.cards]
        self.after = self.page + 1 if self.page < found.pages else 0
        self.before = self.page - 1
        if not found.ready:
            self.note = NOT_READY
        elif not found.cards:
            self.note = _("No such deals hold these words.") if self.words else _("There are no such deals.")


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
        plans, data = together(featured_plans.newest, partial(drafts.attention_data, {}, pages=True))
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
