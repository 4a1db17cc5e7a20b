"""Modules import each other one way, and each can be imported first: no circle hides, also not in an `__init__`."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
from django.apps import apps
from django.conf import settings

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("cms", "dealsite", "shopping")
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for name in OURS
    for path in (ROOT / name).rglob("*.py")
)
WITH_A_FACE = {
    "dealsite.data",
    "dealsite.data.table",
}  # packages of the data layer whose `__init__` holds something


@pytest.mark.thorough
def test_every_module_can_be_imported_first_and_alone():
    checked = subprocess.run(
        [sys.executable, "-c", "from tests.site import test_imports_alone; test_imports_alone.import_each()"],
        cwd=ROOT,
        # With compiled modules written: compiling them again in each process would take most of the time.
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.stdout, checked.returncode) == (f"{len(MODULES)} modules\n", 0), checked.stderr


def test_modules_import_each_other_in_no_circle():
    graph = grimp.build_graph(*OURS, cache_dir=None, exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # CycleError tells the circle
    packages = {module for module in graph.modules if graph.find_children(module)}
    data = {package for package in packages if package.startswith("dealsite.data")}
    assert {package for package in data if imports[package]} == WITH_A_FACE


def import_each() -> None:
    """Import each module in a process of its own, in which nothing of ours is there but the settings."""
    apps.populate(())  # ready, but without the apps, which would import much of the rest
    assert settings.INSTALLED_APPS
    for name in in_fork(import_all_and_name_what_is_not_ours)[1].split():
        with contextlib.suppress(ImportError):  # what names itself otherwise than it is found
            importlib.import_module(name)
    for name in MODULES:
        failed, said = in_fork(partial(importlib.import_module, name))
        if failed:
            sys.stdout.write(f"{name}: {said}\n")
    sys.stdout.write(f"{len(MODULES)} modules\n")


def import_all_and_name_what_is_not_ours() -> None:
    for name in MODULES:
        importlib.import_module(name)
    sys.stdout.write(
        " ".join(name for name in sys.modules if name.partition(".")[0] not in (*OURS, "__main__"))
    )


def in_fork(do: Callable[[], object]) -> tuple[int, str]:
    """Do something in a process that begins as this one is now; return its status and what it printed."""
    end, beginning = os.pipe()
    if not (child := os.fork()):
        os.dup2(beginning, 1)
        status = 0
        try:
            do()
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            status = 1
            sys.stdout.write(traceback.format_exc())
        sys.stdout.flush()
        os._exit(status)
    os.close(beginning)
    with os.fdopen(end) as said:
        text = said.read()
    return os.waitpid(child, 0)[1], text
