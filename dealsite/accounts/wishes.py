"""What a visitor wished to do before he was asked to sign in: one like or watch, done by the form that lets him in.

It stands in the address as `then=like_brand:nordlicht`, and only what is written exactly so is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from dealsite.data import brand_names, category_names, likes, relations, watches
from dealsite.data.errors import NotFound, Unavailable
from dealsite.data.relations import Target

WISH = re.compile(r"(like|watch)_(brand|category):(.{1,200})")
ACTIONS: dict[str, Callable[..., bool]] = {
    "like_brand": likes.like_brand,
    "watch_brand": watches.watch_brand,
    "like_category": likes.like_category,
    "watch_category": watches.watch_category,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """To like or watch a brand or category; as text it is what stands in an address."""

    verb: str
    target: Target
    slug: str

    def __str__(self) -> str:
        return f"{self.verb}_{self.target}:{self.slug}"

    @property
    def name(self) -> str:
        """The display name of the brand or category."""
        if self.target == "category":
            return category_names.names()[self.slug]
        return brand_names.names([self.slug])[self.slug]


def asked(request: HttpRequest) -> Wish | None:
    """Return the wish in a request's form or else its address; None for what is not exactly one."""
    found = WISH.fullmatch(request.POST.get("then") or request.GET.get("then") or "")
    if found is None:
        return None
    target: Target = "brand" if found[2] == "brand" else "category"
    return Wish(found[1], target, found[3]) if relations.can_be(target, found[3]) else None


def fulfil(request: HttpRequest, wish: Wish, username: str, *, now: datetime) -> None:
    """Do what was wished for, and say so; the sign-in stands, whatever becomes of it. 1 transaction."""
    try:
        ACTIONS[f"{wish.verb}_{wish.target}"](wish.slug, username=username, now=now)
    except NotFound as error:
        messages.warning(request, str(error))
    except Unavailable:
        failed = {
            "like": _("You are signed in, but you do not like %(name)s yet. Try again."),
            "watch": _("You are signed in, but you do not watch %(name)s yet. Try again."),
        }
        messages.warning(request, failed[wish.verb] % {"name": wish.name})
    else:
        done = {"like": _("You like %(name)s now."), "watch": _("You watch %(name)s now.")}
        messages.success(request, done[wish.verb] % {"name": wish.name})
