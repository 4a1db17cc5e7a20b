from datetime import UTC, datetime

from dealsite.management.command import SiteCommand
from dealsite.stream import consumer_status
from dealsite.stream.consumer_status import lag, status
from dealsite.worker.loop import PROJECTIONS


class Command(SiteCommand):
    help = "Tell how the search index of this machine is doing, and which items it had to skip."

    def work(self) -> None:
        now = datetime.now(UTC)
        for name, make in PROJECTIONS.items():
            folder = make().folder
            known, behind = status(folder), lag(folder, now=now)
            if known is None:
                self.stdout.write(f"{name}: no worker has fed it on this machine.")
                continue
            lags = f"{behind:.0f} seconds behind" if behind is not None else "not complete yet"
            ago = (now - known.at).total_seconds()
            reason = f" {known.reason}" if known.reason else ""
            self.stdout.write(
                f"{name}: {known.state}, {lags}, as its worker said {ago:.0f} seconds ago.{reason}"
            )
            for record in consumer_status.skipped_records(folder):
                self.stdout.write(
                    f"  skipped {' '.join(record.key)} at {record.at:%Y-%m-%d %H:%M:%S}Z: {record.reason}"
                )
