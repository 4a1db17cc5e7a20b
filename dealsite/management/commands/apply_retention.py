from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dealsite.data import table
from dealsite.data.jobs.command_runs import RETENTION
from dealsite.data.table.errors import DataError, VersionConflict
from dealsite.management.noted import run_noted
from dealsite.worker.schedule import apply_retention


class Command(BaseCommand):
    help = (
        "Apply the spans of DEALSITE_RETENTION to all that is there, as a worker does after a change of them. "
        "Safe while the site runs. Ended at any point, it goes on where it was."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        table.be_patient()
        self.stdout.write(run_noted(RETENTION, self._apply))

    def _apply(self) -> str:
        try:
            return apply_retention(lambda: None, now=timezone.now(), again=True)
        except VersionConflict:
            raise CommandError("Another process is at it.") from None
        except DataError as error:
            raise CommandError(str(error)) from error
