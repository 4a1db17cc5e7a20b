"""A wheel holds all that a site needs, and runs in an empty environment without Node."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from dealsite.engine.server import free_port
from dealsite.install import wheel
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
    assert 50 < len([name for name in files if name.startswith("node_modules/@lobehub")]) < 400


@pytest.mark.release
def test_the_wheel_runs_a_site_in_an_empty_environment_without_node(tmp_path):
    """Dependencies are this environment's own, by a path: to download them is for whoever installs."""
    wheel.stage(with_engine=True)
    option = f"--config-settings=--build-option=--plat-name={wheel.PLATFORM}"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    folder = ["--wheel-dir", str(tmp_path), str(wheel.STAGE)]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", option, *folder], check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    assert not [
        name
        for name in zipfile.ZipFile(built).namelist()
        if "__pycache__" in name or name.startswith("tests")
    ]
    venv, empty, log = tmp_path / "venv", tmp_path / "empty", tmp_path / "log"
    empty.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site_packages,) = venv.glob("lib/python*/site-packages")
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


def is_web_of(process: Path, venv: Path) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].startswith(os.fsencode(venv)) and b"dealsite.front_door.process" in words
