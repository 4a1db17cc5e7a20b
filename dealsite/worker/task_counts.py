"""Counts each minute what there is to do in the CMS, for the menu of each page."""

from datetime import datetime, timedelta

from dealsite.data.catalogue import entries
from dealsite.data.commerce import orders
from dealsite.data.commerce.payment import payment_lists
from dealsite.data.entities.payments import FAILED
from dealsite.data.jobs import task_counts
from dealsite.data.jobs.task_counts import MOST, TaskCounts
from dealsite.search.finding import find
from dealsite.search.question import Question

EVERY = timedelta(minutes=1)
FAILED_SINCE = timedelta(days=90)  # what failed before nobody will pay any more
TRIED_UNTIL = timedelta(days=30)  # a failed payment is listed by when it is tried again


def count(*, now: datetime) -> TaskCounts:
    """Count and store it. 1 batch get + 24 queries + 1 put; drafts are those that the search index has."""
    failed = payment_lists.of_status(
        FAILED, (now - FAILED_SINCE).date(), (now + TRIED_UNTIL).date(), limit=MOST
    )
    counts = TaskCounts(
        drafts=min(find(Question(kind="draft", for_editors=True), now=now, size=1).total, MOST),
        featured=len(list(entries.look({}, pages=True).over(now))),
        orders=orders.number_to_ship(MOST),
        payments=len(failed.rows),
    )
    task_counts.store(counts, now=now)
    return counts
