"""What an editor writes of a deal, what must be right before it is published, and the job for its picture's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from dealsite.data import table
from dealsite.data.catalogue import display_names
from dealsite.data.catalogue.cards import LOOKED_BACK, DealCard, Picture
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.editing import audit
from dealsite.data.entities.attributes import CENT, LINK_CHARACTERS, UNSTORABLE, WRONG_YEAR, YEARS
from dealsite.data.entities.deals import (
    ALT_CHARACTERS,
    ARTICLE_NUMBER_CHARACTERS,
    AT_SHOPS,
    CODE,
    CONDITION_CHARACTERS,
    DESCRIPTION_CHARACTERS,
    HERE,
    MAX_PRICE,
    MAX_STOCK,
    SEEN_AT_CHARACTERS,
    SHOP,
    SOLD,
    TITLE_CHARACTERS,
    VOUCHER_CODE_CHARACTERS,
)
from dealsite.data.jobs.jobs import job_write
from dealsite.data.names import is_web_link
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put


@dataclass(frozen=True)
class DealContent:
    """The fields of a deal as editors fill them in; a draft may leave any of them empty.

    `brand` and `category` are slugs, prices are Decimal in the site's currency, times aware UTC,
    `stock` is None where it is not counted. `was_price` is the RRP, or with `low_seen_at` and `low_seen_on` the
    lowest price of 30 days that the shop stated there and then. `sold` is HERE, SHOP or CODE; what is sold here may
    have a link and code, which shoppers do not see. `is_ad`: the site earns from the link. What shops sell may
    have a `condition` instead of a price.
    """

    title: str = ""
    brand: str = ""
    category: str = ""
    price: Decimal | None = None
    condition: str = ""
    was_price: Decimal | None = None
    low_seen_at: str = ""
    low_seen_on: date | None = None
    sold: str = SHOP
    voucher_code: str = ""
    article_number: str = ""
    link: str = ""
    is_ad: bool = False
    description: str = ""
    picture: Picture | None = None
    stock: int | None = None
    expires_at: datetime | None = None

    def card(self, deal_id: str, brand_name: str, changed_at: datetime | None = None) -> DealCard:
        """Return what a list shows of it while it has had no other price."""
        shown = {name: getattr(self, name) for name in SHOWN}
        shown |= {"shop": self.shop, "low": self.was_price if self.low_seen_on else None}
        return DealCard(
            id=deal_id, brand_name=brand_name, sold_out=self.stock == 0, changed_at=changed_at, **shown
        )

    @property
    def shop(self) -> str:
        """The host of the shop that sells it; '' if the site itself does."""
        return display_names.shop_of(self.link) if self.sold != HERE else ""

    @property
    def names(self) -> list[str]:
        """What files can know it by."""
        return display_names.names_of(self.link, self.article_number)

    def fitted(self) -> DealContent:
        """Return it with what its seller can have: at a shop a code makes it one with a code, and nobody counts."""
        if self.sold == HERE:
            return self
        return replace(self, sold=CODE if self.voucher_code else self.sold, stock=None)

    def with_rrp(self, amount: Decimal | None) -> DealContent:
        """Return it with another was-price, of which nobody has said that it was a low."""
        if amount == self.was_price:
            return self
        return replace(self, was_price=amount, low_seen_at="", low_seen_on=None)


SHOWN = (
    *("title", "brand", "category", "price", "condition", "was_price", "low_seen_at", "low_seen_on"),
    *("sold", "is_ad", "voucher_code", "article_number", "picture", "expires_at"),
)


def sold_by(stock: object, voucher_code: str) -> str:
    """Return who sells what does not say so: the site itself what it counts, a shop all else."""
    return HERE if stock is not None else CODE if voucher_code else SHOP


def content_from_item(item: Item, card: DealCard, stock: int | None) -> DealContent:
    """Return the content that a deal's or a draft's item holds: what its card shows, and the rest of it."""
    shown = {name: getattr(card, name) for name in SHOWN}
    texts: dict[str, Any] = {name: item.get(name) or "" for name in ("link", "description")}
    shown["sold"] = card.sold or sold_by(stock, card.voucher_code)
    return DealContent(stock=stock, **shown, **texts)


def in_words(content: DealContent) -> dict[str, str]:
    """Return what a deal or draft holds as texts by field, '' for nothing: what the audit log compares."""
    values = {name: getattr(content, name) for name in CONTENT_FIELDS}
    words = {name: "" if value is None else str(value) for name, value in values.items()}
    words["is_ad"] = "yes" if content.is_ad else ""
    words["expires_at"] = iso(content.expires_at) if content.expires_at else ""
    words["picture"] = picture_in_words(content.picture)
    return words


def picture_in_words(picture: Picture | None) -> str:
    """Return a picture as text: its name, its alt text, and its focal point where one was chosen."""
    if picture is None:
        return ""
    focal = "" if picture.is_centred else f", seen at {picture.focal_x}% {picture.focal_y}%"
    return f"{picture.name} ({picture.alt}){focal}"


CONTENT_FIELDS = tuple(field.name for field in fields(DealContent))


def audit_entry(
    kind: str,
    subject: str,
    what: str,
    *,
    by: str,
    now: datetime,
    old: DealContent | None = None,
    new: DealContent | None = None,
    note: str = "",
) -> Put:
    """Return the write that notes in the audit log what was done to a deal or draft."""
    differing = audit.changed(in_words(old) if old else {}, in_words(new) if new else {})
    return audit.entry_write(by=by, kind=kind, subject=subject, what=what, now=now, note=note, **differing)


def audit_entry_of_many(
    kind: str, what: str, new: Sequence[tuple[str, DealContent, object]], *, by: str, now: datetime
) -> Put:
    """Return one entry for all deals or drafts of a transaction, an import's: it stands in the history of the first."""
    (first, content, _), *others = new
    after = {"title": content.title}
    if others:
        what = f"{what} with {len(others)} others"
        after["others"] = " ".join(one[0] for one in others)
    return audit.entry_write(by=by, kind=kind, subject=first, what=what, now=now, after=after)


