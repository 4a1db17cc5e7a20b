"""The lists of the CMS as rows of a file: the same filters, but to the end, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from dealsite import exported_deals
from dealsite.data import (
    announcements,
    audit_log,
    brands,
    categories,
    exports,
    featured,
    featured_plans,
    featured_versions,
    imports,
    job_lists,
    users,
)
from dealsite.data.announcements import Audience
from dealsite.data.categories import Counts
from dealsite.data.exports import WantedList
from dealsite.data.featured_versions import Listed
from dealsite.data.ids import time_of
from dealsite.exported_deals import CONTENT, Row, some_of

AT_ONCE = 100
COLUMNS: dict[str, tuple[str, ...]] = {
    exports.DEALS: ("id", "state", *CONTENT, "published_at", "expires_at", "changed_at", "changed_by"),
    exports.DRAFTS: ("id", *CONTENT, "stock", "expires_at", "changed_at", "changed_by", "started_by"),
    exports.ATTENTION: (
        *("id", "state", *CONTENT, "published_at", "expires_at", "changed_at", "changed_by"),
        *("lacks", "link_error", "link_broken_since", "featured_on"),
    ),
    exports.TRASH: (
        *("id", "kind", "title", "brand", "category", "price", "was_price"),
        *("deleted_at", "deleted_by", "kept_until"),
    ),
    exports.IMPORTS: (
        *("id", "brought_at", "brought_by", "file", "state", "job"),
        *("rows", "new", "imported", "there_before", "refused"),
    ),
    exports.BRANDS: ("short_name", "name", "deals", "likes", "watches"),
    exports.CATEGORIES: ("short_name", "name", "deals", "likes", "watches"),
    exports.PLANS: (
        *("id", "page", "shown_from", "state", "deals", "titles"),
        *("planned_by", "changed_at", "why", "left_out"),
    ),
    exports.EARLIER: (
        *("page", "version", "set_at", "set_by", "is_now", "deals", "titles"),
        *("came", "went", "moved"),
    ),
    exports.MESSAGES: ("id", "goes_out_at", "state", "headline", "deal", "brand", "category"),
    exports.JOBS: ("id", "created_at", "kind", "state", "tries"),
    exports.HOLDERS: ("since", "user_name", "pieces", "price", "amount", "order", "deal", "title"),
    exports.USERS: ("user_name", "name", "email", "roles", "zone", "two_factor", "created_at"),
    exports.AUDIT: ("id", "at", "person", "kind", "subject", "what", "note", "changes"),
}
TIMES = (
    *("published_at", "expires_at", "changed_at", "goes_out_at", "created_at", "at"),
    *("link_broken_since", "deleted_at", "kept_until", "brought_at", "shown_from", "set_at", "since"),
)


def titles(wanted: WantedList) -> list[str]:
    """Return the column titles; those of times name the zone."""
    return [f"{name} ({wanted.zone})" if name in TIMES else name for name in COLUMNS[wanted.what]]


def rows(wanted: WantedList, now: datetime) -> Iterator[Row]:
    """Yield the rows of a list; times are in the zone that was asked for."""
    zone = ZoneInfo(wanted.zone)
    for row in _ROWS[wanted.what](wanted.filters, now, zone):
        yield [_local(cell, zone) if isinstance(cell, datetime) else cell for cell in row]


def _local(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def _brand_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    for some in some_of(brands.all_brands(), AT_ONCE):
        counted = brands.counts(brand.slug for brand in some)
        for brand in some:
            counts = counted.get(brand.slug, Counts())
            yield [brand.slug, brand.name, counts.deals, counts.likes, counts.watches]


def _category_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    for one in categories.all_categories():
        counts = one.counts
        numbers = [counts.deals, counts.likes, counts.watches] if counts else [0, 0, 0]
        yield [one.slug, one.name, *numbers]


def _import_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield the imports; how many rows a file has is a guess until it is checked."""
    for one in _pages(imports.newest, "imports"):
        card, totals = one.card, one.card.get("totals") or {}
        is_over = card["stage"] == imports.IMPORTED
        done = totals.get("imported")
        yield [
            *(one.id, one.at, card["by"], card["name"], card["stage"], one.job.state if one.job else ""),
            *(card["rows"], None if is_over else done, done if is_over else None),
            *(totals.get("there"), totals.get("refused")),
        ]


