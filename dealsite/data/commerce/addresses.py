"""Where an order or its bill goes, as it is typed and kept for the next; where a carrier says how far a parcel is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.countries import country_name, country_of, example_phone, phone_of, rules_of
from dealsite.data.entities.commerce import ADDRESS_CHARACTERS, MOST_ADDRESSES, TYPED_ADDRESS
from dealsite.data.entities.entity import reader, writer
from dealsite.data.names import as_typed
from dealsite.data.people.profiles import no_user
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import DataError, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import hash_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Condition, Update, equals, exists, missing


@dataclass(frozen=True, slots=True)
class Address:
    """Where an order or its bill goes.

    `country` is its code (ISO 3166), or what was typed before there were codes, `extra` a flat or company, `phone` as
    it is dialled from abroad. What else may be empty, its country decides.
    """

    name: str = ""
    street: str = ""
    extra: str = ""
    postcode: str = ""
    city: str = ""
    country: str = ""
    state: str = ""
    phone: str = ""

    @property
    def lines(self) -> list[str]:
        """What stands on a parcel."""
        lines = [*rules_of(country_of(self.country)).lines(asdict(self)), self.country_name]
        return [line for line in lines if any(map(str.isalnum, line))]

    @property
    def in_short(self) -> str:
        """Its lines as one."""
        return ", ".join(self.lines)

    @property
    def country_code(self) -> str:
        """The code of its country; what was typed where that is none."""
        return country_of(self.country) or self.country

    @property
    def country_name(self) -> str:
        return country_name(self.country_code)

    @property
    def key(self) -> str:
        """What tells it from others of its owner."""
        return hash_of("\n".join(astuple(self)))[:16]

    @property
    def place(self) -> str:
        """The town, or the state where addresses name none."""
        return self.city or self.state

    def as_item(self) -> Item:
        return _store_address(self)

    @classmethod
    def from_item(cls, item: Item | None) -> Address:
        return _read_address(item or {})


_read_address, _store_address = reader(TYPED_ADDRESS, Address), writer(TYPED_ADDRESS, Address)
ADDRESS_FIELDS = tuple(field.name for field in fields(Address))
MISSING = {
    "name": gettext_lazy("Enter the name of who receives it."),
    "street": gettext_lazy("Enter the street and the house number."),
    "city": gettext_lazy("Enter the town."),
    "country": gettext_lazy("Choose the country."),
    "state": gettext_lazy("Enter the state or province."),
    "postcode": gettext_lazy("Enter the postcode."),
}


def clean_address(address: Address) -> Address:
    """Return an address as its country writes it, nothing unprintable in it; Invalid says what is wrong in which part.

    Left out are a state where there are none, and what has neither letter nor digit. What a country needs, and how its
    postcodes look, is Google's data.
    """
    typed = {name: as_typed(getattr(address, name)) for name in ADDRESS_FIELDS}
    typed = {name: text if any(map(str.isalnum, text)) else "" for name, text in typed.items()}
    found = {
        name: _("Shorten this to %(most)s characters.") % {"most": ADDRESS_CHARACTERS}
        for name, text in typed.items()
        if len(text) > ADDRESS_CHARACTERS
    }
    if not (country := country_of(typed["country"])):
        raise Invalid(
            **found | _missing(typed, {"name", "street", "city"}) | {"country": str(MISSING["country"])}
        )
    rules = rules_of(country)
    if "city" not in rules.has and not typed["state"] and (state := rules.state_of(typed["city"])):
        typed |= {"state": state, "city": ""}  # where the town is the state, as in the Emirates
    state = rules.state_of(typed["state"]) if rules.states else typed["state"]
    if "state" not in rules.has:
        state = ""
    elif typed["state"] and not state:
        found["state"] = _("Choose one from the list.")
    postcode = rules.postcode_of(typed["postcode"])
    if typed["postcode"] and not postcode:
        found["postcode"] = _as_in(rules.examples[0])
    elif (
        postcode and state in rules.states and not rules_of(country, state).postcodes_of_state.match(postcode)
    ):
        found["postcode"] = _("This is not a postcode of %(state)s.") % {"state": rules.states[state][0]}
    phone = phone_of(typed["phone"], country)
    if typed["phone"] and not phone:
        found["phone"] = _as_in(example_phone(country))
    if found := _missing(typed, rules.needs) | found:
        raise Invalid(**found)
    return Address(**typed | {"country": country, "state": state, "postcode": postcode, "phone": phone})


def _missing(typed: Mapping[str, str], needed: Iterable[str]) -> dict[str, str]:
    return {name: str(MISSING[name]) for name in needed if not typed[name]}


def _as_in(example: str) -> str:
    return _("Write it as in %(example)s.") % {"example": example}


@access_pattern("save what was typed at checkout", "1 update")
def keep_typed(username: str, address: Address, bill_to: Address | None, plan: int) -> None:
    """Keep what was typed of addresses, whole or not, and the number of instalments; NotFound."""
    address, bill_to = _cut(address), bill_to and _cut(bill_to)
    table.write(last_used_write(username, address, bill_to, exists(), otherwise=no_user(), plan=plan))


def _cut(address: Address) -> Address:
    return Address(**{name: as_typed(text)[:ADDRESS_CHARACTERS] for name, text in asdict(address).items()})


def last_used_write(
    username: str,
    address: Address,
    bill_to: Address | None,
    when: Condition,
    *,
    otherwise: DataError,
    **more: Any,
) -> Update:
    """Return the write that has a user's next order begin with these addresses."""
    kept = {name: one.as_item() for name, one in (("address", address), ("bill_to", bill_to)) if one}
    return Update(
        key=keys.profile(username),
        set=kept | more,
        remove=() if bill_to else ("bill_to",),
        when=(when,),
        otherwise=otherwise,
    )