def problems(content: DealContent, *, live_at: datetime) -> dict[str, str]:
    """Return what stands against publishing at a time, as field -> a sentence that says what to do; {} if nothing."""
    found = text_problems(content)
    if not content.title.strip():
        found["title"] = _("Enter a title.")
    if not content.brand:
        found["brand"] = _("Choose a brand, or enter a new one.")
    if content.category not in CATEGORIES:
        found["category"] = _("Choose a category.")
    if content.sold in AT_SHOPS and not content.link:
        found["link"] = _("Enter the link to the shop.")
    if content.sold == CODE and not content.voucher_code:
        found["voucher_code"] = _("Enter the code.")
    if content.sold == SHOP and content.voucher_code:
        found["voucher_code"] = _(
            "A deal with a code is sold “at a shop, with a code”. Choose that, or empty this."
        )
    if content.sold in AT_SHOPS and content.stock is not None:
        found["stock"] = _("Only what is sold here has a stock. Choose that, or empty this.")
    if content.price is None and content.sold == HERE:
        found["price"] = _("Enter the price.")
    elif content.price is None and not content.condition:
        found["price"] = _("Enter the price, or what there is instead of one.")
    elif content.price is not None and content.condition:
        found["condition"] = _("There is a price. Empty this, or the price.")
    elif content.price is None and content.was_price is not None:
        found["was_price"] = _("There is no price to compare this with. Leave it empty.")
    elif content.price is not None and content.was_price is not None and content.was_price <= content.price:
        found["was_price"] = _(
            "The amount to compare with must be above the price. Leave it empty if there is none."
        )
    stated = {name: getattr(content, name) for name in ("low_seen_at", "low_seen_on")}
    if any(stated.values()):
        for name, value in {"was_price": content.was_price, **stated}.items():
            if not value:
                found.setdefault(
                    name, _("Enter amount, place and day of what the shop states, or none of them.")
                )
    if content.low_seen_on and content.low_seen_on < (live_at - LOOKED_BACK).date():
        found["low_seen_on"] = _(
            "This is more than 30 days before the deal goes live. Look again, or leave it empty."
        )
    if content.picture and not content.picture.alt.strip():
        found["picture_alt"] = _("Describe the picture for those who cannot see it.")
    if content.expires_at is not None and content.expires_at <= live_at:
        found["expires_at"] = _("The deal would expire before it goes live. Choose a later time.")
    return found


def text_problems(content: DealContent) -> dict[str, str]:
    """Return what not even a draft may hold: what is too long, out of range, or could do harm."""
    found: dict[str, str] = {}
    if content.sold not in SOLD:
        found["sold"] = _("Choose who sells it.")
    for name, most in (
        ("title", TITLE_CHARACTERS),
        ("description", DESCRIPTION_CHARACTERS),
        ("link", LINK_CHARACTERS),
        ("condition", CONDITION_CHARACTERS),
        ("voucher_code", VOUCHER_CODE_CHARACTERS),
        ("low_seen_at", SEEN_AT_CHARACTERS),
        ("article_number", ARTICLE_NUMBER_CHARACTERS),
    ):
        text = getattr(content, name)
        if len(text) > most:
            sentence = _("Shorten this to %(most)s characters; it has %(text)s.")
            found[name] = sentence % {"most": f"{most:,}", "text": f"{len(text):,}"}
        elif UNSTORABLE.search(text):
            found[name] = _("This holds control characters that cannot be shown. Remove them.")
    for name in ("price", "was_price"):
        amount = getattr(content, name)
        if amount is None:
            continue
        if not amount.is_finite() or not 0 <= amount <= MAX_PRICE:
            found[name] = _("Enter an amount from 0 to %(most)s.") % {"most": f"{MAX_PRICE:,}"}
        elif amount != amount.quantize(CENT):
            found[name] = _("Enter an amount with at most two decimals.")
    if content.link and not is_web_link(content.link):
        found.setdefault("link", _("Enter a full web address that starts with https:// or http://."))
    if content.picture and len(content.picture.alt) > ALT_CHARACTERS:
        found["picture_alt"] = _("Shorten this to %(most)s characters.") % {"most": ALT_CHARACTERS}
    if content.expires_at is not None and content.expires_at.year not in YEARS:
        found["expires_at"] = str(WRONG_YEAR)
    if content.stock is not None and not 0 <= content.stock <= MAX_STOCK:
        found["stock"] = _("Enter a whole number from 0 to %(most)s.") % {"most": f"{MAX_STOCK:,}"}
    return found


MAKE_RENDITIONS = "make_renditions"  # the kind of job


@dataclass(frozen=True, slots=True)
class RenditionsPayload:
    """The names of the pictures whose further files are to be made."""

    pictures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RenditionsCheckpoint:
    """How many of them are done."""

    done: int = 0


@access_pattern("ask for the further files of pictures", "1 put")
def request_renditions(names: Sequence[str], *, now: datetime) -> None:
    """Ask for the further files of some pictures, by name; nothing for none."""
    if names:
        payload = RenditionsPayload(tuple(names))
        table.write(job_write(MAKE_RENDITIONS, payload, job_id=new_ulid(now), due=now))
