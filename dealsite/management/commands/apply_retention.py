from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dealsite.data import table
from dealsite.data.table.errors import DataError, VersionConflict
from dealsite.worker.keeping import apply_retention


class Command(BaseCommand):
    help = (
        "Apply the spans of DEALSITE_RETENTION to what is there, as a worker does each night. "
        "Safe while the site runs. Ended at any point, it goes on where it was."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        table.be_patient()
        try:
            said = apply_retention(lambda: None, now=timezone.now())
        except VersionConflict:
            raise CommandError("Another process is at it.") from None
        except DataError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(said)
