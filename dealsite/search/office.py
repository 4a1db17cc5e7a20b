"""What only the back office finds: orders with what was bought, customers and payments, by all that is known of them.

It is an index of its own, which no page of shoppers or editors reads.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Self

from dealsite.data import keys
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.carts import line_from_item
from dealsite.data.commerce.countries import country_name
from dealsite.data.commerce.order_record import OrderMoney, order_from_item
from dealsite.data.commerce.payment_record import payment_from_item
from dealsite.data.entities.commerce import BOUGHT
from dealsite.data.keys import Key
from dealsite.data.people.profiles import from_item as profile_from_item
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import EPOCH, folded, number_of
from dealsite.search.documents import Fields, Stored, fold, milliseconds, other_spellings, words_of

ORDER, CUSTOMER, PAYMENT = "order", "customer", "payment"
PIECE = 3  # characters of the shortest part of a number that is found
SAID_CHARACTERS = 6  # of an id, its last ones, by which people know an order
SAID = str.maketrans("oil", "011")  # how letters are read that no id has
SUMS = ("paid", "open", "failed")  # of an order's payments, in cents
TIE_BITS = 16  # which put what is of one millisecond into an order
# As the Germans and the Danes write these letters where they cannot type them.
TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


FIELDS = Fields(
    names=("key",),
    counted=("kind", "username", "status", "payment_state", "country", "deals", "tags"),
    words=("words", "titles", "pieces"),
    places=("pieces",),
    numbers=("newest", "cents", *SUMS),
)


@dataclass(frozen=True, slots=True)
class OfficeDocument(Stored):
    """What the index keeps of an order, customer or payment.

    `text` are its words, `numbers` its ids and tracking numbers. `lines` are what was bought, title by deal: they come
    on their own, maybe before the order. `newest` counts up with the time by which it is sorted.
    """

    part, fields = "office", FIELDS

    id: str = ""
    username: str = ""
    name: str = ""
    text: str = ""
    numbers: Sequence[str] = ()
    place: str = ""
    country: str = ""
    status: str = ""
    payment_state: str = ""
    tags: Sequence[str] = ()
    cents: int = 0
    paid: int = 0
    open: int = 0
    failed: int = 0
    newest: int = 0
    email: str = ""
    lines: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_order(cls, item: Item) -> Self:
        """Return what is to be kept of an order, but for its lines."""
        order = order_from_item(item)
        address, money = order.address, order.card.money or OrderMoney()
        sent = [event for event in order.timeline if event.tracking or event.carrier]
        carriers, bill = (event.carrier for event in sent), order.bill_to.lines if order.bill_to else []
        return cls(
            kind=ORDER,
            id=order.id,
            username=order.username,
            name=address.name,
            text=" ".join([order.username, order.email, *address.lines, *bill, *carriers, *order.tags]),
            numbers=[order.id, address.postcode, address.phone, *(event.tracking for event in sent)],
            place=address.place,
            country=address.country_code,
            status=order.status,
            payment_state=order.card.payment_state,
            tags=order.tags,
            cents=cents(order.total),
            paid=cents(money.processed),
            open=cents(money.open),
            failed=cents(money.failed),
            newest=place_of(order.placed_at, order.id),
        )

    @classmethod
    def of_profile(cls, item: Item) -> Self:
        """Return what is to be kept of a customer."""
        profile, home = profile_from_item(item), Address.from_item(item.get("address"))
        names = (profile.name, profile.username, profile.email, profile.pending_email)
        return cls(
            kind=CUSTOMER,
            id=profile.username,
            username=profile.username,
            name=home.name or profile.name,
            text=" ".join([*names, *home.lines]),
            numbers=[home.postcode, home.phone],
            email=profile.email or profile.pending_email,
            place=home.place,
            country=home.country_code,
            newest=place_of(profile.created_at),
        )

    @classmethod
    def of_payment(cls, item: Item) -> Self:
        """Return what is to be kept of a payment."""
        payment = payment_from_item(item)
        return cls(
            kind=PAYMENT,
            id=payment.id,
            username=payment.account,
            text=payment.account,
            numbers=[payment.id, payment.order, payment.transaction_id],
            status=payment.status,
            cents=cents(payment.to_charge),
            newest=place_of(payment.due_at, payment.id),
        )

    @property
    def at(self) -> datetime:
        """When it was placed, is due, or came."""
        return EPOCH + timedelta(milliseconds=self.newest >> TIE_BITS)

    @property
    def country_name(self) -> str:
        return country_name(self.country)

    @property
    def amount(self) -> Decimal:
        """What it comes to."""
        return Decimal(self.cents) / 100

    def is_named(self, text: str) -> bool:
        """Tell whether a text is one of its numbers, or the end of its id as people say it."""
        said = bare(text).translate(SAID)
        ends = len(said) >= SAID_CHARACTERS and bare(self.id).endswith(said)
        return ends or bare(text) in map(bare, filter(None, self.numbers))

    def searched(self) -> dict[str, Any]:
        bought = spelled(" ".join(self.lines.values()))
        return {
            "status": self.status,
            "payment_state": self.payment_state,
            "country": self.country,
            "deals": [*self.lines],
            "tags": [*map(folded, self.tags)],
            "titles": bought,
            "words": f"{spelled(self.text)} {bought}",
            "pieces": [" ".join(pieces_of(number)) for number in self.numbers if number],
            "username": self.username,
            "newest": self.newest,
            "cents": self.cents,
            **{name: getattr(self, name) for name in SUMS},
        }


def spelled(text: str) -> str:
    """Return a text's words in each of their spellings."""
    composed = unicodedata.normalize("NFC", text).casefold()
    two = words_of(composed.translate(TWO_LETTERS)) if composed != composed.translate(TWO_LETTERS) else []
    return " ".join(dict.fromkeys([*words_of(text), *other_spellings(text), *two]))


