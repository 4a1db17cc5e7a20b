"""How the site is doing: its machines, what waits, what ran by itself; and what is wrong, most urgent first."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _, ngettext

from cms.jobs import KINDS, MAIL
from cms.lists.deal_list import query
from dealsite.data.entities.operations import CLOSED_FOR_MAINTENANCE
from dealsite.data.jobs import command_runs, processes, queue, site_switch
from dealsite.data.jobs.command_runs import BACKUP, CHECK_TABLE, MANY, CheckResult, CommandRun
from dealsite.data.jobs.processes import DiskSpace, Process, ProjectionState
from dealsite.data.jobs.queue import KindOfJob, Queue
from dealsite.data.jobs.site_switch import SiteSwitch
from dealsite.data.table.ids import next_ulid, time_of
from dealsite.data.table.parallel import together
from dealsite.home import COMMAND
from dealsite.templatetags.design import moment
from dealsite.text.stored_words import Text
from dealsite.web.readiness import LAG_SECONDS
from dealsite.worker.schedule import SCHEDULE


@dataclass(frozen=True)
class Machine:
    """A machine with its processes of the last day, the dead at the end; `last` is the newest word of it."""

    name: str
    processes: tuple[Process, ...]
    now: datetime

    @property
    def last(self) -> Process:
        return max(self.processes, key=lambda one: (one.at, one.id))

    @property
    def disks(self) -> list[tuple[str, DiskSpace]]:
        return sorted(self.last.disks.items())

    @property
    def search(self) -> ProjectionState | None:
        """How its search index is doing."""
        return self.last.projections.get("search")

    @property
    def living(self) -> list[Process]:
        return [one for one in self.processes if not one.is_dead(now=self.now)]

    @property
    def dead(self) -> list[Process]:
        return [one for one in self.processes if one.is_dead(now=self.now)]


@dataclass(frozen=True)
class CommandState:
    """A nightly command, its last run, also by hand, and when it runs next; None if its `setting` turns it off."""

    kind: str
    setting: str
    next_run: datetime | None
    last: CommandRun | None


@dataclass(frozen=True)
class SiteState:
    """What the page of operations shows, as of `now`."""

    now: datetime
    machines: list[Machine]
    switch: SiteSwitch
    queue: Queue
    commands: list[CommandState]
    check: CheckResult | None  # the last one that came to its end

    @property
    def living(self) -> list[Process]:
        return [process for machine in self.machines for process in machine.living]

    @property
    def versions(self) -> list[str]:
        return sorted({process.version for process in self.living})


def read(*, now: datetime) -> SiteState:
    """Read how the site is doing. 1 get, 4 queries, and 1 for each command of the schedule."""
    listed, switch, jobs, *runs = together(
        lambda: processes.listed(now=now),
        site_switch.read,
        lambda: queue.read(now=now),
        *(
            partial(command_runs.newest, one.kind, now=now, most=MANY if one.kind == CHECK_TABLE else 1)
            for one in SCHEDULE
        ),
    )
    return SiteState(
        now=now,
        machines=_machines(listed, now),
        switch=switch,
        queue=jobs,
        commands=[
            CommandState(
                one.kind, one.setting, one.next_run(now) if one.is_on else None, next(iter(found), None)
            )
            for one, found in zip(SCHEDULE, runs, strict=True)
        ],
        check=next((run.check for found in runs for run in found if run.check), None),
    )


def has_own_engine() -> bool:
    """Tell whether the table is on this machine, so that nobody else keeps copies of it."""
    return bool(settings.DEALSITE_EMBEDDED)


def _machines(listed: Iterable[Process], now: datetime) -> list[Machine]:
    found: dict[str, list[Process]] = defaultdict(list)
    for process in listed:
        found[process.machine].append(process)
    for those in found.values():
        those.sort(key=lambda one: (one.is_dead(now=now), one.part, one.id))
    return [Machine(name, tuple(found[name]), now) for name in sorted(found)]


LONG_WAIT = timedelta(minutes=10)  # for a job that is due
BACKUP_EVERY = timedelta(days=7)


@dataclass(frozen=True)
class SiteProblem:
    """A problem as a sentence, and what to do; `tone` is error, warning or info, `address` where it can be done."""

    tone: str
    text: Text
    advice: Text
    address: str = ""


def find(state: SiteState) -> list[SiteProblem]:
    """Return the problems of a site, errors first."""
    found = [
        *_switch(state),
        *_workers(state),
        *_machine_problems(state),
        *_queue(state),
        *_commands(state),
        *_checks(state),
        *_second_factors(state),
    ]
    return sorted(found, key=lambda one: ("error", "warning", "info").index(one.tone))


def _switch(state: SiteState) -> Iterator[SiteProblem]:
    if state.switch.is_copy:
        yield SiteProblem(
            "warning",
            _("This is a copy of the site: it runs no jobs, sends no mails, charges no cards."),
            _(
                "If it is to be the site, open it at the site’s switch or by the command switch_site open; "
                "never while another one goes on with the same orders."
            ),
            reverse("cms_switch_site"),
        )
    elif not state.switch.is_open:
        yield SiteProblem(
            "warning",
            _("The site is closed for maintenance: only admins get in.")
            if state.switch.state == CLOSED_FOR_MAINTENANCE
            else _("The site is read-only for now: nothing can be changed."),
            _("Open it at the site’s switch when the work is done."),
            reverse("cms_switch_site"),
        )


def _workers(state: SiteState) -> Iterator[SiteProblem]:
    if not any(process.part == "worker" for process in state.living):
        yield SiteProblem(
            "error",
            _("No worker has run for a minute: jobs, mails and checks wait."),
            _("Start one: %(command)s worker. The log says how the last one ended.") % {"command": COMMAND},
        )
    if len(state.versions) > 1:
        yield SiteProblem(
            "info",
            _("Several versions run: %(versions)s.") % {"versions": ", ".join(state.versions)},
            _("During an update that is as it should be; else restart what is left of the older one."),
        )


def _machine_problems(state: SiteState) -> Iterator[SiteProblem]:
    for machine in state.machines:
        if not machine.living:
            yield SiteProblem(
                "warning",
                format_html(
                    _("Nothing was heard of machine {name} since {at}."),
                    name=machine.name,
                    at=moment(machine.last.at),
                ),
                _("Start it again. If it was taken away on purpose, this note goes by itself within a day."),
            )
        else:
            yield from _processes(machine)
            yield from _disks(machine)
            yield from _search(machine)


def _processes(machine: Machine) -> Iterator[SiteProblem]:
    if number := len(machine.dead):
        yield SiteProblem(
            "warning",
            ngettext(
                "%(number)d process of machine %(name)s died within a day.",
                "%(number)d processes of machine %(name)s died within a day.",
                number,
            )
            % {"number": number, "name": machine.name},
            _("Its log says why. If it was killed, look at the machine's memory."),
        )


def _disks(machine: Machine) -> Iterator[SiteProblem]:
    for _name, disk in machine.disks:
        if disk.state != "enough":
            yield SiteProblem(
                "error" if disk.state == "too_little" else "warning",
                (
                    _("A disk of machine %(name)s is full, or nearly: changes and uploads fail.")
                    if disk.state == "too_little"
                    else _("A disk of machine %(name)s will soon be full.")
                )
                % {"name": machine.name},
                _("Free some space, or move the data folder (DEALSITE_VAR) to a larger disk."),
            )


def _search(machine: Machine) -> Iterator[SiteProblem]:
    index, name = machine.search, {"name": machine.name}
    if index is None:
        return
    if index.state == "building":
        yield SiteProblem(
            "info",
            _("The search index of machine %(name)s is being built.") % name,
            _("That takes minutes; until then less is found in it."),
        )
    elif index.state != "following" or (index.lag or 0) > LAG_SECONDS:
        yield SiteProblem(
            "warning",
            _("Nobody feeds the search index of machine %(name)s, or it is behind.") % name,
            _(
                "The log of that machine says why. If it shares no bucket with others, it needs a worker of its own."
            ),
        )
    if index.skipped:
        yield SiteProblem(
            "warning",
            _("The search index of machine %(name)s skipped changes that it could not take.") % name,
            _("The log has the reasons; repair their cause, then run %(command)s rebuild.")
            % {"command": COMMAND},
        )


def _queue(state: SiteState) -> Iterator[SiteProblem]:
    if state.queue.oldest and state.now - state.queue.oldest > LONG_WAIT:
        yield SiteProblem(
            "warning",
            format_html(_("A job has waited since {at}."), at=moment(state.queue.oldest)),
            _("Start another worker. If one runs, its log says what it tries again."),
            reverse("cms_jobs"),
        )
    if failed := [one for one in state.queue.kinds if one.jobs["failed"]]:
        number = sum(one.jobs["failed"] for one in failed)
        said = ngettext(
            "%(number)d job failed for good: %(kinds)s.",
            "%(number)d jobs failed for good: %(kinds)s.",
            number,
        )
        names = dict.fromkeys(str(KINDS.get(one.kind, MAIL)) for one in failed)
        yield SiteProblem(
            "warning",
            said % {"number": number, "kinds": ", ".join(names)},
            _("Read under Jobs what went wrong, repair the cause, then try them again there."),
            failed_address(max(failed, key=lambda one: one.last_failed)),
        )


def _commands(state: SiteState) -> Iterator[SiteProblem]:
    for command in state.commands:
        if (run := command.last) and not run.ok and not run.check:  # what a check found is said below
            yield SiteProblem(
                "warning",
                format_html(
                    _("{what} failed at {at}: {said}"),
                    what=KINDS.get(run.kind, run.kind),
                    at=moment(run.ended_at),
                    said=run.said,
                ),
                _("It is tried again by itself at night; the log has more on what went wrong.")
                if command.next_run
                else _("Nobody tries it again by itself: repair the cause, then run it once more."),
            )
    backup = next(command.last for command in state.commands if command.kind == BACKUP)
    if has_own_engine() and (not backup or state.now - backup.ended_at > BACKUP_EVERY):
        yield SiteProblem(
            "warning",
            _("There was no backup within a week."),
            _("Let a worker make one each night (DEALSITE_NIGHTLY_BACKUPS), and copy it to another machine."),
        )


def _checks(state: SiteState) -> Iterator[SiteProblem]:
    if state.check and (number := state.check.left):
        yield SiteProblem(
            "warning",
            ngettext(
                "The last check of the table left %(number)d problem.",
                "The last check of the table left %(number)d problems.",
                number,
            )
            % {"number": number},
            _("%(command)s check_table shows what is wrong, and repairs what it can with --repair.")
            % {"command": COMMAND},
        )


def _second_factors(state: SiteState) -> Iterator[SiteProblem]:
    if state.check and (number := state.check.unreadable):
        yield SiteProblem(
            "error",
            ngettext(
                "%(number)d user cannot sign in with their app: no key of the site opens its secret.",
                "%(number)d users cannot sign in with their apps: no key of the site opens their secrets.",
                number,
            )
            % {"number": number},
            _("Put the missing key into secret_key_fallbacks and restart, or turn their second factors off."),
        )


def failed_address(one: KindOfJob) -> str:
    """Return the address of the list of jobs that begins with the last one of a kind that failed."""
    month = f"{time_of(one.last_failed):%Y-%m}"
    return reverse("cms_jobs") + query({"month": month, "after": next_ulid(one.last_failed)})
