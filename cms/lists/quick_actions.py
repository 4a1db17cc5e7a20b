"""Quick actions: what an editor fixes with one click where it is listed; most of it can be undone."""

from collections.abc import Callable
from dataclasses import replace

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.shared import undo
from cms.shared.requests import EditorRequest, editor_action, next_address
from dealsite.accounts.decorators import sent_again
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.content import text_problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing import links
from dealsite.data.editing.audit import NO_CONTEXT
from dealsite.data.editing.verbs.verb import brands_of, save
from dealsite.data.entities.deals import ALT_CHARACTERS
from dealsite.data.entities.texts import UNSTORABLE
from dealsite.data.names import clean_text
from dealsite.data.table.errors import Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid

CHANGED = gettext_lazy(
    "Somebody changed this meanwhile. See whether your words still fit, and save them again."
)


@editor_action
def check_link(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Have the worker look at a deal's link now."""
    linked = links.get(deal_id)
    if settings.DEALSITE_CHECK_LINKS:
        links.check_again(linked.deal_id, now=timezone.now())
        messages.info(request, _("The link is being checked. Look again in a moment."))
    else:
        messages.error(request, _("Links are not checked here: the setting DEALSITE_CHECK_LINKS is off."))
    return HttpResponseRedirect(next_address(request))


@editor_action
def accept_link(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Take the editor's word that a link is fine; or, with `again`, take that back."""
    link, now, by = request.POST.get("link", ""), timezone.now(), request.user.username
    if not is_ulid(deal_id):
        raise NotFound()
    try:
        if request.POST.get("again"):
            links.take_back(deal_id, by=by, now=now)
            messages.info(request, _("The link is being checked. Look again in a moment."))
        else:
            links.accept(deal_id, link=link, by=by, now=now)
            said = _("The link counts as fine for %(days)s days.") % {"days": links.ACCEPTED.days}
            address, then = reverse("cms_accept_link", args=[deal_id]), next_address(request)
            undo.offer(request, said, address, again="yes", next=then)
    except VersionConflict as conflict:
        messages.error(request, str(conflict))
    return HttpResponseRedirect(next_address(request))


@editor_action
@sent_again
def describe_deal(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Give a deal's picture its alt text."""
    return _describe(request, lambda: deals.get(deal_id))


@editor_action
@sent_again
def describe_draft(request: EditorRequest, draft_id: str) -> HttpResponse:
    """Give a draft's picture its alt text."""
    return _describe(request, lambda: drafts.get(draft_id))


def _describe(request: EditorRequest, read: Callable[[], Deal | Draft]) -> HttpResponse:
    """Store the words that were typed for a picture; where they cannot be taken, a page gives them back."""
    stored = read()
    alt = " ".join(clean_text(request.POST.get("alt", "")[: ALT_CHARACTERS * 4]).split())
    if stored.content.picture is None:
        messages.error(
            request, _("Somebody changed this meanwhile, so nothing was done. Here is how it is now.")
        )
    elif stored.content.picture.alt == alt and alt:
        messages.info(request, _("This was done already."))
    elif request.POST.get("version") != str(stored.version):
        return _words_page(request, stored, alt, CHANGED, status=409)
    else:
        described = replace(stored.content, picture=replace(stored.content.picture, alt=alt))
        problem = text_problems(described).get("picture_alt")
        if not alt or UNSTORABLE.search(alt):
            problem = _("Describe the picture for those who cannot see it.")
        if problem:
            return _words_page(request, stored, alt, problem, status=422)
        try:
            known, by = brands_of([described.brand]), request.user.username
            save(stored, described, known, NO_CONTEXT, by, timezone.now())
        except VersionConflict:
            return _words_page(request, read(), alt, CHANGED, status=409)
        except (Conflict, Invalid, NotFound) as error:
            return _words_page(request, stored, alt, str(error), status=error.status)
        messages.success(request, _("The alt text is saved."))
    return HttpResponseRedirect(next_address(request))


def _words_page(
    request: EditorRequest, stored: Deal | Draft, alt: str, trouble: str | Promise, *, status: int
) -> HttpResponse:
    """A picture as it is now, with the words that were typed for it."""
    is_deal = isinstance(stored, Deal)
    page = {
        "stored": stored,
        "state": stored.card.state(timezone.now()) if is_deal else "draft",
        "address": reverse("cms_describe_deal" if is_deal else "cms_describe_draft", args=[stored.id]),
        "leave": next_address(request),
        "alt": UNSTORABLE.sub("", alt),
        "most": ALT_CHARACTERS,
        "trouble": trouble,
    }
    return render(request, "cms/lists/describe.html", page, status=status)
