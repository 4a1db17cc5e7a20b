"""Brands, categories and days: names in lists and cards, counters, and the list of days that hold deals."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from dealsite.data import keys
from dealsite.data.catalogue import buckets
from dealsite.data.catalogue.brands import Brand, name_writes, names_of
from dealsite.data.catalogue.relations import RELATIONS
from dealsite.data.entities.taxonomy import DEAL_COUNTS
from dealsite.data.integrity.problem import (
    Problem,
    as_seen,
    differences,
    differing,
    kept,
    key_of,
    repair_write,
)
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import is_ulid, month_of, time_of
from dealsite.data.table.writes import Check, Delete, Put, Update, absent, at_version, equals, exists

RELATED = {relation.type: relation for relation in RELATIONS}
COUNTED = {"BrandCounts": keys.brand, "CategoryCounts": keys.category}


class BrandNames:
    """Keeps all brands' names, and of deals and drafts only those whose card names their brand otherwise."""

    def __init__(self) -> None:
        self.brands: dict[str, str] = {}
        self.versions: dict[str, int] = {}  # of brands
        self.owners: dict[str, list[str]] = defaultdict(list)  # slug of a name -> brands of that name
        self.listed: dict[str, tuple[str, str]] = {}  # slug of a name -> (brand, its name) as the list has it
        self.in_cards: dict[tuple[str, str], list[Item]] = defaultdict(list)  # (slug, name) -> deals, drafts
        self.being_renamed: set[str] = set()
        self.merged: dict[str, str] = {}  # slug -> the brand that it was merged into
        self.has_merged: dict[str, set[str]] = {}  # slug -> all that it says were merged into it

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Brand":
                self.brands[item["slug"]], self.versions[item["slug"]] = item["name"], item["version"]
                if into := item.get("merged_into"):
                    self.merged[item["slug"]] = into
                    return
                self.has_merged[item["slug"]] = set(item.get("merged", ()))
                for name in names_of(Brand(item["slug"], item["name"], also=tuple(item.get("also", ())))):
                    self.owners[name].append(item["slug"])
            case "BrandName":
                self.listed[item["slug"]] = (item["brand"], item["name"])
            case "Deal" | "Draft":
                card = item.get("card", {})
                brand, name = card.get("brand", ""), card.get("brand_name", "")
                if brand and self.brands.get(brand) != name:  # or not seen yet
                    self.in_cards[brand, name].append(kept(item, "type", "card", "writes", "version"))
            case "Job" if item.get("kind") == "rename_brand" and item.get("state") == "open":
                self.being_renamed.add(item["payload"]["brand"])

    def problems(self) -> Iterator[Problem]:
        for slug in self.merged:
            yield from self._merge_problems(slug)
        yield from self._name_problems()
        for (slug, name), deals in self.in_cards.items():
            if self.brands.get(slug) != name and slug not in self.being_renamed:
                yield from self._card_problems(slug, name, deals)

    def _merge_problems(self, slug: str) -> Iterator[Problem]:
        """Yield what is wrong with where a brand was merged into; References say where nothing is there."""
        into, seen = self.merged[slug], {slug}
        while into in self.merged and into not in seen:
            seen.add(into)
            into = self.merged[into]
        if slug not in self.has_merged.get(into, {slug}):
            what = f"The brand {into!r} lacks {slug!r}, which was merged into it."
            there = [*sorted(self.has_merged[into]), slug]
            self.has_merged[into].add(slug)
            part = Update(key=keys.brand(into), set={"merged": there}, when=at_version(self.versions[into]))
            yield Problem(keys.brand(into), what, (part,))
        if into in seen:
            what = f"The brand {slug!r} was merged in a circle."
            part = Update(key=keys.brand(slug), remove=["merged_into"], when=at_version(self.versions[slug]))
            yield Problem(keys.brand(slug), what, (part,))

    def _name_problems(self) -> Iterator[Problem]:
        for name, (slug, *others) in self.owners.items():
            found, shown = self.listed.get(name, ("", ""))
            seen = equals("brand", found) if found else absent()
            if name != slug and name in self.brands and name not in self.merged:
                others = [name]
            if others:
                what = f"The brands {slug!r} and {others[0]!r} have one name. Rename one of them."
                yield Problem(keys.brand(slug), what)
            elif (found, shown) != (slug, self.brands[slug]):
                what = f"The name {name!r} finds {found!r}, called {shown!r}: it is {slug!r}, {self.brands[slug]!r}."
                (write,) = name_writes(Brand(slug, self.brands[slug]), [name])
                yield Problem(
                    keys.brand_name(name), what, (replace(write, when=(seen,)), self._unchanged(slug))
                )
        for name, (slug, _) in self.listed.items():
            if name not in self.owners:
                what = f"The name {name!r} finds the brand {slug!r}, which does not have it."
                gone = Delete(key=keys.brand_name(name), when=(equals("brand", slug),))
                yield Problem(keys.brand_name(name), what, (gone, self._unchanged(slug)))

    def _unchanged(self, slug: str) -> Check:
        version = self.versions.get(slug)
        return Check(key=keys.brand(slug), when=(absent(),) if version is None else at_version(version))

    def _card_problems(self, slug: str, name: str, deals: list[Item]) -> Iterator[Problem]:
        right = self.brands.get(slug)
        for deal in deals:
            if right is not None:
                card = deal["card"] | {"brand_name": right}
                check = Check(key=keys.brand(slug), when=(equals("name", right),))
                what = f"Its card names the brand {name!r}, and it is called {right!r}."
                yield Problem(key_of(deal), what, (repair_write(deal, {"card": card}), check))


