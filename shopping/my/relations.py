"""What the like and watch buttons do. Each says what it wants, not "the other way round", so repeating is harmless."""

import re
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from dealsite.accounts import limits
from dealsite.accounts.decorators import to_sign_in
from dealsite.accounts.requests import SiteRequest, destination
from dealsite.data.catalogue import relations
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.catalogue.relations import Relation, RelationState, Target
from dealsite.data.table.errors import NotFound, Unavailable
from dealsite.web.pages import action

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


@action
@require_POST
def add(request: SiteRequest, slug: str, relation: Relation) -> HttpResponse:
    """Like or watch a brand or category, or like a deal."""
    return _toggle(request, relation, slug, held=True)


@action
@require_POST
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
        return trigger_client_event(response, "announce", {"text": said})
    messages.success(request, said)
    return HttpResponseRedirect(back)


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