def bare(number: str) -> str:
    """Return a number as it is compared: letters and digits alone."""
    return re.sub(r"[\W_]+", "", fold(number))


def pieces_of(number: str) -> list[str]:
    """Return all parts of a number, by which any longer part is found."""
    plain = bare(number)
    return [plain[n : n + PIECE] for n in range(len(plain) - PIECE + 1)]


def cents(amount: Decimal) -> int:
    """Return an amount as the index counts it."""
    return int(amount * 100)


def place_of(moment: datetime, id_: str = "") -> int:
    """Return where something of a time stands among all."""
    tie = number_of(id_) % 2**TIE_BITS if id_ else 0
    return (milliseconds(moment) << TIE_BITS) | tie


def document_key(key: Key) -> str:
    """Return what stands for an item in the index: of what was deleted, it keeps nobody's name."""
    return blake2b("\n".join(key).encode(), digest_size=16).hexdigest()


READ = {  # by how keys begin: their partition and the place in it
    ("USER#", "ORDER#"): OfficeDocument.of_order,
    ("USER#", "PROFILE#"): OfficeDocument.of_profile,
    ("PAYMENTS#", ""): OfficeDocument.of_payment,
    ("PAYHIST#", ""): OfficeDocument.of_payment,
}


def reader_of(key: Key) -> Callable[[Item], OfficeDocument] | None:
    """Return what makes a document of the item of a key; None for what is not in the index."""
    found = (
        read for (part, place), read in READ.items() if key[0].startswith(part) and key[1].startswith(place)
    )
    return next(found, None)


def bought(item: Item | None) -> tuple[Key, dict[str, str]] | None:
    """Return the key of the order that a line is of, and what it adds to that; None for what is no such line."""
    if not item or item.get("type") != "CartLine" or item["status"] not in BOUGHT:
        return None
    line = line_from_item(item)
    return keys.order(item["username"], item["order"]), {line.deal: line.title}
