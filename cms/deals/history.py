"""The history of a deal or draft: its versions, two of them side by side, restoring one; and the trash."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from cms import logs as audit_log
from cms.lists.deal_list import query
from cms.logs import KINDS
from cms.shared.forms import FIELD_LABELS, SELLERS
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import editors, fresh
from dealsite.data.catalogue import drafts
from dealsite.data.catalogue.content import CONTENT_FIELDS, content_from_item
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.drafts import became
from dealsite.data.editing import audit, trash, trash_record, versions
from dealsite.data.editing.trash_record import TrashEntry
from dealsite.data.editing.verbs.publish import not_featured_again
from dealsite.data.editing.versions import Version
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import from_iso, is_ulid
from dealsite.text.writing import number_in
from dealsite.worker.exports import every, exported

DIGITS = 8


@dataclass(frozen=True)
class HistoryTarget:
    """The deal or draft whose history it is; `now` is what it is, None where that is gone.

    `is_there`: it can be edited. `draft`: what a deal was before it was published; `published_as`: what a draft became.
    """

    kind: str
    id: str
    title: str = ""
    history_id: str = ""
    now: Version | None = None
    is_there: bool = False
    in_trash: bool = False
    published_as: str = ""
    draft: str = ""

    @property
    def address(self) -> str:
        return reverse("cms_history", args=[self.kind, self.id])


@dataclass(frozen=True)
class VersionRow:
    """A version as its list shows it; `changes` names what differs from the one before, '' where nothing is known."""

    version: Version
    changes: str
    is_first: bool
    is_now: bool


@editors.page(
    "2 queries + 2 batch gets or 1 get + 2 queries + 1 batch get", at=("", "/cms/drafts/{draft_id}/history/")
)
def history(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """What a deal or draft was and what was done to it, also to one that is deleted."""
    target = _target(kind, entry_id)
    below = _number(request.GET.get("below", ""))
    page = versions.newest(target.history_id, below=below or None)
    log = audit.page(kind=kind, subject=entry_id, after=request.GET.get("after"))
    kept = page.versions if below or target.now is None else [target.now, *page.versions]
    older = [*kept[1:], page.before]
    rows = [_row(version, before, target) for version, before in zip(kept, older, strict=False)]
    context = {
        "target": target,
        "versions": rows,
        "most_kept": versions.MOST_KEPT,
        "compared_with": kept[1].number if len(kept) > 1 else None,
        "before": "?" if below else "",
        "after_versions": query({"below": str(page.versions[-1].number)}) if page.before else "",
        "rows": [replace(audit_log.row(entry), address="") for entry in log.rows],
        "newest": "?" if request.GET.get("after") else "",
        "after": query({"after": log.after}) if log.after else "",
        "trail": _trail(target, _("History")),
    }
    return render(request, "cms/deals/history.html", context)


def _row(version: Version, older: Version | None, target: HistoryTarget) -> VersionRow:
    changes = labels_of(changed_fields(older, version)) if older else ""
    return VersionRow(version, changes, older is None and version.number == 1, version is target.now)


def _trail(target: HistoryTarget, last: str) -> list[tuple[str, str]]:
    start = (reverse("cms_deals"), _("Deals"))
    thing = (reverse(f"cms_{target.kind}", args=[target.id]), str(audit_log.KINDS[target.kind]))
    return [start, *([thing] if target.is_there or target.published_as else []), ("", last)]


@editors.page(
    "2 batch gets or 1 get + 1 batch get", at=("?a=1&b=2", "/cms/drafts/{draft_id}/history/compare/?a=1&b=1")
)
def compare(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Two versions of a deal or draft, `a` and `b`, side by side."""
    target = _target(kind, entry_id)
    if not {"a", "b"} & request.GET.keys():
        return redirect(target.address)
    numbers = {_number(request.GET.get(name, "")) for name in ("a", "b")}
    found = versions.get_many(target.history_id, numbers)
    if target.now:
        found[target.now.number] = target.now
    if not numbers <= found.keys():
        raise NotFound(_("This version is not kept (any more)."))
    older, newer = found[min(numbers)], found[max(numbers)]
    fields = compared(older, newer)
    context = {
        "target": target,
        "older": older,
        "newer": newer,
        "changed": [field for field in fields if field.is_changed],
        "same": [field for field in fields if not field.is_changed],
        "may_restore": [found[n] for n in sorted(numbers) if target.is_there and found[n] is not target.now],
        "end_passed": {one.number for one in (older, newer) if _end_has_passed(one, target)},
        "trail": [
            *_trail(target, "")[:-1],
            (target.address, _("History")),
            ("", _("Versions %(older)s and %(newer)s") % {"older": older.number, "newer": newer.number}),
        ],
    }
    return render(request, "cms/deals/compare_versions.html", context)


def _end_has_passed(version: Version, target: HistoryTarget) -> bool:
    """Tell whether a version's end cannot come back."""
    ends = version.content.expires_at
    is_kept = target.now is not None and target.now.content.expires_at == ends
    return ends is not None and ends <= timezone.now() and not is_kept


def _number(text: str) -> int:
    """Return a version's number as an address holds it, 0 for none."""
    return number_in(text, most=DIGITS) or 0


