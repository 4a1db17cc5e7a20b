"""Stores the deals of an import: many in one transaction, and each alone where that fails."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data.catalogue import brands, content, drafts, publishing
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.content import in_words
from dealsite.data.catalogue.drafts import Entry, refusals
from dealsite.data.editing.bulk import NotOurs
from dealsite.data.entities.imports import PRICES
from dealsite.data.table.errors import AlreadyExists, DataError, Unavailable
from dealsite.data.table.ids import time_of
from dealsite.imports.rows import (
    COLUMN_OF,
    Identities,
    NewBrand,
    NewDeal,
    Remark,
    Result,
    Shares,
    deals_there,
    drafts_there,
    shown,
    stored_at,
)
from dealsite.imports.updating import DealChange, Updating, change_of, meant

WINDOW = 1_000  # rows handled together, so that deals of one brand meet in one transaction
ACTIONS = 100  # in one transaction
BRANDS_AT_ONCE = 30
TOO_MANY_TRIES = 5
PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds to wait for a table that does not answer

pause: Callable[[float], None] = time.sleep  # replaced in tests, so that none waits

Pictures = Callable[[list[NewDeal]], dict[int, Picture | str]]


@dataclass
class Totals:
    """What became of the rows."""

    imported: int = 0
    changed: int = 0
    there: int = 0
    refused: int = 0
    brands: int = 0
    notes: int = 0
    pictures: int = 0

    @property
    def rows(self) -> int:
        return self.imported + self.changed + self.there + self.refused


@dataclass(frozen=True)
class Target:
    """What rows become. `there` returns those of some ids that are there, as `deals_there` does.

    `store` stores some of them in one transaction, of as many actions as `actions` says.
    """

    there: Callable[[Iterable[str]], dict[str, Entry]]
    store: Callable[..., None]
    actions: Callable[[list[NewDeal]], int]


def _actions_of_deals(batch: list[NewDeal]) -> int:
    """Return at most how many actions a transaction of some deals has."""
    days = {time_of(new.id).date() for new in batch}
    return (
        3 * len(batch)  # deal, offer, price
        + _names_of(batch)
        + 2 * len({new.content.brand for new in batch})  # its name is checked, its counters change
        + len({new.content.category for new in batch})
        + len(days)
        + len({day.year for day in days})
        + 2  # the years, the audit log
    )


def _names_of(batch: list[NewDeal]) -> int:
    """Return how many items some deals are known by."""
    return sum(len(new.content.names) for new in batch)


DEALS = Target(deals_there, lambda new, **options: publishing.publish_many(new, **options), _actions_of_deals)
DRAFTS = Target(
    drafts_there,
    lambda new, **options: drafts.create_many(new, **options),
    lambda batch: len(batch) + _names_of(batch) + len({new.content.brand for new in batch}) + 1,
)


@dataclass
class Import:
    """One run of an import. `step` is called with each number of rows done, `new_brand` with each brand that is made.

    `report` is called with each remark that comes up again whenever the row is read, `late` with those of storing it.
    `pictures` fetches the pictures of some deals by line, or the reason why there is none. `updating` changes the deals
    and drafts that rows mean, but for the lines `left_out`; in a dry run `change` is told.
    """

    by: str
    now: datetime
    report: Callable[[Remark], object]
    step: Callable[[int], object]
    new_brand: Callable[[NewBrand], object] = lambda brand: None
    dry_run: bool = False
    pictures: Pictures | None = None
    target: Target = DEALS
    window: int = WINDOW
    window_done: Callable[[int], object] = lambda line: None  # called with the last line that is stored
    resumed: bool = False  # what was stored at `now` was stored by this run, before a crash
    named: Collection[str] = ()  # slugs of brands that it made, and told of, before that
    done: int = 0  # the last line that was done before that
    late: Callable[[Remark], object] | None = None  # the same as `report` where that does not matter
    updating: Updating | None = None
    left_out: Collection[int] = ()
    change: Callable[[DealChange], object] = lambda change: None
    shares: Shares | None = None  # told of each row that is read
    totals: Totals = field(default_factory=Totals)
    _brands: dict[str, Brand] = field(default_factory=dict)
    _rejected: int = -1  # the line rejected last: several remarks can be on one

    def __post_init__(self) -> None:
        self.foreign: Counter[str] = Counter()  # rows of each category that the site does not have
        self.rows_of: Counter[str] = Counter()  # rows of each brand, in a dry run
        self._identities = Identities(self.target.there, self.now)
        self._meant = set[str]()  # the deals and drafts that rows would change
        self._changed = set[str]()  # those that were changed before
        self._late = self.late or self.report

    def run(self, results: Iterable[Result]) -> Totals:
        """Import the rows that are right, report the others. Unavailable when the table stays away.

        Running it again imports what is still missing: deals that are there are skipped. Requests: for each 1,000 rows
        10 batch gets for the deals and some for their brands, a query for the link of each row whose id is not
        there, another for its article number if that is not found; a transaction for some 20 deals.
        """
        window: list[Result] = []
        for result in results:
            window.append(result)
            if len(window) == self.window:
                self._import(window)
                window = []
        self._import(window)
        return self.totals

    def _import(self, window: list[Result]) -> None:
        """Import some rows, and report what is to be said of them; of those that were done, only what they lacked."""
        rows = [
            one
            for one in window
            if isinstance(one, NewDeal) and (one.line > self.done or one.lacks or self.updating)
        ]
        there, unclear = self._identities.find(rows)
        if self.shares is not None:
            for row in rows:
                self.shares.add(row, there.get(row.line))
        for row in rows:
            if row.line in unclear and row.line > self.done:
                self._reject_all([row], unclear[row.line])
        self._prepare_changes([row for row in rows if there.get(row.line)], there)
        wanted = self._wanted([one for one in window if one.line not in unclear], there)
        left = [row for row in rows if row.line > self.done]
        if left and self.resumed:
            self._find_own_brands(left)
            self.resumed = False
        if self.dry_run:
            self._count_new_brands(wanted)
            self._count_imported(sum(row.changes is None for row in wanted))
            for row in wanted:
                if row.changes and (change := change_of(row, row.changes)):
                    self.change(change)
                    self._count_changed()
        else:
            ready = self._with_brands(wanted)
            new = [row for row in ready if row.changes is None]
            if self.pictures:
                new = self._with_pictures(new, self.pictures)
            for batch in _batches(new, self.target.actions):
                self._publish(batch)
            for row in ready:
                if row.changes and self.updating:
                    self._change(row, row.changes, self.updating)
        if left:
            self.window_done(left[-1].line)

    def _prepare_changes(self, rows: list[NewDeal], there: Mapping[int, Entry | None]) -> None:
        """Read what changes need: the brands that rows name, and what was changed before."""
        if not self.updating or not rows:
            return
        named = {row.content.brand for row in rows if "brand" in row.says}
        self._brands |= brands.named_by(named - self._brands.keys())
        if not self.dry_run:
            self._changed = self.updating.done({one.id for row in rows if (one := there[row.line])})

    def _wanted(self, window: list[Result], there: Mapping[int, Entry | None]) -> list[NewDeal]:
        """Return the rows that are right and new, or change something; report what the others lack, and all remarks."""
        wanted = []
        for one in window:
            if isinstance(one, Remark):
                self._reject(one) if one.refused else self._note(one)
                continue
            if one.line in there:
                wanted += self._changing(one, there[one.line])
                continue
            if one.foreign:
                self.foreign[one.foreign] += 1
            for remark in one.lacks.values():
                self._reject(remark)
            if not one.lacks and one.line > self.done:
                wanted.append(one)
        return wanted

    def _changing(self, row: NewDeal, there: Entry | None) -> list[NewDeal]:
        """Return the row as a change of what it means, or nothing if it is none; counted, or rejected, then."""
        is_left = row.line > self.done
        is_ours = there is not None and stored_at(there) == self.now and not self.dry_run
        if there is None or is_ours or not self.updating:
            if is_left and self.resumed and there and is_ours and there.id == row.id:
                self._count_imported(1)
            elif is_left:
                self._count_there(1)
            return []
        is_second = there.id in self._meant
        self._meant.add(there.id)
        if row.line in self.left_out:
            reason = _("Left out: its box was not ticked.")
            self._note(Remark(row.line, "", there.content.title[:80], reason, refused=False))
            if is_left:
                self._count_there(1)
            return []
        if there.id in self._changed and not is_second:
            if is_left:
                self._count_changed()
            return []
        change = meant(row, there, self.updating.update, self._brands)
        if row.foreign and self.updating.update != PRICES:
            self.foreign[row.foreign] += 1
            self._reject(row.lacks["category"])
        elif not change_of(change, there):
            if is_left:
                self._count_there(1)
        elif is_second:
            self._reject(
                Remark(row.line, "", row.content.title[:80], _("An earlier row changes the same deal."))
            )
        elif wrong := refusals(there, change.content):
            for name, reason in wrong.items():
                value = shown(in_words(change.content).get(name, ""))
                self._reject(Remark(row.line, COLUMN_OF.get(name, name), value, str(reason)))
        elif is_left:
            return [change]
        return []

    def _change(self, row: NewDeal, there: Entry, updating: Updating) -> None:
        try:
            is_changed = updating.carry_out(row, there)
        except (NotOurs, Unavailable):
            raise
        except DataError as error:
            self._reject_all([row], str(error))
        else:
            self._count_changed() if is_changed else self._count_there(1)

    def _note(self, remark: Remark) -> None:
        self.report(remark)
        self.totals.notes += 1

    def _reject(self, remark: Remark) -> None:
        self.report(remark)
        if remark.line != self._rejected:
            self._rejected = remark.line
            self.totals.refused += 1
            self.step(1)

    def _publish(self, batch: list[NewDeal], tries: int = 0) -> None:
        """Publish some deals in one transaction; where that fails, in halves, down to the one at fault."""
        if not batch:
            return
        try:
            deals_with_brands = [(new.id, new.content, self._brands.get(new.content.brand)) for new in batch]
            self.target.store(deals_with_brands, by=self.by, now=self.now)
        except Unavailable:  # nothing is wrong with the rows
            if tries >= len(PAUSES):
                raise
            pause(PAUSES[tries])
            self._publish_halves(batch, tries + 1)  # smaller ones may get through where one takes too long
        except AlreadyExists:  # by somebody else at this moment, or by ourselves with the answer lost
            there = self.target.there(new.id for new in batch)
            self._count_there(sum(new.id in there for new in batch))
            rest = [new for new in batch if new.id not in there]
            if tries < TOO_MANY_TRIES:
                self._publish(rest, tries + 1)
            else:
                self._reject_all(rest, _("It could not be stored."))
        except brands.BrandChanged as error:
            self._brands |= brands.get_many({new.content.brand for new in batch})
            if tries < TOO_MANY_TRIES:
                self._publish(batch, tries + 1)
            else:
                self._reject_all(batch, str(error))
        except DataError as error:
            if len(batch) == 1:
                self._reject_all(batch, str(error))
            else:
                self._publish_halves(batch)
        else:
            self._count_imported(len(batch))

    def _publish_halves(self, batch: list[NewDeal], tries: int = 0) -> None:
        half = (len(batch) + 1) // 2
        self._publish(batch[:half], tries)
        self._publish(batch[half:], tries)

    def _with_brands(self, wanted: list[NewDeal]) -> list[NewDeal]:
        """Find the brands by their names, create those that are missing; reject the rows whose brand cannot be."""
        first: dict[str, NewDeal] = {}
        for new in wanted:
            if new.content.brand and not _has_it_already(new):  # a draft may have none
                first.setdefault(new.content.brand, new)
        self._brands |= brands.named_by(slug for slug in first if slug not in self._brands)
        missing = [slug for slug in first if slug not in self._brands]
        failed: dict[str, str] = {}
        for start in range(0, len(missing), BRANDS_AT_ONCE):
            some = missing[start : start + BRANDS_AT_ONCE]
            try:
                made = brands.create_many([first[slug].brand_name for slug in some], by=self.by, now=self.now)
                for slug, brand in made.items():
                    self._made(brand, first[slug])
            except Unavailable:
                raise
            except DataError:
                for slug in some:
                    self._create_brand(first[slug], failed)
        for slug, reason in failed.items():
            self._reject_all([new for new in wanted if new.content.brand == slug], reason)
        self._brands = {brand.slug: brand for brand in self._brands.values()} | self._brands
        return [
            replace(new, content=replace(new.content, brand=found.slug))
            if (found := self._brands.get(new.content.brand))
            else new
            for new in wanted
            if new.content.brand not in failed
        ]

    def _create_brand(self, first: NewDeal, failed: dict[str, str]) -> None:
        slug = first.content.brand
        try:
            self._made(brands.create(first.brand_name, by=self.by, now=self.now), first)
        except AlreadyExists:
            self._brands |= brands.named_by([slug])
        except Unavailable:
            raise
        except DataError as error:
            failed[slug] = str(error)

    def _find_own_brands(self, window: list[NewDeal]) -> None:
        """Tell of the brands that this run made for some rows, before a crash."""
        found = brands.named_by({new.content.brand for new in window} - {*self.named, ""})
        for new in window:
            brand = found.pop(new.content.brand, None)
            if brand and brand.version == 1 and time_of(brand.last_edit) == self.now:
                self._made(brand, new)

    def _made(self, brand: Brand, first: NewDeal) -> None:
        self._brands[brand.slug] = brand
        self.totals.brands += 1
        self.new_brand(NewBrand(first.line, brand.slug, brand.name))

    def _count_new_brands(self, wanted: Collection[NewDeal]) -> None:
        self.rows_of.update(new.content.brand for new in wanted)
        unknown = (
            {new.content.brand for new in wanted if not _has_it_already(new)} - self._brands.keys() - {""}
        )
        self._brands |= brands.named_by(unknown)
        for new in wanted:
            if new.content.brand in unknown and new.content.brand not in self._brands:
                self._made(Brand(new.content.brand, new.brand_name), new)

    def _with_pictures(self, wanted: list[NewDeal], fetch: Pictures) -> list[NewDeal]:
        """Add the pictures; a deal whose picture cannot be had is imported without, and reported."""
        fetched = fetch([new for new in wanted if new.image_url])
        ready = []
        for new in wanted:
            picture = fetched.get(new.line)
            if isinstance(picture, Picture):
                self.totals.pictures += 1
                ready.append(replace(new, content=replace(new.content, picture=picture)))
                continue
            if picture is not None:
                self.totals.notes += 1
                reason = _("Imported without its picture. %(reason)s") % {"reason": picture}
                self._late(Remark(new.line, "image_url", new.image_url[:200], reason, refused=False))
            ready.append(new)
        found = {picture.name for picture in fetched.values() if isinstance(picture, Picture)}
        content.request_renditions(sorted(found), now=self.now)
        return ready

    def _count_imported(self, count: int) -> None:
        self.totals.imported += count
        self.step(count)

    def _count_changed(self) -> None:
        self.totals.changed += 1
        self.step(1)

    def _count_there(self, count: int) -> None:
        self.totals.there += count
        self.step(count)

    def _reject_all(self, batch: list[NewDeal], reason: str) -> None:
        for new in batch:
            self._late(Remark(new.line, "", new.content.title[:80], reason))
        self.totals.refused += len(batch)
        self.step(len(batch))


def _has_it_already(row: NewDeal) -> bool:
    """Tell whether a row changes something that has its brand already, be there such a brand or not."""
    return row.changes is not None and row.changes.content.brand == row.content.brand


def _batches(wanted: Iterable[NewDeal], actions: Callable[[list[NewDeal]], int]) -> Iterator[list[NewDeal]]:
    """Cut deals into transactions of at most 100 actions, those of one brand together: they share its counters."""
    ordered = iter(sorted(wanted, key=lambda new: (new.content.brand, new.id)))
    batch: list[NewDeal] = []
    for new in ordered:
        if actions([*batch, new]) > ACTIONS:
            yield batch
            batch = []
        batch.append(new)
    if batch:
        yield batch
