"""The lists of the CMS as rows of a file: the same filters, but to the end, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from dealsite.data import (
    announcements,
    audit_log,
    brands,
    categories,
    deal_lists,
    deals,
    drafts,
    exports,
    job_lists,
    users,
)
from dealsite.data.announcements import Audience
from dealsite.data.cards import DealCard
from dealsite.data.categories import Counts
from dealsite.data.content import DealContent
from dealsite.data.deals import Deal
from dealsite.data.drafts import Draft
from dealsite.data.errors import NotFound
from dealsite.data.exports import WantedList
from dealsite.data.ids import slugify, time_of
from dealsite.search.finding import MOST_PAGES, find
from dealsite.search.question import Question

AT_ONCE = 100
CONTENT = ("title", "brand", "category", "price", "was_price", "voucher_code", "url", "description")
COLUMNS: dict[str, tuple[str, ...]] = {
    exports.DEALS: ("id", "state", *CONTENT, "published_at", "expires_at", "changed_at", "changed_by"),
    exports.DRAFTS: ("id", *CONTENT, "stock", "expires_at", "changed_at", "changed_by", "started_by"),
    exports.BRANDS: ("short_name", "name", "deals", "likes", "watches"),
    exports.CATEGORIES: ("short_name", "name", "deals", "likes", "watches"),
    exports.MESSAGES: ("id", "goes_out_at", "state", "headline", "deal", "brand", "category"),
    exports.JOBS: ("id", "created_at", "kind", "state", "tries"),
    exports.USERS: ("user_name", "name", "email", "roles", "zone", "two_factor", "created_at"),
    exports.AUDIT: ("id", "at", "person", "kind", "subject", "what", "note", "changes"),
}
TIMES = ("published_at", "expires_at", "changed_at", "goes_out_at", "created_at", "at")
Row = Sequence[object]
Thing = TypeVar("Thing")


def titles(wanted: WantedList) -> list[str]:
    """Return the column titles; those of times name the zone."""
    return [f"{name} ({wanted.zone})" if name in TIMES else name for name in COLUMNS[wanted.what]]


def rows(wanted: WantedList, now: datetime) -> Iterator[Row]:
    """Yield the rows of a list; times are in the zone that was asked for."""
    zone = ZoneInfo(wanted.zone)
    for row in _ROWS[wanted.what](wanted.filters, now):
        yield [_local(cell, zone) if isinstance(cell, datetime) else cell for cell in row]


def _local(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def _cards(filters: dict[str, str], now: datetime, *, draft: bool) -> Iterator[DealCard]:
    """Yield the cards of a list of deals: 1 page of it after the other, or of what holds some words."""
    chosen = {
        "state": "draft" if draft else filters.get("state", "all"),
        "brand": slugify(filters.get("brand", "")),
        "category": filters.get("category", ""),
    }
    if words := filters.get("q", ""):
        yield from _found(words, chosen, now, draft=draft)
        return
    after: str | None = None
    while True:
        try:
            page = deal_lists.cms_list(**chosen, now=now, after=after, size=AT_ONCE)
        except NotFound:  # no such brand
            return
        yield from page.cards
        if (after := page.after) is None:
            return


def _found(words: str, chosen: dict[str, str], now: datetime, *, draft: bool) -> Iterator[DealCard]:
    question = Question(
        text=words,
        brand=chosen["brand"],
        category=chosen["category"],
        state="" if draft or chosen["state"] == "all" else chosen["state"],
        kind="draft" if draft else "deal",
        for_editors=True,
    )
    for page in range(1, MOST_PAGES + 1):
        found = find(question, now=now, page=page, size=AT_ONCE)
        yield from found.cards
        if page >= found.pages:
            return


def _deal_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    for cards in _some_of(_cards(filters, now, draft=False), AT_ONCE):
        whole = deals.get_many(card.id for card in cards)
        yield from (_deal_row(whole[card.id], now) for card in cards if card.id in whole)


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


def _draft_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    for cards in _some_of(_cards(filters, now, draft=True), AT_ONCE):
        whole = drafts.get_many(card.id for card in cards)
        found = (whole[card.id] for card in cards if card.id in whole)
        yield from (_draft_row(draft) for draft in found if not draft.published_as)


def _draft_row(draft: Draft) -> Row:
    content = draft.content
    return [
        *(draft.id, *_content(content, draft.card), content.stock, content.expires_at),
        *(draft.updated_at, draft.updated_by, draft.created_by),
    ]


def _brand_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    for some in _some_of(brands.all_brands(), AT_ONCE):
        counted = brands.counts(brand.slug for brand in some)
        for brand in some:
            counts = counted.get(brand.slug, Counts())
            yield [brand.slug, brand.name, counts.deals, counts.likes, counts.watches]


def _category_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    for one in categories.all_categories():
        counts = one.counts
        numbers = [counts.deals, counts.likes, counts.watches] if counts else [0, 0, 0]
        yield [one.slug, one.name, *numbers]


def _message_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    for one in _pages(announcements.newest, "rows"):
        audience: Audience = one.audience
        yield [
            *(one.id, one.going_out_at, one.state, one.headline, one.deal),
            *(audience.brand, audience.category),
        ]


def _job_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    """Yield jobs without what they hold: mails name people."""
    month = filters.get("month") or f"{now:%Y-%m}"
    for job in _pages(lambda after: job_lists.of_month(month, after=after), "jobs"):
        yield [job.id, time_of(job.id), job.kind, job.state, job.tries]


def _user_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    for user in _pages(lambda after: users.page(after=after, limit=AT_ONCE), "users"):
        second = "yes" if user.two_factor else "no"
        roles = ", ".join(user.roles_in_order)
        yield [user.username, user.name, user.email, roles, user.timezone, second, user.created_at]


def _audit_rows(filters: dict[str, str], now: datetime) -> Iterator[Row]:
    asked: dict[str, Any] = {name: filters[name] for name in ("by", "kind", "subject") if name in filters}
    if day := filters.get("day"):
        asked["day"] = date.fromisoformat(day)
    for entry in _pages(lambda after: audit_log.page(**asked, after=after), "entries"):
        names = sorted({*entry.before, *entry.after})
        changes = "; ".join(f"{n}: {entry.before.get(n, '')} → {entry.after.get(n, '')}" for n in names)
        yield [*(entry.id, entry.at, entry.by, entry.kind, entry.subject, entry.what, entry.note), changes]


def _some_of(things: Iterable[Thing], size: int) -> Iterator[list[Thing]]:
    left = iter(things)
    while some := list(islice(left, size)):
        yield some


def _pages(read: Callable[..., Any], name: str) -> Iterator[Any]:
    """Yield what stands on each page of a list, the first to the last."""
    after: str | None = None
    while True:
        page = read(after=after)
        yield from getattr(page, name)
        if (after := page.after) is None:
            return


_ROWS: dict[str, Callable[[dict[str, str], datetime], Iterable[Row]]] = {
    exports.DEALS: _deal_rows,
    exports.DRAFTS: _draft_rows,
    exports.BRANDS: _brand_rows,
    exports.CATEGORIES: _category_rows,
    exports.MESSAGES: _message_rows,
    exports.JOBS: _job_rows,
    exports.USERS: _user_rows,
    exports.AUDIT: _audit_rows,
}
