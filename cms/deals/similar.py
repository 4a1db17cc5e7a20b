"""What a draft may be already: deals and drafts with its link, or of its brand with nearly its title.

They are shown while an editor types, and once more before it is published.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from cms.bulk.bulk import why_not
from cms.shared import undo
from cms.shared.edit_form import Show
from cms.shared.forms import DealForm
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import entries, known_by
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.entries import Entry, became
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.verbs.prices import PriceRule, SetPrice
from dealsite.data.editing.verbs.publish import MoveToTrash
from dealsite.data.table.parallel import together
from dealsite.search.finding import near_titles
from dealsite.web.pages import part
from dealsite.worker.bulk import Outcome, change_at_once

MOST_SHOWN = 5
MOST_READ = 20  # of those with a link, the newest
WHILE_TYPING = {
    "hx-trigger": ", ".join(f"input delay:400ms from:#id_{name}" for name in ("title", "link", "brand")),
    "hx-include": "[name=link], [name=brand]",
    "hx-target": "#similar",
    "hx-swap": "innerHTML",
    "hx-sync": "this:replace",
}


@dataclass(frozen=True)
class Similar:
    """A deal or draft that is there, and whether its link is the same; else its title is near."""

    entry: Entry
    has_link: bool
    state: str

    @property
    def address(self) -> str:
        return reverse(f"cms_{self.entry.kind}", args=[self.entry.id])

    @property
    def takes_price(self) -> bool:
        """Whether it can be given another price at once."""
        return self.entry.kind == "deal" and self.state != "expired" and not self.entry.content.condition


def similar_to(form: DealForm, draft_id: str, now: datetime) -> list[Similar]:
    """Return up to five others that a checked form of a draft may mean: with its link, then with nearly its title.

    Up to 1 query and 2 batch gets.
    """
    title, link, brand = (form.cleaned_data.get(name, "") for name in ("title", "link", "brand"))
    same_link = known_by.same_link(link)
    tells = link and not known_by.is_of_many(same_link)
    linked = known_by.known_by(same_link)[:MOST_READ] if tells else []
    ids = dict.fromkeys([*linked, *near_titles(title, brand_names.find(brand), now=now)])
    ids.pop(draft_id, None)
    if not ids:
        return []
    deals, drafts = together(partial(entries.get_many, "deal", ids), partial(entries.get_many, "draft", ids))
    there = [deals.get(one) or drafts.get(one) for one in ids]
    found = [
        Similar(one, same_link in one.content.names, one.card.state(now) if one.kind == "deal" else "draft")
        for one in there
        if one and not became(one)
    ]
    # A deal that lost the link since is found by it still.
    near = [one for one in found if one.has_link or one.entry.id not in linked]
    return sorted(near, key=lambda one: not one.has_link)[:MOST_SHOWN]


@part("1 query + 2 batch gets", at="?link={live.content.link}")
@role("editor")
@require_safe
def similar(request: EditorRequest, draft_id: str) -> HttpResponse:
    """What a draft may be already, by what an editor has typed so far."""
    form = DealForm.posted(request.GET)
    form.is_valid()
    found = similar_to(form, draft_id, timezone.now())
    return render(request, "cms/deals/_similar.html", {"similar": found})


def show_while_typing(form: DealForm, draft_id: str) -> None:
    """Let the title of a draft's form ask what is there already, at once where that does not stand there yet."""
    asks = form.fields["title"].widget.attrs
    asks |= WHILE_TYPING | {"hx-get": reverse("cms_similar", args=[draft_id])}
    if not form.similar:
        asks["hx-trigger"] += ", load"


def not_told(form: DealForm, draft_id: str, now: datetime) -> list[Similar]:
    """Return what a draft may be already, unless its editor was shown all of it before.

    It costs what `similar_to` does.
    """
    found = similar_to(form, draft_id, now)
    return [] if {one.entry.id for one in found} <= {*form.data.get("told", "").split()} else found


def stop(form: DealForm, found: list[Similar], pressed: str) -> None:
    """Let a form show what its draft may be already, before the button that was pressed publishes it."""
    form.similar, form.pressed = found, pressed
    form.data["told"] = " ".join(one.entry.id for one in found)


def give_price(
    request: EditorRequest, form: DealForm, stored: Draft | None, deal_id: str, show: Show, now: datetime
) -> HttpResponse:
    """Give a deal that is there the price in a draft's form, and move the draft to the trash; lead to the deal.

    It costs what `change_at_once` does, twice for a draft that is stored.
    """
    price, by = form.cleaned_data["price"], request.user.username
    if price is None:
        form.add_error("price", _("Enter the price that the deal is to have."))
        return show(status=422)
    change = BulkChange("deal", SetPrice.name, str(PriceRule("=", price)))
    outcome = _do(change, deal_id, by, now)
    if outcome.refused:
        form.add_error(None, why_not(change, outcome.refused[0]))
        return show(status=422)
    said = str(change.verb.did) % {"title": outcome.changed[0].title}
    # Unless somebody else changed it since.
    if (
        stored
        and _do(BulkChange("draft", MoveToTrash.name), stored.id, by, now, version=form.version).changed
    ):
        said += " " + _("This draft is in the trash.")
    address = reverse("cms_deal", args=[deal_id])
    undo.offer_for(request, said, outcome.job_id, address)
    return redirect(address)


def _do(change: BulkChange, one: str, by: str, now: datetime, *, version: int | None = None) -> Outcome:
    job_id = bulk.job_id_of(change, [one], by=by, asked_at=now)
    return change_at_once(change, [one], job_id=job_id, by=by, asked_at=now, now=now, version=version)
