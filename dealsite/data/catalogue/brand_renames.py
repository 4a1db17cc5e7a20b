"""Bringing a brand's new name to its deals, drafts and featured cards, after the brand itself was renamed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, drafts
from dealsite.data.catalogue.cards import page_key
from dealsite.data.catalogue.deals import BrandChanged, check_brand, deal_from_items
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Busy, NotFound, VersionConflict
from dealsite.data.table.writes import Update, Write, equals, present

INDEX_LAG = timedelta(seconds=10)  # an index may show a deal this much later; then a second look is taken
TRIES = 6


@access_pattern(
    "rename a brand on its deals: a get and a transaction each",
    "GSI2 BRAND#b#yyyy; DEAL#id / DEAL#id",
    "1 batch get + 1 query + d queries + 1 get + 1 transaction",
)
def rename_brand(job: jobs.Job, now: datetime) -> datetime | None:
    """Carry out a job of this kind; returns when to run again: once more, for deals that indexes showed late.

    A brand renamed once more meanwhile has a job of its own, and this one ends. 1 batch get, 1 query for
    each 100 deals of a year, and 1 get and 1 transaction for each deal with another name.
    """
    payload = from_item(brands.RenamePayload, job.payload)
    try:
        brand = brands.get_with_counts(payload.brand)
    except NotFound:
        return None
    try:
        for kind, row_id in _rows_with_another_name(brand):
            if kind == "Draft":
                _rename_draft(row_id, brand)
            else:
                _rename_deal(row_id, brand)
    except BrandChanged:
        return None
    return now + INDEX_LAG if now < job.created_at + INDEX_LAG else None


def _rows_with_another_name(brand: brands.Brand) -> Iterator[tuple[str, str]]:
    """Yield (type, id) of the deals and drafts whose card shows another name."""
    years = sorted(brand.counts.buckets if brand.counts else ())
    partitions = [
        keys.drafts_of_brand.partition(brand.slug),
        *(keys.deals_of_brand.partition(brand.slug, int(year)) for year in years),
    ]
    for partition in partitions:
        start = None
        while True:
            rows = table.query_page(partition, index=keys.GSI2, limit=100, start=start)
            for row in rows.items:
                if row["card"].get("brand_name") != brand.name:
                    yield row["type"], row["card"]["id"]
            start = rows.start
            if start is None:
                break


def _rename_deal(deal_id: str, brand: brands.Brand) -> None:
    """Renew the brand's name on a deal's card and on its featured copies; nothing if the deal went or moved."""
    for _ in range(TRIES):
        item = table.get(keys.deal(deal_id))
        if item is None:
            return
        deal = deal_from_items(item, None)
        if deal.card.brand != brand.slug or deal.card.brand_name == brand.name:
            return
        writes: list[Write] = [
            Update(
                key=keys.deal(deal_id),
                set={("card", "brand_name"): brand.name},
                add={"writes": 1},
                when=(equals("writes", deal.writes),),
                otherwise=VersionConflict(),
            ),
            check_brand(brand),
        ]
        writes += [
            Update(
                key=page_key(page),
                set={("cards", deal_id, "brand_name"): brand.name},
                when=(present(("cards", deal_id)),),
                otherwise=VersionConflict(),
            )
            for page in deal.featured_on
        ]
        try:
            table.transact(writes)
        except VersionConflict:
            continue
        return
    raise Busy()


def _rename_draft(draft_id: str, brand: brands.Brand) -> None:
    for _ in range(TRIES):
        try:
            draft = drafts.get(draft_id)
        except NotFound:
            return
        if draft.published_as or draft.card.brand != brand.slug:
            return
        try:
            table.transact(
                [
                    Update(
                        key=keys.draft(draft_id),
                        set={("card", "brand_name"): brand.name},
                        when=(equals("version", draft.version), present("card")),
                        otherwise=VersionConflict(),
                    ),
                    check_brand(brand),
                ]
            )
        except VersionConflict:
            continue
        return
    raise Busy()
