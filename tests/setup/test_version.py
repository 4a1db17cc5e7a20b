"""The number of this release, told by the command and in the changelog; which Python it needs; how Ctrl-C ends it."""

import ast
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import django
import pytest

from dealsite import __main__, __version__

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
    versions = f"Dealsite {__version__} (Django {django.__version__}, Python {platform.python_version()})"
    assert told.stdout == f"{versions}\n"


def test_the_newest_release_in_the_changelog_is_this_one():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)[0] == __version__


@pytest.mark.parametrize("started", ["dealsite.install.__main__", "dealsite.__main__", "manage"])
def test_an_older_python_is_told_so_before_anything_else_is_imported(started):
    as_old = f"import sys; sys.version_info = (3, 10, 13); sys.version = '3.10.13 (main)'; import {started}"
    told = subprocess.run([sys.executable, "-S", "-c", as_old], cwd=ROOT, capture_output=True, text=True)
    sentence = f"Dealsite needs Python 3.11 or newer, and {sys.executable} is 3.10.13.\n"
    assert (told.stderr, told.returncode) == (sentence, 1)


@pytest.mark.parametrize("name", ["manage.py", "dealsite/__init__.py"])
def test_an_older_python_can_read_what_tells_it(name):
    assert ast.parse((ROOT / name).read_text("utf-8"), feature_version=(3, 6))


def test_ctrl_c_ends_a_command_without_a_traceback(monkeypatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "run", interrupted)
    with pytest.raises(SystemExit) as end:
        __main__.main()
    assert end.value.code == 130
