"""What a bulk change does to one deal or draft, and why it cannot."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from dealsite.data.catalogue import brands, drafts, featured
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent, in_words, problems, text_problems
from dealsite.data.catalogue.deal import deleting, editing, publishing
from dealsite.data.catalogue.deal.stock import with_offers
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.featured import MAX_CARDS, FeaturedPage
from dealsite.data.editing import bulk
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.bulk import FIELDS, BulkChange, BulkTarget
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.data.table.ids import from_iso, is_ulid, iso, new_ulid, time_of

Thing = Deal | Draft
Note = Callable[[str, str], AuditContext]  # of the value before and the value after


@dataclass
class Prefetched:
    """What changes need beside the things themselves: the brands that occur, the featured list that is changed."""

    brands: dict[str, Brand] = field(default_factory=dict)
    page: FeaturedPage | None = None


def read(kind: str, ids: Iterable[str]) -> dict[str, Thing]:
    """Return those of some deals or drafts that exist, by id. 2 batch gets for each 100 deals, 1 for drafts."""
    wanted = [one for one in ids if is_ulid(one)]
    return dict(with_offers(wanted)) if kind == "deal" else dict(drafts.get_many(wanted))


def prefetched_for(
    change: BulkChange, things: Iterable[Thing], *, more_brands: Iterable[str] = ()
) -> Prefetched:
    """Return what a change of some things needs. 1 batch get for brands, or 1 get for a page; none to delete."""
    if change.action in (bulk.FEATURE, bulk.UNFEATURE):
        return Prefetched(page=featured.get(change.value))
    if change.action == bulk.DELETE:
        return Prefetched()
    slugs = {thing.content.brand for thing in things} | set(more_brands)
    if change.action == bulk.BRAND:
        slugs.add(change.value)
    return Prefetched(brands=brands.get_many(sorted(slug for slug in slugs if slug)))


def value_in(change: BulkChange, thing: Thing) -> str:
    """Return the value that a change would replace, '' where it replaces none."""
    return in_words(thing.content)[FIELDS[change.action]] if change.action in FIELDS else ""


def seen_in(change: BulkChange, card: DealCard) -> str:
    """Return the same from what a list shows."""
    expires_at = iso(card.expires_at) if card.expires_at else ""
    values = {"expires_at": expires_at, "category": card.category, "brand": card.brand}
    return values.get(FIELDS.get(change.action, ""), "")


def changed_meanwhile(
    change: BulkChange,
    thing: Thing,
    target: BulkTarget,
    *,
    asked_at: datetime,
    collected_at: datetime,
    by: str,
) -> str:
    """Return why a thing that was chosen is no longer as it was then, '' if it is as far as the change is concerned.

    Other people's changes count, of the value that is to be replaced; before deleting and publishing, all of them.
    """
    came = thing.created_at if isinstance(thing, Deal) else time_of(thing.id)
    if came > asked_at:
        return _("It was added after this was confirmed.")
    changed = thing.updated_at > asked_at and thing.updated_by != by
    if change.action in FIELDS:
        early = changed and thing.updated_at <= collected_at
        changed = early or value_in(change, thing) != target.seen
    elif change.action not in (bulk.PUBLISH, bulk.DELETE):
        changed = False
    return _("%(name)s changed it meanwhile.") % {"name": thing.updated_by} if changed else ""


def refusal(change: BulkChange, thing: Thing, prefetched: Prefetched, *, now: datetime) -> str:
    """Return why a thing cannot be changed, in a sentence; '' if it can."""
    if isinstance(thing, Draft):
        return _refusal_of_draft(change, thing, prefetched, now)
    if change.action == bulk.DELETE:
        return ""
    if change.action in (bulk.FEATURE, bulk.UNFEATURE):
        return _refusal_to_feature(change, thing, prefetched, now)
    if change.action == bulk.EXPIRE:
        if thing.live_at > now:
            return _("It is not published yet; delete it, or move its time.")
        return _("It has expired already.") if thing.card.state(now) == "expired" else ""
    if value_in(change, thing) == change.value:
        return _same(change)
    return _sentences(problems(with_value(change, thing.content), live_at=thing.live_at))


def _refusal_of_draft(change: BulkChange, draft: Draft, prefetched: Prefetched, now: datetime) -> str:
    if draft.published_as:
        return _("It was published already.")
    if change.action == bulk.DELETE:
        return ""
    if change.action == bulk.PUBLISH:
        found = problems(draft.content, live_at=now)
        if not found and draft.content.brand not in prefetched.brands:
            return _("Its brand does not exist. Save the draft to add it.")
        return _sentences(found)
    if value_in(change, draft) == change.value:
        return _same(change)
    return _sentences(text_problems(with_value(change, draft.content)))


def _sentences(found: Mapping[str, str]) -> str:
    return " ".join(str(sentence) for sentence in found.values())


def _same(change: BulkChange) -> str:
    if change.action == bulk.CATEGORY:
        return _("It is in this category already.")
    return _("It is of this brand already.") if change.action == bulk.BRAND else _("It expires then already.")


def _refusal_to_feature(change: BulkChange, deal: Deal, prefetched: Prefetched, now: datetime) -> str:
    listed = change.value in deal.featured_on
    if change.action == bulk.UNFEATURE:
        return "" if listed else _("It is not on this page.")
    if listed:
        return _("It is on this page already.")
    if deal.card.state(now) == "expired":
        return _("It has expired.")
    return no_room(prefetched)


def no_room(prefetched: Prefetched) -> str:
    """Return why no deal can be put on the page that is changed, in a sentence; '' if one can."""
    if prefetched.page and len(prefetched.page.ids) >= MAX_CARDS:
        return _("The page features %(number)s deals already; no more fit.") % {"number": MAX_CARDS}
    return ""


def with_value(change: BulkChange, content: DealContent, value: str | None = None) -> DealContent:
    """Return content with the value of a change in the place of its own."""
    text, name = change.value if value is None else value, FIELDS[change.action]
    new: Any = (from_iso(text) if text else None) if name == "expires_at" else text
    return replace(content, **{name: new})


@access_pattern("change a deal by a bulk change", "1 transaction")
def carry_out(
    change: BulkChange, thing: Thing, prefetched: Prefetched, note: Note, *, by: str, now: datetime
) -> None:
    """Change a deal or draft, and note it in the same transaction; whatever its own module raises.

    1 transaction; 1 batch get more for each deal that is featured, taken off a page or deleted.
    """
    before = value_in(change, thing)
    if isinstance(thing, Draft) and change.action == bulk.PUBLISH:
        new_id, brand = new_ulid(now), prefetched.brands[thing.content.brand]
        context = note("", new_id)
        publishing.publish(
            thing.content, deal_id=new_id, brand=brand, by=by, now=now, draft=thing, audit_context=context
        )
    elif change.action == bulk.DELETE:
        context = note(str(thing.version), "")
        if isinstance(thing, Draft):
            drafts.delete(thing, by=by, now=now, audit_context=context)
        else:
            deleting.delete(thing, by=by, now=now, version=thing.version, audit_context=context)
    elif isinstance(thing, Deal) and change.action == bulk.EXPIRE:
        editing.expire_now(thing, by=by, now=now, audit_context=note(before, iso(now)))
    elif isinstance(thing, Deal) and change.action in (bulk.FEATURE, bulk.UNFEATURE):
        feature(change, thing, prefetched, note, by=by, now=now, on=change.action == bulk.FEATURE)
    else:
        content = with_value(change, thing.content)
        save(thing, content, prefetched, note(before, change.value), by=by, now=now)


def save(
    thing: Thing,
    content: DealContent,
    prefetched: Prefetched,
    context: AuditContext,
    *,
    by: str,
    now: datetime,
) -> None:
    """Give a deal or draft another content."""
    version, brand = thing.version, prefetched.brands.get(content.brand)
    if isinstance(thing, Draft):
        drafts.save(thing, content, version=version, brand=brand, by=by, now=now, audit_context=context)
    elif brand:
        editing.edit(thing, content, version=version, brand=brand, by=by, now=now, audit_context=context)
    else:
        raise NotFound(_("Its brand does not exist any more."))


def feature(
    change: BulkChange,
    deal: Deal,
    prefetched: Prefetched,
    note: Note,
    *,
    by: str,
    now: datetime,
    on: bool,
    place: int = MAX_CARDS,
) -> None:
    """Put a deal on a page, at a place or last, or take it off; what the page holds besides stays in its order."""
    known = prefetched.page.ids if prefetched.page else []
    page, found = featured.load(change.value, [*known, deal.id])
    prefetched.page = page
    if page.ids != known:
        raise VersionConflict(current=page)
    if deal.id not in found:
        raise NotFound(_("It was deleted meanwhile."))
    order = [one for one in page.ids if one != deal.id]
    was = page.ids.index(deal.id) if deal.id in page.ids else 0
    if on:
        order.insert(place, deal.id)
    context = note("" if on else str(was), change.value if on else "")
    listed = [found[one] for one in order if one in found]
    prefetched.page = featured.set_featured(
        page, listed, version=page.version, by=by, now=now, audit_context=context
    )
