"""Lists of payments: an account's own, and those of all accounts by status and time.

What all accounts' lists show comes from the sharded index alone: 10 queries in parallel, merged by time. A cursor
is the position of the last row seen, time and id: it names a place, so nothing is skipped or repeated by
what comes and goes around it.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from operator import attrgetter

from dealsite.data import keys, table
from dealsite.data.commerce import payment_record
from dealsite.data.commerce.payment_record import Payment, Sum, payment_from_item
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import (
    CANCELLED,
    FAILED,
    GIVEN_UP,
    PAYMENT_CARD,
    PENDING,
    PROCESSED,
    REFUNDED,
    SCHEDULED,
)
from dealsite.data.entities.entity import reader
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import BadCursor
from dealsite.data.table.ids import from_iso, is_ulid, iso, previous_ulid
from dealsite.data.table.key_templates import Template
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, first_page, merged
from dealsite.data.table.parallel import together

PAGE_SIZE = 25
COMING = timedelta(days=90)
UNPAID, DONE = {SCHEDULED, PENDING, FAILED}, {PROCESSED, CANCELLED, REFUNDED}
MANY = 1000  # rows of PENDING payments that a request reads
COUNTED = 100  # overdue payments of each kind in a shard, of those that are older than the kept totals
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
LIVE = [keys.payments_by_status.partition(number) for number in range(keys.PAYMENT_SHARDS)]
PAST = [keys.closed_payments.partition(number) for number in range(keys.PAYMENT_SHARDS)]


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """What a list shows of a payment; `position` is the cursor of its place in that list.

    `at` is when the last thing happened to it, `listed_at` the time by which the list is sorted.
    """

    id: str
    account: str
    order: str
    number: int
    of: int
    amount: Decimal
    due_at: datetime
    status: str
    position: str
    at: datetime | None = None
    transaction_id: str = ""
    reason: str = ""
    cut: Decimal = ZERO
    refunded: Decimal = ZERO
    closed: bool = False

    @property
    def to_charge(self) -> Decimal:
        """What is charged, or was."""
        return self.amount - self.cut

    @property
    def listed_at(self) -> datetime:
        return from_iso(self.position.partition("#")[0])


RowsPage = Page[PaymentRow]
PaymentsPage = Page[Payment]


@access_pattern("what an account is to pay in its next 90 days", "1 query")
def coming(account: str, *, now: datetime, after: str | None = None) -> PaymentsPage:
    """Return what an account has to pay within 90 days, what is overdue or failed first. BadCursor.

    1 query more for each 26 that are paid or cancelled and stand between.
    """
    low = _after(after) if after else ""
    found = _found(keys.payment, account, UNPAID, low=low, high=keys.payment.until(now + COMING)[1])
    return _payments_page(found)


@access_pattern("an account's payments of closed days", "1 query")
def history(account: str, *, after: str | None = None) -> PaymentsPage:
    """Return an account's payments of closed days, the latest due first. BadCursor."""
    high = _before(after) if after else keys.TOP
    return _payments_page(_found(keys.past_payment, account, DONE, low="", high=high, newest_first=True))


@access_pattern("what an account paid, or need not pay any more", "2 queries")
def done(account: str, *, now: datetime, after: str | None = None) -> PaymentsPage:
    """Return an account's payments that are paid, cancelled or refunded, the latest due first. BadCursor.

    Of closed days, and of others up to 90 days ahead. 1 query more for each 26 that are to be paid and stand between.
    """
    high = _before(after) if after else keys.payment.until(now + COMING)[1]
    places = keys.payment, keys.past_payment
    found = chain(*(_found(place, account, DONE, low="", high=high, newest_first=True) for place in places))
    return _payments_page(sorted(found, key=lambda payment: payment.key[1], reverse=True))


