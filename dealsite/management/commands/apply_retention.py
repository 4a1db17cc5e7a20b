from django.core.management.base import CommandError
from django.utils import timezone

from dealsite.data.jobs.command_runs import RETENTION
from dealsite.data.table.errors import VersionConflict
from dealsite.management.command import SiteCommand
from dealsite.worker.schedule import apply_retention


class Command(SiteCommand):
    help = (
        "Apply the spans of DEALSITE_RETENTION to all that is there, as a worker does after a change of them. "
        "Safe while the site runs. Ended at any point, it goes on where it was."
    )

    kind = RETENTION
    is_patient = True

    def work(self) -> str:
        try:
            return apply_retention(lambda: None, now=timezone.now(), again=True)
        except VersionConflict:
            raise CommandError("Another process is at it.") from None
