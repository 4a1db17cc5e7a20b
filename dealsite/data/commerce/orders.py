"""Reading orders: one with its lines, those of a user, those that wait, who has a deal in the cart; and their mails.

The lines stand in the cart's partition by the moment at which they were bought. Several orders of a user can be of one
moment, so this may be read past the lines of others. Read there they are right at once, also right after checkout;
the index holds the lines of one order alone, but may be behind, and lacks whether stock was counted.

Nothing is kept of a mail but the job that sent it, whose id follows from what it tells.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain

from django.utils.formats import number_format
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.carts import Line, line_from_item, user_cart
from dealsite.data.commerce.order_record import (
    Buyer,
    Order,
    OrderCard,
    ReturnRequest,
    buyer_from_item,
    order_from_item,
)
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.editing import audit
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import (
    ACTIVE,
    FAILED,
    ORDER_STATUSES,
    PROCESSED,
    PURCHASED,
    REFUNDED,
    RETURNED,
    SAVED,
    TAKEN_BACK,
)
from dealsite.data.entities.work import SITE
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job
from dealsite.data.names import DAMAGED_FORM, is_username, normalise_username
from dealsite.data.people.mails import mail_id, order_notice
from dealsite.data.people.profiles import Profile, from_item as profile_from_item
from dealsite.data.table import paging
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict, Invalid, NotFound
from dealsite.data.table.ids import from_iso, is_ulid, iso, previous_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, newest_first
from dealsite.data.table.parallel import together

PAGE_SIZE = 25
TOTALLED = 1_000  # lines of a deal that are counted for a page
NO_ORDER = gettext_lazy("There is no such order.")
CART_STATUSES = (ACTIVE, SAVED, PURCHASED, RETURNED)
AT_ONCE = 1_000  # lines of one moment
INCOMPLETE = gettext_lazy(
    "The lines of order %(id)s do not add up: there are %(found)s of %(lines)s lines, %(found_pieces)s of %(pieces)s "
    "pieces, and %(found_total)s of %(total)s."
)


OrdersPage = Page[OrderCard]


@access_pattern("one order of a user", "1 get")
def get(username: str, order_id: str) -> Order:
    """Return a user's order; NotFound."""
    known = is_username(username) and is_ulid(order_id)
    item = table.get(keys.order(username, order_id)) if known else None
    if item is None:
        raise NotFound(NO_ORDER)
    return order_from_item(item)


@access_pattern("several orders", "1 batch get")
def get_many(refs: Iterable[tuple[str, str]]) -> list[Order]:
    """Return those of some orders (user name and id each) that exist, in this order."""
    wanted = [keys.order(username, order_id) for username, order_id in refs]
    items = table.batch_get(wanted)
    return [order_from_item(items[key]) for key in dict.fromkeys(wanted) if key in items]


@access_pattern("a user's orders, newest first", "1 query")
def of_user(
    username: str, *, status: str = "", after: str | None = None, before: str | None = None
) -> OrdersPage:
    """Return one page of a user's orders, newest first, all or of one status; BadCursor, Invalid."""
    if status and status not in ORDER_STATUSES:
        raise Invalid(status=gettext_lazy("There is no such status."))
    page = newest_first(
        keys.orders_of_user.partition(username),
        f"{status or 'ORDER'}#",
        index=keys.GSI2 if status else None,
        after=after,
        before=before,
        size=PAGE_SIZE,
        consistent=not status,
    )
    return page.showing([OrderCard.from_item(row["card"]) for row in page.rows]) if page.rows else Page([])


@access_pattern("profile and newest orders", "1 query")
def account_page(username: str) -> tuple[Profile, Buyer, list[Order]]:
    """Return a user's profile, what is kept for their next order, and their 25 newest orders; NotFound."""
    pk, sk = keys.profile(username)
    rows = table.query(pk, low="ORDER#", high=sk, newest_first=True, limit=1 + PAGE_SIZE, consistent=True)
    if not rows or rows[0]["SK"] != sk:
        raise NotFound(gettext_lazy("There is no such user."))
    return profile_from_item(rows[0]), buyer_from_item(rows[0]), [order_from_item(row) for row in rows[1:]]


@access_pattern("orders that wait", "4 queries")
def waiting(
    status: str, *, after: str | None = None, before: str | None = None, size: int = PAGE_SIZE
) -> OrdersPage:
    """Return one page of the orders of all users that wait, oldest first.

    PLACED ones wait to be shipped, SHIPPED ones to arrive. A cursor is an order's position, so whatever
    comes or goes meanwhile, no order is skipped or repeated. BadCursor; Invalid for another status.
    """
    if status not in keys.WAITING:
        raise Invalid(status=gettext_lazy("There is no such status."))
    partitions = [keys.WAITING[status].partition(number) for number in range(keys.ORDER_SHARDS)]
    page = _oldest_first(partitions, size, after=after, before=before)
    return page.showing([OrderCard.from_item(row["card"]) for row in page.rows])


