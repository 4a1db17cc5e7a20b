"""The worker's part of checks: once a night it checks a small table whole, and of a large one a sample.

What it finds goes to the quarantine. At night nothing is repaired: a repair of what a fault of the site itself damages
would hide it, so that is for somebody who looks.
"""

import structlog

from dealsite.accounts import second_factor
from dealsite.data.integrity import check_runs, checks, quarantine, sample
from dealsite.data.integrity.check_runs import CheckRun
from dealsite.data.integrity.pace import Pace
from dealsite.data.integrity.problem import Problem
from dealsite.data.table.ids import new_ulid
from dealsite.worker.held_job import HeldJob

WHOLE_ITEMS = 100_000  # a table of more is checked by samples
WHOLE_TRIES = 2  # a worker that has too little memory for it would end each time
RATE = 2000  # items a second
SECONDS = 300.0  # for a sample: 600,000 items at that rate

logger = structlog.get_logger(__name__)


def check_table(held: HeldJob, *, pace: Pace | None = None) -> str:
    """Check the table, or a sample of it, keep what was found, and say how much that was."""
    pace = pace or Pace(RATE)
    pace.then = held.renew
    problems, position = list[Problem](), None
    is_whole = check_runs.known_items() <= WHOLE_ITEMS and held.job.tries <= WHOLE_TRIES
    if is_whole:
        problems = checks.find(pace)
    else:
        taken = sample.check(
            check_runs.position(), is_enough=lambda items: pace.seconds >= SECONDS, seen=pace
        )
        problems, position = taken.problems, taken.position
    items = pace.items
    kept = quarantine.keep(problems, is_complete=is_whole, now=held.clock(), seen=pace)
    found = CheckRun(
        id=new_ulid(held.began),
        scope="whole" if is_whole else "sample",
        by="worker",
        items=items,
        seconds=round(pace.seconds),
        problems=len(problems),
        new=kept.new,
        unreadable=second_factor.unreadable(then=held.renew),
        position=position,
    )
    held.hold()  # whoever has taken it meanwhile notes what they find
    check_runs.save(found, now=held.clock())
    level = logger.warning if kept.new else logger.info
    level("nightly_check", job=held.job.id, items=items, problems=len(problems), new=kept.new)
    return f"{len(problems):,} problems, {kept.new:,} of them new, in {items:,} items."
