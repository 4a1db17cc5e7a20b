"""The worker's part of retention: applies changed spans to what is there, and says what came of it."""

from collections.abc import Callable
from datetime import datetime

from dealsite.data.integrity import retention


def apply_retention(renew: Callable[[], object], *, now: datetime, again: bool = False) -> str:
    """Apply the spans of keeping, and return what was done; `renew` is called at least each 500 items."""
    done = retention.apply(now=now, renew=renew, again=again)
    refused = f" {done.refused:,} could not be changed." if done.refused else ""
    return (
        f"{done.items:,} items go at another time now, {done.drafts:,} old drafts went to the trash.{refused}"
    )