class Counts:
    """Counts all deals anew; memory grows with brands, months, days and liked deals, not with deals."""

    takes_part = frozenset({"Deal", *RELATED})

    def __init__(self) -> None:
        self.deals: dict[keys.Key, Counter[str]] = defaultdict(Counter)
        self.days: Counter[date] = Counter()
        self.counters: dict[keys.Key, Item] = {}
        self.day_counts: dict[date, Item] = {}
        self.listed: dict[int, Item] = {}
        self.years: set[str] = set()
        self.entities: dict[keys.Key, keys.Key] = {}  # a brand's or category's key -> its counters' key
        self.users: set[str] = set()
        self.relations: Counter[tuple[str, keys.Key, str]] = Counter()  # of users who were not seen yet

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Deal" if is_ulid(item.get("id", "")) and item.get("card", {}).get("brand"):
                self._count(item["id"], item["card"])
            case "Brand":
                self.entities[key_of(item)] = keys.brand_counts(item["slug"])
            case "Category":
                self.entities[key_of(item)] = keys.category_counts(item["slug"])
            case kind if kind in RELATED:
                relation, username = RELATED[kind], item["username"]
                if username in self.users:
                    self.deals[relation.count_key(item["slug"])][relation.counter] += 1
                else:
                    self.relations[username, relation.count_key(item["slug"]), relation.counter] += 1
            case "User":
                self.users.add(item["username"])
            case "BrandCounts" | "CategoryCounts" | "DealCounts":
                self.counters[key_of(item)] = item
            case "DayCount":
                self.day_counts[date.fromisoformat(item["SK"].removeprefix("DAY#"))] = item
            case "Years":
                self.years = set(item.get("years", ()))
            case "Days":
                self.listed[int(item["SK"].removeprefix("DAYS#"))] = item

    def _count(self, deal_id: str, card: Item) -> None:
        live_at = time_of(deal_id)
        brand, category = keys.brand_counts(card["brand"]), keys.category_counts(card["category"])
        self.deals[brand].update(("deals", f"deals_{live_at.year:04d}"))
        self.deals[category].update(("deals", f"deals_{month_of(live_at)}"))
        self.days[live_at.date()] += 1

    def problems(self) -> Iterator[Problem]:
        for (username, key, counter), number in self.relations.items():
            if username in self.users:  # else it is nobody's, and not to be counted
                self.deals[key][counter] += number
        for key, item in self.counters.items():
            yield from self._counter_problems(key, item)
        for entity, key in self.entities.items():
            if key not in self.counters:
                kind = "BrandCounts" if key[0].startswith("BRAND#") else "CategoryCounts"
                slug = key[0].partition("#")[2]
                counts = {"type": kind, "slug": slug, "deals": 0, "likes": 0, "watches": 0, **self.deals[key]}
                there = Check(key=entity, when=(exists(),))
                repairs = (Put(key=key, item=counts, when=(absent(),)), there)
                yield Problem(entity, "Its counters are missing.", repairs)
        for key, counted in self.deals.items():
            if key[0].startswith("DEAL#") and key not in self.counters:
                counts = DEAL_COUNTS.item({"deal": key[0].partition("#")[2], **counted})
                yield Problem(
                    key, "Its likes are not counted.", (Put(key=key, item=counts, when=(absent(),)),)
                )
        yield from self._day_problems()
        for year in sorted({day.year for day in self.days} | self.listed.keys()):
            yield from self._list_problems(year)
        yield from self._year_problems()

    def _counter_problems(self, key: keys.Key, item: Item) -> Iterator[Problem]:
        if item["type"] == "DealCounts":
            if wrong := differences(item, {"likes": self.deals[key]["likes"]}):
                yield differing("{} is {}, counted {}", item, wrong)
            return
        entity = COUNTED[item["type"]](key[0].partition("#")[2])
        if entity not in self.entities:
            if self.deals[key]["deals"]:  # it is its brand or category that is lost
                return
            repairs = (Delete(key=key), Check(key=entity, when=(absent(),)))
            yield Problem(key, "These counters belong to nothing.", repairs)
            return
        names = {name for name in item if name.startswith("deals_")} | {"deals", "likes", "watches"}
        wanted = {name: self.deals[key][name] for name in sorted(names | self.deals[key].keys())}
        if wrong := differences(item, wanted):
            yield differing("{} is {}, counted {}", item, wrong)

    def _day_problems(self) -> Iterator[Problem]:
        for day in sorted(self.days.keys() | self.day_counts.keys()):
            key, item, counted = keys.day_count(day), self.day_counts.get(day), self.days[day]
            if item is None:
                counts = Put(key=key, item={"type": "DayCount", "deals": counted}, when=(absent(),))
                yield Problem(key, f"This day is not counted, and has {counted} deals.", (counts,))
            elif not counted:
                repair = Delete(key=key, when=as_seen(item, ["deals"]))
                yield Problem(key, f"This day is counted as {item.get('deals')}, and has no deal.", (repair,))
            elif wrong := differences(item, {"deals": counted}):
                yield differing("{} is {}, counted {}", item, wrong)

    def _list_problems(self, year: int) -> Iterator[Problem]:
        key = keys.days(year)
        listed = set(buckets.listed_days(self.listed.get(year)))
        there = {day.isoformat() for day in self.days if day.year == year}
        for day in sorted(there - listed):
            add = Update(key=key, set={"type": "Days", f"{buckets.DAY_ATTRIBUTE}{day}": True})
            check = Check(key=keys.day_count(date.fromisoformat(day)), when=(exists(),))
            yield Problem(key, f"{day} has deals and is not listed.", (add, check))
        for day in sorted(listed - there):
            drop = Update(key=key, remove=[f"{buckets.DAY_ATTRIBUTE}{day}"], when=(exists(),))
            check = Check(key=keys.day_count(date.fromisoformat(day)), when=(absent(),))
            yield Problem(key, f"{day} is listed and has no deal.", (drop, check))

    def _year_problems(self) -> Iterator[Problem]:
        key, lists = keys.years(), {f"{year:04d}" for year in self.listed}
        for year in sorted(lists - self.years):
            add = Update(key=key, set={"type": "Years"}, add={"years": {year}})
            check = Check(key=keys.days(int(year)), when=(exists(),))
            yield Problem(key, f"{year} has a list of days and is not listed.", (add, check))
        for year in sorted(self.years - lists):
            drop = Update(key=key, discard={"years": {year}}, when=(exists(),))
            check = Check(key=keys.days(int(year)), when=(absent(),))
            yield Problem(key, f"{year} is listed and has no list of days.", (drop, check))
