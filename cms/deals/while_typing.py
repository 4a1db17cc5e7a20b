"""What a deal's form shows while an editor types: what its link says, what is there already, and the preview.

Nothing is saved by any of it. What is there already is shown once more before a draft is published.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from csp.constants import NONE, SELF
from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import get_text_list
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.clickjacking import xframe_options_sameorigin

from cms.bulk import why_not
from cms.shared import requests
from cms.shared.edit_form import Show
from cms.shared.fields import keep
from cms.shared.forms import DealForm, typed_number
from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import editors
from dealsite.data.catalogue import brands, content, display_names
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deals import Price, compared, prices_of
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.catalogue.drafts import Draft, Entry, became, get_entries
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.verbs.prices import PriceRule, SetPrice
from dealsite.data.editing.verbs.publish import MoveToTrash
from dealsite.data.entities.deals import ALT_CHARACTERS
from dealsite.data.names import slugify
from dealsite.data.table.errors import Invalid, NotFound, TooManyRequests
from dealsite.data.table.ids import is_ulid, new_ulid, time_of
from dealsite.data.table.parallel import together
from dealsite.imports.downloads import PICTURES, CannotFetch, picture_at
from dealsite.imports.product_page import PAGES, ProductPage, fetch_product
from dealsite.search.finding import near_titles
from dealsite.text.markdown import MOST_CHARACTERS, to_markdown
from dealsite.web.deal_page import deal_context
from dealsite.web.pages import open_while
from dealsite.web.uploads import PICTURE_FORM, takes_files
from dealsite.worker.bulk import Outcome, change_at_once

AT_ONCE = 2  # of the four threads of a process: a slow shop holds one for seconds
LEAST_SECONDS = 1.0  # that a picture has, however long its page took
WORDS = {
    "title": gettext_lazy("title"),
    "price": gettext_lazy("price"),
    "was_price": gettext_lazy("RRP"),
    "brand": gettext_lazy("brand"),
    "picture_kept": gettext_lazy("picture"),
}

_reading = threading.BoundedSemaphore(AT_ONCE)


def read_link(request: EditorRequest, form: DealForm, draft_id: str = "") -> int:
    """Fill in what a checked form lacks and its link's page says; return the status of the form's page.

    3 updates for the limit; 1 get and up to 2 batch gets more for a brand, 1 transaction for a picture; for a draft
    what `similar_to` costs.
    """
    if "link" not in form.errors:
        now = timezone.now()
        try:
            _read(request, form, now)
            form.similar = similar_to(form, draft_id, now) if draft_id else ()
            _put_focus(form)
        except (CannotFetch, TooManyRequests) as error:
            form.add_error("link", str(error))
    return 422 if form.errors else 200


def _read(request: EditorRequest, form: DealForm, now: datetime) -> None:
    link = form.cleaned_data["link"]
    if not link:
        raise CannotFetch(_("Enter the link to the shop."))
    limits.count_use(request, "link", now=now)
    if not _reading.acquire(blocking=False):
        raise CannotFetch(_("Other links are being read just now. Read this one again in a moment."))
    try:
        end = time.monotonic() + PAGES.seconds
        page = fetch_product(link)
        filled, remarks = _lacking(form, page), _remarks(page)
        if page.picture and not form.picture:
            try:
                seconds = max(end - time.monotonic(), LEAST_SECONDS)
                picture = picture_at(page.picture, replace(PICTURES, seconds=seconds))
                content.request_renditions([picture.name], now=now)
                filled["picture_kept"] = keep(picture)
            except (CannotFetch, Invalid) as error:
                remarks.append(_("The picture could not be had: %(why)s") % {"why": error})
    finally:
        _reading.release()
    form.read_note = " ".join([_said(page, filled, now), *remarks])
    if "picture_kept" in filled and not form.data.get("picture_alt"):
        filled["picture_alt"] = (form.data.get("title") or page.title)[:ALT_CHARACTERS]
    if "brand" in filled and not _is_known(filled["brand"]):
        form.read_note += " " + _("“%(brand)s” is not a brand of this site yet.") % {"brand": filled["brand"]}
        form.fields["brand"].widget.attrs["aria-invalid"] = "true"
    form.fill_in(filled)


def _put_focus(form: DealForm) -> None:
    """Let an editor go on at the first field that needs them, unless they are to see first what is there already."""
    if form.similar:
        return
    lacks = (field.name for field, has_it in form.to_publish() if not has_it and field.name != "voucher_code")
    first = form.fields[next(lacks, "title")].widget
    first.attrs |= {"autofocus": True, "aria-describedby": "read-note"}


def _lacking(form: DealForm, page: ProductPage) -> dict[str, str]:
    """Return what a page says for the empty fields of a form: no price beside what there is instead of one."""
    if not page.is_product:
        raise CannotFetch(_("The page says nothing about a product."))
    says = {name: getattr(page, name) for name in ("title", "price", "was_price", "brand")}
    price = form.cleaned_data.get("price") or page.price
    if form.data.get("condition"):
        says["price"] = says["was_price"] = None
    elif page.was_price and price and page.was_price <= price:
        says["was_price"] = None
    return {name: typed_number(said) for name, said in says.items() if said and not form.data.get(name)}


def _is_known(brand: str) -> bool:
    try:
        return bool(brands.named(brand))
    except NotFound:
        return False


def _said(page: ProductPage, filled: dict[str, str], now: datetime) -> str:
    """Return what was filled in, and where the page says it."""
    at = {"time": timezone.localtime(now).strftime("%H:%M")}
    if not filled:
        return _("Read at %(time)s: it says nothing that was missing here.") % at
    by_source: dict[str, list[str]] = {}
    for name in filled:
        by_source.setdefault(page.sources[name.removesuffix("_kept")], []).append(str(WORDS[name]))
    facts = ", ".join(
        _("%(fields)s from %(source)s") % {"fields": get_text_list(words, _("and")), "source": source}
        for source, words in by_source.items()
    )
    return _("Read at %(time)s: %(facts)s. Only empty fields were filled.") % (at | {"facts": facts})


def _remarks(page: ProductPage) -> list[str]:
    """Return what else an editor should know of a page."""
    remarks = []
    if page.is_foreign:
        words = {"currency": page.currency, "own": settings.DEALSITE_CURRENCY}
        remarks.append(_("The price is in %(currency)s; this site sells in %(own)s.") % words)
    if page.is_sold_out:
        remarks.append(_("Sold out there."))
    return remarks


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
    same_link = display_names.same_link(link)
    tells = link and not display_names.is_of_many(same_link)
    linked = display_names.known_by(same_link)[:MOST_READ] if tells else []
    ids = dict.fromkeys([*linked, *near_titles(title, brand_names.find(brand), now=now)])
    ids.pop(draft_id, None)
    if not ids:
        return []
    deals, drafts = together(partial(get_entries, "deal", ids), partial(get_entries, "draft", ids))
    there = [deals.get(one) or drafts.get(one) for one in ids]
    found = [
        Similar(one, same_link in one.content.names, one.card.state(now) if one.kind == "deal" else "draft")
        for one in there
        if one and not became(one)
    ]
    # A deal that lost the link since is found by it still.
    near = [one for one in found if one.has_link or one.entry.id not in linked]
    return sorted(near, key=lambda one: not one.has_link)[:MOST_SHOWN]


@editors.part("1 query + 2 batch gets", at="?link={live.content.link}")
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
    requests.offer_undo_for(request, said, outcome.job_id, address)
    return redirect(address)


def _do(change: BulkChange, one: str, by: str, now: datetime, *, version: int | None = None) -> Outcome:
    job_id = bulk.job_id_of(change, [one], by=by, asked_at=now)
    return change_at_once(change, [one], job_id=job_id, by=by, asked_at=now, now=now, version=version)


View = Callable[..., HttpResponseBase]


def holds_a_frame(view: View) -> View:
    """Let a page have the preview beside its form: no other page of ours holds a frame."""
    return csp_replace({"frame-src": [SELF]})(view)


def may_be_framed(view: View) -> View:
    """Let a page be shown in a page of this site, and do nothing there."""
    nothing = {directive: [NONE] for directive in ("script-src", "connect-src", "form-action")}
    return xframe_options_sameorigin(csp_replace({"frame-ancestors": [SELF], **nothing})(view))


@editors.part("none")
@may_be_framed
def preview_frame(request: EditorRequest) -> HttpResponse:
    """The empty page, with the shop's look, into which `preview.js` puts what the site makes of the form."""
    return render(request, "cms/deals/preview_frame.html")


