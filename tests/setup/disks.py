"""Disks that fill up or cannot be written: small ones in memory, mounted for a test."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"DISKS ARE NOT TRIED: nothing may be mounted here ({done.stderr.strip()}); run as root")


@pytest.fixture
def mounted() -> Iterator[Callable[..., None]]:
    """A function that mounts as the command `mount` does; what it mounted last goes first."""
    places: list[str] = []

    def mount(*arguments: str) -> None:
        _mount(*arguments)
        places.append(arguments[-1])

    yield mount
    for place in reversed(places):
        subprocess.run(["umount", "--lazy", place], check=False)


@pytest.fixture
def small_disk(tmp_path: Path, mounted: Callable[..., None]) -> Path:
    """A disk of 24 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted("-t", "tmpfs", "-o", "size=24m,mode=700", "none", str(disk))
    return disk


@pytest.fixture
def read_only(tmp_path: Path, mounted: Callable[..., None]) -> Callable[[Path], Path]:
    """A function that returns a folder as a disk shows it that cannot be written."""

    def of(folder: Path) -> Path:
        shown = tmp_path / "read-only"
        shown.mkdir()
        mounted("--bind", str(folder), str(shown))
        _mount("-o", "remount,ro,bind", str(shown))
        return shown

    return of


def fill(disk: Path) -> Path:
    """Use up all that is free; return the file that does."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4_096)
        except OSError:
            return filler
