"""Brands, categories and featured pages: what names one needs it, so one that is lost is made anew of what names it.

A brand is told by the list of names, by its counters or by deals; what it says of itself (description, logo) is lost.
A featured list is made of the deals that say where they are featured, in the order that the audit log has. A deal of
which offer and prices are there, or a user whose profile is, was lost as well: nothing tells what it was, but what is
left of it is kept for whoever decides.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from dealsite.data import keys
from dealsite.data.catalogue import cards
from dealsite.data.catalogue.brands import ALIAS_ATTRIBUTE, NAME_ATTRIBUTE
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.featured import TYPES
from dealsite.data.entities.attributes import YEARS
from dealsite.data.entities.pages import PAGES
from dealsite.data.entities.taxonomy import listed_in
from dealsite.data.entities.work import SITE
from dealsite.data.integrity.problem import Problem, key_of
from dealsite.data.names import slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, time_of
from dealsite.data.table.writes import Check, Put, absent, equals

LISTED = re.compile(r"\(([0-9A-Z]{26})\)$", re.MULTILINE)  # a deal in a list as the audit log shows it
# What makes up deals and users, and the attribute that says whose it is.
PARTS = {
    "Deal": "id",
    "Offer": "id",
    "Price": "deal",
    "Trash": "id",
    "User": "username",
    "Profile": "username",
}
NO_EDIT = "0" * 26
FIRST = datetime(YEARS[0], 1, 1, tzinfo=UTC)


class Roots:
    """Keeps which roots there are, and by whom others are named: memory grows with brands."""

    def __init__(self) -> None:
        self.there: set[keys.Key] = set()
        self.listed: dict[str, str] = {}  # brands' names in the list of names
        self.also: dict[str, list[str]] = defaultdict(list)  # slugs of brands' other names in it
        self.counted: set[str] = set()
        self.in_deals: dict[str, str] = {}  # brands' names on cards
        self.first: dict[str, str] = {}  # the oldest deal of each brand
        self.categories: set[str] = set()
        self.featured: dict[str, dict[str, Item]] = defaultdict(dict)  # page -> deal -> its card
        self.versions: dict[str, Item] = {}  # the newest one kept of each page's list
        self.logged: dict[str, Item] = {}  # the last entry of the audit log on each page's list
        self.parts: dict[str, set[str]] = {
            kind: set() for kind in PARTS
        }  # of what there is: ids and user names

    def see(self, item: Item) -> None:
        if item["type"] in PARTS:
            self.parts[item["type"]].add(item[PARTS[item["type"]]])
        match item["type"]:
            case "Brand" | "Category" | "FrontPage" | "EditorsChoicePage":
                self.there.add(key_of(item))
            case "BrandLetter":
                self.listed |= listed_in(item, NAME_ATTRIBUTE)
                for alias, slug in listed_in(item, ALIAS_ATTRIBUTE).items():
                    self.also[slug].append(alias)
            case "BrandCounts":
                self.counted.add(item["slug"])
            case "CategoryCounts":
                self.categories.add(item["slug"])
            case "FeaturedVersion":
                known = self.versions.get(item["page"])
                if known is None or known["version"] < item["version"]:
                    self.versions[item["page"]] = item
            case "AuditEntry" if item["card"]["kind"] == "page" and "deals" in item.get("after", ()):
                known = self.logged.get(item["card"]["subject"])
                if known is None or known["SK"] < item["SK"]:
                    self.logged[item["card"]["subject"]] = item
            case "Deal":
                self._see_deal(item["id"], item["card"], item.get("featured_on", ()))

    def _see_deal(self, deal_id: str, card: Item, featured_on: set[str]) -> None:
        brand = card["brand"]
        self.in_deals[brand] = card["brand_name"]
        self.first[brand] = min(self.first.get(brand, deal_id), deal_id)
        self.categories.add(card["category"])
        for page in featured_on:
            self.featured[page][deal_id] = card

    def problems(self) -> Iterator[Problem]:
        for slug in sorted(self.counted | self.listed.keys() | self.in_deals.keys()):
            if keys.brand(slug) not in self.there:
                yield from self._brand(slug)
        for page in PAGES:
            named = self.categories if page in CATEGORIES else self.featured
            if (page in named or page in self.versions) and cards.page_key(page) not in self.there:
                yield self._page(page)

    def lost(self) -> set[keys.Key]:
        """Return the keys of deals and users of which only parts are there."""
        there = self.parts
        deals = (there["Offer"] & there["Price"]) - there["Deal"] - there["Trash"]
        return {keys.deal(one) for one in deals} | {
            keys.user(one) for one in there["Profile"] - there["User"]
        }

    def _brand(self, slug: str) -> Iterator[Problem]:
        name = self.listed.get(slug) or self.in_deals.get(slug, "")
        is_known = slug in self.in_deals and (slug in self.counted or slug in self.listed)
        also = self.also[slug]
        if not is_known or slugify(name) not in (slug, *also):
            return  # a stray counter or name, or a deal that names a brand by mistake: other checks say so
        begun = iso(time_of(self.first[slug]))
        item = {"type": "Brand", "slug": slug, "name": name, "description": "", "version": 1}
        item |= {"also": others} if (others := sorted({*also} - {slugify(name)})) else {}
        item |= {"created_at": begun, "last_edit": self.first[slug], "updated_at": begun, "updated_by": SITE}
        named = Check(key=keys.deal(self.first[slug]), when=(equals(("card", "brand"), slug),))
        what = "This brand is lost, and deals are of it; its description and logo are lost."
        yield Problem(keys.brand(slug), what, (Put(key=keys.brand(slug), item=item, when=(absent(),)), named))

    def _page(self, page: str) -> Problem:
        shown, last = self.featured.get(page, {}), self.versions.get(page)
        named = LISTED.findall(self.logged[page]["after"]["deals"]) if page in self.logged else []
        places = {deal_id: number for number, deal_id in enumerate(named)}
        order = sorted(sorted(shown, reverse=True), key=lambda deal_id: places.get(deal_id, len(places)))
        item: Item = {"order": order, "cards": {deal_id: shown[deal_id] for deal_id in order}}
        newest = max(order, default=NO_EDIT)
        item |= {"featured_version": (last["version"] if last else 0) + 1, "featured_edit": newest}
        item |= {"featured_at": iso(max(time_of(newest), FIRST)), "featured_by": SITE}
        if page in TYPES:
            item["type"] = TYPES[page]
        else:
            item |= {"type": "Category", "slug": page, "name": CATEGORIES[page], "version": 1}
        what = f"This page is lost; {len(order)} deals say that it features them."
        return Problem(
            cards.page_key(page), what, (Put(key=cards.page_key(page), item=item, when=(absent(),)),)
        )
