from datetime import UTC, datetime

from dealsite.management.command import SiteCommand
from dealsite.search.reader import index_root
from dealsite.stream import consumer_status


class Command(SiteCommand):
    help = "Tell how the search index of this machine is doing, and which items it had to skip."

    def work(self) -> None:
        now, folder = datetime.now(UTC), index_root()
        known, behind = consumer_status.status(folder), consumer_status.lag(folder, now=now)
        if known is None:
            self.stdout.write("search: nobody has fed it on this machine.")
            return
        lags = f"{behind:.0f} seconds behind" if behind is not None else "not complete yet"
        ago = (now - known.at).total_seconds()
        reason = f" {known.reason}" if known.reason else ""
        self.stdout.write(f"search: {known.state}, {lags}, as was noted {ago:.0f} seconds ago.{reason}")
        for record in consumer_status.skipped_records(folder):
            self.stdout.write(
                f"  skipped {' '.join(record.key)} at {record.at:%Y-%m-%d %H:%M:%S}Z: {record.reason}"
            )
