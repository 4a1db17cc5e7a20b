"""What needs an editor, by topic: how search is asked for it, and whether the table agrees that it belongs there.

Search says where to look and may lag by a moment, so what it finds is checked in the table before it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo

from dealsite.data.catalogue import entries
from dealsite.data.catalogue.cards import ENDING_SOON, OVER, DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.entries import AttentionData
from dealsite.data.catalogue.featured import FeaturedPage
from dealsite.data.editing.links import LinkCheck
from dealsite.data.entities.deals import HERE
from dealsite.search.documents import ALT, DRAFT, LINK, PICTURE, STOCK, USE, StoredDocument
from dealsite.search.finding import SearchHit
from dealsite.search.question import Question


@dataclass(frozen=True, slots=True)
class Today:
    """Now, and the last moment of today where the editor is."""

    now: datetime
    end: datetime

    @classmethod
    def of(cls, now: datetime, zone: tzinfo) -> Today:
        tomorrow = now.astimezone(zone).date() + timedelta(days=1)
        return cls(now, datetime.combine(tomorrow, time(), tzinfo=zone) - timedelta(milliseconds=1))


@dataclass(frozen=True)
class Topic:
    """One thing that needs looking after; `ask` is None for what is known without search: the featured lists."""

    name: str
    ask: Callable[[Today], Question] | None = None
    sort: str = "newest"
    holds: Callable[[DealContent, DealCard, LinkCheck | None, Today], bool] = lambda *_: True


def _editors(**asked: object) -> Callable[[Today], Question]:
    question = Question(for_editors=True, **asked)  # type: ignore[arg-type]
    return lambda today: question


TOPICS = {
    topic.name: topic
    for topic in (
        Topic("drafts", _editors(kind="draft")),
        Topic(
            "today",
            lambda today: Question(state="scheduled", live_until=today.end, for_editors=True),
            "soonest",
            lambda content, card, check, today: today.now < card.live_at <= today.end,
        ),
        Topic(
            "ending",
            _editors(state="ending"),
            "ending",
            lambda content, card, check, today: (
                card.expires_at is not None and today.now < card.expires_at <= today.now + ENDING_SOON
            ),
        ),
        Topic("featured"),
        Topic(
            "links",
            _editors(kind="either", lacks=LINK),
            holds=lambda content, card, check, today: check is not None and check.is_broken,
        ),
        Topic(
            "sold-out",
            _editors(state="live", lacks=STOCK),
            holds=lambda content, card, check, today: card.state(today.now) == "sold_out",
        ),
        Topic(
            "links-aside",
            _editors(kind="either", lacks=USE),
            holds=lambda content, card, check, today: content.sold == HERE and bool(content.link),
        ),
        Topic(
            "alt-texts",
            _editors(kind="either", lacks=ALT),
            holds=lambda content, card, check, today: bool(
                content.picture and not content.picture.alt.strip()
            ),
        ),
        Topic(
            "pictures",
            _editors(kind="either", lacks=PICTURE),
            holds=lambda content, card, check, today: content.picture is None,
        ),
    )
}


def look(found: Iterable[SearchHit | StoredDocument], *, pages: bool = False) -> AttentionData:
    """Return what the table has of some answers; with `pages`, the featured lists too. 1 batch get for each 100."""
    kinds = {one.card.id: one.kind for one in found if one.card}
    drafts = [id_ for id_, kind in kinds.items() if kind == DRAFT]
    return entries.look([id_ for id_, kind in kinds.items() if kind != DRAFT], drafts, pages=pages)


def featured_but_over(
    pages: Iterable[FeaturedPage], now: datetime
) -> Iterator[tuple[FeaturedPage, DealCard]]:
    """Yield what the featured lists hold that can no longer be had."""
    for page in pages:
        for card in page.cards:
            if card.state(now) in OVER:
                yield page, card
