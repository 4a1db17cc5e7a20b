"""What a user likes and watches, and which messages they want."""

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dealsite.accounts import limits
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import UserRequest, destination
from dealsite.data.catalogue import deals, relations
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.catalogue.relations import RelationEntry
from dealsite.data.people import users
from dealsite.data.table.errors import NotFound
from dealsite.web.pages import action, page

MOST_AT_ONCE = 100  # liked deals that are shown; more watches are muted by the worker


@page("1 query or 1 query + 1 batch get")
@signed_in
@require_safe
def likes(request: UserRequest) -> HttpResponse:
    """Show what the user likes: brands, categories, and the newest deals. 1 query, and 1 batch get for deals."""
    found = relations.likes_of(request.user.username)
    liked = [row.slug for row in reversed(found) if row.target == "deal"][:MOST_AT_ONCE]
    stored = deals.get_many(liked) if liked else {}
    cards = [
        stored[deal_id].card for deal_id in liked if deal_id in stored
    ]  # others are in the trash, or gone
    rows = _named([row for row in found if row.target != "deal"])
    rows += [{"target": "deal", "slug": card.id, "name": card.title, "card": card} for card in cards]
    return render(request, "shopping/my/relation_list.html", {"rows": rows, "verb": "like"})


@page("1 query")
@signed_in
@require_safe
def watching(request: UserRequest) -> HttpResponse:
    """Show what the user watches. 1 query."""
    rows = _named(relations.watched_by(request.user.username))
    return render(request, "shopping/my/relation_list.html", {"rows": rows, "verb": "watch"})


@action
@signed_in
@require_POST
def mute_watch(request: UserRequest) -> HttpResponse:
    """Keep a watch without its messages, or hear them again. 1 update."""
    relation = relations.BY_NAME.get(("WATCH", request.POST.get("target", "")))
    if relation is None:
        raise NotFound(_("You do not watch this."))
    slug, muted = request.POST.get("slug", ""), _wanted(request)
    relations.mute_watch(relation, slug, username=request.user.username, muted=muted)
    (row,) = _named([RelationEntry(relation.target, slug)])
    said = _("You get no messages about %(name)s.") if muted else _("You get messages about %(name)s.")
    messages.success(request, said % {"name": row["name"]})
    return HttpResponseRedirect(destination(request, reverse("watching")))


@page("1 query")
@signed_in
@require_safe
def message_settings(request: UserRequest) -> HttpResponse:
    """Show which kinds of messages the user wants. 1 query."""
    user = request.user
    rows = _named(relations.watched_by(user.username))
    all_muted = user.account.muted and all(row["muted"] for row in rows)
    none_muted = not user.account.muted and not any(row["muted"] for row in rows)
    context = {"rows": rows, "muted": user.account.muted, "all_muted": all_muted, "none_muted": none_muted}
    return render(request, "shopping/my/message_settings.html", context)


@action
@signed_in
@require_POST
def mute_hot_deals(request: UserRequest) -> HttpResponse:
    """Send the user no messages about hot deals, or send them again. 1 update."""
    muted = _wanted(request)
    users.mute_hot_deals(request.user.username, muted=muted)
    messages.success(request, _("You get no hot deals.") if muted else _("You get hot deals."))
    return HttpResponseRedirect(reverse("message_settings"))


@action
@signed_in
@require_POST
def mute_all(request: UserRequest) -> HttpResponse:
    """Mute hot deals and every watch, or hear all of them again: up to 100 watches at once, more by a job."""
    username, muted = request.user.username, _wanted(request)
    users.mute_hot_deals(username, muted=muted)
    if relations.mute_all(username, muted=muted, limit=MOST_AT_ONCE) == MOST_AT_ONCE:
        relations.mute_all_later(username, muted=muted, now=timezone.now())
    messages.success(request, _("You get no messages.") if muted else _("You get all messages."))
    return HttpResponseRedirect(reverse("message_settings"))


def _wanted(request: UserRequest) -> bool:
    """Return what the form wants: `muted` is yes or no. Counted as a like is."""
    limits.count_use(request, "like", now=timezone.now())
    wanted = request.POST.get("muted")
    if wanted not in ("yes", "no"):
        raise NotFound(_("There is no such setting."))
    return wanted == "yes"


def _named(found: list[RelationEntry]) -> list[dict[str, Any]]:
    """Return rows of a list with their display names, brands first, each by name. No request of its own."""
    brands = brand_names.names(row.slug for row in found if row.target == "brand")
    names = {"brand": brands, "category": category_names.names()}
    rows = [asdict(row) | {"name": names[row.target].get(row.slug, row.slug)} for row in found]
    return sorted(rows, key=lambda row: (row["target"], row["name"].casefold()))
