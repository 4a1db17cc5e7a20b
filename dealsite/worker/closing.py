"""The worker's part of closing days: each night, payments processed until midnight (UTC) move to the history."""

from datetime import UTC, timedelta

from dealsite.data.commerce.payment import day_closing
from dealsite.worker.held_job import HeldJob


def close_day(held: HeldJob) -> str:
    """Close yesterday, and days before it that never were; say how many payments were moved."""
    day = held.clock().astimezone(UTC).date() - timedelta(days=1)
    shards = range(day_closing.SHARDS)
    return day_closing.in_words(sum(day_closing.close_shard(day, one, advance=held.renew) for one in shards))
