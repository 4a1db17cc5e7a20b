"""Bringing a brand's new name to its deals, drafts and featured cards, after the brand itself was renamed."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, drafts
from dealsite.data.catalogue.brands import BrandChanged, check_brand
from dealsite.data.catalogue.cards import page_key
from dealsite.data.catalogue.deals import deal_from_items, deal_write
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.data.table.writes import Update, equals, present

INDEX_LAG = timedelta(seconds=10)  # an index may show a deal this much later; then a second look is taken


@access_pattern(
    "rename a brand on its deals: a get and a transaction each",
    "1 batch get + 2 queries + 2 gets + 2 transactions",
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
            table.retrying(partial(_rename_on_draft if kind == "Draft" else _rename_on_deal, row_id, brand))
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
        for row in table.query_all(partition, index=keys.GSI2, limit=100):
            if row["card"].get("brand_name") != brand.name:
                yield row["type"], row["card"]["id"]


def _rename_on_deal(deal_id: str, brand: brands.Brand) -> None:
    """Renew the brand's name on a deal's card and its featured copies, unless the deal went or moved."""
    item = table.get(keys.deal(deal_id))
    deal = deal_from_items(item, None) if item else None
    if deal is None or deal.card.brand != brand.slug or deal.card.brand_name == brand.name:
        return
    featured = [
        Update(
            key=page_key(page),
            set={("cards", deal_id, "brand_name"): brand.name},
            when=(present(("cards", deal_id)),),
            otherwise=VersionConflict(),
        )
        for page in deal.featured_on
    ]
    table.transact([deal_write(deal, {("card", "brand_name"): brand.name}), check_brand(brand), *featured])


def _rename_on_draft(draft_id: str, brand: brands.Brand) -> None:
    """Renew the brand's name on a draft's card, unless the draft went, moved or was published."""
    try:
        draft = drafts.get(draft_id)
    except NotFound:
        return
    if draft.published_as or draft.card.brand != brand.slug:
        return
    renamed = Update(
        key=keys.draft(draft_id),
        set={("card", "brand_name"): brand.name},
        when=(equals("version", draft.version), present("card")),
        otherwise=VersionConflict(),
    )
    table.transact([renamed, check_brand(brand)])
