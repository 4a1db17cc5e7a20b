"""The number of this release: told by the command, and in the changelog."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import django
import pytest

from dealsite import __version__

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_manage_py_says_which_dealsite_this_is(argument, tmp_path):
    environ = os.environ | {"DEALSITE_VAR": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "manage.py", argument],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    versions = f"Dealsite 0.2.0 (Django {django.__version__}, Python {platform.python_version()})"
    assert told.stdout == f"{versions}\n"


def test_the_newest_release_in_the_changelog_is_this_one():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)[0] == __version__
