"""Whether a deal is sold out: the offer counts the pieces, the deal's card and its copies say when none is left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import renew_featured
from dealsite.data.catalogue.deals import (
    Deal,
    deal_from_items,
    deal_write,
    stock_is,
)
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import MAX_ACTIONS, Check, Put, Write, merge

MARK_SOLD_OUT = "mark_sold_out"  # the kind of job that renews cards for which a transaction had no room


@dataclass(frozen=True, slots=True)
class StockPayload:
    """The deals whose cards are to say whether they are sold out."""

    deals: tuple[str, ...]


def mark_writes(deal: Deal, *, sold_out: bool) -> list[Write]:
    """Return the writes that have a deal's card, and its featured copies, say whether it is sold out."""
    card = replace(deal.card, sold_out=sold_out)
    return [deal_write(deal, {"card": card.as_item()}), *renew_featured(deal.featured_on, card)]


def mark_within(deals: Sequence[Deal], actions: int, *, sold_out: bool, now: datetime) -> list[Write]:
    """Return the marks of deals as far as a transaction of so many actions has room, and a job for the rest."""
    writes: list[Write] = []
    later: list[str] = []
    for deal in deals:
        together = merge([*writes, *mark_writes(deal, sold_out=sold_out)])
        if len(together) + actions < MAX_ACTIONS:
            writes = together
        else:
            later.append(deal.id)
    return [*writes, mark_later(later, now=now)] if later else writes


def mark_later(deal_ids: Iterable[str], *, now: datetime) -> Put:
    """Return the job that has deals' cards say whether they are sold out, a moment later."""
    return job_write(MARK_SOLD_OUT, StockPayload(tuple(sorted(deal_ids))), job_id=new_ulid(now), due=now)


def mark_sold_out(job: Job, now: datetime) -> None:
    """Have each deal's card say whether it is sold out. 1 batch get, and 1 transaction where it does not."""
    for deal_id in from_item(StockPayload, job.payload).deals:
        table.retrying(partial(_mark, deal_id))


HANDLERS: dict[str, jobs.Handler] = {MARK_SOLD_OUT: mark_sold_out}


def _mark(deal_id: str) -> None:
    deal = with_offers([deal_id]).get(deal_id)
    if deal and deal.card.sold_out != (deal.stock == 0):
        offer = Check(key=keys.offer(deal_id), when=(stock_is(deal.stock),), otherwise=VersionConflict())
        table.transact([offer, *mark_writes(deal, sold_out=deal.stock == 0)])


def with_offers(deal_ids: Iterable[str]) -> dict[str, Deal]:
    """Return those of some deals that exist, by id, with their stock. 1 batch get for each 50."""
    wanted = list(deal_ids)
    items = table.batch_get([key for one in wanted for key in (keys.deal(one), keys.offer(one))])
    return {
        one: deal_from_items(items[keys.deal(one)], items.get(keys.offer(one)))
        for one in wanted
        if keys.deal(one) in items
    }