@access_pattern("how many orders wait to be shipped", "4 queries")
def number_to_ship(most: int) -> int:
    """Return how many orders wait to be shipped, up to `most`."""
    partitions = [keys.orders_to_ship.partition(number) for number in range(keys.ORDER_SHARDS)]
    return len(paging.merged(partitions, index=keys.GSI3, limit=most))


@access_pattern("returns that shoppers asked for, oldest first", "1 query")
def returns_asked(*, after: str | None = None, before: str | None = None) -> Page[ReturnRequest]:
    """Return one page of returns that nobody has answered yet; BadCursor."""
    page = _oldest_first([keys.returns_asked.partition()], PAGE_SIZE, after=after, before=before)
    return page.showing([ReturnRequest.from_item(row["card"]) for row in page.rows])


def _oldest_first(
    partitions: Sequence[str], size: int, *, after: str | None, before: str | None
) -> Page[Item]:
    """Return a page of the rows of partitions of GSI3 together, by times and ids. 1 query each."""
    after, before = _positions(after, before)
    low, high = f"{after}~" if after else None, _just_below(before) if before else None
    rows = paging.merged(
        partitions, index=keys.GSI3, low=low, high=high, newest_first=bool(before), limit=size + 1
    )
    return _page_of(rows, [row["GSI3SK"] for row in rows], size, after=after, before=before)


def _positions(after: str | None, before: str | None) -> tuple[str | None, str | None]:
    """Return the cursors of a page; BadCursor for both, and for what is no position: a time and an id."""
    if (after and before) or any(cursor and not _is_position(cursor) for cursor in (after, before)):
        raise BadCursor()
    return after or None, before or None


def _page_of(
    rows: list[Item], places: list[str], size: int, *, after: str | None, before: str | None
) -> Page[Item]:
    """Return a page of rows with their positions, backwards for `before`: one more is there if there are more."""
    shown, more = list(zip(rows, places, strict=True))[:size], len(rows) > size
    if not shown:
        return Page([])
    if before:
        shown.reverse()
    (_, first), (_, last) = shown[0], shown[-1]
    leads = (last, first if more else None) if before else (last if more else None, first if after else None)
    return Page([row for row, _ in shown], *leads)


def _is_position(cursor: str) -> bool:
    at, _, order_id = cursor.partition("#")
    try:
        return is_ulid(order_id) and iso(from_iso(at)) == at
    except (ValueError, OverflowError):
        return False


def _just_below(cursor: str) -> str:
    at, _, order_id = cursor.partition("#")
    return f"{at}#{previous_ulid(order_id)}"


@dataclass(frozen=True, slots=True)
class CartsPage:
    """Lines of a deal, newest first; up to 1,000 of them are counted, `more` says that there are more."""

    rows: list[Line]
    lines: int
    pieces: int
    total: Decimal
    more: bool
    after: str | None = None


@access_pattern("who has a deal in the cart, by status", "1 query")
def carts_with(
    deal_id: str, status: str, *, day: date | None = None, after: str | None = None, size: int = PAGE_SIZE
) -> CartsPage:
    """Return who has a deal in the cart (ACTIVE), saved, bought or returned, newest first.

    With `day` (UTC), those who came to it on that day; a page holds up to 1,000. BadCursor, Invalid, NotFound for
    what is no deal's id.
    """
    if not is_ulid(deal_id):
        raise NotFound(gettext_lazy("There is no such deal."))
    if status not in CART_STATUSES:
        raise Invalid(status=gettext_lazy("There is no such status."))
    low, high = f"{status}#", f"{status}#~"
    if day is not None:
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        low, high = (f"{status}#{iso(at)}" for at in (start, start + timedelta(days=1)))
    if after:
        high = min(high, _cart_position(status, after))
    partition = keys.carts_with.partition(deal_id)
    rows = table.query_page(partition, index=keys.GSI2, low=low, high=high, newest_first=True, limit=TOTALLED)
    items = [row for row in rows.items if row["GSI2SK"] != high or not after]
    lines = [line_from_item(row) for row in items]
    shown = lines[:size]
    more = len(items) > size or rows.start is not None
    last = items[len(shown) - 1]["GSI2SK"].removeprefix(f"{status}#") if shown and more else None
    return CartsPage(
        shown,
        len(lines),
        sum(line.quantity for line in lines),
        sum((line.total for line in lines), ZERO),
        rows.start is not None,
        last,
    )


def _cart_position(status: str, cursor: str) -> str:
    at, _, rest = cursor.partition("#")
    username, _, line_id = rest.partition("#")
    with suppress(ValueError, OverflowError, Invalid):
        if iso(from_iso(at)) == at and normalise_username(username) == username and is_ulid(line_id):
            return f"{status}#{cursor}"
    raise BadCursor()


