"""Set-up brings what is missing, trusts nothing unpinned, and says what it cannot bring."""

import base64
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from dealsite.engine import programs
from dealsite.install import packages, system, wheel
from dealsite.install.system import InstallError

ROOT = Path(__file__).resolve().parent.parent.parent


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_lock_file_pins_every_package_by_content_and_names_no_host():
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    pinned = {name: package for name, package in locked.items() if name and not package.get("inBundle")}
    assert [name for name, package in pinned.items() if not package["integrity"].startswith("sha512-")] == []
    assert [name for name, package in locked.items() if "resolved" in package] == []


def test_package_json_names_exact_versions():
    package = json.loads((ROOT / "package.json").read_text())
    versions = [*package["dependencies"].values(), *package["optionalDependencies"].values()]
    assert [version for version in versions if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    assert package["optionalDependencies"]["@dynoxide/linux-x64"] == "1.2.1"


def test_every_requirement_is_pinned_and_hashed(subtests):
    for name in sorted(path.stem for path in ROOT.glob("requirements*.in")):
        with subtests.test(name=name):
            blocks = re.split(r"\n(?=[a-z0-9])", (ROOT / f"{name}.txt").read_text())
            entries = [block for block in blocks if not block.startswith("#")]
            assert entries
            assert [
                entry
                for entry in entries
                if not re.match(r"[\w.\-\[\],]+==\S+", entry) or "--hash=sha256:" not in entry
            ] == []
            named = re.findall(r"^([a-z][\w-]*)", (ROOT / f"{name}.in").read_text(), re.MULTILINE)
            assert [one for one in named if not any(entry.startswith(f"{one}==") for entry in entries)] == []


@pytest.mark.parametrize("extra", wheel.EXTRAS)
def test_what_a_site_may_install_beside_its_requirements_changes_none_of_them(extra):
    pinned = [
        dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.txt", f"{extra}.txt")
    ]
    both = pinned[0].keys() & pinned[1].keys()
    assert "urllib3" in both
    assert {name: pinned[1][name] for name in both} == {name: pinned[0][name] for name in both}


def test_no_file_names_a_package_registry():
    registries = re.compile(
        "|".join(["registry" + r"\.", "pypi" + r"\.org", "pythonhosted" + r"\.", "npmjs" + r"\."])
    )
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in tracked_files()}
    assert [str(path) for path, text in texts.items() if registries.search(text)] == []


def test_an_archive_that_is_not_the_pinned_one_is_refused(tmp_path):
    archive = packed(tmp_path, {"package/emulator/DynamoDBLocal.jar": b"other"})
    with pytest.raises(InstallError, match="is not what it was when it was pinned"):
        packages.unpack(archive, tmp_path / "unpacked")
    assert not (tmp_path / "unpacked").exists()


def test_an_archive_gives_the_engines_folder_and_nothing_outside_it(tmp_path):
    contents = {
        "package/emulator/DynamoDBLocal.jar": b"engine",
        "package/emulator/lib/one.jar": b"library",
        "package/emulator/../../../outside": b"no",
        "package/README.md": b"no",
    }
    archive = packed(tmp_path, contents)
    checksum = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    packages.unpack(archive, tmp_path / "a" / "b" / "unpacked", sha512=checksum)
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert found == ["a/b/unpacked/DynamoDBLocal.jar", "a/b/unpacked/lib/one.jar", "package.tgz"]


def packed(folder: Path, contents: dict[str, bytes]) -> Path:
    archive = folder / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return archive


def test_an_engine_that_does_not_run_is_replaced_by_dynamodb_local_and_said(monkeypatch, capsys):
    installed = []
    monkeypatch.setattr(system, "find_or_install_node", lambda: (["/bin/true"], ["/bin/true"]))
    monkeypatch.setattr(programs, "runs", lambda command: False)
    monkeypatch.setattr(packages, "install_local_engine", lambda: installed.append("local"))
    packages.install()
    assert installed == ["local"]
    assert "falling back to Amazon's DynamoDB Local" in capsys.readouterr().out


def test_npm_that_fails_says_what_it_said(monkeypatch):
    monkeypatch.setattr(
        system,
        "find_or_install_node",
        lambda: (["/bin/true"], ["/bin/sh", "-c", "echo integrity is wrong; exit 1"]),
    )
    with pytest.raises(InstallError, match=r"(?s)npm ci failed.*integrity is wrong"):
        packages.install()


