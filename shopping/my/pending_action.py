"""What a visitor wanted to do before they were asked to sign in: one like or watch, done once they are in.

It stands in the address as `then=like_brand:nordlicht`, and only what is written exactly so is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from dealsite.data.catalogue import relations
from dealsite.data.catalogue.categories import Kind
from dealsite.data.catalogue.relations import Relation
from dealsite.data.table.errors import NotFound, Unavailable
from shopping.my.relations import name_of

PATTERN = re.compile(r"(like|watch)_(brand|category):(.{1,200})")


@dataclass(frozen=True, slots=True)
class RelationAction:
    """To like or watch a brand or category; as text it is what stands in an address."""

    relation: Relation
    slug: str

    def __str__(self) -> str:
        return f"{self.verb}_{self.target}:{self.slug}"

    @property
    def verb(self) -> str:
        return self.relation.verb.lower()

    @property
    def target(self) -> Kind:
        return self.relation.target

    @property
    def name(self) -> str:
        """The display name of the brand or category."""
        return name_of(self.relation, self.slug)

    def carry_out(self, request: HttpRequest, username: str, *, now: datetime) -> None:
        """Like or watch it, and say so; the sign-in stands, whatever becomes of it. 1 transaction."""
        try:
            relations.add(self.relation, self.slug, username, now=now)
        except NotFound as error:
            messages.warning(request, str(error))
        except Unavailable:
            failed = {
                "like": _("You are signed in, but you do not like %(name)s yet. Try again."),
                "watch": _("You are signed in, but you do not watch %(name)s yet. Try again."),
            }
            messages.warning(request, failed[self.verb] % {"name": self.name})
        else:
            done = {"like": _("You like %(name)s now."), "watch": _("You watch %(name)s now.")}
            messages.success(request, done[self.verb] % {"name": self.name})


def read(request: HttpRequest) -> RelationAction | None:
    """Return the action in a request's form or else its address; None for what is not exactly one."""
    found = PATTERN.fullmatch(request.POST.get("then") or request.GET.get("then") or "")
    if found is None:
        return None
    relation = next(
        one for one in relations.RELATIONS if (one.verb.lower(), one.target) == found.groups()[:2]
    )
    return RelationAction(relation, found[3]) if relations.can_be(relation.target, found[3]) else None
