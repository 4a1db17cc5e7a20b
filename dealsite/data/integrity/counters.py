"""Counters: deals of each brand, category, year, month and day, and the list of days that hold deals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date

from dealsite.data import keys
from dealsite.data.catalogue import buckets
from dealsite.data.catalogue.relations import RELATIONS
from dealsite.data.integrity.problem import Problem, as_seen, differences, key_of, repair_write
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import is_ulid, month_of, time_of
from dealsite.data.table.writes import Check, Delete, Put, Update, absent, exists

RELATED = {relation.type: relation for relation in RELATIONS}
COUNTED = {"BrandCounts": keys.brand, "CategoryCounts": keys.category}


class Counts:
    """Counts all deals anew; memory grows with brands, months and days, not with deals."""

    def __init__(self) -> None:
        self.deals: dict[keys.Key, Counter[str]] = defaultdict(Counter)
        self.days: Counter[date] = Counter()
        self.counters: dict[keys.Key, Item] = {}
        self.day_counts: dict[date, Item] = {}
        self.listed: dict[int, Item] = {}
        self.years: set[str] = set()
        self.entities: dict[keys.Key, keys.Key] = {}  # a brand's or category's key -> its counters' key

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Deal" if is_ulid(item.get("id", "")) and item.get("card", {}).get("brand"):
                self._count(item["id"], item["card"])
            case "Brand":
                self.entities[key_of(item)] = keys.brand_counts(item["slug"])
            case "Category":
                self.entities[key_of(item)] = keys.category_counts(item["slug"])
            case kind if kind in RELATED:
                relation = RELATED[kind]
                self.deals[relation.count_key(item["slug"])][relation.counter] += 1
            case "BrandCounts" | "CategoryCounts":
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
        for key, item in self.counters.items():
            yield from self._counter_problems(key, item)
        for entity, key in self.entities.items():
            if key not in self.counters:
                kind = "BrandCounts" if key[0].startswith("BRAND#") else "CategoryCounts"
                slug = key[0].partition("#")[2]
                counts = {"type": kind, "slug": slug, "deals": 0, "likes": 0, "watches": 0, **self.deals[key]}
                repair = Put(key=key, item=counts, when=(absent(),))
                yield Problem(
                    entity, "Its counters are missing.", (repair, Check(key=entity, when=(exists(),)))
                )
        yield from self._day_problems()
        for year in sorted({day.year for day in self.days} | self.listed.keys()):
            yield from self._list_problems(year)
        yield from self._year_problems()

    def _counter_problems(self, key: keys.Key, item: Item) -> Iterator[Problem]:
        entity = COUNTED[item["type"]](key[0].partition("#")[2])
        if entity not in self.entities:
            repairs = (Delete(key=key), Check(key=entity, when=(absent(),)))
            yield Problem(key, "These counters belong to nothing.", repairs)
            return
        names = {name for name in item if name.startswith("deals_")} | {"deals", "likes", "watches"}
        wanted = {name: self.deals[key][name] for name in names | self.deals[key].keys()}
        if wrong := differences(item, wanted):
            texts = [f"{name} is {item.get(name)}, counted {value}" for name, value in sorted(wrong.items())]
            yield Problem(key, "; ".join(texts) + ".", (repair_write(item, wrong),))

    def _day_problems(self) -> Iterator[Problem]:
        for day in sorted(self.days.keys() | self.day_counts.keys()):
            key, item, counted = keys.day_count(day), self.day_counts.get(day), self.days[day]
            if item is None:
                counts = Put(key=key, item={"type": "DayCount", "deals": counted}, when=(absent(),))
                yield Problem(key, f"This day is not counted, and has {counted} deals.", (counts,))
            elif not counted:
                repair = Delete(key=key, when=as_seen(item, ["deals"]))
                yield Problem(key, f"This day is counted as {item.get('deals')}, and has no deal.", (repair,))
            elif item.get("deals") != counted:
                repairs = (repair_write(item, {"deals": counted}),)
                yield Problem(key, f"deals is {item.get('deals')}, counted {counted}.", repairs)

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
        lists = {f"{year:04d}" for year in self.listed}
        for year in sorted(lists - self.years):
            add = Update(key=keys.years(), set={"type": "Years"}, add={"years": {year}})
            check = Check(key=keys.days(int(year)), when=(exists(),))
            yield Problem(keys.years(), f"{year} has a list of days and is not listed.", (add, check))
        for year in sorted(self.years - lists):
            drop = Update(key=keys.years(), discard={"years": {year}}, when=(exists(),))
            check = Check(key=keys.days(int(year)), when=(absent(),))
            yield Problem(keys.years(), f"{year} is listed and has no list of days.", (drop, check))