def test_an_old_node_is_passed_over(tmp_path, monkeypatch):
    for name in ("node", "npm"):
        (tmp_path / name).write_text("#!/bin/sh\necho v18.20.0\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(system, "PACKAGE", tmp_path / "nothing")
    assert system.node_commands() is None
    (tmp_path / "node").write_text("#!/bin/sh\necho v20.1.0\n")
    assert system.node_commands() == ([str(tmp_path / "node")], [str(tmp_path / "npm")])


@pytest.fixture
def nothing_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_without_chromium_and_apt_the_package_is_named(nothing_installed):
    assert system.chromium() is None
    with pytest.raises(InstallError, match="Install the package chromium"):
        system.install_chromium()


def test_without_the_right_to_install_the_package_is_named(nothing_installed, monkeypatch):
    (nothing_installed / "apt-get").write_text("#!/bin/sh\nexit 0\n")
    (nothing_installed / "apt-get").chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(InstallError, match="Install the package chromium"):
        system.install_chromium()


def test_a_missing_chromium_is_installed_and_its_absence_afterwards_noticed(nothing_installed, capfd):
    calls = nothing_installed / "calls"
    (nothing_installed / "apt-get").write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    (nothing_installed / "apt-get").chmod(0o755)
    (nothing_installed / "sudo").write_text('#!/bin/sh\nshift\n[ "$1" = true ] || "$@"\n')
    (nothing_installed / "sudo").chmod(0o755)
    with pytest.raises(InstallError, match="did not bring it"):
        system.install_chromium()
    assert calls.read_text().splitlines()[-1].endswith("install -y -qq --no-install-recommends chromium")


@pytest.mark.thorough
def test_a_working_environment_is_left_alone_and_a_broken_one_is_made_anew(tmp_path):
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "left over").touch()
    system.make_virtualenv(venv)
    assert system.works(venv)
    assert not (venv / "left over").exists()
    (venv / "kept").touch()
    system.make_virtualenv(venv)
    assert (venv / "kept").exists()


def test_an_icon_is_drawn_in_the_colour_of_its_text():
    heart = packages.symbol("heart")
    assert heart.startswith('<symbol id="heart" viewBox="0 0 24 24"><path d="')
    assert heart.endswith("/></symbol>")
    assert "<svg" not in heart
    assert not re.search("fill|stroke", heart)  # or no class could say how
    themes = (ROOT / "static" / "css" / "themes.css").read_text("utf-8")
    assert re.search(r"\.icon \{[^}]*fill: none;\s+stroke: currentColor;", themes)


def test_an_icon_that_does_not_exist_is_an_error():
    with pytest.raises(packages.AssetError, match=r"static/icons\.txt names 'no-such-icon'"):
        packages.symbol("no-such-icon")


def test_a_script_that_does_not_compile_is_an_error_that_says_where(tmp_path, monkeypatch):
    (tmp_path / "static" / "js").mkdir(parents=True)
    (tmp_path / "static" / "js" / "broken.js").write_text("const one = ;")
    for name, value in {"ROOT": tmp_path, "ASSETS": tmp_path, "SHEETS": (), "SCRIPTS": ("broken",)}.items():
        monkeypatch.setattr(packages, name, value)
    with pytest.raises(packages.AssetError, match=r"(?s)The script compiler failed:.*broken\.js:1:12"):
        packages.compile_assets()


def test_every_script_is_part_of_one_that_is_collected():
    compiled = [ROOT / "static" / "js" / f"{script}.js" for script in packages.SCRIPTS]
    parts = list(compiled)
    for script in parts:  # which grows meanwhile
        found = re.findall(r'^import "(\..*)";$', script.read_text("utf-8"), re.MULTILINE)
        parts += [(script.parent / name).resolve() for name in found]
    assert set((ROOT / "static").rglob("*.js")) == set(parts)
    collected = json.loads((ROOT / "build/static/staticfiles.json").read_text("utf-8"))["paths"]
    assert {name for name in collected if name.endswith(".js")} == {path.name for path in compiled}
    desk, charts = (packages.ASSETS.joinpath(f"{name}.js").read_text("utf-8") for name in ("desk", "charts"))
    for notice in ("combobox-nav", "Sortable 1"):
        assert notice in desk
    for notice in ("Apache ECharts", "ZRender"):
        assert notice in charts
    assert "eval(" not in desk + charts


def test_a_python_that_cannot_make_environments_gets_the_package_that_can(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho ensurepip is not available; exit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    installed = []
    monkeypatch.setattr(system, "install", lambda package, why: installed.append(package))
    with pytest.raises(
        InstallError, match=r"(?s)cannot make a virtual environment.*ensurepip is not available"
    ):
        system.make_virtualenv(tmp_path / "venv")
    assert installed == ["python3-venv"]
