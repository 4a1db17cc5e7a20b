"""What is kept of a user for his next order, in his profile: where the last one went, and the card he pays with.

Of a card there is what the gateway calls it and what people call it. Its number is never stored.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.order.order_record import ADDRESS_CHARACTERS, ADDRESS_FIELDS, Address
from dealsite.data.commerce.payment.payment_actions import change_method
from dealsite.data.commerce.payment.payment_lists import of_account
from dealsite.data.commerce.payment.payment_record import FAILED, SCHEDULED
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.names import normalise
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.writes import Update, exists

USE_CARD = "use_card"  # the kind of job


@dataclass(frozen=True, slots=True)
class UseCardPayload:
    """Whose open payments are to be charged from which card."""

    username: str
    method: str


@dataclass(frozen=True, slots=True)
class PaymentCard:
    """A card at a gateway; `label` is such as "Visa ending in 4242"."""

    gateway: str
    token: str
    label: str


@dataclass(frozen=True, slots=True)
class Buyer:
    """Where a user's orders go, empty before the first, and what pays for them."""

    address: Address
    card: PaymentCard | None


@access_pattern("where a user's orders go, and the card that pays", "USER#u / PROFILE#u", "1 get")
def buyer(username: str) -> Buyer:
    """Return what is kept of a user for his next order. 1 get."""
    item = table.get(keys.profile(username)) or {}
    return Buyer(Address.from_item(item.get("address")), card_from_item(item))


def card_from_item(profile: Item) -> PaymentCard | None:
    """Return the card in a profile's item."""
    card = profile.get("card")
    return PaymentCard(card["gateway"], card["token"], card["label"]) if card else None


@access_pattern("save what was typed of an address", "USER#u / PROFILE#u", "1 update")
def keep_address(username: str, address: Address) -> None:
    """Keep what was typed of an address, whole or not; NotFound. 1 update."""
    typed = Address(
        **{name: normalise(getattr(address, name))[:ADDRESS_CHARACTERS] for name in ADDRESS_FIELDS}
    )
    _set(username, "address", typed.as_item())


@access_pattern("save a user's card", "USER#u, JOB#id / PROFILE#u, itself", "1 transaction")
def save_card(username: str, card: PaymentCard, *, job_id: str, now: datetime) -> None:
    """Keep the card that a user pays with from now on; NotFound. A job gives it to open payments. 1 transaction."""
    item = {"gateway": card.gateway, "token": card.token, "label": card.label}
    payload = UseCardPayload(username, card.token)
    table.transact(
        [
            Update(key=keys.profile(username), set={"card": item}, when=(exists(),), otherwise=_nobody()),
            job_write(USE_CARD, to_item(payload), job_id=job_id, due=now),
        ]
    )


@access_pattern(
    "give open payments a new card", "PAYMENTS#account / due_at#id", "1 query + 1 batch get + 1 transaction"
)
def use_card(job: Job, now: datetime) -> None:
    """Have all of a user's payments that are not paid charged from his new card. Run twice, it changes nothing more.

    1 query for each 25 payments, 1 batch get + 1 transaction for each that changes.
    """
    payload = from_item(UseCardPayload, job.payload)
    username, method = payload.username, payload.method
    after: str | None = None
    while True:
        page = of_account(username, after=after)
        for payment in page.payments:
            if payment.status in (SCHEDULED, FAILED) and payment.method != method:
                with suppress(Conflict):  # just paid, or called off
                    change_method(username, payment.due_at, payment.id, method=method, by=username, now=now)
        after = page.after
        if after is None:
            return


@access_pattern("forget a user's card", "USER#u / PROFILE#u", "1 update")
def forget_card(username: str) -> None:
    """Forget the card that a user pays with; harmless if there is none, NotFound. 1 update."""
    table.write(Update(key=keys.profile(username), remove=("card",), when=(exists(),), otherwise=_nobody()))


def _set(username: str, name: str, value: Item) -> None:
    table.write(Update(key=keys.profile(username), set={name: value}, when=(exists(),), otherwise=_nobody()))


def _nobody() -> NotFound:
    return NotFound(gettext_lazy("There is no such user."))
