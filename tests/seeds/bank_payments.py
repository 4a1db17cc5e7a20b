"""Bank payments: a challenge and sample solution of AWS's workshop on DynamoDB."""

from __future__ import annotations

import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta

from dealsite.data.commerce import charging, payment_lists, payment_loads
from dealsite.data.entities.commerce import PENDING, SCHEDULED
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso
from dealsite.gateways.interface import ChargeResult
from tests.builders import DAY, HOUR, NOW
from tests.seeds import Ask, Both, Model, stored
from tests.seeds.shop import LONG_AGO, PAGE, claimed, closed, load, paid, payment, source

MODEL = Model(
    "Bank payments",
    "The challenge *Bank Payments* and its sample solution `BankModel.json`, a model of NoSQL Workbench, in "
    "[Amazon DynamoDB Labs](https://github.com/aws-samples/amazon-dynamodb-labs/tree/HEAD/scenario-solutions): "
    "2 entities and 3 access patterns, with those of its text (the two changes of status) and of its bonus (closing a "
    "day, the history by account, date and transaction); told apart they are 9. The examples are those of the "
    "model's tables.",
)
SHARDED = (
    "10 shards instead of 5, which would run at 89 %; the shard is a hash of the id, so a repair can find it."
)
CLOSED = ("PROCESSED", "REFUNDED")
HISTORY = "The history has keys of its own in the one table."


@MODEL.question(
    30,
    "Insert scheduled payments, if they do not exist",
    "PutItem AccountID / ScheduledTime, GSI-PK RAND(0,4), GSI-SK Status#Time",
    payment_loads.load_segment,
    differs="25 in a request, each only if it is absent here and in the history; totals of days are counted, once. "
    "Payments of orders are written by checkout (44). A time alone is no sort key: the id follows it.",
)
def insert_payments(ask: Ask) -> Both:
    """the account's payments after the same file was loaded twice"""
    due, inserted = payment("acct-30", LONG_AGO), 0
    for _ in range(2):
        of = source(due)
        *_, last = payment_loads.begin(of, now=NOW)  # the segment that has it
        inserted += ask(of, last).inserted
    found = [item["id"] for item in stored("Payment", account="acct-30")]
    return ([due.id], inserted), (found, len(found))


@MODEL.question(
    31,
    "An account's payments of the next 90 days",
    "Query AccountID, now to now + 90 days",
    payment_lists.coming,
    differs="What is overdue stands first. 25 a page.",
)
def next_90_days(ask: Ask) -> Both:
    """the account's payments that are not closed and due within 90 days, the earliest first"""
    for days in (-1, 89, 90, 91):
        load(payment("acct-31", NOW + days * DAY - timedelta(seconds=1)))
    found = [item for item in open_payments(account="acct-31") if item["due_at"] <= iso(NOW + 90 * DAY)]
    return [one.id for one in ask("acct-31", now=NOW).rows], by("due_at", found)


@MODEL.question(
    32,
    "All payments of a date that are SCHEDULED",
    "Query GSI each of 5 shards, SCHEDULED#DateT00:00:00 to SCHEDULED#DateT23:59:59",
    payment_lists.of_status,
    differs=f"{SHARDED} The index holds the card, an eighth of 8 KB. Up to the start of the next day. 25 a page.",
)
def scheduled(ask: Ask) -> Both:
    """payments of the status to be charged on the day, the earliest first"""
    days = Counter(item["next_at"][:10] for item in open_payments(status=SCHEDULED))
    day = days.most_common(1)[0][0]
    return rows(ask, SCHEDULED, day), of_day(SCHEDULED, day)


@MODEL.question(
    33,
    "All payments of a date that are PENDING",
    "Query GSI each of 5 shards, PENDING#DateT00:00:00 to PENDING#DateT23:59:59",
    payment_lists.pending,
    differs="The index has them by the end of a lease, so that runners find what another one left behind. So all are "
    "read, 1,000 of a shard at a time: there are as many as runners claim within a minute. 25 a page.",
)
def pending(ask: Ask) -> Both:
    """payments of the status that were due on the day, the earliest first"""
    for days in (0, 1):
        load(payment("acct-33", LONG_AGO + days * DAY))
    for row in stored("Payment", account="acct-33"):
        assert charging.claim(row, now=LONG_AGO + 2 * DAY)
    of_day = [item for item in open_payments(status=PENDING) if item["due_at"][:10] == f"{LONG_AGO:%Y-%m-%d}"]
    return [row.id for row in ask(LONG_AGO.date(), LONG_AGO.date()).rows], by("due_at", of_day)


@MODEL.question(
    34,
    "A payment is sent to be charged: SCHEDULED to PENDING",
    "UpdateItem AccountID / ScheduledTime: Status, GSI-SK",
    charging.claim,
    differs="On the condition that it stands where the index showed it: of several runners one has it, for a lease.",
)
def claim(ask: Ask) -> Both:
    """status, version and runner of the payment"""
    load(payment("acct-34", LONG_AGO))
    made = ask(stored("Payment", account="acct-34")[0], now=LONG_AGO + HOUR)
    (item,) = stored("Payment", account="acct-34")
    return ("PENDING", made.version, made.claimed_by), (item["status"], item["version"], item["claimed_by"])


@MODEL.question(
    35,
    "A payment is done: PENDING to PROCESSED, with a transaction id",
    "UpdateItem AccountID / ScheduledTime: Status, GSI-SK, TransactionID",
    charging.record,
    differs="A guard makes the transaction id one payment's own, and the day's totals move with it.",
)
def process(ask: Ask) -> Both:
    """status and transaction id of the payment, and whose the id is"""
    made = ask(claimed("acct-35", LONG_AGO), ChargeResult("T-35"), now=LONG_AGO + HOUR)
    (item,), (guard,) = (
        stored("Payment", account="acct-35"),
        stored("TransactionGuard", transaction_id="T-35"),
    )
    said = (item["status"], item["transaction_id"], guard["payment"])
    return (made.status, made.transaction_id, made.id), said


