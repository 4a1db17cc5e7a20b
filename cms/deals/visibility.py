"""Why isn't this visible? Where shoppers see a deal, where not, and what helps."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from cms.shared.requests import EditorRequest, editor_page
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.featured import PAGES
from dealsite.data.editing import trash
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid
from dealsite.search.reader import Availability, known


@dataclass(frozen=True)
class Finding:
    """One place or reason: `is_seen` tells whether shoppers see it there; `at` is a time that belongs to the text.

    `address` is where the button leads, or with `posts` what it is sent to.
    """

    is_seen: bool
    text: str
    label: str = ""
    address: str = ""
    at: datetime | None = None
    posts: bool = False


EXAMPLES = ("", "/cms/deals/{expired.id}/visibility/", "/cms/deals/{scheduled.id}/visibility/")


@editor_page("1 batch get", at=EXAMPLES)
def deal_visibility(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Where shoppers see a deal, also of one that is in the trash or gone: that takes 1 get more."""
    if not is_ulid(deal_id):
        raise NotFound(_("There is no such deal."))
    try:
        deal = deals.get(deal_id)
    except NotFound:
        return _page(request, "deal", deal_id, *_of_deleted("deal", deal_id))
    findings = list(of_deal(deal, known("deal", deal_id), timezone.now()))
    return _page(request, "deal", deal_id, deal.content.title, findings)


@editor_page("1 get")
def draft_visibility(request: EditorRequest, draft_id: str) -> HttpResponse:
    """Why shoppers do not see a draft, and what it lacks; of a deleted one 1 get more."""
    if not is_ulid(draft_id):
        raise NotFound(_("There is no such draft."))
    try:
        draft = drafts.get(draft_id)
    except NotFound:
        return _page(request, "draft", draft_id, *_of_deleted("draft", draft_id))
    if draft.published_as:
        return redirect("cms_visibility", draft.published_as)
    return _page(request, "draft", draft_id, draft.content.title, list(of_draft(draft, timezone.now())))


def _page(
    request: EditorRequest, kind: str, thing_id: str, title: str, findings: list[Finding]
) -> HttpResponse:
    page = reverse(f"cms_{kind}", args=[thing_id])
    context = {
        "title": title,
        "seen": [finding for finding in findings if finding.is_seen],
        "unseen": [finding for finding in findings if not finding.is_seen],
        "history": reverse(f"cms_{kind}_history", args=[thing_id]),
        "seconds": settings.DEALSITE_PAGE_CACHE_SECONDS,
        "trail": [
            (reverse("cms_deals"), _("Deals")),
            *([(page, _("Deal") if kind == "deal" else _("Draft"))] if title else []),
            ("", _("Visibility")),
        ],
    }
    return render(request, "cms/deals/visibility.html", context)


def of_deal(deal: Deal, in_search: Availability, now: datetime) -> Iterator[Finding]:
    """Yield where shoppers see a deal, and why not elsewhere."""
    edit, state = reverse("cms_deal", args=[deal.id]), deal.card.state(now)
    if state == "scheduled":
        text = _(
            "It is scheduled. Until its time comes, no page of the shop shows it, and its address leads nowhere."
        )
        address = reverse("cms_reschedule_deal", args=[deal.id])
        yield Finding(False, text, _("Change time"), address, deal.live_at)
    else:
        address = reverse("deal", args=[deal.id, deal.card.slug])
        yield Finding(True, _("Everybody can open its page."), _("Open its page in the shop"), address)
        yield from _in_lists(deal)
    if state == "expired":
        text = _("It has expired. Lists and its page show it as over; featured lists leave it out.")
        address = f"{edit}#id_expires_at"
        yield Finding(False, text, _("Give it a later end"), address, deal.content.expires_at)
    elif deal.stock == 0:
        text = _("It is sold out. Lists show it so, and nobody can put it into the cart.")
        yield Finding(False, text, _("Change the pieces in stock"), f"{edit}#id_stock")
    yield _featured(deal, state)
    yield _in_search(deal, in_search)


def _in_lists(deal: Deal) -> Iterator[Finding]:
    """Yield the lists in which a deal stands: newest first, under the day of its publication."""
    text = _(
        "It is listed under the day of its publication, %(day)s (UTC), on the front page and its pages. "
        "The newest come first, so it moves down as others are published."
    ) % {"day": date_format(deal.live_at.astimezone(UTC), "j F Y")}
    yield Finding(True, text, _("Front page"), reverse("front_page"))
    text = _("It is on the page of its brand, %(brand)s.") % {"brand": deal.card.brand_name}
    yield Finding(True, text, _("Page of the brand"), reverse("brand", args=[deal.content.brand]))
    address = reverse("category", args=[deal.content.category])
    yield Finding(True, _("It is on the page of its category."), _("Page of the category"), address)


def _featured(deal: Deal, state: str) -> Finding:
    pages = ", ".join(str(title) for page, title in PAGES.items() if page in deal.featured_on)
    feature = reverse("cms_featured")
    if not pages:
        text = _("No page features it, so it does not stand on top anywhere.")
        return Finding(False, text, _("Feature it"), feature)
    if state in ("expired", "scheduled"):
        text = _("It is featured on: %(pages)s. It shows there only while it is live.") % {"pages": pages}
        return Finding(False, text, _("Featured lists"), feature)
    return Finding(True, _("It is featured on: %(pages)s.") % {"pages": pages}, _("Featured lists"), feature)


def _in_search(deal: Deal, in_search: Availability) -> Finding:
    if not in_search.is_ready:
        text = _("Search is being set up and finds nothing yet. Nothing to do: it will be ready soon.")
    elif in_search.card is None:
        text = _("Search does not know it yet. It follows within seconds; look again in a moment.")
    elif in_search.card != deal.card:
        text = _("Search still knows it as it was before its last change. It follows within seconds.")
    elif deal.card.state(timezone.now()) == "scheduled":
        text = _("Search knows it, and shows it to shoppers when its time comes.")
    else:
        text = _("Search finds it by the words of its title, brand and description.")
        find = f"{reverse('search')}?{urlencode({'q': deal.content.title[:100]})}"
        return Finding(True, text, _("Search"), find)
    return Finding(False, text)


def of_draft(draft: Draft, now: datetime) -> Iterator[Finding]:
    """Yield that only editors see a draft, and what it lacks before it can be published."""
    text = _("It is a draft: only editors see it until it is published.")
    yield Finding(False, text, _("Go on with it"), reverse("cms_draft", args=[draft.id]))
    for sentence in deals.problems(draft.content, live_at=now).values():
        yield Finding(False, _("Before it can be published: %(what)s") % {"what": sentence})


def _of_deleted(kind: str, thing_id: str) -> tuple[str, list[Finding]]:
    """Return the title of what is deleted, and what became of it."""
    thing = trash.find(kind, thing_id)
    if thing is None:
        text = _(
            "It does not exist: it was deleted for good, or has another id since it was given another time."
        )
        return "", [Finding(False, text)]
    days = trash.KEPT_FOR.days
    text = ngettext(
        "%(by)s deleted it. It can be restored from the trash for %(days)s day.",
        "%(by)s deleted it. It can be restored from the trash for %(days)s days.",
        days,
    ) % {"by": thing.by, "days": days}
    address = reverse("cms_restore", args=[kind, thing_id])
    return thing.card.title, [Finding(False, text, _("Restore"), address, thing.at, posts=True)]
