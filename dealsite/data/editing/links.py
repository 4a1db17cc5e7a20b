"""Whether the links of deals to their shops work: what the worker's checks found stands with each deal.

A deal whose link works has nothing of it. A link counts as broken once two checks in a row found nothing behind
it, hours apart; what was found belongs to the link that was checked, so another link begins anew.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import lists
from dealsite.data.catalogue.deals import BROKEN, LinkCheck, check_of
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import audit
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.entities.deals import HERE
from dealsite.data.jobs import jobs
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import first_ulid_of, is_ulid, iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Condition, Path, Put, Update, Write, differs, either, equals, missing

CHECK_LINKS, CHECK_LINK = "check_links", "check_link"  # kinds of jobs: a round over all deals, and one deal
APART = timedelta(hours=6)  # from a failed check to the one that confirms it
ACCEPTED = timedelta(days=30)  # how long an editor's word holds that a link is fine
PAGE_SIZE = 24


@dataclass(frozen=True, slots=True)
class RoundPayload:
    """A round over all deals: its job's id says which."""


@dataclass(frozen=True, slots=True)
class LinkPayload:
    """The deal whose link is to be checked."""

    deal: str


@dataclass(frozen=True, slots=True)
class DealLink:
    """A deal's link, and what is known of it."""

    deal_id: str
    link: str
    check: LinkCheck | None


@access_pattern("a deal's link and what is known of it", "1 get")
def get(deal_id: str) -> DealLink:
    """Return the link of a deal; NotFound."""
    item = table.get(keys.deal(deal_id)) if is_ulid(deal_id) else None
    if item is None:
        raise NotFound(gettext_lazy("There is no such deal."))
    return _linked(item)


@access_pattern("the next links of a round, newest deals first", "1 batch get + 2 queries")
def page(*, after: str, now: datetime) -> tuple[list[tuple[str, DealLink | None]], bool]:
    """Return the next deals of a round, newest first, each with its link, and whether there are more.

    None stands for a link that is not to be checked: of a deal that has expired or is gone, or that an
    editor finds fine. `after` is the id of the last one before, '' at the beginning.
    """
    found = lists.cms_list(DealFilter(), now=now, after=after or None, size=PAGE_SIZE)
    current = [keys.deal(one.id) for one in found.cards if one.expires_at is None or one.expires_at > now]
    linked = [_linked(item) for item in table.batch_get(current).values()] if current else []
    due = {one.deal_id: one for one in linked if not _is_accepted(one, now)}
    return [(card.id, due.get(card.id)) for card in found.cards], bool(found.after)


def _is_accepted(linked: DealLink, now: datetime) -> bool:
    until = linked.check.accepted_until if linked.check else None
    return until is not None and until > now


def _linked(item: Item) -> DealLink:
    is_seen = item["card"].get("sold") != HERE
    return DealLink(item["id"], item.get("link") or "" if is_seen else "", check_of(item))


@access_pattern("note that a link works", "1 update")
def works(linked: DealLink) -> None:
    """Forget what was found before: the link works. 1 update, none where nothing was found."""
    if linked.check is None or not linked.check.failures:
        return
    try:
        table.write(Update(key=keys.deal(linked.deal_id), remove=("link_check",), when=_unchanged(linked)))
    except Conflict:
        return  # it has another link by now, or is gone, or somebody else found the same


@access_pattern("note that a link is broken, look again later", "1 transaction")
def fails(linked: DealLink, reason: str, *, now: datetime) -> None:
    """Note that nothing is behind a link; the first time, with a job that looks again some hours later.

    A failure within those hours of the one before does not count again: a round that was interrupted
    may come by twice.
    """
    known = linked.check if linked.check and linked.check.failures else None
    again = known is not None and known.last is not None and now - known.last < APART
    failures = (known.failures if known else 0) + (0 if again else 1)
    kept = {
        "link": linked.link,
        "failures": failures,
        "since": iso(known.since if known and known.since else now),
        "last": iso(known.last if again and known and known.last else now),
        "reason": reason,
    }
    note = Update(key=keys.deal(linked.deal_id), set={"link_check": kept}, when=_unchanged(linked))
    writes: list[Write] = [note]
    if failures < BROKEN and not again:
        writes.append(_job(linked.deal_id, due=now + APART, now=now))
    try:
        table.transact(writes)
    except Conflict:
        return  # as in `works`


def _unchanged(linked: DealLink) -> tuple[Condition, ...]:
    """Return the conditions that a deal still has the link, and that nobody else noted anything of it meanwhile."""
    same_link = equals("link", linked.link)
    if linked.check is None:
        return same_link, either(missing("link_check"), differs(("link_check", "link"), linked.link))
    path: Path = "link_check", "failures"
    return same_link, equals(path, linked.check.failures) if linked.check.failures else missing(path)


@access_pattern("check a link at once", "1 put")
def check_again(deal_id: str, *, now: datetime) -> None:
    """Have the worker check a deal's link at once."""
    table.write(_job(deal_id, due=now, now=now))


@access_pattern("take an editor's word for a link", "1 transaction")
def accept(
    deal_id: str, *, link: str, by: str, now: datetime, audit_context: AuditContext = NO_CONTEXT
) -> None:
    """Take an editor's word that a link is fine: for 30 days it is neither checked nor called broken.

    VersionConflict if the deal has another link by now, or is gone.
    """
    kept = {"link": link, "accepted_until": iso(now + ACCEPTED)}
    same = (equals("link", link),)
    note = Update(key=keys.deal(deal_id), set={"link_check": kept}, when=same, otherwise=_other_link())
    entry = _entry(deal_id, "called the link fine", link, by=by, now=now)
    table.transact([note, entry, *audit_context.writes])


@access_pattern("take an editor's word for a link no longer", "1 transaction")
def take_back(
    deal_id: str, *, link: str, by: str, now: datetime, audit_context: AuditContext = NO_CONTEXT
) -> None:
    """Take that back, and have the worker check the link at once. VersionConflict as above."""
    same = (equals("link", link),)
    forget = Update(key=keys.deal(deal_id), remove=("link_check",), when=same, otherwise=_other_link())
    entry = _entry(deal_id, "had the link checked again", link, by=by, now=now)
    table.transact([forget, _job(deal_id, due=now, now=now), entry, *audit_context.writes])


def _other_link() -> VersionConflict:
    return VersionConflict(_("This deal has another link by now."))


def _entry(deal_id: str, what: str, link: str, *, by: str, now: datetime) -> Put:
    return audit.entry_write(by=by, kind="deal", subject=deal_id, what=what, now=now, note=link[:500])


# Rounds: one a week, over all deals that have not expired


@access_pattern("begin this week's round over all links", "1 put")
def begin_round(*, now: datetime) -> bool:
    """Begin this week's round over all links, unless it is there; tell whether it was begun."""
    try:
        table.write(jobs.job_write(CHECK_LINKS, RoundPayload(), job_id=round_id(now), due=now))
    except Conflict:
        return False
    return True


def round_id(now: datetime) -> str:
    """Return the id of the job that is the round of a week (UTC, from Monday on)."""
    monday = (now - timedelta(days=now.weekday())).replace(hour=0, minute=0, second=0, microsecond=0)
    return first_ulid_of(monday)


def _job(deal_id: str, *, due: datetime, now: datetime) -> Put:
    return jobs.job_write(CHECK_LINK, LinkPayload(deal_id), job_id=new_ulid(now), due=due)