@MODEL.question(
    36,
    "Move a day's PROCESSED payments to the history",
    "Query GSI each of 5 shards; PutItem and DeleteItem each",
    charging.close_shard,
    differs=f"Of one shard; all ten at once. Put and delete in one transaction, 50 payments each. {HISTORY}",
)
def close_day(ask: Ask) -> Both:
    """payments of the shard that were paid until the day's end"""
    made = paid("acct-36", LONG_AGO)
    shard, end = zlib.crc32(made.id.encode()) % 10, iso(LONG_AGO.replace(hour=0) + DAY)
    wanted = {
        item["id"]
        for item in stored("Payment")
        if not item.get("closed") and item["status"] in CLOSED and item["next_at"] < end
        if zlib.crc32(item["id"].encode()) % 10 == shard
    }
    moved = ask(LONG_AGO.date(), shard)
    return (moved, wanted), (len(wanted), {one["id"] for one in stored("Payment", closed=True)} & wanted)


@MODEL.question(
    37,
    "The history of an account",
    "Query TransactionHistory AccountID",
    payment_lists.history,
    differs=f"The latest due first, 25 a page. {HISTORY}",
)
def history(ask: Ask) -> Both:
    """the account's closed payments, the latest due first"""
    for days in (2, 1):
        closed("acct-37", LONG_AGO - days * DAY)
    load(payment("acct-37", LONG_AGO))
    found = by("due_at", stored("Payment", account="acct-37", closed=True))
    return [one.id for one in ask("acct-37").rows], found[::-1]


@MODEL.question(
    37,
    "The history of a date",
    "Query TransactionHistory QueryAll_byTime each of 5 shards",
    payment_lists.history_of,
    differs="By when they were processed. 25 a page.",
)
def history_of_day(ask: Ask) -> Both:
    """closed payments that were processed on the day, the earliest first"""
    made = closed("acct-37", LONG_AGO - 3 * DAY)
    day = made.processed_at.date() if made.processed_at else NOW.date()
    found = [one for one in stored("Payment", closed=True) if one["processed_at"][:10] == day.isoformat()]
    return [row.id for row in ask(day, day).rows], by("processed_at", found)


@MODEL.question(
    38,
    "A payment by its transaction id",
    "Query TransactionHistory Query_TransactionID",
    payment_lists.by_transaction,
    differs="Also before its day is closed.",
)
def by_transaction(ask: Ask) -> Both:
    """the payment that has the transaction id"""
    closed("acct-38", LONG_AGO - 4 * DAY, "T-38")
    found = ask("T-38")
    (item,) = stored("Payment", transaction_id="T-38")
    return (found.id, found.account, found.closed), (item["id"], item["account"], item["closed"])


def open_payments(**equal: str) -> list[Item]:
    return [item for item in stored("Payment", **equal) if not item.get("closed")]


def by(time: str, items: list[Item]) -> list[str]:
    """Return the ids of payments in the order of a time, up to a page of them."""
    return [item["id"] for item in sorted(items, key=lambda item: (item[time], item["id"]))][:PAGE]


def of_day(status: str, day: str) -> list[str]:
    return by("next_at", [item for item in open_payments(status=status) if item["next_at"][:10] == day])


def rows(ask: Ask, status: str, day: str) -> list[str]:
    date = datetime.fromisoformat(day).date()
    return [row.id for row in ask(status, date, date).rows]


def at(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H%M%S").replace(tzinfo=UTC)


@MODEL.entity(
    "Scheduled payment",
    "AccountID / ScheduledTime; GSI Sharded-GSI-PK / Status#Time",
    "Payment",
    keys="payment payments_by_status",
    differs="The id follows the time. The status stands in the index's key alone, as theirs. Accounts are lower case.",
)
def scheduled_payment() -> Both:
    """Account1 of 2019-09-25 and -26, PENDING; Account2 of 2019-09-24, SCHEDULED"""
    claimed("account1", at("2019-09-25T010101"))
    claimed("account1", at("2019-09-26T020202"))
    load(payment("account2", at("2019-09-24T010101")))
    found = [
        (one.account, f"{one.due_at:%Y-%m-%dT%H%M%S}", one.status)
        for account in ("account1", "account2")
        for one in payment_lists.of_account(account).rows
    ]
    return found, [
        ("account1", "2019-09-25T010101", "PENDING"),
        ("account1", "2019-09-26T020202", "PENDING"),
        ("account2", "2019-09-24T010101", "SCHEDULED"),
    ]


@MODEL.entity(
    "Processed payment",
    "AccountID / Timestamp; QueryAll_byTime Sharded-GSI-PK / Timestamp; Query_TransactionID",
    "Payment",
    keys="past_payment closed_payments payment_of_transaction",
    differs=f"{HISTORY} Their two examples have the same transaction id: here the second would be refused.",
)
def processed_payment() -> Both:
    """UUID-UUID-UUID-UUID of Account1, 2019-09-24"""
    closed("account1", at("2019-09-24T010101"), "UUID-UUID-UUID-UUID")
    (found,) = payment_lists.history("account1").rows
    row = payment_lists.by_transaction("UUID-UUID-UUID-UUID")
    said = (found.status, f"{found.due_at:%Y-%m-%dT%H%M%S}", row and row.account)
    return said, ("PROCESSED", "2019-09-24T010101", "account1")
