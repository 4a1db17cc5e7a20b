"""A link to what shoppers do not see yet, for colleagues: a draft, a scheduled deal or a deal's
unpublished changes, as they are whenever they look.

The link is signed and holds for seven days. It names one thing and opens nothing else; whoever follows it has to be
signed in with a role of the CMS, so a link that gets into other hands shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from cms.deals.pending_edits import address_of
from cms.deals.preview import preview_context
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import pending_edits
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import epoch_seconds
from dealsite.web.pages import page

HOLDS_FOR = timedelta(days=7)
_signer = Signer(salt="cms.sharing")


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


def shared_link(kind: str, thing_id: str, now: datetime) -> str:
    """Return the whole address under which colleagues see a draft or deal for the next seven days."""
    return str(settings.DEALSITE_URL) + reverse("cms_shared", args=[token_of(kind, thing_id, now)])


def token_of(kind: str, thing_id: str, now: datetime) -> str:
    return str(_signer.sign_object([kind, thing_id, epoch_seconds(now + HOLDS_FOR)]))


def read_token(token: str, now: datetime) -> tuple[str, str, datetime]:
    """Return the kind and id that a link names, and until when it holds; NotFound if we did not make it, Over."""
    try:
        kind, thing_id, seconds = _signer.unsign_object(token)
    except (BadSignature, ValueError, TypeError):
        raise NotFound(_("This link is incomplete or was changed. Ask for it again.")) from None
    until = datetime.fromtimestamp(seconds, UTC)
    if until <= now:
        raise ShareLinkExpired
    return kind, thing_id, until


@page(
    "1 get + 1 batch get + 1 query",
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
    address = reverse("cms_deal", args=[found.id])
    return ShareLink(
        found.content, found.card.brand_name, found.id, found.updated_at, found.updated_by, address
    )


def _changes(deal_id: str, now: datetime) -> ShareLink | str:
    """Return the unpublished changes of a deal; once there are none, the deal itself."""
    deal = deals.get(deal_id)
    kept = pending_edits.find(deal)
    if kept is None or kept.is_discarded:
        return _deal(deal_id, now)
    brand = kept.brand_name
    return ShareLink(kept.content, brand, deal.id, kept.updated_at, kept.updated_by, address_of(deal.id))


FINDERS = {"draft": _draft, "deal": _deal, "changes": _changes}
