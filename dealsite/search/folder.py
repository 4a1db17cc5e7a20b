"""The index's folder: one generation of files is in use, and a file names which.

A rebuild fills a new generation beside it, and takes its place by replacing that one small file: whoever
searches meanwhile sees the old one whole, then the new one whole.
"""

import contextlib
import re
import secrets
import shutil
from pathlib import Path

from django.conf import settings

from dealsite.search.documents import FORMAT

CURRENT = "current"
GENERATION = re.compile(rf"{FORMAT}-[0-9a-f]+")


def root() -> Path:
    """Return the folder of all generations."""
    return Path(settings.SEARCH_ROOT)


def current(folder: Path) -> Path | None:
    """Return the generation in use; None where there is none, or one of another format."""
    try:
        name = (folder / CURRENT).read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return folder / name if GENERATION.fullmatch(name) and (folder / name).is_dir() else None


def new_generation(folder: Path) -> Path:
    """Make the folder of the next generation, which is not in use yet."""
    # A name that none had before: whoever still writes to a deleted one, or reads it, must not meet the new one.
    made = folder / f"{FORMAT}-{secrets.token_hex(8)}"
    made.mkdir(mode=0o700, parents=True)
    return made


def use(generation: Path) -> None:
    """Let a generation be the one in use, and remove the others: who reads them has their files open."""
    folder = generation.parent
    temporary = folder / f"{CURRENT}.new"
    temporary.write_text(generation.name, "ascii")
    temporary.replace(folder / CURRENT)
    for other in _generations(folder):
        if other.name != generation.name:
            shutil.rmtree(other, ignore_errors=True)


def unused(folder: Path) -> list[Path]:
    """Return the generations that are not in use: one that is being made, or what was left of it."""
    used = current(folder)
    return [path for path in _generations(folder) if path != used]


def stamp(folder: Path) -> tuple[int, ...]:
    """Return what changes with every commit and with every new generation; empty where there is no index."""
    with contextlib.suppress(OSError):
        generation = current(folder)
        if generation is not None:
            named, written = (folder / CURRENT).stat(), (generation / "meta.json").stat()
            return (named.st_ino, named.st_mtime_ns, written.st_ino, written.st_mtime_ns, written.st_size)
    return ()


def _generations(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if re.fullmatch(r"\d+-[0-9a-f]+", path.name)]
