"""Watches of brands and categories: whoever watches one is sent a message when editors announce a deal of it."""

from __future__ import annotations

import contextlib
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import relations, table
from dealsite.data.errors import NotFound
from dealsite.data.ids import new_ulid
from dealsite.data.jobs import job_write
from dealsite.data.relations import BRAND_WATCH, CATEGORY_WATCH, Related, Relation, Target
from dealsite.data.writes import Update, exists

MUTE_ALL = "mute_all"  # the kind of job that mutes many watches
OF_TARGET: dict[Target, Relation] = {"brand": BRAND_WATCH, "category": CATEGORY_WATCH}


def watch_brand(slug: str, *, username: str, now: datetime) -> bool:
    """Watch a brand; False if the user did so already. NotFound for no such brand. 1 transaction."""
    return relations.add(BRAND_WATCH, slug, username, now=now)


def unwatch_brand(slug: str, *, username: str) -> bool:
    """Stop watching a brand; False if the user did not. 1 transaction."""
    return relations.remove(BRAND_WATCH, slug, username)


def watch_category(slug: str, *, username: str, now: datetime) -> bool:
    """Watch a category; False if the user did so already. NotFound for no such category. 1 transaction."""
    return relations.add(CATEGORY_WATCH, slug, username, now=now)


def unwatch_category(slug: str, *, username: str) -> bool:
    """Stop watching a category; False if the user did not. 1 transaction."""
    return relations.remove(CATEGORY_WATCH, slug, username)


def mute_watch(relation: Relation, slug: str, *, username: str, muted: bool) -> None:
    """Keep a watch, but send no messages for it, or send them again; NotFound if there is none. 1 update."""
    relations.check_slug(relation, slug)
    table.write(
        Update(
            key=relation.key(slug, username),
            set={"muted": True, "card": {"muted": True}} if muted else {},
            remove=() if muted else ("muted", "card"),
            when=(exists(),),
            otherwise=NotFound(gettext_lazy("You do not watch this.")),
        )
    )


def mute_all(username: str, *, muted: bool, limit: int) -> int:
    """Mute up to `limit` of a user's watches, or hear them again; return how many were not so.

    1 query + 1 update each.
    """
    wrong = [watch for watch in watched_by(username) if watch.muted != muted][:limit]
    for watch in wrong:
        with contextlib.suppress(NotFound):  # he no longer watches it
            mute_watch(OF_TARGET[watch.target], watch.slug, username=username, muted=muted)
    return len(wrong)


def mute_all_later(username: str, *, muted: bool, now: datetime) -> None:
    """Have the worker mute all of a user's watches, or let them be heard again. 1 put."""
    payload = {"username": username, "muted": muted}
    table.write(job_write(MUTE_ALL, payload, job_id=new_ulid(now), due=now))


def watched_by(username: str) -> list[Related]:
    """Return what a user watches: brands, then categories, by slug. 1 query."""
    return relations.of_user(username, "WATCH")
