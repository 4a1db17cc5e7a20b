"""What a row changes in the deal or draft that it means: found in a check, carried out in a run, one by one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import CONTENT_FIELDS, in_words
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.editing import bulk
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.bulk import BulkResult
from dealsite.data.editing.verbs.fields import Import
from dealsite.data.editing.verbs.verb import ChangedMeanwhile, Doing, Prefetched
from dealsite.data.entities.attributes import money
from dealsite.data.entities.deals import CODE, SHOP
from dealsite.data.entities.imports import CHANGED, OF_PRICES, PRICES
from dealsite.data.jobs.jobs import Job
from dealsite.data.table.errors import NotFound
from dealsite.imports.rows import NewDeal, drafts_there, shown

AMOUNTS = ("price", "was_price")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What a field holds, and what it is to hold, as short texts; '' is nothing."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DealChange:
    """What a row changes in a deal or draft."""

    line: int
    id: str
    title: str
    fields: tuple[FieldChange, ...]


def meant(row: NewDeal, there: Entry, update: str, known: Mapping[str, Brand]) -> NewDeal:
    """Return a row with what the deal or draft that it means would hold after it, and that one."""
    values = {name: getattr(row.content, name) for name in row.says if update != PRICES or name in OF_PRICES}
    values |= {name: money(values[name]) for name in AMOUNTS if name in values}
    if brand := known.get(values.get("brand", "")):
        values["brand"] = brand.slug
    if "condition" in values:  # instead of a price, unless the row says both, which is refused
        values = {"price": None, "was_price": None} | values
    elif "price" in values:
        values["condition"] = ""
    content = there.content.with_rrp(values.get("was_price", there.content.was_price))
    if content.sold == CODE and not values.get("voucher_code", content.voucher_code):
        values.setdefault("sold", SHOP)  # its code goes
    return replace(row, content=replace(content, **values).fitted(), changes=there)


def change_of(row: NewDeal, there: Entry) -> DealChange | None:
    """Return what a row changes; None for nothing."""
    was = in_words(there.content) | {"brand": there.card.brand_name}
    will = in_words(row.content) | {"brand": row.brand_name}
    fields = tuple(
        FieldChange(name, shown(was[name]), shown(will[name]))
        for name in CONTENT_FIELDS
        if getattr(there.content, name) != getattr(row.content, name)
    )
    return DealChange(row.line, there.id, there.content.title, fields) if fields else None


@dataclass(frozen=True)
class Updating:
    """Changes what the rows of an import mean, each deal or draft once; the job is the one that works on it."""

    import_id: str
    job: Job
    by: str
    update: str
    asked_at: datetime  # then the editor saw what would change
    moment: Callable[[], datetime]

    def done(self, ids: Iterable[str]) -> set[str]:
        """Return which of some deals and drafts it has changed before. 1 batch get for each 50."""
        return set(bulk.outcomes(self.import_id, list(ids)))

    def carry_out(self, row: NewDeal, there: Entry) -> bool:
        """Change a deal or draft as a row says; False if it is so by now.

        NotOurs, Unavailable; another DataError says why it is left alone. 1 batch get + 1 transaction.
        """

        def read_again() -> None:
            nonlocal there
            found = drafts_there([there.id]).get(there.id)
            if found is None:
                raise NotFound(_("It was deleted meanwhile."))
            there = found

        return bulk.once(self.import_id, there.id, lambda: self._attempt(row, there), read_again, done=True)

    def _attempt(self, row: NewDeal, there: Entry) -> bool:
        changed = meant(row, there, self.update, {})
        slug = changed.content.brand
        if brand := brands.get_many([slug] if slug else []).get(slug):  # or what it was merged into
            changed = replace(changed, content=replace(changed.content, brand=brand.slug))
        if not change_of(changed, there):
            return False
        if there.updated_at > self.asked_at and there.updated_by != self.by:
            raise ChangedMeanwhile(there.updated_by)

        def note(before: str, after: str, stock: int | None) -> AuditContext:
            result = BulkResult(there.id, there.content.title, CHANGED, before, after, stock=stock)
            return bulk.imported_context(self.job, self.import_id, result)

        needed = Prefetched({brand.slug: brand} if brand else {})
        Import().make(there, changed.content, Doing("", needed, note, self.by, self.moment()))
        return True
