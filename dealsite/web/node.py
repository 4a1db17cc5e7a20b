"""What this machine says of itself: space on its disks, the projections it feeds, parts that were started again."""

import os
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from dealsite.stream import skipped, status

PARTS = "parts.json"  # in the data folder: {"engine": {"restarts": 2, "ended": "SIGKILL"}, ...}
MEGABYTE = 1_000_000
LARGEST_SHARE = 10  # of a disk: a small one (of uploads, in memory) may have less free than the setting says
STATUS_LASTS = timedelta(seconds=30)  # a consumer notes one each second or two


def disks() -> dict[str, dict[str, Any]]:
    """Return what is free where the site writes: the data folder, and the folder of uploads if its disk is another.

    `too_little` is below DEALSITE_FREE_DISK_MB, `little` below three times that. Raises OSError.
    """
    folders = {
        "data": Path(settings.VAR),
        "uploads": Path(settings.FILE_UPLOAD_TEMP_DIR or tempfile.gettempdir()),
    }
    if folders["data"].stat().st_dev == folders["uploads"].stat().st_dev:
        del folders["uploads"]
    return {name: _space(folder) for name, folder in folders.items()}


def _space(folder: Path) -> dict[str, Any]:
    found = os.statvfs(folder)
    free, size = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    least = min(settings.DEALSITE_FREE_DISK_MB * MEGABYTE, size // LARGEST_SHARE)
    return {
        "free_bytes": free,
        "free_share": round(free / max(size, 1), 3),
        "little": free < 3 * least,
        "too_little": free < least,
    }


def projections(now: datetime) -> dict[str, dict[str, Any]]:
    """Return of each projection of this machine what its consumer does, and how far it is behind.

    `state` is following, building or failing, or none where no consumer runs; `lag_seconds` is None if not known;
    `skipped` are the stream's records that it could not take.
    """
    return {name: _projection(Path(settings.VAR) / name, now) for name in settings.DEALSITE_PROJECTIONS}


def _projection(folder: Path, now: datetime) -> dict[str, Any]:
    noted, lag = status.status(folder), status.lag(folder, now=now)
    is_new = noted is not None and abs(now - noted.at) < STATUS_LASTS
    return {
        "state": noted.state if noted and is_new else "none",
        "lag_seconds": None if lag is None else round(lag, 1),
        "skipped": len(skipped.listed(folder)),
    }


def parts() -> dict[str, dict[str, Any]]:
    """Return of each part how often the launcher started it again, and how it ended last; {} without a launcher."""
    try:
        found = orjson.loads((Path(settings.VAR) / PARTS).read_bytes())
        return {name: {"restarts": one["restarts"], "ended": one["ended"]} for name, one in found.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}
