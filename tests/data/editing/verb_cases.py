"""What each verb does, to what: one case a verb, for tests of each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from dealsite.data import table
from dealsite.data.catalogue import brands, deal_changes, deals, drafts, featured, publishing
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.editing import links, pending_edits, trash, trash_record
from dealsite.data.editing.bulk import BulkResult
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.editing.verbs.chart import ALL
from dealsite.data.entities.deals import CODE, HERE, SHOP
from dealsite.data.table.ids import iso
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    LINK,
    NOW,
    PICTURE,
    STATED,
    make_brand,
    make_category,
    make_deal,
    make_draft,
    make_id,
)

MINUTE = timedelta(minutes=1)
KEYBOARDS = "peripherals-networking"
AT_SHOP: dict[str, Any] = {"sold": SHOP, "link": LINK}


@dataclass(frozen=True)
class Case:
    """A value, what it is done to, what is there then and noted, and how somebody else changes the same since.

    `before` and `after` are those of the row, None for an id. `entries` are those of the audit log, of the change
    and of its undoing.
    """

    value: str
    shows: Callable[[str, BulkResult], Any]
    becomes: Any
    someone_else: Callable[[str, BulkResult], None]
    content: dict[str, Any] = field(default_factory=dict)
    live_at: datetime = NOW - 2 * HOUR
    ready: Callable[[Entry], None] = lambda entry: None
    before: str | None = ""
    after: str | None = ""
    entries: tuple[str, str] = ("changed", "changed")
    reason: str = "olga changed it since."


def entry(kind: str, one: str) -> Entry:
    return deals.get(one) if kind == "deal" else drafts.get(one)


def edit(kind: str, one: str, *, by: str = "olga", **changes: Any) -> None:
    found = entry(kind, one)
    content = replace(found.content, **changes)
    how: dict[str, Any] = {"version": found.version, "by": by, "now": NOW + MINUTE}
    if isinstance(found, drafts.Draft):
        drafts.save(found, content, brand=brands.get(content.brand), **how)
    else:
        deal_changes.edit(found, content, brand=brands.get(content.brand), **how)


def value_of(*names: str) -> Callable[[str, BulkResult], Any]:
    def shows(kind: str, row: BulkResult) -> Any:
        content = entry(kind, row.id).content
        return getattr(content, names[0]) if len(names) == 1 else tuple(getattr(content, it) for it in names)

    return shows


def other_value(**changes: Any) -> Callable[[str, BulkResult], None]:
    return lambda kind, row: edit(kind, row.id, **changes)


def list_on_front(*ids: str, by: str = EDITOR) -> None:
    page, found = featured.load("front", ids)
    listed = [found[one] for one in ids]
    featured.set_featured(page, listed, version=page.version, by=by, now=NOW - HOUR)


def move(deal_id: str, *, to: datetime) -> None:
    new_id = make_id(to)
    publishing.reschedule(deals.get(deal_id), to, new_id=new_id, by="olga", now=NOW + MINUTE)


def accepted_until(deal_id: str) -> datetime | None:
    check = links.get(deal_id).check
    return check.accepted_until if check else None


def keep(deal_id: str) -> None:
    deal = deals.get(deal_id)
    how: dict[str, Any] = {"brand_name": "Nordlicht", "base": 1, "seen": "", "by": "olga", "now": NOW - HOUR}
    content = replace(deal.content, title="Better")
    pending_edits.keep(deal, content, before=pending_edits.find(deal), **how)


def kept(deal_id: str) -> PendingEdits:
    found = pending_edits.find(deals.get(deal_id))
    assert found is not None
    return found


def restore(kind: str, one: str) -> None:
    trash.restore(kind, one, by="olga", now=NOW + MINUTE)


PUBLISHED = Case(
    value="",
    shows=lambda _, row: (drafts.get(row.id).published_as == row.after, deals.get(row.after).live_at),
    becomes=(True, NOW),
    after=None,
    entries=("published", "deleted"),
    someone_else=lambda _, row: edit("deal", row.after, title="Better"),
)
CASES: dict[str, Case] = {
    "publish": PUBLISHED,
    "schedule": replace(
        PUBLISHED, value=iso(NOW + DAY), becomes=(True, NOW + DAY), entries=("scheduled", "deleted")
    ),
    "expire": Case(
        value="",
        content={"expires_at": NOW + 2 * DAY},
        shows=value_of("expires_at"),
        becomes=NOW,
        before=iso(NOW + 2 * DAY),
        after=iso(NOW),
        entries=("ended", "changed"),
        someone_else=other_value(expires_at=NOW + 9 * DAY),
    ),
    "expiry": Case(
        value=iso(NOW + 5 * DAY),
        shows=value_of("expires_at"),
        becomes=NOW + 5 * DAY,
        after=iso(NOW + 5 * DAY),
        someone_else=other_value(expires_at=NOW + 9 * DAY),
    ),
    "reschedule": Case(
        value=iso(NOW + 3 * DAY),
        live_at=NOW + 2 * DAY,
        shows=lambda _, row: (deals.get(row.after).live_at, row.after[10:] == row.id[10:]),
        becomes=(NOW + 3 * DAY, True),
        before=None,
        after=None,
        entries=("moved to another time", "moved to another time"),
        someone_else=lambda _, row: move(row.after, to=NOW + 4 * DAY),
        reason="It was deleted since.",
    ),
    "price": Case(
        value="-10% .99 was",
        content={"price": Decimal("20.00"), "was_price": Decimal("30.00"), **STATED},
        shows=value_of("price", "was_price", "low_seen_at", "low_seen_on"),
        becomes=(Decimal("17.99"), Decimal("20.00"), "", None),
        before='["20.00", "30.00", "its shop window", "2026-11-21"]',
        after='["17.99", "20.00", "", ""]',
        someone_else=other_value(price=Decimal("16.00")),
    ),
    "was_price": Case(
        value="+10.00",
        content={"price": Decimal("20.00"), "was_price": Decimal("40.00"), **STATED},
        shows=value_of("price", "was_price", "low_seen_at", "low_seen_on"),
        becomes=(Decimal("20.00"), Decimal("30.00"), "", None),
        before='["40.00", "its shop window", "2026-11-21"]',
        after='["30.00", "", ""]',
        someone_else=other_value(was_price=Decimal("35.00")),
    ),
    "category": Case(
        value="toys-hobbies",
        shows=value_of("category"),
        becomes="toys-hobbies",
        before=KEYBOARDS,
        after="toys-hobbies",
        someone_else=other_value(category="audio-tv-photo"),
    ),
    "brand": Case(
        value="aurora",
        shows=lambda kind, row: entry(kind, row.id).card.brand_name,
        becomes="Aurora",
        before="nordlicht",
        after="aurora",
        someone_else=other_value(brand="vela"),
    ),
    "stock": Case(
        value="5",
        content={"sold": HERE, "stock": 3},
        shows=value_of("stock"),
        becomes=5,
        before="3",
        after="5 2",
        someone_else=other_value(stock=50),
    ),
    "voucher": Case(
        value="SAVE10",
        content=AT_SHOP,
        shows=value_of("sold", "voucher_code"),
        becomes=(CODE, "SAVE10"),
        after="SAVE10",
        someone_else=other_value(voucher_code="SAVE20"),
    ),
    "alt-text": Case(
        value="A lamp on a desk",
        content={"picture": PICTURE},
        shows=lambda kind, row: entry(kind, row.id).content.picture,
        becomes=replace(PICTURE, alt="A lamp on a desk"),
        before=PICTURE.alt,
        after="A lamp on a desk",
        someone_else=other_value(picture=replace(PICTURE, alt="A lamp")),
    ),
    "accept-link": Case(
        value=LINK,
        content=AT_SHOP,
        shows=lambda _, row: accepted_until(row.id),
        becomes=NOW + 30 * DAY,
        after=LINK,
        entries=("called the link fine", "had the link checked again"),
        someone_else=other_value(link="https://other.example/desk"),
    ),
    "discard-changes": Case(
        value="1",
        ready=lambda made: keep(made.id),
        shows=lambda _, row: kept(row.id).is_discarded,
        becomes=True,
        before="1",
        after="2",
        entries=("discarded unpublished changes", "brought back unpublished changes"),
        someone_else=lambda _, row: keep(row.id),
        reason="These changes cannot come back: others were kept or published since.",
    ),
    "restore-version": Case(
        value="1 end",
        content={"description": "Of oak.", "expires_at": NOW + DAY},
        ready=lambda made: edit(
            "deal" if isinstance(made, deals.Deal) else "draft",
            made.id,
            by=EDITOR,
            description="Of pine.",
            expires_at=None,
        ),
        shows=value_of("description", "expires_at"),
        becomes=("Of oak.", NOW + DAY),
        before="2",
        after="3",
        someone_else=other_value(description="Of beech."),
    ),
    "feature": Case(
        value="front",
        shows=lambda _, row: featured.get("front").ids == [row.id],
        becomes=True,
        after="front",
        entries=("set the featured list", "set the featured list"),
        someone_else=lambda _, row: list_on_front(by="olga"),
        reason="It is not on this page any more.",
    ),
    "unfeature": Case(
        value="front",
        ready=lambda made: list_on_front(made.id),
        shows=lambda _, row: featured.get("front").ids,
        becomes=[],
        before="0",
        entries=("set the featured list", "set the featured list"),
        someone_else=lambda _, row: list_on_front(row.id, by="olga"),
        reason="It is on this page again.",
    ),
    "duplicate": Case(
        value="",
        content={"sold": HERE, "stock": 3, "expires_at": NOW - MINUTE},
        shows=lambda _, row: (drafts.get(row.after).content.stock, drafts.get(row.after).content.expires_at),
        becomes=(None, None),
        after=None,
        entries=("started", "deleted"),
        someone_else=lambda _, row: edit("draft", row.after, title="Better"),
    ),
    "delete": Case(
        value="",
        shows=lambda kind, row: trash_record.get(kind, row.id).by,
        becomes=EDITOR,
        before="1",
        entries=("deleted", "restored"),
        someone_else=lambda kind, row: restore(kind, row.id),
        reason="This {kind} is not in the trash any more.",
    ),
}
EACH = [(verb.name, kind) for verb in ALL for kind in verb.kinds]


def made_for(case: Case, kind: str) -> Entry:
    for slug in ("toys-hobbies", "audio-tv-photo", KEYBOARDS):
        make_category(slug)
    make_brand("Aurora")
    make_brand("Vela")
    made: Entry
    if kind == "deal":
        made = make_deal(live_at=case.live_at, now=NOW - DAY, title="Desk", **case.content)
    else:
        content: dict[str, Any] = {"category": KEYBOARDS, "price": Decimal("20.00"), **AT_SHOP}
        made = make_draft(brand="Nordlicht", now=NOW - DAY, title="Desk", **(content | case.content))
    case.ready(made)
    return entry(kind, made.id)


def held() -> dict[str, Any]:
    """All deals and drafts, as far as a change can be taken back, and what is featured."""
    rows = list(table.scan_all(consistent=True))
    of_deals = [deals.get(row["id"]) for row in rows if row["type"] == "Deal"]
    found: dict[str, Any] = {deal.id: (deal.content, sorted(deal.featured_on)) for deal in of_deals}
    for deal in of_deals:
        changes, check = pending_edits.find(deal), links.get(deal.id).check
        found[deal.id] += (changes and (changes.content, changes.is_discarded), check)
    for row in rows:
        if row["type"] == "Draft":
            draft = drafts.get(row["id"])
            found[draft.id] = (draft.content, draft.published_as)
    return found | {"front": featured.get("front").ids}
