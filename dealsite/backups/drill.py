"""A drill: the newest backup is restored beside the site, checked as a whole, and removed again."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dealsite.backups import restoring
from dealsite.backups.aside import engine_aside
from dealsite.backups.scratch import scratch
from dealsite.data.integrity import checks
from dealsite.data.integrity.pace import Pace
from dealsite.data.integrity.problem import Problem
from dealsite.data.table.ids import from_iso


@dataclass(frozen=True, slots=True)
class Drill:
    """What a drill came to: which backup it was, from when, and what a check of its table found."""

    path: Path
    made_at: datetime
    items: int
    files: int
    missing: int
    problems: list[Problem]


def run(path: Path, *, now: datetime, advance: restoring.Advance) -> Drill:
    """Restore an archive aside and check it; ArchiveError, EngineError, DataError, OSError.

    It needs as much room on the disk of the backups as the site's own data take.
    """
    with scratch(path.resolve().parent) as aside:
        folder = aside / "var"
        contents = restoring.into_folder(path, folder, now=now, advance=advance)
        with engine_aside(folder):
            problems = checks.find(Pace())
    manifest = contents.manifest
    return Drill(
        path,
        from_iso(manifest.made_at),
        manifest.total,
        len(manifest.files),
        len(contents.missing),
        problems,
    )
