"""Watches of brands and categories: whoever watches one is sent a message when editors announce a deal of it."""

from __future__ import annotations

from datetime import datetime

from dealsite.data import relations, table
from dealsite.data.errors import NotFound
from dealsite.data.relations import BRAND_WATCH, CATEGORY_WATCH, Related, Relation
from dealsite.data.writes import Update, exists


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
    table.write(
        Update(
            key=relation.key(slug, username),
            set={"muted": True, "card": {"muted": True}} if muted else {},
            remove=() if muted else ("muted", "card"),
            when=(exists(),),
            otherwise=NotFound("You do not watch this."),
        )
    )


def watched_by(username: str) -> list[Related]:
    """Return what a user watches: brands, then categories, by slug. 1 query."""
    return relations.of_user(username, "WATCH")
