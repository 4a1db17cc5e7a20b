import re
import resource
import time

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.accounts import second_factor
from dealsite.data import table
from dealsite.data.integrity import checks, checks as sampling
from dealsite.data.integrity.problem import STEP, Pace, Problem
from dealsite.data.jobs.command_runs import CHECK_TABLE, CheckResult
from dealsite.management.command import BadArguments, Progress, SiteCommand
from dealsite.web.log_lines import printable

SAMPLE = re.compile(r"(?P<share>\d{1,3}(\.\d+)?)%|(?P<seconds>\d{1,6})s?")


class Command(SiteCommand):
    help = (
        "Recompute keys, index rows, counters, days, brand names, featured cards, e-mail guards and the number of "
        "users from the items, and report what differs. Ends with 1 if anything does. Safe while the site runs."
    )

    kind = CHECK_TABLE

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--repair",
            action="store_true",
            help="repair what can be derived, and delete items of retired types",
        )
        parser.add_argument(
            "--rate",
            type=int,
            default=0,
            help="items a second at most, so that a busy site is not slowed down",
        )
        parser.add_argument(
            "--sample",
            default="",
            help="look at items one by one from where the last sample left off: 10%% of the table, or for 30s",
        )

    def work(self, repair: bool, rate: int, sample: str) -> str:
        asked = SAMPLE.fullmatch(sample)
        if (sample and not asked) or rate < 0:
            raise BadArguments("Say --sample 10% or --sample 30s, and a --rate above 0.")
        known = sampling.known_items(now=timezone.now())
        with Progress("Checking", known, self.stderr) as progress:
            pace = Pace(rate, lambda: _advance(progress, known))
            repaired, left, position = self._check(asked, repair, pace, known)
            progress.total = progress.done = pace.items
        self.found = CheckResult(
            scope="sample" if asked else "whole",
            items=pace.items,
            problems=len(repaired) + len(left),
            repaired=len(repaired),
            unreadable=second_factor.unreadable(),
            position=position,
        )
        self._say(repaired, left, pace)
        if left:
            hint = "" if repair or not any(problem.repairs for problem in left) else " Run it with --repair."
            raise CommandError(f"The table {table.name()} has {_problems(len(left))}.{hint}")
        also = f", {_problems(len(repaired))} repaired" if repaired else ""
        what = "sample of the table" if asked else "table"
        return f"The {what} {table.name()} is whole{also}."

    def tell(self, said: str) -> None:
        super().tell(self.style.SUCCESS(said))

    def _check(
        self, asked: re.Match[str] | None, repair: bool, pace: Pace, known: int
    ) -> tuple[list[Problem], list[Problem], sampling.Position | None]:
        """Return the problems that were repaired, those that are left, and where a sample left off."""
        if asked is None:
            found = checks.repair_all(pace) if repair else ([], checks.find(pace))
            return *found, None
        most = known * float(asked["share"]) / 100 if asked["share"] else float("inf")
        seconds = float(asked["seconds"] or "inf")
        taken = sampling.check_sample(
            sampling.last_position(now=timezone.now()),
            is_enough=lambda items: items >= most or pace.seconds >= seconds,
            seen=pace,
        )
        repaired = [problem for problem in taken.problems if repair and checks.repair(problem)]
        return repaired, [one for one in taken.problems if one not in repaired], taken.position

    def _say(self, repaired: list[Problem], left: list[Problem], pace: Pace) -> None:
        for problem in repaired:
            self.stdout.write(f"Repaired: {printable(str(problem))}")
        for problem in left:
            hint = "" if problem.repairs else " (nothing to derive it from)"
            self.stdout.write(f"{printable(str(problem))}{hint}")
        rate = pace.items / max(pace.seconds, 0.001)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.stdout.write(
            f"{pace.items:,} items seen in {pace.seconds:,.1f} s ({rate:,.0f} a second), "
            f"{time.process_time():,.1f} s of processor time, {megabytes:,.0f} MB at most."
        )


def _advance(progress: Progress, known: int) -> None:
    if progress.done >= progress.total:  # it looks a second time, to be sure or after repairs
        progress.total += max(known, STEP)
    progress.advance(STEP, made=STEP)


def _problems(number: int) -> str:
    return f"{number:,} problem{'' if number == 1 else 's'}"
