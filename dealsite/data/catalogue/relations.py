"""Likes of deals; likes and watches of brands and categories, whose watchers get a message of each announced deal.

Each of the five relations has its type, its key and the counter beside its target, which change in one transaction.
Repeating either way is harmless: the relation must be absent (or there) for the counter to move. A deal in the trash
keeps its likes, until it is deleted for good.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal, cast

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import activity
from dealsite.data.catalogue.categories import CATEGORIES, Counts
from dealsite.data.entities import taxonomy
from dealsite.data.entities.entity import Entity
from dealsite.data.jobs.jobs import job_write
from dealsite.data.names import is_slug
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.parallel import together
from dealsite.data.table.writes import Check, Delete, Put, Update, Write, absent, exists

Target = Literal["brand", "category", "deal"]


@dataclass(frozen=True, slots=True)
class MuteAllPayload:
    """Whose watches are all to be muted, or heard again."""

    username: str
    muted: bool


class AlreadySo(Conflict):
    """The relation is as it was asked to be."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One of the five relations; `counter` is the counter's name beside its target. A deal's slug is its id."""

    entity: Entity
    verb: str
    target: Target
    counter: str
    key: Callable[[str, str], keys.Key]

    @property
    def type(self) -> str:
        return self.entity.type

    def count_key(self, slug: str) -> keys.Key:
        return COUNTS[self.target](slug)

    def item(self, slug: str, username: str, *, now: datetime) -> Item:
        return self.entity.item({"slug": slug, "username": username, "created_at": iso(now)})


BRAND_LIKE = Relation(taxonomy.BRAND_LIKE, "LIKE", "brand", "likes", keys.brand_like)
CATEGORY_LIKE = Relation(taxonomy.CATEGORY_LIKE, "LIKE", "category", "likes", keys.category_like)
BRAND_WATCH = Relation(taxonomy.BRAND_WATCH, "WATCH", "brand", "watches", keys.brand_watch)
CATEGORY_WATCH = Relation(taxonomy.CATEGORY_WATCH, "WATCH", "category", "watches", keys.category_watch)
DEAL_LIKE = Relation(taxonomy.DEAL_LIKE, "LIKE", "deal", "likes", keys.deal_like)
COUNTS: dict[Target, Callable[[str], keys.Key]] = {
    "brand": keys.brand_counts,
    "category": keys.category_counts,
    "deal": keys.deal_counts,
}
MISSING = {
    "brand": gettext_lazy("There is no such brand."),
    "category": gettext_lazy("There is no such category."),
    "deal": gettext_lazy("There is no such deal."),
}
IN_ONE_PARTITION = (BRAND_WATCH, CATEGORY_WATCH, DEAL_LIKE)  # all that there are of a target
RELATIONS = (BRAND_LIKE, CATEGORY_LIKE, BRAND_WATCH, CATEGORY_WATCH, DEAL_LIKE)
BY_NAME: dict[tuple[str, str], Relation] = {(one.verb, one.target): one for one in RELATIONS}
MUTE_ALL = "mute_all"  # the kind of job that mutes many watches


@access_pattern("add a like or a watch", "1 transaction")
def add(relation: Relation, slug: str, username: str, *, now: datetime) -> bool:
    """Add a relation and count it; False if it was there. NotFound if shoppers cannot see its target."""
    check_slug(relation, slug)
    key, item = relation.key(slug, username), relation.item(slug, username, now=now)
    missing = NotFound(MISSING[relation.target])
    added = Put(key=key, item=item, when=(absent(),), otherwise=AlreadySo())
    counted = Update(
        key=relation.count_key(slug), add={relation.counter: 1}, when=(exists(),), otherwise=missing
    )
    writes: list[Write] = [added, counted]
    if relation.target == "deal":
        if time_of(slug) > now:
            raise missing
        first = taxonomy.DEAL_COUNTS.item({"deal": slug})  # none before its first like
        writes = [added, replace(counted, set=first, when=())]
        writes.append(Check(key=keys.deal(slug), when=(exists(),), otherwise=missing))
    try:
        table.transact(writes)
    except AlreadySo:
        return False
    if relation.target == "deal":
        activity.note(slug, now.astimezone(UTC).date())
    return True


@access_pattern("remove a like or a watch", "1 transaction")
def remove(relation: Relation, slug: str, username: str) -> bool:
    """Take a relation back and count it off; False if it was not there."""
    check_slug(relation, slug)
    removed = Delete(key=relation.key(slug, username), when=(exists(),), otherwise=AlreadySo())
    counted = Update(key=relation.count_key(slug), add={relation.counter: -1}, when=(exists(),))
    try:
        table.transact([removed, counted])
    except AlreadySo:
        return False
    return True


@dataclass(frozen=True, slots=True)
class RelationEntry:
    """A row of a user's list: which deal, brand or category it is, and whether a watch is muted."""

    target: Target
    slug: str
    muted: bool = False


@access_pattern("what a user likes", "1 query")
def likes_of(username: str) -> list[RelationEntry]:
    """Return what a user likes: brands, then categories, by slug, then deals, by publication; some may be gone."""
    return _of_user(username, "LIKE")


@access_pattern("what a user watches", "1 query")
def watched_by(username: str) -> list[RelationEntry]:
    """Return what a user watches: brands, then categories, by slug."""
    return _of_user(username, "WATCH")


def _of_user(username: str, verb: str) -> list[RelationEntry]:
    """Return a user's relations of one kind. 1 query a page of 1,000."""
    low, high = keys.relations_of_user.between(verb)
    partition = keys.relations_of_user.partition(username)
    found: list[RelationEntry] = []
    for row in table.query_all(partition, index=keys.GSI2, low=low, high=high, limit=1000):
        _, target, slug = row["GSI2SK"].split("#")
        found.append(
            RelationEntry(cast(Target, target.lower()), slug, bool(row.get("card", {}).get("muted")))
        )
    return found


