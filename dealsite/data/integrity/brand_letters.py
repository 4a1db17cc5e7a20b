"""Brand names: in the list of brands by letter, and in the cards of deals and drafts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dealsite.data import keys
from dealsite.data.catalogue.brands import NAME_ATTRIBUTE, name_write
from dealsite.data.integrity.problem import Problem, key_of, repair_write
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Check, Update, absent, equals

KEPT: tuple[str, ...] = ("PK", "SK", "type", "card", "writes", "version")


class BrandNames:
    """Keeps all brands' names, and of deals and drafts only those whose card names their brand otherwise."""

    def __init__(self) -> None:
        self.brands: dict[str, str] = {}
        self.listed: dict[str, dict[str, str]] = defaultdict(dict)  # letter -> slug -> name
        self.in_cards: dict[tuple[str, str], list[Item]] = defaultdict(list)  # (slug, name) -> deals, drafts
        self.being_renamed: set[str] = set()

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Brand":
                self.brands[item["slug"]] = item["name"]
            case "BrandLetter":
                letter = str(item["SK"]).removeprefix("LETTER#")
                self.listed[letter] |= {
                    name.removeprefix(NAME_ATTRIBUTE): value
                    for name, value in item.items()
                    if name.startswith(NAME_ATTRIBUTE)
                }
            case "Deal" | "Draft":
                card = item.get("card", {})
                brand, name = card.get("brand", ""), card.get("brand_name", "")
                if brand and self.brands.get(brand) != name:  # or not seen yet
                    kept = {part: item[part] for part in KEPT if part in item}
                    self.in_cards[brand, name].append(kept)
            case "Job" if item.get("kind") == "rename_brand" and item.get("state") == "open":
                self.being_renamed.add(item["payload"]["brand"])

    def problems(self) -> Iterator[Problem]:
        for slug, name in self.brands.items():
            if self.listed[slug[0]].get(slug) != name:
                yield Problem(
                    keys.brand_letter(slug[0]),
                    f"The brand {slug} is listed as {self.listed[slug[0]].get(slug)!r}, and is called {name!r}.",
                    (name_write(slug, name), Check(key=keys.brand(slug), when=(equals("name", name),))),
                )
        for letter, names in self.listed.items():
            for slug in names:
                if slug not in self.brands:
                    yield self._stray(letter, slug, Check(key=keys.brand(slug), when=(absent(),)))
                elif slug[0] != letter:
                    yield self._stray(letter, slug)
        for (slug, name), deals in self.in_cards.items():
            yield from self._cards(slug, name, deals)

    def _stray(self, letter: str, slug: str, *checks: Check) -> Problem:
        key = keys.brand_letter(letter)
        repair = Update(key=key, remove=[f"{NAME_ATTRIBUTE}{slug}"])
        return Problem(
            key, f"The brand {slug} is listed here, and is none of this letter.", (repair, *checks)
        )

    def _cards(self, slug: str, name: str, deals: list[Item]) -> Iterator[Problem]:
        if self.brands.get(slug) == name or slug in self.being_renamed:
            return
        for deal in deals:
            if slug not in self.brands:
                if deal["type"] == "Deal":  # a draft may name a brand that is still to come
                    yield Problem(key_of(deal), f"Its brand, {slug!r}, does not exist.")
                continue
            right = self.brands[slug]
            card = deal["card"] | {"brand_name": right}
            check = Check(key=keys.brand(slug), when=(equals("name", right),))
            what = f"Its card names the brand {name!r}, and it is called {right!r}."
            yield Problem(key_of(deal), what, (repair_write(deal, {"card": card}), check))