def _found(
    place: Template[keys.Key],
    account: str,
    statuses: Container[str],
    *,
    low: str,
    high: str,
    newest_first: bool = False,
) -> Iterator[Payment]:
    """Yield up to a page's payments, and one more that says that there are; of some statuses, however far they are."""
    try:
        partition = place.partition(account)
    except ValueError:  # what no account can be called
        return iter(())
    items = table.query_all(
        partition, low=low or "!", high=high, newest_first=newest_first, limit=PAGE_SIZE + 1, consistent=True
    )
    found = (payment_from_item(item) for item in items)
    return islice((payment for payment in found if payment.status in statuses), PAGE_SIZE + 1)


def _payments_page(found: Iterable[Payment]) -> PaymentsPage:
    return first_page(list(found), PAGE_SIZE, lambda payment: payment.key[1])


@access_pattern("payments of a status, by date (FAILED: 20 queries)", "10 queries")
def of_status(
    status: str, first: date, last: date, *, after: str | None = None, limit: int = PAGE_SIZE
) -> RowsPage:
    """Return payments of all accounts of a status, in a span of days (UTC, both included), the earliest first.

    A list is sorted by the time that counts for the status: when a payment is to be charged (SCHEDULED), was due
    (PENDING, and FAILED if it is given up), is tried again (FAILED), or was processed, cancelled or refunded.
    BadCursor.
    """
    if status == PENDING:
        return pending(first, last, after=after, limit=limit)
    words = (FAILED, GIVEN_UP) if status == FAILED else (status,)
    lists = [(LIVE, keys.payments_by_status.between(word)[0]) for word in words]
    return _merged_page(lists, first, last, after=after, limit=limit)


@access_pattern("payments being charged, by when they were due", "10 queries")
def pending(first: date, last: date, *, after: str | None = None, limit: int = PAGE_SIZE) -> RowsPage:
    """Return PENDING payments of all accounts due in a span of days, the earliest first. BadCursor.

    The index has them by the end of a lease, where other runners look for those whose runner is gone. So all are read,
    10 queries for each 1,000 of a shard: there are only as many as runners claim within a lease.
    """
    start, end = _bounds(first, last, after)
    low, high = keys.payments_by_status.between(PENDING)

    def read(partition: str) -> list[Item]:
        return list(table.query_all(partition, index=keys.GSI3, low=low, high=high, limit=MANY))

    found = chain(*together(*(partial(read, partition) for partition in LIVE)))
    once = {
        item["SK"]: item for item in found
    }  # one that is claimed anew meanwhile may be seen in both its places
    rows = [row_of(item, position) for position, item in once.items() if start <= position <= end]
    return _page_of(rows, limit)


@access_pattern("payments of closed days, by date", "10 queries")
def history_of(first: date, last: date, *, after: str | None = None, limit: int = PAGE_SIZE) -> RowsPage:
    """Return closed payments of all accounts processed in a span of days, the earliest first. BadCursor."""
    return _merged_page([(PAST, "")], first, last, after=after, limit=limit)


def _merged_page(
    lists: Sequence[tuple[list[str], str]], first: date, last: date, *, after: str | None, limit: int
) -> RowsPage:
    start, end = _bounds(first, last, after)
    rows: list[PaymentRow] = []
    for partitions, prefix in lists:
        low, high = f"{prefix}{start}", f"{prefix}{end}"
        if low <= high:
            found = merged(partitions, index=keys.GSI3, low=low, high=high, limit=limit + 1)
            rows += [row_of(item, item["GSI3SK"].removeprefix(prefix)) for item in found]
    return _page_of(rows, limit)


def _bounds(first: date, last: date, after: str | None) -> tuple[str, str]:
    """Return the positions between which a page begins and ends."""
    start = iso(_midnight(first))
    end = iso(_midnight(last + timedelta(days=1)))  # sorts before every position of that day
    return max(start, _after(after)) if after else start, end


def _page_of(rows: list[PaymentRow], limit: int) -> RowsPage:
    position = attrgetter("position")
    return first_page(sorted(rows, key=position), limit, position)


