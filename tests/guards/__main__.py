"""Takes guards out one at a time, in a copy of the sources, and expects red: `make guards`.

Says of each guard which test noticed; ends with 1 where none did.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.guards.guards import GUARDS, ROOT, Guard

SOURCES = (
    "benchmarks",
    "cms",
    "dealsite",
    "deploy",
    "docs",
    "locale",
    "shopping",
    "static",
    "templates",
    "tests",
)
FILES = ("CHANGELOG.md", "Makefile", "README.md", "manage.py", "pyproject.toml")
LINKED = (".venv", "build", "node_modules")


def main(chosen: list[str]) -> int:
    """Try all guards, or those whose description holds one of the words."""
    guards = [one for one in GUARDS if not chosen or any(word in one.holds for word in chosen)]
    with tempfile.TemporaryDirectory(prefix="guards-") as folder:
        copy = Path(folder)
        for name in SOURCES:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in FILES:
            shutil.copy(ROOT / name, copy / name)
        for name in LINKED:
            (copy / name).symlink_to((ROOT / name).resolve())
        unnoticed = [guard.holds for guard in guards if not _notices(copy, guard)]
    print(f"{len(guards) - len(unnoticed)} of {len(guards)} guards are missed when they are gone.")  # noqa: T201
    return 1 if unnoticed else 0


def _notices(copy: Path, guard: Guard) -> bool:
    """Take a guard out, run its tests as `make test` does, put it back; tell whether a test failed."""
    path = copy / guard.path
    text = path.read_text("utf-8")
    path.write_text(guard.taken_out(text), "utf-8")
    began = time.monotonic()
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not thorough", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *guard.tests.split()], cwd=copy, capture_output=True, text=True, check=False
        )
    finally:
        path.write_text(text, "utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::\S+)", done.stdout, re.MULTILINE)
    word = failed[1] if failed else f"NOT NOTICED\n{(done.stdout + done.stderr)[-400:]}"
    print(f"{time.monotonic() - began:5.0f} s  {guard.holds}: {word}", flush=True)  # noqa: T201
    return failed is not None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
