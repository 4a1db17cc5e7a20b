"""Featured lists planned for a time: a job sets each, once, unless somebody set the page by hand meanwhile.

    planned -> set | put aside | cancelled        put aside -> planned | set | cancelled

A plan holds on top of the list that its editor saw (`base`: the version that was last set by hand). Where
that is no longer the page's, the plan is put aside and editors are shown so; plans of one page that
follow each other do not disturb each other, since no plan counts as a hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.catalogue import featured
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.catalogue.featured import FeaturedEntry, FeaturedPage
from dealsite.data.editing import audit
from dealsite.data.editing.audit import AuditContext
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.taxonomy import CANCELLED, FEATURED_PLAN, OPEN, PLANNED, PUT_ASIDE, SET
from dealsite.data.entities.work import SITE
from dealsite.data.jobs import payloads
from dealsite.data.jobs.jobs import Cancelled, Handler, Job, cancel_write, job_write
from dealsite.data.people import users
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import epoch_seconds, is_ulid, iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, Write, absent, at_version

SET_PLANNED = "set_featured"  # the kind of job that carries out a plan
MOST_SHOWN = 200  # of those that are set or cancelled
MOST_MOVED = 40  # with a deal that moves to another id; one transaction has room for no more
MOST_READ = 2_000  # six a page and day, for as long as they are kept, leave room for those to come
KEPT = timedelta(days=30)  # that what became of a plan can be seen


class PlanChanged(Conflict):
    """The plan was changed, carried out or cancelled meanwhile."""

    def __init__(self) -> None:
        super().__init__(_("This plan was changed, carried out or cancelled meanwhile."))


@dataclass(frozen=True, slots=True)
class PlanPayload:
    """The plan whose list is to be set."""

    plan: str


@dataclass(frozen=True, slots=True)
class FeaturedPlan:
    """A list for a page from a time on.

    `why` says why it was put aside: `hand` (somebody set the page meanwhile), `gone` (none of its deals holds any more)
    or `left` (whoever planned it is no editor any more); `left_out` are the titles of deals that it was set without.
    """

    id: str
    page: str
    deals: tuple[FeaturedEntry, ...]
    at: datetime
    base: int
    state: str
    version: int
    job: str
    by: str
    updated_at: datetime
    why: str = ""
    left_out: tuple[str, ...] = ()
    last_edit: str = ""

    @property
    def ids(self) -> list[str]:
        return [deal.id for deal in self.deals]

    @property
    def title(self) -> str:
        """The page's."""
        return page_names()[self.page]

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


def plan_item(plan: FeaturedPlan) -> Item:
    """Return a plan as it is stored."""
    ttl = None if plan.is_open else epoch_seconds(plan.updated_at + KEPT)
    return FEATURED_PLAN.item(_store_plan(plan) | {"ttl": ttl})


from_item, _store_plan = reader(FEATURED_PLAN.shape, FeaturedPlan), writer(FEATURED_PLAN.shape, FeaturedPlan)


@access_pattern("plan a featured list for a time", "1 transaction")
def create(
    page: FeaturedPage, deals: Sequence[FeaturedEntry], *, at: datetime, plan_id: str, by: str, now: datetime
) -> FeaturedPlan:
    """Plan a list on top of the one that an editor saw; the same id again returns what is there.

    Invalid for a time that has passed, for no deal, more than 24 or one twice.
    """
    _check(deals, at, now)
    plan = FeaturedPlan(plan_id, page.id, tuple(deals), at, page.by_hand, PLANNED, 1, new_ulid(now), by, now)
    plan = replace(plan, last_edit=plan.job)
    put = Put(
        key=keys.featured_plan(plan_id), item=plan_item(plan), when=(absent(),), otherwise=AlreadyExists()
    )
    try:
        table.transact([put, _job(plan), _audit_entry(plan, "planned a featured list", by=by, now=now)])
    except AlreadyExists:
        return get(plan_id)
    return plan


@access_pattern("one planned list", "1 get")
def get(plan_id: str) -> FeaturedPlan:
    """Return a plan, or raise NotFound."""
    item = table.get(keys.featured_plan(plan_id)) if is_ulid(plan_id) else None
    if item is None:
        raise NotFound(_("There is no such plan, or no longer."))
    return from_item(item)


@access_pattern("all planned lists, and what became of the last ones", "1 query")
def newest() -> list[FeaturedPlan]:
    """Return the plans of all pages: those to come by their time, then what became of the last 200 others."""
    low, high = keys.featured_plan.between()
    partition = keys.featured_plan.partition()
    rows = table.query(partition, low=low, high=high, newest_first=True, limit=MOST_READ, consistent=True)
    plans = [from_item(row) for row in rows]
    waiting = sorted((plan for plan in plans if plan.is_open), key=lambda plan: plan.at)
    return waiting + [plan for plan in plans if not plan.is_open][:MOST_SHOWN]


@access_pattern("change a planned list", "1 transaction")
def change(
    plan: FeaturedPlan,
    page: FeaturedPage,
    deals: Sequence[FeaturedEntry],
    *,
    at: datetime,
    by: str,
    now: datetime,
) -> FeaturedPlan:
    """Plan another list or time, on top of the page's list of now; PlanChanged if it is no longer as given.

    Invalid as in `create`.
    """
    _check(deals, at, now)
    job = new_ulid(now)
    changed = replace(
        plan, deals=tuple(deals), at=at, base=page.by_hand, state=PLANNED, job=job, why="", by=by
    )
    return _change(plan, changed, "changed a planned list", [_job(changed)], by=by, now=now)


