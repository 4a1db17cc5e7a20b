"""Featured lists planned for a time: a job sets each, once, unless somebody set the page by hand meanwhile.

    planned -> set | put aside | cancelled        put aside -> planned | set | cancelled

A plan holds on top of the list that its editor saw (`base`: the version that was last set by hand). Where
that is no longer the page's, the plan is put aside and editors are shown so; plans of one page that
follow each other do not disturb each other, since no plan counts as a hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from dealsite.data import audit, featured, keys, table
from dealsite.data.audit import Errand
from dealsite.data.convert import Item
from dealsite.data.errors import AlreadyExists, Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.featured import MAX_CARDS, PAGES, FeaturedPage
from dealsite.data.featured_versions import Listed
from dealsite.data.ids import epoch_seconds, from_iso, is_ulid, iso, new_ulid
from dealsite.data.jobs import Cancelled, Handler, Job, cancel_write, job_write
from dealsite.data.writes import Put, Write, absent, at_version

SET_PLANNED = "set_featured"  # the kind of job that carries out a plan
MOST_SHOWN = 200  # of those that are set or cancelled
MOST_READ = (
    2_000  # six a page and day, for as long as what became of them is kept, leave room for those to come
)
KEPT = timedelta(days=30)  # that what became of a plan can be seen
PLANNED, SET, PUT_ASIDE, CANCELLED = "planned", "set", "put aside", "cancelled"
OPEN = (PLANNED, PUT_ASIDE)


class PlanChanged(Conflict):
    """The plan was changed, carried out or cancelled meanwhile."""

    def __init__(self) -> None:
        super().__init__(_("This plan was changed, carried out or cancelled meanwhile."))


@dataclass(frozen=True, slots=True)
class Plan:
    """A list for a page from a time on.

    `why` says why it was put aside: `hand` (somebody set the page meanwhile) or `gone` (none of its deals holds
    any more); `left_out` are the titles of deals that it was set without.
    """

    id: str
    page: str
    deals: tuple[Listed, ...]
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
        return str(PAGES[self.page])

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


def create(
    page: FeaturedPage, deals: Sequence[Listed], *, at: datetime, plan_id: str, by: str, now: datetime
) -> Plan:
    """Plan a list on top of the one that an editor saw; the same id again returns what is there.

    Invalid for a time that has passed, for no deal, more than 24 or one twice. 1 transaction.
    """
    _check(deals, at, now)
    plan = Plan(plan_id, page.id, tuple(deals), at, page.by_hand, PLANNED, 1, new_ulid(now), by, now)
    plan = replace(plan, last_edit=plan.job)
    put = Put(key=keys.featured_plan(plan_id), item=_item(plan), when=(absent(),), otherwise=AlreadyExists())
    try:
        table.transact([put, _job(plan), _noted(plan, "planned a featured list", by=by, now=now)])
    except AlreadyExists:
        return get(plan_id)
    return plan


def get(plan_id: str) -> Plan:
    """Return a plan, or raise NotFound. 1 get."""
    item = table.get(keys.featured_plan(plan_id)) if is_ulid(plan_id) else None
    if item is None:
        raise NotFound(_("There is no such plan, or no longer."))
    return from_item(item)


def newest() -> list[Plan]:
    """Return the plans of all pages: those to come by their time, then what became of the last 200 others. 1 query."""
    low, high = keys.prefix(keys.FEATURED_PLAN)
    rows = table.query(
        keys.FEATURED_PLANS, low=low, high=high, newest_first=True, limit=MOST_READ, consistent=True
    )
    plans = [from_item(row) for row in rows]
    waiting = sorted((plan for plan in plans if plan.is_open), key=lambda plan: plan.at)
    return waiting + [plan for plan in plans if not plan.is_open][:MOST_SHOWN]


def change(
    plan: Plan, page: FeaturedPage, deals: Sequence[Listed], *, at: datetime, by: str, now: datetime
) -> Plan:
    """Plan another list or time, on top of the page's list of now; PlanChanged if it is no longer as given.

    Invalid as in `create`. 1 transaction.
    """
    _check(deals, at, now)
    job = new_ulid(now)
    changed = replace(
        plan, deals=tuple(deals), at=at, base=page.by_hand, state=PLANNED, job=job, why="", by=by
    )
    return _change(plan, changed, "changed a planned list", [_job(changed)], by=by, now=now)


def cancel(plan: Plan, *, by: str, now: datetime) -> Plan:
    """Give up a plan; harmless if it is given up. PlanChanged. 1 transaction."""
    if plan.state == CANCELLED:
        return plan
    return _change(plan, replace(plan, state=CANCELLED), "cancelled a planned list", [], by=by, now=now)


def set_now(plan: Plan, *, now: datetime) -> Errand:
    """Return what marks a plan as set by hand before its time, for the transaction that sets its list."""
    return Errand("as planned", (_put(plan, replace(plan, state=SET), now), *_end_job(plan)))


def set_planned(job: Job, now: datetime) -> datetime | None:
    """Set the list of a plan whose time has come, without what expired or was deleted; or put it aside.

    1 get + 1 batch get + 1 transaction.
    """
    try:
        plan = get(job.payload["plan"])
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
    missing = [deal.title for deal in plan.deals if deal.id not in kept]
    try:
        if page.by_hand != plan.base:
            _put_aside(plan, "hand", now=now)
        elif not there:
            _put_aside(plan, "gone", now=now)
        else:
            done = replace(plan, state=SET, left_out=tuple(missing))
            errand = Errand("as planned", (_put(plan, done, now),))
            featured.set_featured(
                page, there, version=page.version, by=plan.by, now=now, errand=errand, planned=True
            )
    except (PlanChanged, VersionConflict, NotFound):
        return now  # the page, a deal or the plan changed at this very moment: look again
    return None


def _put_aside(plan: Plan, why: str, *, now: datetime) -> None:
    aside = replace(plan, state=PUT_ASIDE, why=why)
    entry = _noted(aside, "put a planned list aside", by=audit.SITE, now=now)
    table.transact([_put(plan, aside, now), entry])


def _change(plan: Plan, changed: Plan, what: str, writes: list[Write], *, by: str, now: datetime) -> Plan:
    token = new_ulid(now)
    changed = replace(changed, version=plan.version + 1, updated_at=now, last_edit=token)
    entry = _noted(changed, what, by=by, now=now)
    try:
        table.transact([_put(plan, changed, now), *_end_job(plan), *writes, entry])
    except PlanChanged:
        if get(plan.id).last_edit != token:  # else it was this very write, whose answer was lost
            raise
    return changed


def _put(plan: Plan, changed: Plan, now: datetime) -> Put:
    """Return the write of a changed plan, which holds while the plan is open and as it was."""
    if not plan.is_open:
        raise PlanChanged
    changed = replace(changed, version=plan.version + 1, updated_at=now)
    return Put(
        key=keys.featured_plan(plan.id),
        item=_item(changed),
        when=at_version(plan.version),
        otherwise=PlanChanged(),
    )


def _end_job(plan: Plan) -> list[Write]:
    """Return the write that ends the job of a plan which still waits for it."""
    return [cancel_write(plan.job)] if plan.state == PLANNED else []


def _job(plan: Plan) -> Put:
    card = {"page": plan.page, "plan": plan.id}
    return job_write(SET_PLANNED, {"plan": plan.id}, job_id=plan.job, due=plan.at, card=card)


def _noted(plan: Plan, what: str, *, by: str, now: datetime) -> Put:
    listed = "\n".join(f"{n}. {deal.title} ({deal.id})" for n, deal in enumerate(plan.deals, 1))
    after = {"deals": listed, "from": iso(plan.at)}
    return audit.entry_write(by=by, kind="page", subject=plan.page, what=what, now=now, after=after)


def _check(deals: Sequence[Listed], at: datetime, now: datetime) -> None:
    if at <= now:
        raise Invalid(at=_("This time has passed. Choose a later one."))
    if not deals:
        raise Invalid(deals=_("Put at least one deal into the list."))
    if len(deals) > MAX_CARDS:
        sentence = _("A page features up to %(most)d deals; remove %(more)d.")
        raise Invalid(deals=sentence % {"most": MAX_CARDS, "more": len(deals) - MAX_CARDS})
    if len({deal.id for deal in deals}) != len(deals):
        raise Invalid(deals=_("A deal can be featured once on a page."))


def _item(plan: Plan) -> Item:
    return {
        "type": "FeaturedPlan",
        "id": plan.id,
        "page": plan.page,
        "deals": [deal.as_item() for deal in plan.deals],
        "at": iso(plan.at),
        "base": plan.base,
        "state": plan.state,
        "version": plan.version,
        "job": plan.job,
        "by": plan.by,
        "updated_at": iso(plan.updated_at),
        "why": plan.why,
        "left_out": list(plan.left_out),
        "last_edit": plan.last_edit,
        "ttl": None if plan.is_open else epoch_seconds(plan.updated_at + KEPT),
    }


def from_item(item: Item) -> Plan:
    """Return the plan of its item."""
    return Plan(
        id=item["id"],
        page=item["page"],
        deals=tuple(Listed(deal["id"], deal["title"]) for deal in item["deals"]),
        at=from_iso(item["at"]),
        base=item["base"],
        state=item["state"],
        version=item["version"],
        job=item["job"],
        by=item["by"],
        updated_at=from_iso(item["updated_at"]),
        why=item.get("why", ""),
        left_out=tuple(item.get("left_out", ())),
        last_edit=item.get("last_edit", ""),
    )


HANDLERS: dict[str, Handler] = {SET_PLANNED: set_planned}
