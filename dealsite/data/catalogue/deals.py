"""Deals, published or scheduled: as they are stored, and reading them.

Each write is one transaction over the deal, its offer, counters and featured cards. A deal item has two
counters: `version` counts the edits of people, and decides conflicts between them; `writes` counts every
change, and keeps the read-modify-write of these modules honest.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent, content_from_item
from dealsite.data.entities.conversion import reader
from dealsite.data.entities.deals import DEAL, HERE
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid
from dealsite.data.table.writes import Condition, Update, equals, missing

BROKEN = 2  # failed checks of a link in a row


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """What is known of a link that did not work: failed checks in a row, the first and last of them, and why.

    `reason` is the status that the shop answered, or `name` where there is no site of that name. Or an editor finds
    it fine until a time.
    """

    link: str
    failures: int = 0
    since: datetime | None = None
    last: datetime | None = None
    reason: str = ""
    accepted_until: datetime | None = None

    @property
    def is_broken(self) -> bool:
        return self.failures >= BROKEN


@dataclass(frozen=True)
class Deal:
    """A published or scheduled deal. `content.stock` is known only where the offer was read too (`get`).

    `announced`: an announcement of its own was written with it, under its id. `has_prices`: its prices are
    kept from its publication on; deals of before that was done have none until they get another one. `history`: under
    which id its versions are kept, where it is not its own: that which it had first. `likes` are known only where
    they were read too (`get_visible`, `get` with its likes). `link_check`: what is known of a link that does not work.
    """

    kind: ClassVar = "deal"

    id: str
    content: DealContent
    card: DealCard
    featured_on: frozenset[str]
    version: int
    writes: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    last_edit: str = ""
    draft: str = ""
    announced: bool = False
    has_prices: bool = False
    history: str = ""
    likes: int = 0
    link_check: LinkCheck | None = None

    @property
    def history_id(self) -> str:
        return self.history or self.id

    @property
    def live_at(self) -> datetime:
        return self.card.live_at

    @property
    def stock(self) -> int | None:
        return self.content.stock


@access_pattern("one deal with its offer", "1 batch get")
def get(deal_id: str, *, likes: bool = False) -> Deal:
    """Return a deal with its offer, and with its likes, or raise NotFound. 1 batch get, consistent."""
    return _get(deal_id, keys.deal, keys.offer, *([keys.deal_counts] if likes else []))


def _get(deal_id: str, *of_deal: Callable[[str], keys.Key]) -> Deal:
    if not is_ulid(deal_id):
        raise NotFound(gettext_lazy("There is no such deal."))
    items = table.batch_get(key(deal_id) for key in of_deal)
    item = items.get(keys.deal(deal_id))
    if item is None:
        raise NotFound(gettext_lazy("There is no such deal."))
    return deal_from_items(item, items.get(keys.offer(deal_id)), items.get(keys.deal_counts(deal_id)))


def stock_is(stock: int | None) -> Condition:
    """Return the condition that an offer has so many pieces, or that they are not counted."""
    return missing("stock") if stock is None else equals("stock", stock)


def deal_write(deal: Deal, changes: dict[Any, Any]) -> Update:
    """Return the write that changes a deal while it is as it was read, None for what goes; else VersionConflict."""
    return Update(
        key=keys.deal(deal.id),
        set={name: value for name, value in changes.items() if value is not None},
        remove=[name for name, value in changes.items() if value is None],
        add={"writes": 1},
        when=(equals("writes", deal.writes),),
        otherwise=VersionConflict(),
    )


@access_pattern("one deal with its likes, if shoppers may see it", "1 batch get")
def get_visible(deal_id: str, *, now: datetime) -> Deal:
    """Return a deal that shoppers may see, with its likes: NotFound before its publication time."""
    deal = _get(deal_id, keys.deal, keys.offer, keys.deal_counts)
    if not deal.card.is_visible(now):
        raise NotFound(gettext_lazy("There is no such deal."))
    return deal


@access_pattern("several deals", "1 batch get")
def get_many(deal_ids: Iterable[str]) -> dict[str, Deal]:
    """Return those of some deals that exist, by id, without stock. 1 batch get for each 100."""
    items = table.batch_get(keys.deal(deal_id) for deal_id in deal_ids if is_ulid(deal_id))
    return {item["id"]: deal_from_items(item, None) for item in items.values()}


def deal_from_items(item: Item, offer: Item | None, counts: Item | None = None) -> Deal:
    """Return the deal of its item; without its offer the stock is not known."""
    card = DealCard.from_item(item["card"])
    content = content_from_item(item, card, (offer or {}).get("stock"))
    likes, check = (counts or {}).get("likes", 0), check_of(item)
    return _read_deal(item, content=content, card=card, likes=likes, link_check=check)


def check_of(item: Item) -> LinkCheck | None:
    """Return what a deal's item says of the link that shoppers see now; None where there is nothing to say."""
    kept = item.get("link_check")
    if not kept or kept["link"] != item.get("link") or item["card"].get("sold") == HERE:
        return None
    return from_item(LinkCheck, kept)


_read_deal = reader(DEAL.shape, Deal, "content", "card", "link_check")
