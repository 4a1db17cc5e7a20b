"""The schedule: what workers do each night by themselves, when, and the setting that turns it off.

To add a command, add its line here, what it does to `COMMANDS` in nightly.py, and its name to `KINDS` of the CMS's
page of jobs.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from dealsite.data.jobs import command_runs

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class NightlyCommand:
    """A command that runs each night at an hour (UTC), where a setting says so.

    `kind` is that of its jobs and of the runs that are kept of it.
    """

    kind: str
    hour: int
    setting: str

    @property
    def is_on(self) -> bool:
        return bool(getattr(settings, self.setting))

    def next_run(self, now: datetime) -> datetime:
        """Return when it is due next after a moment."""
        due = now.replace(hour=self.hour, minute=0, second=0, microsecond=0)
        return due if due > now else due + DAY


SCHEDULE = (
    NightlyCommand(command_runs.BACKUP, 0, "DEALSITE_NIGHTLY_BACKUPS"),
    NightlyCommand(command_runs.CLOSE_DAY, 1, "DEALSITE_CLOSE_DAY"),
    NightlyCommand(command_runs.RETENTION, 2, "DEALSITE_RETENTION"),
    NightlyCommand(command_runs.CHECK_TABLE, 3, "DEALSITE_NIGHTLY_CHECK"),
)


def plan(*, now: datetime) -> None:
    """Have a worker run each command when it is due next; harmless to repeat. 1 put for each."""
    for command in SCHEDULE:
        if command.is_on:
            command_runs.plan(command.kind, due=command.next_run(now))
