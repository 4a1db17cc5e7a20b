"""Quick actions: what an editor fixes with one click where it is listed; most of it can be undone."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.lists.attention import OVERVIEW, TOPICS
from cms.shared import undo
from cms.shared.fields import stored_time
from cms.shared.requests import EditorRequest, editor_action
from dealsite.accounts.decorators import sent_again
from dealsite.data.catalogue import brands, deals, drafts, featured
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.deal import editing, publishing
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing import links
from dealsite.data.entities.deals import ALT_CHARACTERS
from dealsite.data.entities.texts import UNSTORABLE
from dealsite.data.names import clean_text
from dealsite.data.table.errors import Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso, new_ulid
from dealsite.text.digits import number_in

CHANGED = gettext_lazy(
    "Somebody changed this meanwhile. See whether your words still fit, and save them again."
)
NOW, NEVER = "now", "never"  # stand for times in the form of a deal's end


@editor_action
def change_end(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Let a deal end at another time, now, or never."""
    now, by = timezone.now(), request.user.username
    stored = deals.get(deal_id)
    wanted = request.POST.get("ends_at", "")
    ends_at = now if wanted == NOW else stored_time(wanted)
    if ends_at is None and wanted != NEVER:
        raise Invalid()
    was = stored.content.expires_at
    if was == ends_at or (wanted == NOW and was is not None and was <= now):
        messages.info(request, _("This was done already."))
    elif request.POST.get("version") != str(stored.version):
        say_changed(request)
    elif wanted == NOW:
        ended = editing.expire_now(stored, by=by, now=now)
        _offer_end(request, _("“%(title)s” has ended."), ended, was)
    elif ends_at is not None and ends_at <= now:
        messages.error(request, _("This time has passed. Choose a later one."))
    else:
        content = replace(stored.content, expires_at=ends_at)
        if changed := _edit(request, stored, content, by=by, now=now):
            _offer_end(request, _("“%(title)s” has its new end."), changed, was)
    return back(request)


def _offer_end(request: EditorRequest, text: str, changed: Deal, was: datetime | None) -> None:
    """Say what was done to a deal's end, and offer the end that it had, unless that is over."""
    said = text % {"title": changed.content.title}
    if was is not None and was <= timezone.now():
        messages.success(request, said)
        return
    address, ends_at = reverse("cms_change_end", args=[changed.id]), iso(was) if was else NEVER
    _offer(request, said, address, version=str(changed.version), ends_at=ends_at)


@editor_action
def publish_ready(request: EditorRequest, draft_id: str) -> HttpResponse:
    """Publish a draft that lacks nothing, as it is."""
    now, by = timezone.now(), request.user.username
    stored = drafts.get(draft_id)
    if stored.published_as:
        messages.info(request, _("This was done already."))
        return back(request)
    title = stored.content.title or _("Without a title")
    if request.POST.get("version") != str(stored.version):
        say_changed(request)
    elif problems(stored.content, live_at=now):
        messages.error(request, _("“%(title)s” lacks something. Open it to see what.") % {"title": title})
    else:
        try:
            brand = brands.get(stored.content.brand)
            publishing.publish(
                stored.content, deal_id=new_ulid(now), brand=brand, by=by, now=now, draft=stored
            )
            messages.success(request, _("“%(title)s” is published.") % {"title": title})
        except VersionConflict:
            say_changed(request)
        except (Invalid, NotFound) as error:
            messages.error(request, str(error))
    return back(request)


@editor_action
def unfeature(request: EditorRequest, page_id: str) -> HttpResponse:
    """Take a deal off the featured list of a page; its place is offered back."""
    deal_id = request.POST.get("deal", "")
    page = featured.get(page_id)
    if deal_id not in page.ids:
        messages.info(request, _("This was done already."))
    elif _set(request, page, [one for one in page.ids if one != deal_id]):
        title = next(card.title for card in page.cards if card.id == deal_id)
        said = _("“%(title)s” is off the list “%(page)s”.") % {"title": title, "page": page.title}
        address, place = reverse("cms_feature_again", args=[page.id]), str(page.ids.index(deal_id))
        _offer(request, said, address, deal=deal_id, place=place)
    return back(request)


@editor_action
def feature_again(request: EditorRequest, page_id: str) -> HttpResponse:
    """Put a deal back to its place on the featured list of a page."""
    deal_id, place = request.POST.get("deal", ""), number_in(request.POST.get("place", ""), most=3)
    page = featured.get(page_id)
    if not is_ulid(deal_id) or place is None:
        raise Invalid()
    ids = page.ids
    if deal_id in ids:
        messages.info(request, _("This was done already."))
    else:
        ids.insert(place, deal_id)
        if _set(request, page, ids):
            messages.success(request, _("The deal is back on the list “%(page)s”.") % {"page": page.title})
    return back(request)


