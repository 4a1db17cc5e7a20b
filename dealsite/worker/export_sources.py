"""Where the rows of exported lists come from: each list to its end, page by page."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from dealsite.data.catalogue import brands, categories, deals, drafts
from dealsite.data.catalogue.attention import AttentionData
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.categories import Category, Counts
from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.commerce import orders
from dealsite.data.commerce.orders import Order, OrderCard
from dealsite.data.commerce.payment.payment_lists import PaymentRow
from dealsite.data.editing import audit, imports
from dealsite.data.editing.links import LinkCheck
from dealsite.data.entities.batches import IMPORTED
from dealsite.data.jobs import exports, jobs
from dealsite.data.jobs.exports import ExportRequest, ListRequest, Payload
from dealsite.data.names import slugify
from dealsite.data.table.errors import NotFound
from dealsite.data.table.paging import to_end
from dealsite.search import attention, deal_lists
from dealsite.search.attention import TOPICS, Today, Topic

AT_ONCE = 100
HOLDERS_AT_ONCE = 1000
ORDER_OF = {"soonest": attrgetter("card.live_at"), "ending": attrgetter("card.expires_at")}
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported, when, and whom to tell how far it has come."""

    payload: Payload
    now: datetime
    note: Callable[..., None]

    @property
    def span(self) -> ExportRequest:
        assert isinstance(self.payload, ExportRequest)  # noqa: S101 - of orders and payments
        return self.payload

    @property
    def filters(self) -> dict[str, str]:
        assert isinstance(self.payload, ListRequest)  # noqa: S101 - of all other lists
        return self.payload.filters


@dataclass(frozen=True, slots=True)
class DealEntry:
    """A deal or draft of a list, and why it needs an editor, where that is the list's question."""

    deal: Deal | Draft
    state: str = "draft"
    lacks: str = ""
    check: LinkCheck | None = None
    page: str = ""

    @property
    def live_at(self) -> datetime | None:
        return self.deal.live_at if isinstance(self.deal, Deal) else None


def every(read: Callable[..., Any], name: str) -> Callable[[Export], Iterator[Any]]:
    """Return the source of what stands under a name on each page of a list."""
    return lambda export: _every(read, name)


def _every(read: Callable[..., Any], name: str) -> Iterator[Any]:
    return (one for page in to_end(read) for one in getattr(page, name))


def _some_of(values: Iterable[Value]) -> Iterator[list[Value]]:
    left = iter(values)
    while some := list(islice(left, AT_ONCE)):
        yield some


def all_orders(export: Export) -> Iterator[Order]:
    found: list[OrderCard] = []
    for read, cards in exports.find_orders(export.span):
        found += cards
        export.note(read=read, total=len(found))
    return (order for some in exports.read_orders(found) for order in some)


def all_payments(export: Export) -> Iterator[PaymentRow]:
    return (row for some in exports.find_payments(export.span) for row in some)


def all_deals(export: Export) -> Iterator[DealEntry]:
    """Yield the deals of a list. 1 batch get for each 100, beside what the list costs."""
    for cards in _some_of(_cards(export, export.filters.get("state", "all"))):
        found = deals.get_many(card.id for card in cards)
        for deal in (found[card.id] for card in cards if card.id in found):
            yield DealEntry(deal, deal.card.state(export.now))


def all_drafts(export: Export) -> Iterator[DealEntry]:
    """Yield the drafts of a list. 1 batch get for each 100, beside what the list costs."""
    for cards in _some_of(_cards(export, "draft")):
        found = drafts.get_many(card.id for card in cards)
        for draft in (found[card.id] for card in cards if card.id in found):
            if not draft.published_as:
                yield DealEntry(draft)


