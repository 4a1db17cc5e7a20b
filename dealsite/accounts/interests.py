"""What a user likes and watches, and which messages he wants."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dealsite.accounts.decorators import signed_in
from dealsite.accounts.destinations import destination
from dealsite.accounts.visitors import SignedIn
from dealsite.data import brand_names, category_names, users
from dealsite.data import likes as stored_likes
from dealsite.data import watches as stored_watches
from dealsite.data.errors import NotFound
from dealsite.data.relations import Related

MOST_AT_ONCE = 100  # more watches are muted by the worker


@signed_in
@require_safe
def likes(request: HttpRequest) -> HttpResponse:
    """Show what the user likes. 1 query."""
    rows = _named(stored_likes.likes_of(_username(request)))
    return render(request, "accounts/likes.html", {"rows": rows})


@signed_in
@require_safe
def watching(request: HttpRequest) -> HttpResponse:
    """Show what the user watches. 1 query."""
    rows = _named(stored_watches.watched_by(_username(request)))
    return render(request, "accounts/watching.html", {"rows": rows})


@signed_in
@require_POST
def mute_watch(request: HttpRequest) -> HttpResponse:
    """Keep a watch without its messages, or hear them again. 1 update."""
    relation = stored_watches.OF_TARGET.get(request.POST.get("target", ""))  # type: ignore[call-overload]
    if relation is None:
        raise NotFound(_("You do not watch this."))
    slug, muted = request.POST.get("slug", ""), _wanted(request)
    stored_watches.mute_watch(relation, slug, username=_username(request), muted=muted)
    (row,) = _named([Related(relation.target, slug)])
    said = (
        _("You get no messages about %(name)s.") % {"name": row["name"]}
        if muted
        else _("You get messages about %(name)s.") % {"name": row["name"]}
    )
    messages.success(request, said)
    return HttpResponseRedirect(destination(request, reverse("watching")))


@signed_in
@require_safe
def message_settings(request: HttpRequest) -> HttpResponse:
    """Show which kinds of messages the user wants. 1 query."""
    user: SignedIn = request.user  # type: ignore[assignment]
    rows = _named(stored_watches.watched_by(user.username))
    all_muted = user.account.muted and all(row["muted"] for row in rows)
    none_muted = not user.account.muted and not any(row["muted"] for row in rows)
    context = {"rows": rows, "muted": user.account.muted, "all_muted": all_muted, "none_muted": none_muted}
    return render(request, "accounts/message_settings.html", context)


@signed_in
@require_POST
def mute_hot_deals(request: HttpRequest) -> HttpResponse:
    """Send the user no messages about hot deals, or send them again. 1 update."""
    muted = _wanted(request)
    users.mute_hot_deals(_username(request), muted=muted)
    messages.success(request, _("You get no hot deals.") if muted else _("You get hot deals."))
    return HttpResponseRedirect(reverse("message_settings"))


@signed_in
@require_POST
def mute_all(request: HttpRequest) -> HttpResponse:
    """Mute hot deals and every watch, or hear all of them again: up to 100 watches at once, more by a job."""
    username, muted = _username(request), _wanted(request)
    users.mute_hot_deals(username, muted=muted)
    if stored_watches.mute_all(username, muted=muted, limit=MOST_AT_ONCE) == MOST_AT_ONCE:
        stored_watches.mute_all_later(username, muted=muted, now=timezone.now())
    messages.success(request, _("You get no messages.") if muted else _("You get all messages."))
    return HttpResponseRedirect(reverse("message_settings"))


def _wanted(request: HttpRequest) -> bool:
    """Return what the form wants: `muted` is yes or no."""
    wanted = request.POST.get("muted")
    if wanted not in ("yes", "no"):
        raise NotFound(_("There is no such setting."))
    return wanted == "yes"


def _named(found: list[Related]) -> list[dict[str, Any]]:
    """Return rows of a list with their display names, brands first, each by name. No request of its own."""
    brands = brand_names.names(row.slug for row in found if row.target == "brand")
    names = {"brand": brands, "category": category_names.names()}
    rows = [
        {
            "target": row.target,
            "slug": row.slug,
            "muted": row.muted,
            "name": names[row.target].get(row.slug, row.slug),
        }
        for row in found
    ]
    return sorted(rows, key=lambda row: (row["target"], row["name"].casefold()))


def _username(request: HttpRequest) -> str:
    username: str = request.user.username  # type: ignore[union-attr]
    return username