def _set(request: EditorRequest, page: featured.FeaturedPage, ids: list[str]) -> bool:
    """Set a page's list to some deals; tell whether that went well, else say why not."""
    loaded, found = featured.load(page.id, ids)
    by, now = request.user.username, timezone.now()
    try:
        if any(one not in found for one in ids):
            raise NotFound(_("A deal of this list was deleted meanwhile."))
        featured.set_featured(loaded, [found[one] for one in ids], version=page.version, by=by, now=now)
    except (Conflict, Invalid, NotFound) as error:
        messages.error(request, str(error))
        return False
    return True


@editor_action
def check_link(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Have the worker look at a deal's link now."""
    linked = links.get(deal_id)
    if settings.DEALSITE_CHECK_LINKS:
        links.check_again(linked.deal_id, now=timezone.now())
        messages.info(request, _("The link is being checked. Look again in a moment."))
    else:
        messages.error(request, _("Links are not checked here: the setting DEALSITE_CHECK_LINKS is off."))
    return back(request)


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
            _offer(request, said, reverse("cms_accept_link", args=[deal_id]), again="yes")
    except VersionConflict as conflict:
        messages.error(request, str(conflict))
    return back(request)


def _edit(
    request: EditorRequest, stored: Deal, content: DealContent, *, by: str, now: datetime
) -> Deal | None:
    """Change a deal; None, after saying why, where it cannot be changed so."""
    try:
        brand = brands.get(content.brand)
        return editing.edit(stored, content, version=stored.version, brand=brand, by=by, now=now)
    except VersionConflict:
        say_changed(request)
    except (Conflict, Invalid, NotFound) as error:
        messages.error(request, str(error))
    return None


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
        say_changed(request)
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
            _save(stored, described, by=request.user.username)
        except VersionConflict:
            return _words_page(request, read(), alt, CHANGED, status=409)
        except (Conflict, Invalid, NotFound) as error:
            return _words_page(request, stored, alt, str(error), status=error.status)
        messages.success(request, _("The alt text is saved."))
    return back(request)


def _save(stored: Deal | Draft, content: DealContent, *, by: str) -> None:
    now, version = timezone.now(), stored.version
    if isinstance(stored, Deal):
        editing.edit(stored, content, version=version, brand=brands.get(content.brand), by=by, now=now)
    else:
        brand = brands.get(content.brand) if content.brand else None
        drafts.save(stored, content, version=version, brand=brand, by=by, now=now)


def _words_page(
    request: EditorRequest, stored: Deal | Draft, alt: str, trouble: str | Promise, *, status: int
) -> HttpResponse:
    """A picture as it is now, with the words that were typed for it."""
    is_deal = isinstance(stored, Deal)
    page = {
        "stored": stored,
        "state": stored.card.state(timezone.now()) if is_deal else "draft",
        "address": reverse("cms_describe_deal" if is_deal else "cms_describe_draft", args=[stored.id]),
        "leave": back_address(request),
        "back": request.POST.get("back", ""),
        "alt": UNSTORABLE.sub("", alt),
        "most": ALT_CHARACTERS,
        "trouble": trouble,
    }
    return render(request, "cms/lists/describe.html", page, status=status)


def say_changed(request: EditorRequest) -> None:
    """Say that nothing was done, since somebody else was faster."""
    messages.error(request, _("Somebody changed this meanwhile, so nothing was done. Here is how it is now."))


def _offer(request: EditorRequest, text: str, address: str, **fields: str) -> None:
    """Say what was done, with a button that takes it back and leads to the same page again."""
    undo.offer(request, text, address, **fields, back=request.POST.get("back", ""))


def back(request: EditorRequest) -> HttpResponse:
    """Lead to the list that the form stood on: a topic's own, or the first page."""
    return redirect(back_address(request))


def back_address(request: EditorRequest) -> str:
    """Return the address of that list."""
    topic = request.POST.get("back", "")
    home = reverse("cms_home")
    if topic.removeprefix(OVERVIEW) not in TOPICS:
        return home
    if topic.startswith(OVERVIEW):
        return f"{home}?view=deals&open={topic.removeprefix(OVERVIEW)}"
    return reverse("cms_attention", args=[topic])
