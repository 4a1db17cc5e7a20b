"""What the like and watch buttons do. Each says what it wants, not "the other way round", so repeating is harmless.

What a user likes and watches, and which messages they want.
"""

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django_htmx.http import trigger_client_event

from dealsite.accounts import limits
from dealsite.accounts.decorators import signed_in, to_sign_in
from dealsite.accounts.requests import SiteRequest, UserRequest, destination, note_change
from dealsite.data.catalogue import deals, relations
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.catalogue.relations import Relation, RelationEntry, RelationState, Target
from dealsite.data.people import users
from dealsite.data.table.errors import NotFound, Unavailable
from dealsite.web.pages import everyone

SAID = {
    ("LIKE", True): gettext_lazy("You like %(name)s now."),
    ("WATCH", True): gettext_lazy("You watch %(name)s now."),
    ("LIKE", False): gettext_lazy("You no longer like %(name)s."),
    ("WATCH", False): gettext_lazy("You no longer watch %(name)s."),
}
NOT_YET = {
    "like": gettext_lazy("You are signed in, but you do not like %(name)s yet. Try again."),
    "watch": gettext_lazy("You are signed in, but you do not watch %(name)s yet. Try again."),
}
PATTERN = re.compile(r"(like|watch)_(brand|category|deal):(.{1,200})")


@everyone.action
def add(request: SiteRequest, slug: str, relation: Relation) -> HttpResponse:
    """Like or watch a brand or category, or like a deal."""
    return _toggle(request, relation, slug, held=True)


@everyone.action
def remove(request: SiteRequest, slug: str, relation: Relation) -> HttpResponse:
    """Take a like or a watch back."""
    return _toggle(request, relation, slug, held=False)


def _toggle(request: SiteRequest, relation: Relation, slug: str, *, held: bool) -> HttpResponse:
    """Change a relation; visitors are led to sign-in, which does it. 1 transaction.

    Answers htmx with its buttons as they are now, others with a redirect.
    """
    verb, target = relation.verb.lower(), relation.target
    # First of all: whatever asks who it is, as the language of an address does, then knows that, too.
    relation_state: RelationState | None = request.visit.relation_state(target, slug)
    back = destination(request, reverse(target, args=[slug]))
    if relation_state is None:
        return to_sign_in(request, back=back, then=f"{verb}_{target}:{slug}" if held else "")
    username, now = request.user.username, timezone.now()
    limits.count_use(request, "like", now=now)
    if held:
        relations.add(relation, slug, username, now=now)
    else:
        relations.remove(relation, slug, username)
    said = SAID[relation.verb, held] % {"name": name_of(relation, slug)}
    if request.htmx:
        context = {"relation_state": relation_state.after(relation, held=held)}
        response = render(request, "shopping/my/_relations.html", context)
        trigger_client_event(response, "announce", {"text": said})
    else:
        messages.success(request, said)
        response = HttpResponseRedirect(back)
    note_change(response)
    return response


def name_of(relation: Relation, slug: str) -> str:
    """Return the display name of a brand or category. 1 request a minute and process; of a deal, no request."""
    if relation.target == "deal":
        return _("this deal")
    if relation.target == "category":
        return category_names.names().get(slug, slug)
    return brand_names.names([slug])[slug]


@dataclass(frozen=True, slots=True)
class RelationAction:
    """What a visitor wanted to like or watch before they were asked to sign in, done once they are in.

    It stands in the address as `then=like_brand:nordlicht`, and only what is written exactly so is known.
    """

    relation: Relation
    slug: str

    def __str__(self) -> str:
        return f"{self.verb}_{self.target}:{self.slug}"

    @property
    def verb(self) -> str:
        return self.relation.verb.lower()

    @property
    def target(self) -> Target:
        return self.relation.target

    @property
    def name(self) -> str:
        """What it is called."""
        return name_of(self.relation, self.slug)

    def carry_out(self, request: HttpRequest, username: str, *, now: datetime) -> None:
        """Like or watch it, and say so; the sign-in stands, whatever becomes of it. 1 transaction."""
        try:
            relations.add(self.relation, self.slug, username, now=now)
        except NotFound as error:
            messages.warning(request, str(error))
        except Unavailable:
            messages.warning(request, NOT_YET[self.verb] % {"name": self.name})
        else:
            messages.success(request, SAID[self.relation.verb, True] % {"name": self.name})


def pending_action(request: HttpRequest) -> RelationAction | None:
    """Return the action in a request's form or else its address; None for what is not exactly one."""
    found = PATTERN.fullmatch(request.POST.get("then") or request.GET.get("then") or "")
    if found is None:
        return None
    relation = relations.BY_NAME.get((found[1].upper(), found[2]))
    return (
        RelationAction(relation, found[3])
        if relation and relations.can_be(relation.target, found[3])
        else None
    )


MOST_AT_ONCE = 100  # liked deals that are shown; more watches are muted by the worker


@signed_in.page("1 query or 1 query + 1 batch get")
def likes(request: UserRequest) -> HttpResponse:
    """Show what the user likes: brands, categories, and the newest deals. 1 query, and 1 batch get for deals."""
    found = relations.likes_of(request.user.username)
    every = [row.slug for row in reversed(found) if row.target == "deal"]
    liked = every[:MOST_AT_ONCE]
    stored = deals.get_many(liked) if liked else {}
    cards = [
        stored[deal_id].card for deal_id in liked if deal_id in stored
    ]  # others are in the trash, or gone
    rows = _named([row for row in found if row.target != "deal"])
    rows += [{"target": "deal", "slug": card.id, "name": card.title, "card": card} for card in cards]
    more = len(every) - len(liked)
    context = {"rows": rows, "verb": "like", "now": timezone.now(), "most": MOST_AT_ONCE, "more": more}
    return render(request, "shopping/my/relation_list.html", context)


@signed_in.page("1 query")
def watching(request: UserRequest) -> HttpResponse:
    """Show what the user watches. 1 query."""
    rows = _named(relations.watched_by(request.user.username))
    return render(request, "shopping/my/relation_list.html", {"rows": rows, "verb": "watch"})


@signed_in.action
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


@signed_in.page("1 query")
def message_settings(request: UserRequest) -> HttpResponse:
    """Show which kinds of messages the user wants. 1 query."""
    user = request.user
    rows = _named(relations.watched_by(user.username))
    all_muted = user.account.muted and all(row["muted"] for row in rows)
    none_muted = not user.account.muted and not any(row["muted"] for row in rows)
    context = {"rows": rows, "muted": user.account.muted, "all_muted": all_muted, "none_muted": none_muted}
    return render(request, "shopping/my/message_settings.html", context)


@signed_in.action
def mute_hot_deals(request: UserRequest) -> HttpResponse:
    """Send the user no messages about hot deals, or send them again. 1 update."""
    muted = _wanted(request)
    users.mute_hot_deals(request.user.username, muted=muted)
    messages.success(request, _("You get no hot deals.") if muted else _("You get hot deals."))
    return HttpResponseRedirect(reverse("message_settings"))


@signed_in.action
def mute_all(request: UserRequest) -> HttpResponse:
    """Mute hot deals and every watch, or hear all of them again: up to 100 watches at once, more by a job."""
    username, muted = request.user.username, _wanted(request)
    users.mute_hot_deals(username, muted=muted)
    if relations.mute_all(username, muted=muted, limit=MOST_AT_ONCE) == MOST_AT_ONCE:
        relations.mute_all_later(username, muted=muted, now=timezone.now())
    messages.success(
        request, _("You get no messages about deals.") if muted else _("You get messages about deals.")
    )
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
