"""Which pages a run looks at: a sample, another each day, and those that were changed since the last commit of main."""

from __future__ import annotations

import functools
import inspect
import re
import subprocess
from pathlib import Path

import pytest

from tests.pages import PAGES, ROUTES

REPOSITORY = Path(__file__).parents[3]


def rate(name: str) -> int:
    """Return of how many pages like this one make test looks at one: 1 of 1 that were changed themselves."""
    folder, _, module = inspect.unwrap(ROUTES[name].view).__module__.rpartition(".")
    feature = folder.removeprefix("dealsite.").replace(".", "/")
    own = {module, name.removeprefix("cms_")}
    if any(of == feature and stem in own for of, stem in changed()):
        return 1
    return 2 if any(of in (feature, "css", "templates") for of, _ in changed()) else 4


@functools.cache
def changed() -> set[tuple[str, str]]:
    """Return features and names of what differs from main, or on main from the commit before; nothing without git."""
    base = git("merge-base", "main", "HEAD")
    if base in ([], git("rev-parse", "HEAD")):
        base = ["HEAD~1"]
    files = git("diff", "--name-only", *base) + git("ls-files", "--others", "--exclude-standard")
    return {
        (re.sub("^(dealsite|static|templates)/", "", str(path.parent)), path.stem.removeprefix("_"))
        for path in map(Path, files)
    }


def git(*arguments: str) -> list[str]:
    """Return what a command of git says, line by line; nothing if it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


every_page = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.sample(quick=rate(name))) for name in sorted(PAGES)]
)
