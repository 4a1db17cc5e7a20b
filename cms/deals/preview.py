"""A deal as shoppers will see it: made from what stands in its form, of which nothing is saved, or behind a link.

A link shows colleagues what shoppers do not see yet: a draft, a scheduled deal or a deal's unpublished changes, as
they are whenever they look. It is signed, holds for seven days, and opens nothing else; whoever follows it has to be
signed in with a role of the CMS, so a link that gets into other hands shows nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from csp.constants import NONE, SELF
from csp.decorators import csp_replace
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from cms.deals.pending_edits import address_of
from cms.shared.forms import DealForm
from cms.shared.requests import EditorRequest, editor_action
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import deals, drafts, prices
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.prices import Price
from dealsite.data.editing import pending_edits
from dealsite.data.names import slugify
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import epoch_seconds, is_ulid, new_ulid, time_of
from dealsite.web.deal_page import deal_context
from dealsite.web.pages import open_while, page, part
from dealsite.web.uploads import PICTURE_FORM, takes_files

HOLDS_FOR = timedelta(days=7)
_signer = Signer(salt="cms.sharing")
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
    files = MultiValueDict() if request.htmx else request.FILES
    form = DealForm.posted(request.POST, files)
    form.is_valid()  # what is not right yet is left out
    brand = form.cleaned_data.get("brand", "")
    content, deal_id = form.content(slugify(brand)), request.GET.get("deal", "")
    context = preview_context(content, brand, deal_id, timezone.now())
    template = "cms/deals/_previewed.html" if request.htmx else "cms/deals/previewed.html"
    return render(request, template, context)


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
    # Words stand in for what is missing, and so that there are addresses to link to.
    title, category = card.title or _("Without a title"), card.category or "category"
    card = replace(card, title=title, brand=card.brand or "brand", category=category)
    context = deal_context(card, content, history, now=now)
    if not content.category:
        context["category_name"] = _("No category")
    return context


def _with_new_price(history: Sequence[Price], content: DealContent, now: datetime) -> Sequence[Price]:
    if content.price is None or not history:
        return history
    last = history[-1]
    if (last.price, last.was_price) == (content.price, content.was_price):
        return history
    return [*history, Price(now, content.price, content.was_price)]


@dataclass(frozen=True)
class ShareLink:
    """What a link shows: `deal_id` is '' for what was never published."""

    content: DealContent
    brand_name: str
    deal_id: str
    updated_at: datetime
    updated_by: str
    edit_address: str


class ShareLinkExpired(Exception):
    """The link held until a while ago."""


def token_of(kind: str, thing_id: str, now: datetime) -> str:
    """Return the signed name of a draft, a deal or its changes, which holds for the next seven days."""
    return str(_signer.sign_object([kind, thing_id, epoch_seconds(now + HOLDS_FOR)]))


def shared_link(kind: str, thing_id: str, now: datetime) -> str:
    """Return the whole address under which colleagues see it."""
    return str(settings.DEALSITE_URL) + reverse("cms_shared", args=[token_of(kind, thing_id, now)])


def read_token(token: str, now: datetime) -> tuple[str, str, datetime]:
    """Return the kind and id that a link names, and until when it holds; NotFound if we did not make it."""
    try:
        kind, thing_id, seconds = _signer.unsign_object(token)
    except (BadSignature, ValueError, TypeError):
        raise NotFound(_("This link is incomplete or was changed. Ask for it again.")) from None
    until = datetime.fromtimestamp(seconds, UTC)
    if until <= now:
        raise ShareLinkExpired
    return kind, thing_id, until


@page(
    "1 get or 1 get + 1 batch get + 1 query",
    at=("", "/cms/shared/{scheduled_token}/", "/cms/shared/{old_token}/", "/cms/shared/x/"),
)
@role("editor", "back office")
@require_safe
def shared(request: EditorRequest, token: str) -> HttpResponse:
    """What a colleague shared, as shoppers would see it now; once it is live, its page in the shop.

    1 get for a draft, 1 batch get for a deal (1 get more for its changes, 1 query if it is live), and for a published
    draft both.
    """
    now = timezone.now()
    try:
        kind, thing_id, until = read_token(token, now)
    except ShareLinkExpired:
        return _private(render(request, "cms/deals/shared_over.html", status=410))
    found = FINDERS[kind](thing_id, now)
    if isinstance(found, str):
        return _private(redirect("deal", found))
    context = preview_context(found.content, found.brand_name, found.deal_id, now)
    return _private(render(request, "cms/deals/shared.html", context | {"shared": found, "until": until}))


def _private(response: HttpResponse) -> HttpResponse:
    """Keep an answer out of search engines, and its address to ourselves."""
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "same-origin"
    return response


def _draft(draft_id: str, now: datetime) -> ShareLink | str:
    found = drafts.get(draft_id)
    if found.published_as:
        return _deal(found.published_as, now)
    address = reverse("cms_draft", args=[found.id])
    return ShareLink(found.content, found.card.brand_name, "", found.updated_at, found.updated_by, address)


def _deal(deal_id: str, now: datetime) -> ShareLink | str:
    """Return a scheduled deal, or the id of one that everybody sees."""
    found = deals.get(deal_id)
    if found.card.is_visible(now):
        return found.id
    brand, address = found.card.brand_name, reverse("cms_deal", args=[found.id])
    return ShareLink(found.content, brand, found.id, found.updated_at, found.updated_by, address)


def _changes(deal_id: str, now: datetime) -> ShareLink | str:
    """Return the unpublished changes of a deal; once there are none, the deal itself."""
    deal = deals.get(deal_id)
    kept = pending_edits.find(deal)
    if kept is None or kept.is_discarded:
        return _deal(deal_id, now)
    brand = kept.brand_name
    return ShareLink(kept.content, brand, deal.id, kept.updated_at, kept.updated_by, address_of(deal.id))


FINDERS = {"draft": _draft, "deal": _deal, "changes": _changes}
