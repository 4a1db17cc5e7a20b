"""The jobs of accounts: what a deleted user leaves behind, many messages and watches at once. Each may run twice."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from dealsite.data.catalogue import relations
from dealsite.data.commerce import cart_changes, order_record
from dealsite.data.editing import saved_views
from dealsite.data.entities.work import SITE
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.people import messages, sessions
from dealsite.data.people.users import REMOVE_USER, RemovalPayload

SECOND_LOOK = timedelta(minutes=1)  # more than an index lags behind, and a batch of messages takes
BATCH = 100
BATCHES_AT_ONCE = 10  # well within the time of a lease

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


@dataclass(frozen=True, slots=True)
class RemovalCheckpoint:
    """Whether what a deleted user left was looked for once."""

    looked: bool | None = None


def remove_user(job: Job, now: datetime) -> datetime | None:
    """Remove what a deleted user leaves behind: sessions, messages, cart, saved views, likes, watches and counts.

    What runs for them just now is paused, as of an editor who lost the role.
    It goes on after its turn while there are messages, and runs once more when the indexes have caught up, and whoever
    was about to send them a message has done so. 1 query a page of each + 1 write each.
    """
    began = monotonic()
    username = payload_from_item(RemovalPayload, job.payload).username
    sessions.end_all(username)
    sessions.stop_running(username, by=SITE, now=now)
    relations.remove_all(username)
    cart_changes.clear(username)
    saved_views.forget(username)
    while messages.delete_all(username, limit=BATCH):
        if (spent := monotonic() - began) >= jobs.TURN_SECONDS:
            return now + timedelta(seconds=spent)
    if payload_from_item(RemovalCheckpoint, job.checkpoint).looked:
        return None
    jobs.save_checkpoint(job, payload_to_item(RemovalCheckpoint(looked=True)), now=now)
    return now + SECOND_LOOK


def read_all(job: Job, now: datetime) -> datetime | None:
    """Mark many messages read, some hundreds at a time. 1 query for each 100 + 1 update each."""
    payload = payload_from_item(messages.ReadAllPayload, job.payload)
    read = partial(messages.mark_all_read, payload.username, until=payload.until, limit=BATCH, now=now)
    return now if all(read() == BATCH for _ in range(BATCHES_AT_ONCE)) else None


def mute_all(job: Job, now: datetime) -> datetime | None:
    """Mute many watches, or hear them again, some hundreds at a time. 1 query for each 100 + 1 update each."""
    payload = payload_from_item(relations.MuteAllPayload, job.payload)
    mute = partial(relations.mute_all, payload.username, muted=payload.muted, limit=BATCH)
    return now if all(mute() == BATCH for _ in range(BATCHES_AT_ONCE)) else None


HANDLERS: dict[str, Handler] = {
    order_record.USE_CARD: order_record.use_card,
    REMOVE_USER: remove_user,
    messages.READ_ALL: read_all,
    relations.MUTE_ALL: mute_all,
}
