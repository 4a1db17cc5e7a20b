"""The mails that an order and its payments gave, what became of each, and sending one of an order again.

Nothing more is kept of a mail than the job that sent it, whose id follows from what it tells.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import table
from dealsite.data.commerce.order.order_record import HEADLINES, Event, Order
from dealsite.data.commerce.payment.payment_record import Payment, Step
from dealsite.data.editing import audit
from dealsite.data.entities.payments import FAILED, PROCESSED, REFUNDED
from dealsite.data.entities.work import SITE
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job
from dealsite.data.people.mails import mail_id, order_notice
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, Invalid
from dealsite.data.table.ids import time_of

TOLD = frozenset({PROCESSED, FAILED, REFUNDED})  # of payments
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


@access_pattern("the mails about an order", "1 batch get")
def of_order(order: Order, payments: Iterable[Payment]) -> list[OrderMail]:
    """Return the mails about an order and its payments, newest first. 1 batch get for each 100 that there may be."""
    told: list[tuple[str, Event | Step, int]] = [(order.id, event, 0) for event in order.timeline]
    steps = (
        (one, step) for one in payments for step in one.timeline if step.by == SITE and step.status in TOLD
    )
    told += [(one.id, step, one.number) for one, step in steps]
    ids = {
        (about, event): [
            mail_id(order.username, about, event.status, event.at, time)
            for time in range(1 if number else MOST_TIMES)
        ]
        for about, event, number in told
    }
    found, mails = jobs.get_many(one for some in ids.values() for one in some), []
    for about, event, number in told:
        there = [time for time, one in enumerate(ids[about, event]) if one in found]
        tried = [found[ids[about, event][time]] for time in there]
        sent = tuple((time_of(one.taken_by or one.id), one) for one in tried)
        time = 0 if number else max([1, *there]) + 1
        mails.append(OrderMail(event.status, event.at, sent, time if time < MOST_TIMES else 0, number))
    return sorted(mails, key=lambda mail: mail.at, reverse=True)


@access_pattern("send a mail about an order again", "1 transaction")
def send_again(order: Order, status: str, *, time: int, to: str, by: str, now: datetime) -> None:
    """Send the mail about a status of an order to its shopper's address of today, and note who asked for it.

    AlreadyExists if it was sent for that `time`; Invalid for a status that it never had, or a time that cannot be.
    """
    at = next((event.at for event in order.timeline if event.status == status), None)
    if at is None or time not in range(2, MOST_TIMES):
        raise Invalid(gettext_lazy("This form is damaged. Load the page again."))
    names = {"order_id": order.id, "username": order.username, "to": to}
    mail = order_notice(status, **names, at=at, now=now, time=time)
    once = AlreadyExists(gettext_lazy("This mail is sent again already."))
    what, note = "sent a mail again", HEADLINES[status]
    entry = audit.entry_write(by=by, kind="order", subject=order.id, what=what, note=note, now=now)
    table.transact([replace(mail, otherwise=once), entry])
