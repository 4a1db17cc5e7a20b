"""How the site is doing: its machines with their processes, what waits, and what ran by itself."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.conf import settings

from dealsite.data.jobs import command_runs, processes, queue, site_switch
from dealsite.data.jobs.command_runs import CHECK_TABLE, MANY, CheckResult, CommandRun
from dealsite.data.jobs.processes import DiskSpace, Process, ProjectionState
from dealsite.data.jobs.queue import Queue
from dealsite.data.jobs.site_switch import SiteSwitch
from dealsite.data.table.parallel import together
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
    def projections(self) -> list[tuple[str, ProjectionState]]:
        return sorted(self.last.projections.items())

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
