"""Deals and drafts alike, by their kind; and what needs an editor, as it is now, of those that search found."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dealsite.data import keys, table
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.cards import page_key
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.deal.stock import with_offers
from dealsite.data.catalogue.deals import Deal, deal_from_items
from dealsite.data.catalogue.drafts import Draft, draft_from_item
from dealsite.data.catalogue.featured import PAGES, FeaturedPage, from_item
from dealsite.data.editing.links import LinkCheck, check_of
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import is_ulid

Entry = Deal | Draft


def get(kind: str, entry_id: str) -> Entry:
    """Return a deal with its stock, or a draft, or raise NotFound. 1 batch get, or 1 get."""
    return deals.get(entry_id) if kind == Deal.kind else drafts.get(entry_id)


def get_many(kind: str, ids: Iterable[str]) -> dict[str, Entry]:
    """Return those of some deals or drafts that exist, by id. 2 batch gets for each 100 deals, 1 for drafts."""
    wanted = [one for one in ids if is_ulid(one)]
    return dict(with_offers(wanted)) if kind == Deal.kind else dict(drafts.get_many(wanted))


def became(entry: Entry) -> str:
    """Return the id of the deal that a draft became, '' for all else."""
    return entry.published_as if isinstance(entry, Draft) else ""


def refusals(entry: Entry, content: DealContent) -> dict[str, str]:
    """Return what stands against giving an entry another content, by field."""
    return problems(content, live_at=entry.live_at) if isinstance(entry, Deal) else text_problems(content)


@dataclass(frozen=True, slots=True)
class AttentionData:
    """Those of some deals and drafts that exist, by id, what is known of the deals' links, and the featured lists."""

    deals: dict[str, Deal] = field(default_factory=dict)
    drafts: dict[str, Draft] = field(default_factory=dict)
    checks: dict[str, LinkCheck] = field(default_factory=dict)
    pages: list[FeaturedPage] = field(default_factory=list)


@access_pattern("what needs an editor, as it is now", "1 batch get")
def look(deal_ids: Iterable[str], draft_ids: Iterable[str], *, pages: bool = False) -> AttentionData:
    """Return some deals (without their stock) and drafts, and with `pages` the ten featured lists.

    1 batch get for each 100 of all that; none where nothing is asked for.
    """
    deal_keys = [keys.deal(deal_id) for deal_id in deal_ids]
    draft_keys = [keys.draft(draft_id) for draft_id in draft_ids]
    page_keys = {page_id: page_key(page_id) for page_id in PAGES} if pages else {}
    wanted = [*deal_keys, *draft_keys, *page_keys.values()]
    items = table.batch_get(wanted) if wanted else {}
    found = [items[key] for key in deal_keys if key in items]
    drafts = [draft_from_item(items[key]) for key in draft_keys if key in items]
    return AttentionData(
        deals={item["id"]: deal_from_items(item, None) for item in found},
        drafts={draft.id: draft for draft in drafts if not draft.published_as},
        checks={item["id"]: check for item in found if (check := check_of(item))},
        pages=[from_item(page_id, items.get(key)) for page_id, key in page_keys.items()],
    )