def _cards(export: Export, state: str) -> Iterator[DealCard]:
    ask = export.filters.get
    brand, lacks = slugify(ask("brand", "")), ask("lacks", "")
    chosen = DealFilter(state, brand, ask("category", ""), ask("q", ""), lacks=lacks)
    with suppress(NotFound):  # no such brand
        yield from deal_lists.whole(chosen, now=export.now, size=AT_ONCE)


def what_needs_an_editor(export: Export) -> Iterator[DealEntry]:
    """Yield what needs an editor for one reason, in the order of its page. 1 batch get for each 100."""
    topic, today = TOPICS[export.filters["topic"]], Today.of(export.now, ZoneInfo(export.payload.zone))
    if topic.ask is None:
        yield from _featured_but_over(export.now)
        return
    found = deal_lists.scan(topic.ask(today), now=export.now, size=AT_ONCE)
    if topic.sort in ORDER_OF:  # of a day or two, so there is room for all of them
        found = iter(sorted(found, key=ORDER_OF[topic.sort]))
    for some in _some_of(found):
        data = attention.look(some)
        for one in some:
            if one.card and (entry := _entry(topic, one.card.id, data, today)):
                yield entry


def _entry(topic: Topic, id_: str, data: AttentionData, today: Today) -> DealEntry | None:
    """Return the entry of a deal or draft; None where the table no longer agrees that it belongs to the topic."""
    if draft := data.drafts.get(id_):
        lacking = ", ".join(deals.problems(draft.content, live_at=today.now))
        return DealEntry(draft, "draft", lacking) if _holds(topic, draft, None, today) else None
    deal, check = data.deals.get(id_), data.checks.get(id_)
    if deal is None or not _holds(topic, deal, check, today):
        return None
    return DealEntry(deal, deal.card.state(today.now), check=check)


def _holds(topic: Topic, deal: Deal | Draft, check: LinkCheck | None, today: Today) -> bool:
    return topic.holds(deal.content, deal.card, check, today)


def _featured_but_over(now: datetime) -> Iterator[DealEntry]:
    over = list(attention.featured_but_over(attention.look([], pages=True).pages, now))
    found = deals.get_many(dict.fromkeys(card.id for _page, card in over))
    for page, card in over:
        if deal := found.get(card.id):
            yield DealEntry(deal, deal.card.state(now), page=page.id)


def all_imports(export: Export) -> Iterator[dict[str, Any]]:
    """Yield the imports; how many rows a file has is a guess until it is checked."""
    for one in _every(imports.newest, "imports"):
        totals = one.card.get("totals") or {}
        done = "imported" if one.card["stage"] == IMPORTED else "new"
        yield {"import": one, "totals": totals, done: totals.get("imported")}


def all_brands(export: Export) -> Iterator[Brand]:
    for some in _some_of(brands.all_brands()):
        counts = brands.counts(one.slug for one in some)
        yield from (Brand(one.slug, one.name, counts=counts.get(one.slug, Counts())) for one in some)


def all_categories(export: Export) -> Iterator[Category]:
    return (replace(one, counts=one.counts or Counts()) for one in categories.all_categories())


def jobs_of_month(export: Export) -> Iterator[Any]:
    """Yield jobs without what they hold: mails name people."""
    month = export.filters.get("month") or f"{export.now:%Y-%m}"
    return _every(partial(jobs.of_month, month), "jobs")


def carts_with(export: Export) -> Iterator[Any]:
    """Yield the cart lines of a deal that are of a status, and perhaps of a day (UTC). 1 query for each 1,000."""
    filters = dict(export.filters)
    day = date.fromisoformat(text) if (text := filters.pop("day", "")) else None
    of_deal = partial(orders.carts_with, filters["deal"], filters["status"])
    return _every(partial(of_deal, day=day, size=HOLDERS_AT_ONCE), "shown")


def audit_entries(export: Export) -> Iterator[Any]:
    filters = dict(export.filters)
    day = date.fromisoformat(text) if (text := filters.pop("day", "")) else None
    return _every(partial(audit.page, day=day, **filters), "entries")
