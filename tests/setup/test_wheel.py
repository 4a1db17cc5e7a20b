"""A wheel holds all that a site needs, and runs in an empty environment without Node."""

import gettext
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import urllib.request
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dealsite import home
from dealsite.demo.deals import DRAWING_TEXTS
from dealsite.engine.server import free_port
from dealsite.install import wheel
from dealsite.text import translations
from tests.setup.conftest import ROOT, wait_for


@pytest.mark.parametrize("with_engine", [True, False])
def test_a_wheel_takes_along_what_is_built_and_of_node_modules_only_what_a_site_reads(with_engine):
    files = {path.as_posix() for path in wheel.files(with_engine=with_engine)}
    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert {"templates/404.html", "build/locale/de/LC_MESSAGES/django.mo"} <= files
    manifest = json.loads((ROOT / "build/static/staticfiles.json").read_text())
    assert f"build/static/{manifest['paths']['site.css']}" in files
    assert {"node_modules/echarts/NOTICE", "node_modules/@fontsource-variable/figtree/LICENSE"} <= files
    assert (wheel.ENGINE.as_posix() in files) == with_engine


@pytest.mark.parametrize("name", ["requirements.in", *(f"{name}.in" for name in wheel.EXTRAS)])
def test_what_a_wheel_requires_is_named_without_options_of_pip(name):
    for line in (ROOT / name).read_text("utf-8").splitlines():
        Requirement(line)


def test_a_wheel_is_of_the_time_of_its_commit(monkeypatch):
    git = ["git", "show", "--no-patch", "--format=%cI"]
    commit = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    assert int(wheel.committed_at()) == datetime.fromisoformat(commit).timestamp()
    monkeypatch.setenv("PATH", "/nowhere")
    assert wheel.committed_at() == wheel.ZIP_BEGINS


def test_the_same_texts_make_the_same_file_whenever_it_is_made(tmp_path):
    translations.compile_all(tmp_path)
    with (tmp_path / "de" / "LC_MESSAGES" / "django.mo").open("rb") as file:
        assert gettext.GNUTranslations(file).info()["pot-creation-date"] == "1970-01-01 00:00+0000"


def test_messages_of_an_installed_release_name_its_own_command(tmp_path):
    (tmp_path / "dealsite" / "release").mkdir(parents=True)
    installed = runpy.run_path(shutil.copy(home.__file__, tmp_path / "dealsite"))
    assert (home.COMMAND, installed["COMMAND"]) == ("manage.py", "dealsite")
    assert (home.SET_UP, installed["SET_UP"]) == ("Run make setup", "Install the wheel that holds the engine")


@pytest.mark.release
def test_the_wheel_runs_a_site_in_an_empty_environment_without_node(tmp_path):
    """Dependencies are this environment's own, by a path: to download them is for whoever installs."""
    wheel.build_wheel(wheel.PLATFORM, tmp_path)
    (built,) = tmp_path.glob("*.whl")
    before = os.umask(0o002)
    wheel.build_wheel(wheel.PLATFORM, tmp_path / "again")
    os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in wheel.STAGE.rglob("*")} == {0o644, 0o755}
    assert (tmp_path / "again" / built.name).read_bytes() == built.read_bytes()
    held = zipfile.ZipFile(built).namelist()
    assert not [name for name in held if "__pycache__" in name or name.startswith("tests")]
    assert {f"dealsite/demo/pictures/{name}.webp" for name in DRAWING_TEXTS} <= set(held)
    venv, empty, log = tmp_path / "venv", tmp_path / "empty", tmp_path / "log"
    empty.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site_packages,) = venv.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    install = [*pip, "--python", str(venv), "install", "--no-deps", "--no-index", str(built)]
    subprocess.run(install, check=True, capture_output=True)
    (ours,) = [path for path in sys.path if path.endswith("site-packages")]
    (site_packages / "dependencies.pth").write_text(f"{ours}\n")
    port = free_port()
    environ = {"PATH": str(venv / "bin"), "PORT": str(port), "DEALSITE_DEMO": "no"}
    with log.open("wb") as output:
        site = subprocess.Popen(
            [venv / "bin" / "dealsite", "run"], cwd=empty, env=environ, stdout=output, stderr=output
        )
    try:
        wait_for(lambda: "runs at" in log.read_text() or site.poll() is not None, 60)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/search/", timeout=20) as answer:
            page = answer.read().decode()
        sheet = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{sheet}", timeout=20) as answer:
            assert answer.headers["Cache-Control"] == "max-age=315360000, public, immutable"
        (web, *_) = [pid for pid in Path("/proc").glob("[0-9]*") if is_web_of(pid, venv)]
        assert (web / "cwd").resolve() == Path("/")  # not in a release that may be removed
    finally:
        site.send_signal(signal.SIGTERM)
        assert site.wait(60) == 0, log.read_text()
    assert (empty / "var" / "engine.db").exists()
    assert "dealsite setup_site --admin NAME" in log.read_text()


def is_web_of(process: Path, venv: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].startswith(os.fsencode(venv)) and b"dealsite.front_door.process" in words
