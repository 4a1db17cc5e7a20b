"""Counts the files that a task enters: how far somebody travels who follows it through the code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROOMS = tuple(f"{ROOT / name}/" for name in ("dealsite", "cms", "shopping"))


@contextlib.contextmanager
def files_entered() -> Iterator[set[str]]:
    """Collect the site's files of which a function runs in this block; importing a file does not enter it."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(ROOMS):
            files.add(str(Path(code.co_filename).relative_to(ROOT)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(before)
