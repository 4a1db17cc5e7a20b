"""Where an order goes, as it is typed and kept for the next one; and where its carrier says how far a parcel is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from urllib.parse import quote

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.entities.commerce import ADDRESS_CHARACTERS, TYPED_ADDRESS
from dealsite.data.entities.entity import reader, writer
from dealsite.data.names import as_typed
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Update, exists


@dataclass(frozen=True, slots=True)
class Address:
    """Where an order goes; `extra` (flat, company) and `postcode` may be empty."""

    name: str = ""
    street: str = ""
    extra: str = ""
    postcode: str = ""
    city: str = ""
    country: str = ""

    @property
    def lines(self) -> list[str]:
        """What stands on a parcel."""
        place = " ".join(part for part in (self.postcode, self.city) if part)
        return [line for line in (self.name, self.extra, self.street, place, self.country) if line]

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
    "country": gettext_lazy("Enter the country."),
}


def clean_address(address: Address) -> Address:
    """Return an address with its white space folded and nothing unprintable in it; Invalid says what it lacks."""
    cleaned = Address(**{name: as_typed(getattr(address, name)) for name in ADDRESS_FIELDS})
    found = {name: str(text) for name, text in MISSING.items() if not getattr(cleaned, name)}
    for name in ADDRESS_FIELDS:
        if len(getattr(cleaned, name)) > ADDRESS_CHARACTERS:
            found[name] = _("Shorten this to %(most)s characters.") % {"most": ADDRESS_CHARACTERS}
    if found:
        raise Invalid(**found)
    return cleaned


@access_pattern("save what was typed at checkout", "1 update")
def keep_typed(username: str, address: Address, plan: int) -> None:
    """Keep what was typed of an address, whole or not, and the number of instalments; NotFound."""
    typed = {name: as_typed(getattr(address, name))[:ADDRESS_CHARACTERS] for name in ADDRESS_FIELDS}
    kept = {"address": Address(**typed).as_item(), "plan": plan}
    nobody = NotFound(gettext_lazy("There is no such user."))
    table.write(Update(key=keys.profile(username), set=kept, when=(exists(),), otherwise=nobody))


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
