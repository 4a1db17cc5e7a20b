"""What the like and watch buttons do. Each says what it wants, not "the other way round", so repeating is harmless."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django_htmx.http import trigger_client_event

from dealsite.accounts.decorators import to_sign_in
from dealsite.accounts.destinations import destination
from dealsite.data import brand_names, category_names, relations
from dealsite.data.relations import (
    BRAND_LIKE,
    BRAND_WATCH,
    CATEGORY_LIKE,
    CATEGORY_WATCH,
    Relation,
    Standing,
)

_LIKED, _WATCHED = gettext_lazy("You like %(name)s now."), gettext_lazy("You watch %(name)s now.")
_UNLIKED = gettext_lazy("You no longer like %(name)s.")
_UNWATCHED = gettext_lazy("You no longer watch %(name)s.")
RELATED = {BRAND_LIKE: _LIKED, CATEGORY_LIKE: _LIKED, BRAND_WATCH: _WATCHED, CATEGORY_WATCH: _WATCHED}
UNRELATED = {
    BRAND_LIKE: _UNLIKED,
    CATEGORY_LIKE: _UNLIKED,
    BRAND_WATCH: _UNWATCHED,
    CATEGORY_WATCH: _UNWATCHED,
}


def press(request: HttpRequest, relation: Relation, slug: str, *, held: bool) -> HttpResponse:
    """Like or watch something, or take that back; visitors are led to sign-in, which does it. 1 transaction.

    Answers htmx with both buttons as they are now, others with a redirect.
    """
    verb, target = relation.verb.lower(), relation.target
    # First of all: whatever asks who it is, as the language of an address does, then knows that, too.
    standing: Standing | None = request.visit.standing(target, slug)  # type: ignore[attr-defined]
    back = destination(request, reverse(target, args=[slug]))
    if standing is None:
        return to_sign_in(request, back=back, then=f"{verb}_{target}:{slug}" if held else "")
    username = request.user.username  # type: ignore[union-attr]
    if held:
        relations.add(relation, slug, username, now=timezone.now())
    else:
        relations.remove(relation, slug, username)
    words = RELATED if held else UNRELATED
    said = words[relation] % {"name": _name(relation, slug)}
    if getattr(request, "htmx", False):
        context = {"standing": standing.after(relation, held=held)}
        response = render(request, "shopping/_relations.html", context)
        return trigger_client_event(response, "announce", {"text": said})
    messages.success(request, said)
    return HttpResponseRedirect(back)


def _name(relation: Relation, slug: str) -> str:
    if relation.target == "category":
        return category_names.names().get(slug, slug)
    return brand_names.names([slug])[slug]
