"""Lists of deals and drafts as rows of a file: by state, what needs an editor, the trash, and who has a deal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, tzinfo
from itertools import islice
from operator import attrgetter
from typing import TypeVar

from dealsite import attention
from dealsite.attention import TOPICS, Today, Topic
from dealsite.data import deal_lists, deals, drafts, orders, trash
from dealsite.data.attention import Looked
from dealsite.data.bulk import Matching
from dealsite.data.cards import DealCard
from dealsite.data.content import DealContent
from dealsite.data.deals import Deal
from dealsite.data.drafts import Draft
from dealsite.data.errors import NotFound
from dealsite.data.ids import slugify
from dealsite.search import walking
from dealsite.search.documents import Stored
from dealsite.search.finding import find

AT_ONCE = 100
HOLDERS_AT_ONCE = 1000
CONTENT = ("title", "brand", "category", "price", "was_price", "voucher_code", "url", "description")
Row = Sequence[object]
Thing = TypeVar("Thing")
ORDERS = {"soonest": attrgetter("card.live_at"), "ending": attrgetter("card.expires_at")}


def some_of(things: Iterable[Thing], size: int) -> Iterator[list[Thing]]:
    """Yield things some at a time."""
    left = iter(things)
    while some := list(islice(left, size)):
        yield some


def deal_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield the deals of a list. 1 batch get for each 100, beside what the list costs."""
    for cards in some_of(_cards(filters, now, draft=False), AT_ONCE):
        whole = deals.get_many(card.id for card in cards)
        yield from (_deal_row(whole[card.id], now) for card in cards if card.id in whole)


def draft_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield the drafts of a list. 1 batch get for each 100, beside what the list costs."""
    for cards in some_of(_cards(filters, now, draft=True), AT_ONCE):
        whole = drafts.get_many(card.id for card in cards)
        found = (whole[card.id] for card in cards if card.id in whole)
        yield from (_draft_row(draft) for draft in found if not draft.published_as)


def _cards(filters: dict[str, str], now: datetime, *, draft: bool) -> Iterator[DealCard]:
    """Yield the cards of a list of deals: 1 page of it after the other, or of what search finds."""
    state = "draft" if draft else filters.get("state", "all")
    brand, category = slugify(filters.get("brand", "")), filters.get("category", "")
    listed = Matching(state, brand, category, filters.get("q", ""), lacks=filters.get("lacks", ""))
    if listed.is_searched:
        question = walking.question_of(listed)
        how = find(question, now=now, size=1).how
        for found in walking.walk(question, how=how, now=now, size=AT_ONCE):
            if found.card:
                yield found.card
        return
    after: str | None = None
    while True:
        try:
            page = deal_lists.cms_list(
                state=state, brand=brand, category=category, now=now, after=after, size=AT_ONCE
            )
        except NotFound:  # no such brand
            return
        yield from page.cards
        if (after := page.after) is None:
            return


def _deal_row(deal: Deal, now: datetime) -> Row:
    state = deal.card.state(now)
    return [
        *(deal.id, state, *_content(deal.content, deal.card), deal.live_at, deal.content.expires_at),
        *(deal.updated_at, deal.updated_by),
    ]


def _content(content: DealContent, card: DealCard) -> Row:
    return [
        *(content.title, card.brand_name, content.category, content.price, content.was_price),
        *(content.voucher_code, content.link, content.description),
    ]


def _draft_row(draft: Draft) -> Row:
    content = draft.content
    return [
        *(draft.id, *_content(content, draft.card), content.stock, content.expires_at),
        *(draft.updated_at, draft.updated_by, draft.created_by),
    ]


def attention_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield what needs an editor for one reason, in the order of its page. 1 batch get for each 100."""
    topic, today = TOPICS[filters["topic"]], Today.of(now, zone)
    if topic.ask is None:
        yield from _featured_rows(now)
        return
    found: Iterable[Stored] = walking.walk(topic.ask(today), now=now, size=AT_ONCE)
    if topic.sort in ORDERS:  # of a day or two, so there is room for all of them
        found = sorted(found, key=ORDERS[topic.sort])
    for some in some_of(found, AT_ONCE):
        looked = attention.look(some)
        for one in some:
            if one.card and (row := _needing_row(topic, one.card.id, looked, today)):
                yield row


def _needing_row(topic: Topic, id_: str, looked: Looked, today: Today) -> Row | None:
    """Return the row of a deal or draft; None where the table no longer agrees that it belongs to the topic."""
    if draft := looked.drafts.get(id_):
        if not topic.holds(draft.content, draft.card, None, today):
            return None
        lacking = deals.problems(draft.content, live_at=today.now)
        return [*_needing(draft, "draft"), None, *_changed(draft), ", ".join(lacking), "", None, ""]
    deal, check = looked.deals.get(id_), looked.checks.get(id_)
    if deal is None or not topic.holds(deal.content, deal.card, check, today):
        return None
    reason, since = (check.reason, check.since) if check else ("", None)
    state = deal.card.state(today.now)
    return [*_needing(deal, state), deal.live_at, *_changed(deal), "", reason, since, ""]


def _featured_rows(now: datetime) -> Iterator[Row]:
    listed = list(attention.featured_but_over(attention.look([], pages=True).pages, now))
    whole = deals.get_many(dict.fromkeys(card.id for _page, card in listed))
    for page, card in listed:
        if deal := whole.get(card.id):
            state = deal.card.state(now)
            yield [*_needing(deal, state), deal.live_at, *_changed(deal), "", "", None, page.id]


def _needing(thing: Deal | Draft, state: str) -> Row:
    return [thing.id, state, *_content(thing.content, thing.card)]


def _changed(thing: Deal | Draft) -> Row:
    return [thing.content.expires_at, thing.updated_at, thing.updated_by]


def trash_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield what lies in the trash. 1 query for each 50."""
    after: str | None = None
    while True:
        page = trash.newest(after=after)
        for thing in page.things:
            card = thing.card
            yield [
                *(thing.id, thing.kind, card.title, card.brand_name, card.category),
                *(card.price, card.was_price, thing.at, thing.by, thing.until),
            ]
        if (after := page.after) is None:
            return


def holder_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield the cart lines of a deal that are of a status, and perhaps of a day (UTC). 1 query for each 1,000."""
    day = date.fromisoformat(filters["day"]) if "day" in filters else None
    after: str | None = None
    while True:
        page = orders.who_has(filters["deal"], filters["status"], day=day, after=after, size=HOLDERS_AT_ONCE)
        for line in page.shown:
            yield [
                *(line.at, line.username, line.quantity, line.price, line.total),
                *(line.order, line.deal, line.title),
            ]
        if (after := page.after) is None:
            return