@takes_files(PICTURE_FORM)
@open_while("read-only")
@editors.action
def preview_deal(request: EditorRequest) -> HttpResponse:
    """What is in a form as a card and as a page; `deal` names the deal that it would change.

    1 query for a deal that is live, for the prices that it has had.
    """
    files = None if request.htmx else request.FILES
    form = DealForm.posted(request.POST, files)
    form.is_valid()  # what is not right yet is left out
    brand = form.cleaned_data.get("brand", "")
    content, deal_id = form.content(slugify(brand)), request.GET.get("deal", "")
    context = preview_context(content, brand, deal_id, timezone.now())
    return previewed(request, "cms/deals/_previewed.html", context)


def previewed(request: EditorRequest, part: str, context: dict[str, Any]) -> HttpResponse:
    """What a form is about as shoppers will see it: for the panel beside the form, or without script as a page."""
    template = part if request.htmx else "cms/shared/previewed.html"
    return render(request, template, context | {"part": part})


@open_while("read-only")
@editors.action
def pasted_markdown(request: EditorRequest) -> HttpResponse:
    """What a document pasted, as Markdown. No requests."""
    html = request.POST.get("html", "")
    if len(html) > MOST_CHARACTERS:
        raise Invalid(_("This is too long to be turned into Markdown."))
    return HttpResponse(to_markdown(f"<div>{html}</div>"), content_type="text/plain; charset=utf-8")


def preview_context(content: DealContent, brand_name: str, deal_id: str, now: datetime) -> dict[str, Any]:
    """Return what the templates of a preview show; `deal_id` is '' for what was never published."""
    history: Sequence[Price] = ()
    if is_ulid(deal_id):
        if time_of(deal_id) <= now:
            history = _with_new_price(prices_of(deal_id), content, now)
        else:
            now = time_of(deal_id)  # as it will be when it goes live
    else:
        deal_id = new_ulid(now)
    card = content.card(deal_id, brand_name or _("No brand"))
    card = compared(card, history) if history else card
    # Words stand in for what is missing, and so that there are addresses to link to.
    title, category = card.title or _("Without a title"), card.category or "category"
    card = replace(card, title=title, brand=card.brand or "brand", category=category)
    return deal_context(card, content, history, now=now)


def _with_new_price(history: Sequence[Price], content: DealContent, now: datetime) -> Sequence[Price]:
    if content.price is None:
        return ()
    if not history:
        return history
    is_new = history[-1].price != content.price
    return [*history, Price(now, content.price)] if is_new else history
