"""The worker's part of checks: once a night it checks a small table whole, and of a large one a sample.

What nothing can be derived for is mailed to whom the settings name. At night nothing is repaired: a repair of what a
fault of the site itself damages would hide it, so that is for somebody who looks.
"""

from dataclasses import dataclass

import structlog
from django.conf import settings
from django.utils.translation import gettext_lazy

from dealsite.accounts import second_factor
from dealsite.data.integrity import checks, sample
from dealsite.data.integrity.pace import Pace
from dealsite.data.integrity.problem import Problem
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.home import COMMAND
from dealsite.management.progress import printable
from dealsite.worker import alarms
from dealsite.worker.held_job import HeldJob

WHOLE_ITEMS = 100_000  # a table of more is checked by samples
WHOLE_TRIES = 2  # a worker that has too little memory for it would end each time
RATE = 2000  # items a second
SECONDS = 300.0  # for a sample: 600,000 items at that rate
MOST_KINDS, MOST_KEYS = 20, 3  # in a mail

logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ProblemKind:
    """Problems that are alike: their sentence without its values, how many they are, and the keys of some."""

    sentence: str
    number: int
    keys: list[str]


def check_table(held: HeldJob, *, pace: Pace | None = None) -> str:
    """Check the table, or a sample of it, mail what nothing can be derived for, and say how much was found."""
    pace = pace or Pace(RATE)
    pace.then = held.renew
    problems, position = list[Problem](), None
    is_whole = sample.known_items() <= WHOLE_ITEMS and held.job.tries <= WHOLE_TRIES
    if is_whole:
        problems = checks.find(pace)
    else:
        taken = sample.check(
            sample.last_position(), is_enough=lambda items: pace.seconds >= SECONDS, seen=pace
        )
        problems, position = taken.problems, taken.position
    items = pace.items
    found = CheckResult(
        scope="whole" if is_whole else "sample",
        items=items,
        problems=len(problems),
        unreadable=second_factor.unreadable(then=held.renew),
        position=position,
    )
    held.hold()  # whoever has taken it meanwhile mails what they find
    left = [problem for problem in problems if not problem.repairs]
    level = logger.warning if problems else logger.info
    level("nightly_check", job=held.job.id, items=items, problems=len(problems), left=len(left))
    if left and settings.DEALSITE_ALARM_MAIL:
        _mail(left)
    held.check = found
    return f"{len(problems):,} problems, {len(left):,} of them not to be derived, in {items:,} items."


def _mail(left: list[Problem]) -> None:
    kinds = _alike(left)
    try:
        alarms.mail(
            gettext_lazy("The table has problems"),
            "table_problems",
            number=len(left),
            kinds=kinds[:MOST_KINDS],
            more=len(kinds[MOST_KINDS:]),
            command=COMMAND,
        )
    except OSError as error:  # of the mail server; the page Operations says it, too
        logger.warning("nightly_check_not_sent", error=repr(error))


def _alike(problems: list[Problem]) -> list[ProblemKind]:
    """Return the kinds of some problems, those with the most first."""
    keys: dict[str, list[str]] = {}
    for problem in problems:
        keys.setdefault(printable(problem.kind), []).append(printable(" / ".join(problem.key)))
    found = [ProblemKind(sentence, len(of_kind), of_kind[:MOST_KEYS]) for sentence, of_kind in keys.items()]
    return sorted(found, key=lambda one: (-one.number, one.sentence))