def _plan_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    for plan in featured_plans.newest():
        yield [
            *(plan.id, plan.page, plan.at, plan.state, len(plan.deals), _titles(plan.deals)),
            *(plan.by, plan.updated_at, plan.why, "; ".join(plan.left_out)),
        ]


def _earlier_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield the featured list of a page and its earlier ones, with what each changed."""
    page = featured.get(filters["page"])
    versions = featured_versions.of_page(page.id)
    if page.version:
        versions.insert(0, featured_versions.as_version(page))
    for one, changed in zip(versions, featured_versions.differences(versions), strict=True):
        is_now = "yes" if one.version == page.version else "no"
        changes = (changed.came, changed.went, changed.moved) if changed else ((), (), ())
        yield [
            *(one.page, one.version, one.at, one.by, is_now, len(one.deals), _titles(one.deals)),
            *("; ".join(titles) for titles in changes),
        ]


def _titles(listed: Iterable[Listed]) -> str:
    return "; ".join(f"{n}. {deal.title} ({deal.id})" for n, deal in enumerate(listed, 1))


def _message_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    for one in _pages(announcements.newest, "rows"):
        audience: Audience = one.audience
        yield [
            *(one.id, one.going_out_at, one.state, one.headline, one.deal),
            *(audience.brand, audience.category),
        ]


def _job_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    """Yield jobs without what they hold: mails name people."""
    month = filters.get("month") or f"{now:%Y-%m}"
    for job in _pages(lambda after: job_lists.of_month(month, after=after), "jobs"):
        yield [job.id, time_of(job.id), job.kind, job.state, job.tries]


def _user_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    for user in _pages(lambda after: users.page(after=after, limit=AT_ONCE), "users"):
        second = "yes" if user.two_factor else "no"
        roles = ", ".join(user.roles_in_order)
        yield [user.username, user.name, user.email, roles, user.timezone, second, user.created_at]


def _audit_rows(filters: dict[str, str], now: datetime, zone: tzinfo) -> Iterator[Row]:
    asked: dict[str, Any] = {name: filters[name] for name in ("by", "kind", "subject") if name in filters}
    if day := filters.get("day"):
        asked["day"] = date.fromisoformat(day)
    for entry in _pages(lambda after: audit_log.page(**asked, after=after), "entries"):
        names = sorted({*entry.before, *entry.after})
        changes = "; ".join(f"{n}: {entry.before.get(n, '')} → {entry.after.get(n, '')}" for n in names)
        yield [*(entry.id, entry.at, entry.by, entry.kind, entry.subject, entry.what, entry.note), changes]


def _pages(read: Callable[..., Any], name: str) -> Iterator[Any]:
    """Yield what stands on each page of a list, the first to the last."""
    after: str | None = None
    while True:
        page = read(after=after)
        yield from getattr(page, name)
        if (after := page.after) is None:
            return


_ROWS: dict[str, Callable[[dict[str, str], datetime, tzinfo], Iterable[Row]]] = {
    exports.DEALS: exported_deals.deal_rows,
    exports.DRAFTS: exported_deals.draft_rows,
    exports.ATTENTION: exported_deals.attention_rows,
    exports.TRASH: exported_deals.trash_rows,
    exports.IMPORTS: _import_rows,
    exports.BRANDS: _brand_rows,
    exports.CATEGORIES: _category_rows,
    exports.PLANS: _plan_rows,
    exports.EARLIER: _earlier_rows,
    exports.MESSAGES: _message_rows,
    exports.JOBS: _job_rows,
    exports.HOLDERS: exported_deals.holder_rows,
    exports.USERS: _user_rows,
    exports.AUDIT: _audit_rows,
}