@access_pattern("a payment by its transaction id", "1 query")
def by_transaction(transaction_id: str) -> PaymentRow | None:
    """Return the payment of a transaction id, open or closed; None if there is none."""
    try:
        partition, sort = keys.transaction(transaction_id)
    except ValueError:
        return None
    rows = table.query(partition, index=keys.GSI1, low=sort, high=sort, limit=1)
    return row_of(rows[0], rows[0]["SK"]) if rows else None


@access_pattern("all of an account's payments that are not closed", "1 query")
def of_account(account: str, *, after: str | None = None) -> PaymentsPage:
    """Return all of an account's payments that are not closed, the earliest due first. BadCursor."""
    low = _after(after) if after else ""
    return _payments_page(_found(keys.payment, account, UNPAID | DONE, low=low, high=keys.TOP))


@dataclass(frozen=True, slots=True)
class Debt:
    """What an account has to pay for its orders: not yet tried, or being charged; and declined, not paid since."""

    open: Sum
    failed: Sum

    @property
    def total(self) -> Decimal:
        return self.open.amount + self.failed.amount


@access_pattern("what an account has still to pay", "1 query")
def owed(account: str) -> Debt:
    """Return what an account has still to pay for its orders; right at once. 1 query for each MB."""
    found = {"open": Sum(), "failed": Sum()}
    for item in table.query_all(keys.payment.partition(account), consistent=True):
        payment = payment_from_item(item)
        if payment.order and payment.status in UNPAID:
            found[payment_record.state_of(payment)] += Sum(1, payment.to_charge)
    return Debt(**found)


@dataclass(frozen=True, slots=True)
class Overdue:
    """What is due and not paid: since today, within 7 and 30 days before, and earlier.

    `older_at_least` tells that there are more of the last kind than were counted.
    """

    today: Sum
    week: Sum
    month: Sum
    older: Sum
    older_at_least: bool = False


@access_pattern("what is overdue, by age", "4 batch gets + 30 queries")
def overdue(*, now: datetime) -> Overdue:
    """Return what is due and not paid, by age; today's includes what is due later today.

    The last 31 days come from the kept totals. What is older is counted in the index, up to 100 of
    each kind in a shard: it is what was given up, and what no runner came to.
    """
    today = now.astimezone(UTC).date()
    limit = iso(_midnight(today - timedelta(days=30)))

    def before_limit(partition: str, word: str) -> list[Item]:
        low, high = f"{word}#", f"{word}#{limit}"
        return table.query(partition, index=keys.GSI3, low=low, high=high, limit=COUNTED)

    days, *shards = together(
        partial(payment_record.totals_of_days, today - timedelta(days=30), today),
        *(partial(before_limit, one, word) for word in (SCHEDULED, FAILED, GIVEN_UP) for one in LIVE),
    )
    unpaid = {day: of_day["open"] + of_day["failed"] for day, of_day in days.items()}

    def span(newest: int, oldest: int) -> Sum:
        return sum((unpaid[today - timedelta(days=n)] for n in range(newest, oldest + 1)), Sum())

    older = sum((Sum(1, row_of(row, "").to_charge) for row in chain(*shards)), Sum())
    full = any(len(rows) == COUNTED for rows in shards)
    return Overdue(span(0, 0), span(1, 7), span(8, 30), older, full)


def row_of(item: Item, position: str) -> PaymentRow:
    """Return what a row of an index says of a payment."""
    return _read_card(item["card"], position=position, closed=str(item["PK"]).startswith(keys.HISTORY))


_read_card = reader(PAYMENT_CARD, PaymentRow)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _checked(cursor: str) -> str:
    time, _, payment_id = cursor.partition("#")
    if not TIME.fullmatch(time) or not is_ulid(payment_id):
        raise BadCursor()
    return cursor


def _after(cursor: str) -> str:
    """Return the lowest sort key after a position: `!` sorts before whatever a longer key could go on with."""
    return f"{_checked(cursor)}!"


def _before(cursor: str) -> str:
    """Return a sort key right before a position."""
    time, _, payment_id = _checked(cursor).partition("#")
    return f"{time}#{previous_ulid(payment_id)}"
