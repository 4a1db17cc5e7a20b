"""The table's library stands alone: copied out, it runs its example without the site and without Django."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from dealsite.data import table
from dealsite.data.table import errors

LIBRARY = Path(table.__file__).parent
EXAMPLE, README = ((LIBRARY / name).read_text("utf-8") for name in ("example.py", "README.md"))
LINES = 40
STORY = """
import sys
import to_do
from lifted import metered
from lifted.errors import AlreadyExists, NotFound

def refused(error, do, *given):
    try:
        do(*given)
    except error as reason:
        return str(reason)

to_do.use(sys.argv[1])
with metered() as meter:
    to_do.create("garden")
    assert refused(AlreadyExists, to_do.create, "garden") == "There is a list garden already."
    assert refused(NotFound, to_do.add, "house", "paint it") == "There is no list house."
    assert to_do.newest("house") == []
    for text in ("dig", "sow", "water"):
        to_do.add("garden", text)
    assert to_do.newest("garden", 2) == ["water", "sow"]
print(meter.calls, *sorted({"dealsite", "django"} & sys.modules.keys()))
"""


def test_the_example_runs_in_another_project(native_engine: str, tmp_path: Path):
    shutil.copytree(LIBRARY, tmp_path / "lifted", ignore=shutil.ignore_patterns("example.py", "__pycache__"))
    lifted = EXAMPLE.replace("from dealsite.data import table", "import lifted as table")
    (tmp_path / "to_do.py").write_text(lifted.replace("dealsite.data.table", "lifted"), "utf-8")
    story = [sys.executable, "-c", STORY, native_engine]
    answer = subprocess.run(story, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.stdout, answer.stderr) == ("8\n", "")


def test_the_readme_shows_the_example():
    assert re.findall(r"```python\n(.*?)```", README, re.S) == [EXAMPLE]
    assert len(EXAMPLE.splitlines()) <= LINES


def test_the_readme_shows_the_tree_of_errors():
    assert re.findall(r"```\n(DataError\n.*?)```", README, re.S) == [errors.__doc__.partition("\n\n")[2]]
    drawn = re.findall(r"^[│├└─ ]*(\w+) +\d{3} ", errors.__doc__, re.M)
    kinds = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.DataError)
    }
    assert {"DataError", *drawn} == kinds