class IncompleteOrder(Conflict):
    """The lines of an order do not add up to what it says: nothing may be packed, told or cancelled by them."""

    def __init__(self, card: OrderCard, lines: Sequence[Line]) -> None:
        self.card = card
        found, pieces, total = _sums(lines)
        wanted = {
            "id": card.id,
            "lines": card.lines,
            "pieces": card.pieces,
            "total": number_format(card.total, 2),
        }
        there = {"found": found, "found_pieces": pieces, "found_total": number_format(total, 2)}
        super().__init__(INCOMPLETE % (wanted | there))


def _sums(lines: Sequence[Line]) -> tuple[int, int, Decimal]:
    total = sum((line.total for line in lines), ZERO)
    return len(lines), sum(line.quantity for line in lines), total


def _problem(card: OrderCard, lines: Sequence[Line]) -> IncompleteOrder | None:
    as_it_says = (card.lines, card.pieces, card.total)
    return None if _sums(lines) == as_it_says else IncompleteOrder(card, lines)


@access_pattern("the lines of an order, right at once", "1 query")
def found_lines(order: Order) -> tuple[Order, list[Line], IncompleteOrder | None]:
    """Return an order with those of its lines that are there, as bought, and what is wrong: for pages that say so.

    If some were cancelled or returned since it was read, as it is now. 1 query for each 1,000 lines of the user's of
    that moment, 1 beside it where a part was cancelled or returned; 1 get more where they do not add up, and as much
    again where the order has changed.
    """
    while True:
        back = [event.at for event in order.timeline if event.status in TAKEN_BACK]
        places = [] if order.status in TAKEN_BACK else [(PURCHASED, order.placed_at, order.placed_at)]
        places += [(RETURNED, back[0], back[-1])] if back else []
        lines = as_bought(chain(*together(*(partial(lines_at, order, *place) for place in places))))
        problem = _problem(order.card, lines)
        if problem is None:
            return order, lines, None
        current = get(order.username, order.id)
        if current.version == order.version:
            return order, lines, problem
        order = current


def with_lines(order: Order) -> tuple[Order, list[Line]]:
    """Return an order with its lines, as `found_lines`; IncompleteOrder if they do not add up."""
    order, lines, problem = found_lines(order)
    if problem:
        raise problem
    return order, lines


def lines_of(order: Order) -> list[Line]:
    """Return the lines of an order, as `with_lines`."""
    return with_lines(order)[1]


def as_bought(parts: Iterable[Line]) -> list[Line]:
    """Return lines with all their pieces, by their ids: what is cancelled or returned of one stands for itself."""
    whole: dict[str, Line] = {}
    for part in parts:
        one = whole.get(part.id)
        whole[part.id] = replace(one, quantity=one.quantity + part.quantity) if one else part
    return [whole[line_id] for line_id in sorted(whole)]


def lines_at(order: Order, status: str, at: datetime, until: datetime | None = None) -> list[Line]:
    """Return those lines of an order, or parts of them, that came to a status at a moment, or up to another."""
    low, high = keys.cart_line.between(status, at)
    high = keys.cart_line.between(status, until)[1] if until else high
    partition = user_cart(order.username).partition
    rows = table.query_all(partition, low=low, high=high, limit=AT_ONCE, consistent=True)
    return [line_from_item(row) for row in rows if row.get("order") == order.id]


@access_pattern("the lines of a page of a user's orders", "1 query")
def lines_of_many(cards: Sequence[OrderCard]) -> dict[str, list[Line]]:
    """Return the lines of some orders of one user, by order, for lists that show them: some may be missing.

    1 query for those from the oldest to the newest, 1 beside it where some are cancelled; of 1,000 lines at most each.
    """
    if not cards:
        return {}
    oldest, newest = (edge(card.placed_at for card in cards) for edge in (min, max))
    tops = {
        PURCHASED: keys.cart_line.between(PURCHASED, newest)[1],
        RETURNED: keys.cart_line.between(RETURNED)[1],
    }
    partition = user_cart(cards[0].username).partition

    def rows_of(status: str) -> list[Item]:
        low = keys.cart_line.between(status, oldest)[0]
        return table.query(partition, low=low, high=tops[status], limit=AT_ONCE, consistent=True)

    places = [PURCHASED] if any(card.status not in TAKEN_BACK for card in cards) else []
    if any(card.taken_back or card.status in TAKEN_BACK for card in cards):
        places.append(RETURNED)
    found: dict[str, list[Line]] = {card.id: [] for card in cards}
    for row in chain(*together(*(partial(rows_of, status) for status in places))):
        if row.get("order") in found:
            found[row["order"]].append(line_from_item(row))
    return {order_id: as_bought(lines) for order_id, lines in found.items()}


