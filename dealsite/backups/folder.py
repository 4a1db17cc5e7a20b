"""The folder of backups: what a new archive is called, which is the newest, and which are removed."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings

from dealsite.backups.archive import ArchiveError
from dealsite.home import COMMAND

OURS = f"dealsite-{'[0-9]' * 8}-{'[0-9]' * 6}.tar"  # what `new` calls them; others are somebody's own
SCRATCH = ".dealsite-scratch-"
LEFT_AFTER = timedelta(
    days=2
)  # longer than any command takes: whatever is older was left by one that was killed


def new(now: datetime) -> Path:
    """Return the path of an archive that is made now."""
    return Path(settings.DEALSITE_BACKUPS / f"dealsite-{now:%Y%m%d-%H%M%S}.tar")


def newest() -> Path:
    """Return the newest archive; ArchiveError if there is none."""
    found = sorted(settings.DEALSITE_BACKUPS.glob("*.tar"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise ArchiveError(
            f"There is no backup in {settings.DEALSITE_BACKUPS}: `{COMMAND} backup` makes one."
        )
    return Path(found[-1])


def remove_all_but(kept: int) -> None:
    """Remove the oldest archives that were named by their time, all but the `kept` newest."""
    for path in sorted(settings.DEALSITE_BACKUPS.glob(OURS), reverse=True)[kept:]:
        path.unlink()


@contextlib.contextmanager
def scratch(beside: Path, *, now: datetime) -> Iterator[Path]:
    """Make a folder for the time of a block, for its owner alone; remove what killed processes have left."""
    for left in beside.glob(f"{SCRATCH}*"):
        if left.stat().st_mtime < (now - LEFT_AFTER).timestamp():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=beside, prefix=SCRATCH) as folder:
        yield Path(folder)
