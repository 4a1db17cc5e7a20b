"""A deal as shoppers will see it, made from what stands in its form, of which nothing is saved."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from csp.constants import NONE, SELF
from csp.decorators import csp_replace
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from cms.shared.forms import DealForm
from cms.shared.requests import EditorRequest, editor_action
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import prices
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.prices import Price
from dealsite.data.names import slugify
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import is_ulid, new_ulid, time_of
from dealsite.text.from_html import MOST_CHARACTERS, to_markdown
from dealsite.web.deal_page import deal_context
from dealsite.web.pages import open_while, part
from dealsite.web.uploads import PICTURE_FORM, takes_files

View = Callable[..., HttpResponseBase]


def holds_a_frame(view: View) -> View:
    """Let a page have the preview beside its form: no other page of ours holds a frame."""
    return csp_replace({"frame-src": [SELF]})(view)


def may_be_framed(view: View) -> View:
    """Let a page be shown in a page of this site, and do nothing there."""
    nothing = {directive: [NONE] for directive in ("script-src", "connect-src", "form-action")}
    return xframe_options_sameorigin(csp_replace({"frame-ancestors": [SELF], **nothing})(view))


@part("none")
@role("editor")
@may_be_framed
@require_safe
def preview_frame(request: EditorRequest) -> HttpResponse:
    """The empty page, with the shop's look, into which `preview.js` puts what the site makes of the form."""
    return render(request, "cms/deals/preview_frame.html")


@takes_files(PICTURE_FORM)
@open_while("read-only")
@editor_action
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
@editor_action
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
            history = _with_new_price(prices.of_deal(deal_id), content, now)
        else:
            now = time_of(deal_id)  # as it will be when it goes live
    else:
        deal_id = new_ulid(now)
    card = content.card(deal_id, brand_name or _("No brand"))
    card = prices.compared(card, history) if history else card
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
