"""How long is kept what nobody needs for good, by kind; DEALSITE_RETENTION changes single spans.

Settings read this chart, so it asks nothing of them. Orders, payments and what belongs to them are in none: the law
wants them kept.
"""

import re
from dataclasses import dataclass
from datetime import timedelta

NEVER = "never"
DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
SPAN = re.compile(r"([a-z]+)=(?:([1-9][0-9]{0,3})([dwmy])|never)")
LONGEST = timedelta(days=50 * 365)
Spans = dict[str, timedelta | None]  # by kind; None: for good


@dataclass(frozen=True, slots=True)
class Retention:
    """One kind of what is kept: what it is, from when its span counts, and the span if nothing else is said."""

    kind: str
    what: str
    since: str
    span: str
    may_be_for_good: bool = True


CHART = (
    Retention("messages", "messages in users' inboxes, read or not", "it was sent", "180d"),
    Retention("read", "messages that were read", "it was read, never longer than `messages`", "90d"),
    Retention(
        "jobs",
        "jobs that are done or cancelled, and mails that failed; "
        "not those of announcements and imports, which others name",
        "a worker took it last",
        "90d",
    ),
    Retention("audit", "entries of the audit log", "it was written", "2y"),
    Retention("events", "entries of the security log", "it was written", "1y"),
    Retention("exports", "files that the CMS was asked for", "it was asked for", "7d", may_be_for_good=False),
    Retention("drafts", "drafts: they go to the trash, and from there after 30 days", "it was saved", NEVER),
    Retention(
        "versions", "earlier versions of deals and drafts, of which 200 are kept", "it was made", NEVER
    ),
)


def read(changes: str) -> Spans:
    """Return the span of every kind; `changes` are written as `messages=30d audit=never`.

    ValueError says what they should be.
    """
    usual = dict(_span(f"{one.kind}={one.span}") for one in CHART)
    changed = dict(_span(word) for word in changes.split())
    if unknown := sorted(changed.keys() - usual.keys()):
        raise ValueError(f"spans of some of {', '.join(usual)} ({unknown[0]!r} is none)")
    spans = usual | changed
    for one in CHART:
        if spans[one.kind] is None and not one.may_be_for_good:
            raise ValueError(f"a span for {one.kind}, which cannot be kept for good")
    exports, jobs = spans["exports"], spans["jobs"]
    if exports is not None and jobs is not None and exports > jobs:
        raise ValueError("no longer for exports than for jobs")
    return spans


def _span(word: str) -> tuple[str, timedelta | None]:
    found = SPAN.fullmatch(word)
    if found is None:
        raise ValueError("spans like messages=30d audit=2y drafts=never")
    kind, number, unit = found.groups()
    span = timedelta(days=int(number) * DAYS[unit]) if number else None
    if span is not None and span > LONGEST:
        raise ValueError(f"spans of up to {LONGEST.days // 365} years, or never")
    return kind, span