# What a user keeps for other orders: the one they used last comes first.

Addresses = tuple[Address, ...]
GONE = gettext_lazy("This address was changed or removed meanwhile.")


def addresses_of(profile: Item) -> Addresses:
    """Return the addresses that a user keeps, of their profile's item."""
    return tuple(map(Address.from_item, profile.get("addresses", ())))


@access_pattern("keep an address for other orders", "1 get + 1 update")
def keep(username: str, address: Address, *, instead: str = "") -> None:
    """Put a checked address before the others that a user keeps, or in the place of the one with the key `instead`.

    NotFound if that is gone. Of more than MOST_ADDRESSES the one used longest ago goes.
    """

    def kept(known: Addresses) -> Addresses:
        if not instead:
            return (address, *(one for one in known if one != address))[:MOST_ADDRESSES]
        if instead not in {one.key for one in known}:
            raise NotFound(GONE)
        others = (one for one in known if one.key == instead or one != address)
        return tuple(address if one.key == instead else one for one in others)

    _change(username, kept)


@access_pattern("remove an address that was kept", "1 get + 1 update")
def remove(username: str, key: str) -> None:
    """Remove the address with a key from those that a user keeps; harmless if it is gone."""
    _change(username, lambda known: tuple(one for one in known if one.key != key))


def _change(username: str, change: Callable[[Addresses], Addresses]) -> None:
    """Change the addresses that a user keeps as they are now."""
    key = keys.profile(username)

    def attempt() -> None:
        if (profile := table.get(key)) is None:
            raise no_user()
        before, known = profile.get("addresses"), addresses_of(profile)
        if (wanted := change(known)) != known:
            same = missing("addresses") if before is None else equals("addresses", before)
            kept = {"addresses": [address.as_item() for address in wanted]}
            table.write(Update(key=key, set=kept, when=(exists(), same), otherwise=VersionConflict()))

    table.retrying(attempt)


# Parcels: where each carrier says how far one is, by its number.

CARRIERS = {
    "DHL": "https://www.dhl.com/global-en/home/tracking.html?tracking-id={}",
    "Deutsche Post": "https://www.deutschepost.de/de/s/sendungsverfolgung.html?piececode={}",
    "DPD": "https://tracking.dpd.de/status/en_US/parcel/{}",
    "GLS": "https://gls-group.com/track/{}",
    "Hermes": "https://www.myhermes.de/empfangen/sendungsverfolgung/sendungsinformation#{}",
    "Evri": "https://www.evri.com/track/parcel/{}",
    "UPS": "https://www.ups.com/track?tracknum={}",
    "FedEx": "https://www.fedex.com/fedextrack/?trknbr={}",
    "Österreichische Post": "https://www.post.at/sv/sendungssuche?snr={}",
    "Swiss Post": "https://service.post.ch/ekp-web/ui/entry/search/{}",
    "Royal Mail": "https://www.royalmail.com/track-your-item#/tracking-results/{}",
    "PostNL": "https://jouw.postnl.nl/track-and-trace/{}",
    "La Poste": "https://www.laposte.fr/outils/suivre-vos-envois?code={}",
    "USPS": "https://tools.usps.com/go/TrackConfirmAction?tLabels={}",
}


def tracking_link(carrier: str, number: str) -> str:
    """Return the page on which a carrier says how far a parcel is; '' for another carrier, and without a number."""
    known, number = CARRIERS.get(carrier, ""), "".join(number.split())
    return known.format(quote(number, safe="")) if known and number else ""
