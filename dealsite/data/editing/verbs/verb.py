"""What a verb is: one thing that can be done to deals or drafts, to one or to many, with its reverse."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Generic, TypeVar

from django.utils.translation import gettext as _

from dealsite.data.catalogue import brands, deal_changes, drafts
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.drafts import Draft, Entry, became
from dealsite.data.catalogue.featured import FeaturedPage
from dealsite.data.editing.audit import AuditContext
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.text.stored_words import Text

E = TypeVar("E", bound=Entry)  # what a verb can be done to


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What became of one deal or draft: the value that it had and the one that it got, or why it was left alone.

    Of an edit, these are its versions, and the stock that it got where that is another one.
    """

    id: str
    title: str
    outcome: str
    before: str = ""
    after: str = ""
    reason: str = ""
    chunk: int = 0
    stock: int | None = None


class ChangedMeanwhile(Conflict):
    """Somebody else changed an entry since it was looked at: what its value is now, and what it was to become."""

    def __init__(self, name: str, is_now: str = "", wanted: str = "") -> None:
        self.is_now, self.wanted = is_now, wanted
        super().__init__(_("%(name)s changed it meanwhile.") % {"name": name})


@dataclass
class Prefetched:
    """What changes need beside the entries themselves: the brands that occur, the featured list that is changed."""

    brands: dict[str, Brand] = field(default_factory=dict)
    page: FeaturedPage | None = None


@dataclass(frozen=True)
class Doing:
    """How a verb is done to one entry: with what value and brands, by whom, when.

    `note` takes the values before and after, and the stock where that is set besides; it returns what joins the
    change's transaction.
    """

    value: str
    prefetched: Prefetched
    note: Callable[..., AuditContext]
    by: str
    now: datetime
    announce: bool = False  # to all who watch what is published


class Verb(Generic[E]):
    """What can be done: what stands against it, the change, the sentence for what was done, the reverse.

    `name` is stored with what was done, so it never changes. `asks`: the sort of value that it needs, '' for none.
    Whatever writes may raise what the module that it calls does, and is 1 transaction unless it says more.
    """

    name: ClassVar[str]
    label: ClassVar[Text] = ""  # of a button, as the icon
    icon: ClassVar[str] = ""  # without one, no menu shows it
    kinds: ClassVar[tuple[str, ...]] = ("deal", "draft")
    asks: ClassVar[str] = ""
    says: ClassVar[Text]  # what it does, as a title; %(value)s is in words, as below
    did: ClassVar[Text]  # the sentence for what was done to the one entry of a %(title)s
    makes: ClassVar[str] = ""  # the kind of what it makes of an entry, whose id is the value after
    replaces: ClassVar[bool] = False  # a value, and stops where others replaced it meanwhile
    all_counts: ClassVar[bool] = False  # and where they changed whatever else
    needs_brands: ClassVar[bool] = False
    leaves_entry: ClassVar[bool] = True  # which is read again before it is taken back

    def prefetch(self, value: str, entries: Iterable[Entry], rows: Iterable[BulkResult] = ()) -> Prefetched:
        """Return what doing it to some entries needs, or undoing it in some rows. 1 batch get for their brands."""
        return brands_of(entry.content.brand for entry in entries) if self.needs_brands else Prefetched()

    def value_in(self, held: DealContent | DealCard) -> str:
        """Return the value that it would replace, '' where it replaces none."""
        return ""

    def value_after(self, value: str, entry: E, now: datetime) -> str:
        """Return the value that an entry would have; '' where it replaces none."""
        return ""

    def refuse_changed(
        self, entry: E, seen: str, doing: Doing, *, asked_at: datetime, collected_at: datetime, by: str
    ) -> None:
        """Raise ChangedMeanwhile where others changed since `asked_at` what counts here, or Conflict if it was added.

        `seen` is the value that the entry had at `collected_at`.
        """
        if entry.created_at > asked_at:
            raise Conflict(_("It was added after this was confirmed."))
        others = entry.updated_at > asked_at and entry.updated_by != by
        is_now = self.value_in(entry.content)
        if self.replaces and ((others and entry.updated_at <= collected_at) or is_now != seen):
            wanted = self.value_after(doing.value, entry, doing.now)
            raise ChangedMeanwhile(entry.updated_by, is_now, wanted)
        if others and self.all_counts:
            raise ChangedMeanwhile(entry.updated_by)

    def refusal(self, value: str, entry: E, prefetched: Prefetched, now: datetime) -> str:
        """Return why it cannot be done to an entry, in a sentence; '' if it can."""
        return published(entry)

    def carry_out(self, entry: E, doing: Doing) -> None:
        """Do it to an entry, and note it in the same transaction."""
        raise NotImplementedError

    def read_changed(self, kind: str, rows: Sequence[BulkResult]) -> Mapping[str, Entry]:
        """Return what some rows are about as it is now, by the rows' ids. As many requests as `get_many`."""
        if not self.leaves_entry:
            return {}
        ids = {row.after if self.makes else row.id: row.id for row in rows}
        return {ids[one]: entry for one, entry in drafts.get_entries(self.makes or kind, ids).items()}

    def refusal_to_undo(
        self, kind: str, value: str, row: BulkResult, entry: E | None, prefetched: Prefetched, now: datetime
    ) -> str:
        """Return why it cannot be taken back, in a sentence; '' if it can, as far as can be seen."""
        if not self.leaves_entry:
            return ""
        if entry is None or became(entry):
            is_draft = kind == "draft" or entry is not None
            return _("It was deleted since, or published.") if is_draft else _("It was deleted since.")
        return self.changed_since(value, row, entry, prefetched, now)

    def changed_since(
        self, value: str, row: BulkResult, entry: E, prefetched: Prefetched, now: datetime
    ) -> str:
        """Return why it cannot be taken back although the entry is there; '' if it can."""
        if self.is_as_left(row, entry):
            return ""
        return _("%(name)s changed it since.") % {"name": entry.updated_by}

    def is_as_left(self, row: BulkResult, entry: E) -> bool:
        """Tell whether an entry is still what this made of it."""
        return entry.version == 1 if self.makes else self.value_in(entry.content) == row.after

    def take_back(self, kind: str, row: BulkResult, entry: E, doing: Doing) -> None:
        """Restore what it replaced, and note it in the same transaction."""
        raise NotImplementedError

    def also_said(self, undone: BulkResult) -> str:
        """Return what else is to be said once it was taken back, which a row notes; '' for nothing."""
        return ""


def brands_of(slugs: Iterable[str]) -> Prefetched:
    """Return those of some brands that exist. 1 batch get."""
    return Prefetched(brands=brands.get_many(sorted({slug for slug in slugs if slug})))


def save(
    entry: Entry, content: DealContent, known: Prefetched, context: AuditContext, by: str, now: datetime
) -> Entry:
    """Give a deal or draft another content, and return it. 1 transaction."""
    version, brand = entry.version, known.brands.get(content.brand)
    if isinstance(entry, Draft):
        return drafts.save(
            entry, content, version=version, brand=brand, by=by, now=now, audit_context=context
        )
    if brand is None:
        raise NotFound(_("Its brand does not exist any more."))
    return deal_changes.edit(
        entry, content, version=version, brand=brand, by=by, now=now, audit_context=context
    )


def published(entry: Entry) -> str:
    """Return that a draft was published, so that nothing can be done to it; '' for all else."""
    return _("It was published already.") if became(entry) else ""


def sentences(found: Mapping[str, str]) -> str:
    """Return what stands against a content as one text."""
    return " ".join(str(sentence) for sentence in found.values())