@access_pattern("cancel a planned list", "1 transaction")
def cancel(plan: FeaturedPlan, *, by: str, now: datetime) -> FeaturedPlan:
    """Give up a plan; harmless if it is given up. PlanChanged."""
    if plan.state == CANCELLED:
        return plan
    return _change(plan, replace(plan, state=CANCELLED), "cancelled a planned list", [], by=by, now=now)


def moved_writes(old_id: str, new_id: str, *, now: datetime) -> list[Write]:
    """Return the writes that keep a deal in the next 40 lists planned with it when it moves to a new id. 1 query."""
    plans = [plan for plan in newest() if plan.is_open and old_id in plan.ids]
    return [
        _put(plan, replace(plan, deals=tuple(_moved(deal, old_id, new_id) for deal in plan.deals)), now)
        for plan in plans[:MOST_MOVED]
    ]


def _moved(deal: FeaturedEntry, old_id: str, new_id: str) -> FeaturedEntry:
    return replace(deal, id=new_id) if deal.id == old_id else deal


def set_now_writes(plan: FeaturedPlan, *, now: datetime) -> list[Write]:
    """Return the writes that mark a plan as set by hand before its time, for the transaction that sets its list."""
    return [_put(plan, replace(plan, state=SET), now), *_end_job(plan)]


@access_pattern("set a planned list, or put it aside", "2 gets + 1 batch get + 1 transaction")
def set_planned(job: Job, now: datetime) -> datetime | None:
    """Set the list of a plan whose time has come, without what expired or was deleted; or put it aside."""
    try:
        plan = get(payloads.payload_from_item(PlanPayload, job.payload).plan)
    except NotFound as gone:
        raise Cancelled("The plan is gone.") from gone
    if plan.job != job.id or plan.state == CANCELLED:
        raise Cancelled("The plan was changed or cancelled.")
    if plan.state != PLANNED:
        return None  # an earlier try did it, and could not say so
    page, found = featured.load(plan.page, plan.ids)
    there = [
        found[one]
        for one in plan.ids
        if one in found and not ((ends := found[one].card.expires_at) and ends <= now)
    ]
    kept = {deal.id for deal in there}
    left_out = tuple(deal.title for deal in plan.deals if deal.id not in kept)
    try:
        if not users.is_editor(plan.by):
            _skip(plan, "left", now=now)
        elif page.by_hand != plan.base:
            _skip(plan, "hand", now=now)
        elif not there:
            _skip(plan, "gone", now=now)
        else:
            done = _put(plan, replace(plan, state=SET, left_out=left_out), now)
            featured.set_featured(
                page,
                there,
                version=page.version,
                by=plan.by,
                now=now,
                audit_context=AuditContext("as planned", (done,)),
                planned=True,
            )
    except (PlanChanged, VersionConflict, NotFound):
        return now  # the page, a deal or the plan changed at this very moment: look again
    return None


def _skip(plan: FeaturedPlan, why: str, *, now: datetime) -> None:
    aside = replace(plan, state=PUT_ASIDE, why=why)
    entry = _audit_entry(aside, "put a planned list aside", by=SITE, now=now)
    table.transact([_put(plan, aside, now), entry])


def _change(
    plan: FeaturedPlan, changed: FeaturedPlan, what: str, writes: list[Write], *, by: str, now: datetime
) -> FeaturedPlan:
    changed = replace(changed, version=plan.version + 1, updated_at=now, last_edit=new_ulid(now))
    entry = _audit_entry(changed, what, by=by, now=now)
    table.transact([_put(plan, changed, now), *_end_job(plan), *writes, entry])
    return changed


def _put(plan: FeaturedPlan, changed: FeaturedPlan, now: datetime) -> Put:
    """Return the write of a changed plan, which holds while the plan is open and as it was."""
    if not plan.is_open:
        raise PlanChanged
    changed = replace(changed, version=plan.version + 1, updated_at=now)
    return Put(
        key=keys.featured_plan(plan.id),
        item=plan_item(changed),
        when=at_version(plan.version),
        otherwise=PlanChanged(),
    )


def _end_job(plan: FeaturedPlan) -> list[Write]:
    """Return the write that ends the job of a plan which still waits for it."""
    return [cancel_write(SET_PLANNED, plan.job)] if plan.state == PLANNED else []


def _job(plan: FeaturedPlan) -> Put:
    card = {"page": plan.page, "plan": plan.id}
    return job_write(SET_PLANNED, PlanPayload(plan.id), job_id=plan.job, due=plan.at, card=card)


def _audit_entry(plan: FeaturedPlan, what: str, *, by: str, now: datetime) -> Put:
    after = {"deals": featured.in_lines(plan.deals), "from": iso(plan.at)}
    return audit.entry_write(by=by, kind="page", subject=plan.page, what=what, now=now, after=after)


def _check(deals: Sequence[FeaturedEntry], at: datetime, now: datetime) -> None:
    if at <= now:
        raise Invalid(at=_("This time has passed. Choose a later one."))
    if not deals:
        raise Invalid(deals=_("Put at least one deal into the list."))
    featured.check_ids([deal.id for deal in deals])


HANDLERS: dict[str, Handler] = {SET_PLANNED: set_planned}