@access_pattern("mute a watch, or hear it again", "1 update")
def mute_watch(relation: Relation, slug: str, *, username: str, muted: bool) -> None:
    """Keep a watch, but send no messages for it, or send them again; NotFound if there is none."""
    check_slug(relation, slug)
    table.write(
        Update(
            key=relation.key(slug, username),
            set={"muted": True, "card": {"muted": True}} if muted else {},
            remove=() if muted else ("muted", "card"),
            when=(exists(),),
            otherwise=NotFound(gettext_lazy("You do not watch this.")),
        )
    )


@access_pattern("mute some of a user's watches: an update each", "1 query + 1 update")
def mute_all(username: str, *, muted: bool, limit: int) -> int:
    """Mute up to `limit` of a user's watches, or hear them again; return how many were not so.

    1 query + 1 update each.
    """
    wrong = [watch for watch in watched_by(username) if watch.muted != muted][:limit]
    for watch in wrong:
        with contextlib.suppress(NotFound):  # they no longer watch it
            mute_watch(BY_NAME["WATCH", watch.target], watch.slug, username=username, muted=muted)
    return len(wrong)


@access_pattern("mute all of very many watches", "1 put")
def mute_all_later(username: str, *, muted: bool, now: datetime) -> None:
    """Have the worker mute all of a user's watches, or let them be heard again."""
    payload = MuteAllPayload(username, muted)
    table.write(job_write(MUTE_ALL, payload, job_id=new_ulid(now), due=now))


@access_pattern(
    "remove all that a deleted user likes and watches: a transaction each", "2 queries + 5 transactions"
)
def remove_all(username: str) -> None:
    """Take back all likes and watches of a user who is gone, and count them off. 2 queries + 1 transaction each."""
    for verb in ("LIKE", "WATCH"):
        for related in _of_user(username, verb):
            remove(BY_NAME[verb, related.target], related.slug, username)


def deletions_of_deal(deal_id: str, *, room: int) -> list[Write]:
    """Return the writes that delete the likes of a deal that is gone and count them off, or the first `room`; or [].

    1 query. VersionConflict where one of them was taken back meanwhile.
    """
    rows = table.query(keys.deal_like.partition(deal_id), limit=room - 1, consistent=True)
    gone: list[Write] = [
        Delete(key=(row["PK"], row["SK"]), when=(exists(),), otherwise=VersionConflict()) for row in rows
    ]
    return [*gone, Update(key=keys.deal_counts(deal_id), add={"likes": -len(gone)})] if gone else []


@dataclass(frozen=True, slots=True)
class RelationState:
    """How a user, or a visitor, stands to a deal, brand or category, and how many like and watch it."""

    target: Target
    slug: str
    likes: int = 0
    watches: int = 0
    liked: bool = False
    watched: bool = False

    def after(self, relation: Relation, *, held: bool) -> RelationState:
        """Return what one change makes of it, as far as one knows without reading it again."""
        if relation.verb == "LIKE":
            return replace(self, liked=held, likes=max(self.likes + held - self.liked, 0))
        return replace(self, watched=held, watches=max(self.watches + held - self.watched, 0))


@access_pattern("how a user stands to a brand", "1 batch get")
def relation_state_of(
    username: str, target: Target, slug: str, counts: Counts | None = None
) -> RelationState:
    """Return how a user stands to a deal, brand or category, as `relation_state_and` does."""
    return relation_state_and([], username, target, slug, counts)[1]


def relation_state_and(
    others: list[keys.Key], username: str, target: Target, slug: str, counts: Counts | None
) -> tuple[dict[keys.Key, Item], RelationState]:
    """Return items of other keys, and how a user stands to a deal, brand or category. 1 consistent batch get.

    With the `counts` that all are shown, no partition is read for which all ask: what it holds of the user is looked up
    in their own list, as it was a moment ago. 1 query at the same time.
    """
    if not can_be(target, slug):
        return table.batch_get(others), RelationState(target, slug)
    of_target = [one for one in RELATIONS if one.target == target]
    listed = [one for one in of_target if counts and one in IN_ONE_PARTITION]
    wanted = {one.verb: one.key(slug, username) for one in of_target if one not in listed}
    counter = COUNTS[target](slug)
    asked = [*others, *wanted.values(), *(() if counts else (counter,))]
    look_ups = [partial(_is_listed, one, slug, username) for one in listed]
    items, *found = together(partial(table.batch_get, asked), *look_ups)
    held = {verb: key in items for verb, key in wanted.items()}
    held |= {one.verb: is_there for one, is_there in zip(listed, found, strict=True)}
    counts = counts or Counts.from_item(items.get(counter))
    return items, RelationState(
        target, slug, counts.likes, counts.watches, held["LIKE"], held.get("WATCH", False)
    )


def _is_listed(relation: Relation, slug: str, username: str) -> bool:
    """Tell whether a relation is among a user's own. 1 query."""
    row = keys.relations_of_user(username, relation.verb, relation.target.upper(), slug)
    place = row["GSI2SK"]
    return bool(table.query(row["GSI2PK"], index=keys.GSI2, low=place, high=place, limit=1))


def can_be(target: Target, slug: str) -> bool:
    """Tell whether a text from outside can be the slug of a brand or a deal's id, or is a category's slug."""
    if target == "category":
        return slug in CATEGORIES
    return is_ulid(slug) if target == "deal" else is_slug(slug)


def check_slug(relation: Relation, slug: str) -> None:
    """Raise NotFound for what cannot be a target of a relation."""
    if not can_be(relation.target, slug):
        raise NotFound(MISSING[relation.target])