def _target(kind: str, entry_id: str) -> HistoryTarget:
    """Return whose history it is; of what is gone, only that. NotFound for what no id is."""
    if not is_ulid(entry_id):
        raise NotFound(_("There is no such deal."))
    try:
        entry = drafts.get_entry(kind, entry_id)
    except NotFound:
        return _of_deleted(kind, entry_id)
    if deal := became(entry):
        return HistoryTarget(kind, entry_id, history_id=entry_id, published_as=deal)
    now = Version(entry.version, entry.content, entry.card.brand_name, entry.updated_at, entry.updated_by)
    draft = entry.draft if isinstance(entry, Deal) else ""
    return HistoryTarget(
        kind, entry_id, entry.content.title, entry.history_id, now, is_there=True, draft=draft
    )


def _of_deleted(kind: str, entry_id: str) -> HistoryTarget:
    deleted = trash_record.find(kind, entry_id)
    if deleted is None:
        return HistoryTarget(kind, entry_id, history_id=entry_id)
    kept = dict(deleted.kept or {})
    stock = (deleted.offer or {}).get("stock") if kind == "deal" else kept.get("stock")
    content = content_from_item(kept, deleted.card, stock)
    now = Version(
        kept["version"], content, deleted.card.brand_name, from_iso(kept["updated_at"]), kept["updated_by"]
    )
    draft = kept.get("draft", "")
    return HistoryTarget(kind, entry_id, content.title, deleted.history_id, now, in_trash=True, draft=draft)


@dataclass(frozen=True)
class FieldComparison:
    """A field on both sides; `kind` says how to show it: text, money, time, picture."""

    label: str | Promise
    kind: str
    older: object
    newer: object
    is_changed: bool


ENTRY_KINDS = {"price": "money", "was_price": "money", "picture": "picture", "expires_at": "time"}


def compared(older: Version, newer: Version) -> list[FieldComparison]:
    """Return all fields of two versions, in the order of the form."""
    changed = changed_fields(older, newer)
    fields = []
    for name in CONTENT_FIELDS:
        values = _value_in(older, name), _value_in(newer, name)
        fields.append(
            FieldComparison(FIELD_LABELS[name], ENTRY_KINDS.get(name, "text"), *values, name in changed)
        )
    return fields


def changed_fields(older: Version, newer: Version) -> list[str]:
    """Return the names of the fields in which two versions differ."""
    return [name for name in CONTENT_FIELDS if getattr(older.content, name) != getattr(newer.content, name)]


def labels_of(names: Iterable[str]) -> str:
    """Return the labels of fields, with commas between."""
    return ", ".join(str(FIELD_LABELS[name]) for name in names)


def _value_in(version: Version, name: str) -> object:
    value = getattr(version.content, name)
    if name == "brand":
        return version.brand_name
    if name == "is_ad":
        return _("Yes") if value else ""
    if name in ("category", "sold"):
        return (category_names.names() if name == "category" else SELLERS).get(value, value)
    return value


DAY = timedelta(days=1)


@dataclass(frozen=True)
class TrashRow:
    """A thing in the trash as its list shows it."""

    thing: TrashEntry
    title: str
    kind: object
    days_left: int


@editors.page("1 query")
@exported(
    gettext_lazy("Trash"),
    "id, kind, title=card.title, brand=card.brand_name, category=card.category, price=card.price, "
    "was_price=card.was_price, @deleted_at=at, deleted_by=by, @kept_until=until",
    lambda query, now: every(trash.newest),
)
def trash_list(request: EditorRequest) -> HttpResponse:
    """What was deleted in the last 30 days, newest first. 1 query."""
    now = timezone.now()
    page = trash.newest(after=request.GET.get("after"))
    context = {
        "rows": [_trash_row(thing, now) for thing in page.rows],
        "days": trash_record.KEPT_FOR.days,
        "before": "?" if request.GET.get("after") else "",
        "after": query({"after": page.after}) if page.after else "",
    }
    return render(request, "cms/deals/trash.html", context)


def _trash_row(thing: TrashEntry, now: datetime) -> TrashRow:
    days_left = max(0, -((now - thing.until) // DAY))
    return TrashRow(thing, thing.card.title or _("Without a title"), KINDS[thing.kind], days_left)


@editors.action
def restore(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Bring a deal or draft back from the trash; where that cannot be, the note says why."""
    try:
        back = trash.restore(kind, entry_id, by=request.user.username, now=timezone.now())
    except Conflict as error:
        messages.error(request, str(error))
        return redirect("cms_trash")
    text = _("“%(title)s” is back.") % {"title": back.title or _("Without a title")}
    messages.success(request, f"{text} {not_featured_again(back.was_featured_on)}".rstrip())
    return redirect(f"cms_{back.kind}", back.id)


@editors.action
@fresh
def purge(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Delete for good what lies in the trash."""
    thing = trash_record.get(kind, entry_id)
    trash.purge(kind, entry_id, by=request.user.username, now=timezone.now())
    title = thing.card.title or _("Without a title")
    messages.success(request, _("“%(title)s” is deleted for good.") % {"title": title})
    return redirect("cms_trash")