@access_pattern("an order with its lines by its id", "1 query")
def get_with_lines(order_id: str) -> tuple[OrderCard, list[Line]]:
    """Return the card and the lines of anybody's order; NotFound and IncompleteOrder, also in a change's first moment.

    `found_lines` is right at once.
    """
    if not is_ulid(order_id):
        raise NotFound(NO_ORDER)
    rows = list(table.query_all(keys.order_lines.partition(order_id), index=keys.GSI1, limit=AT_ONCE))
    cards = [OrderCard.from_item(row["card"]) for row in rows if row["type"] == "Order"]
    if not cards:
        raise NotFound(NO_ORDER)
    lines = as_bought(line_from_item(row) for row in rows if row["type"] == "CartLine")
    if problem := _problem(cards[0], lines):
        raise problem
    return cards[0], lines


MOST_TIMES = 10  # that one mail is sent, the first included


@dataclass(frozen=True, slots=True)
class OrderMail:
    """A mail about what an order, or an instalment by its `number`, came to; `time` is what sending it again is given.

    `jobs` have sent it or are to, the first one first, each with when it was last tried; none where they are forgotten.
    """

    status: str
    at: datetime
    jobs: tuple[tuple[datetime, Job], ...]
    time: int = 0
    number: int = 0
    headline: str = ""


@access_pattern("the mails about an order", "1 batch get")
def mails_of_order(order: Order, payments: Iterable[Payment]) -> list[OrderMail]:
    """Return the mails about an order and its payments, newest first. 1 batch get for each 100 that there may be."""
    headlines = {(event.status, event.at): event.headline for event in order.timeline}
    told = [(order.id, event.status, event.at, range(MOST_TIMES), 0) for event in order.timeline]
    for one in payments:
        steps = [step for step in one.timeline if step.by == SITE and step.status in (PROCESSED, FAILED)]
        news = [(step.status, step.at, 0) for step in steps if step.status == FAILED or not step.note]
        news += [(REFUNDED, refund.done_at, n) for n, refund in enumerate(one.refunds) if refund.done_at]
        told += [(one.id, status, at, range(n, n + 1), one.number) for status, at, n in news]
    ids = [
        {n: mail_id(order.username, about, status, at, n) for n in times}
        for about, status, at, times, _ in told
    ]
    found, mails = jobs.get_many(one for some in ids for one in some.values()), []
    for (_, status, at, _, number), some in zip(told, ids, strict=True):
        there = {n: found[one] for n, one in some.items() if one in found}
        sent = tuple((time_of(one.taken_by or one.id), one) for one in there.values())
        time = 0 if number else max([1, *there]) + 1
        headline = "" if number else headlines[status, at]
        mails.append(OrderMail(status, at, sent, time if time < MOST_TIMES else 0, number, headline))
    return sorted(mails, key=lambda mail: mail.at, reverse=True)


@access_pattern("send a mail about an order again", "1 transaction")
def send_mail_again(
    order: Order, status: str, at: datetime, *, time: int, to: str, by: str, now: datetime
) -> None:
    """Send the mail about what happened to an order `at` a time to its shopper's address of today; note who asked.

    AlreadyExists if it was sent for that `time`; Invalid where nothing happened then, or for a time that cannot be.
    """
    event = next((one for one in order.timeline if (one.status, one.at) == (status, at)), None)
    if event is None or time not in range(2, MOST_TIMES):
        raise Invalid(DAMAGED_FORM)
    names = {"order_id": order.id, "username": order.username, "to": to}
    mail = order_notice(event.status, **names, at=at, now=now, time=time)
    once = AlreadyExists(gettext_lazy("This mail is sent again already."))
    what, note = "sent a mail again", event.headline
    entry = audit.entry_write(by=by, kind="order", subject=order.id, what=what, note=note, now=now)
    table.transact([replace(mail, otherwise=once), entry])


@access_pattern("what a user has bought, newest first", "1 query")
def bought(username: str, *, after: str | None = None, before: str | None = None) -> Page[Line]:
    """Return one page of the lines of all orders of a user that are not returned, newest first; BadCursor."""
    after, before = _positions(after, before)
    low, high = keys.cart_line.between(PURCHASED)
    rows = table.query(
        user_cart(username).partition,
        low=f"{PURCHASED}#{before}~" if before else low,
        high=f"{PURCHASED}#{_just_below(after)}" if after else high,
        newest_first=not before,
        limit=PAGE_SIZE + 1,
        consistent=True,
    )
    places = [row["SK"].removeprefix(f"{PURCHASED}#") for row in rows]
    page = _page_of(rows, places, PAGE_SIZE, after=after, before=before)
    return page.showing([line_from_item(row) for row in page.rows])
