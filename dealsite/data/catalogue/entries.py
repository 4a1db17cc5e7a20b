"""Deals and drafts alike, by their kind; and what needs an editor, as it is now, of those that search found."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.cards import OVER, DealCard, page_key
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.deal.stock import with_offers
from dealsite.data.catalogue.deals import Deal, deal_from_items
from dealsite.data.catalogue.drafts import Draft, draft_from_item
from dealsite.data.catalogue.featured import PAGES, FeaturedPage, from_item
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
    """Those of some deals and drafts that exist, by id, and the featured lists."""

    entries: dict[str, Entry] = field(default_factory=dict)
    pages: list[FeaturedPage] = field(default_factory=list)

    def over(self, now: datetime) -> Iterator[tuple[FeaturedPage, DealCard]]:
        """Yield what the featured lists hold that can no longer be had."""
        for page in self.pages:
            for card in page.cards:
                if card.state(now) in OVER:
                    yield page, card


@access_pattern("what needs an editor, as it is now", "1 batch get")
def look(kinds: Mapping[str, str], *, pages: bool = False) -> AttentionData:
    """Return some deals (without their stock) and drafts, whose kinds are given by id; with `pages` the featured lists.

    1 batch get for each 100 of all that; none where nothing is asked for.
    """
    entry_keys = [keys.deal(id_) if kind == Deal.kind else keys.draft(id_) for id_, kind in kinds.items()]
    page_keys = {page_id: page_key(page_id) for page_id in PAGES} if pages else {}
    wanted = [*entry_keys, *page_keys.values()]
    items = table.batch_get(wanted) if wanted else {}
    data = AttentionData(pages=[from_item(page_id, items.get(key)) for page_id, key in page_keys.items()])
    for (id_, kind), key in zip(kinds.items(), entry_keys, strict=True):
        if item := items.get(key):
            entry = deal_from_items(item, None) if kind == Deal.kind else draft_from_item(item)
            if not became(entry):
                data.entries[id_] = entry
    return data
