"""What is kept of users for their next order, in their profile: where the last one went, and the card they pay with.

Of a card there is what the gateway calls it and what people call it. Its number is never stored.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.order.order_record import ADDRESS_FIELDS, Address
from dealsite.data.commerce.payment.payment_actions import change_method
from dealsite.data.commerce.payment.payment_lists import of_account
from dealsite.data.entities.commerce import ADDRESS_CHARACTERS
from dealsite.data.entities.payments import FAILED, SCHEDULED
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import from_item
from dealsite.data.names import as_typed
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.paging import to_end
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
    """Where a user's orders go, empty before the first, what pays for them, in how many instalments."""

    address: Address
    card: PaymentCard | None
    plan: int = 1


@access_pattern("where a user's orders go, and the card that pays", "1 get")
def buyer(username: str) -> Buyer:
    """Return what is kept of a user for their next order."""
    return buyer_from_item(table.get(keys.profile(username)) or {})


def buyer_from_item(item: Item) -> Buyer:
    """Return what a profile's item says of them."""
    card = item.get("card")
    kept = PaymentCard(card["gateway"], card["token"], card["label"]) if card else None
    return Buyer(Address.from_item(item.get("address")), kept, item.get("plan", 1))


@access_pattern("save what was typed at checkout", "1 update")
def keep_typed(username: str, address: Address, plan: int) -> None:
    """Keep what was typed of an address, whole or not, and the number of instalments; NotFound."""
    typed = {name: as_typed(getattr(address, name))[:ADDRESS_CHARACTERS] for name in ADDRESS_FIELDS}
    table.write(_profile_write(username, set={"address": Address(**typed).as_item(), "plan": plan}))


@access_pattern("save a user's card", "1 transaction")
def save_card(username: str, card: PaymentCard, *, job_id: str, now: datetime) -> None:
    """Keep the card that a user pays with from now on; NotFound. A job gives it to open payments."""
    job = job_write(USE_CARD, UseCardPayload(username, card.token), job_id=job_id, due=now)
    table.transact([_profile_write(username, set={"card": asdict(card)}), job])


@access_pattern("whether somebody removed their card", "1 get")
def has_no_card(username: str) -> bool:
    """Tell whether a user has no card, so that nothing may be charged; of who is no user, nothing is known."""
    item = table.get(keys.profile(username))
    return item is not None and "card" not in item


@access_pattern("give open payments a new card", "1 get + 1 query + 1 batch get + 1 transaction")
def use_card(job: Job, now: datetime) -> None:
    """Have all of a user's payments that are not paid charged from their card, or none; harmless to repeat."""
    payload = from_item(UseCardPayload, job.payload)
    username, card = payload.username, buyer(payload.username).card
    method = card.token if card else ""  # of now: jobs may run in another order than they were written in
    for page in to_end(partial(of_account, username)):
        for payment in page.payments:
            if payment.status in (SCHEDULED, FAILED) and payment.method != method:
                with suppress(Conflict):  # just paid, or cancelled
                    change_method(username, payment.due_at, payment.id, method=method, by=username, now=now)


@access_pattern("forget a user's card", "1 transaction")
def forget_card(username: str, *, job_id: str, now: datetime) -> None:
    """Forget the card that a user pays with; harmless if there is none, NotFound. A job takes it from open payments."""
    job = job_write(USE_CARD, UseCardPayload(username, ""), job_id=job_id, due=now)
    table.transact([_profile_write(username, remove=("card",)), job])


def _profile_write(username: str, **changes: Any) -> Update:
    nobody = NotFound(gettext_lazy("There is no such user."))
    return Update(key=keys.profile(username), when=(exists(),), otherwise=nobody, **changes)
