from datetime import timedelta

from django.utils import timezone

from dealsite.ask import numbers
from dealsite.data.jobs.command_runs import SNAPSHOT
from dealsite.lake import snapshots
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = (
        "Make a snapshot of the table for questions: Parquet files, also in the bucket that DEALSITE_LAKE names. "
        "Safe while the site runs."
    )

    kind = SNAPSHOT
    is_patient = True

    def work(self) -> str:
        now = timezone.now()
        with snapshots.making(now=now) as (folder, rows):
            numbers.write(folder, last=now.date() - timedelta(days=1))
        return f"The snapshot of {now:%Y-%m-%d %H:%M} UTC has {rows:,} rows."
