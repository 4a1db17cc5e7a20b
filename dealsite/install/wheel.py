"""Builds the wheels: one with the engine for Linux on x86-64, and one without it, for sites with a table elsewhere."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dealsite.home import RELEASE, ROOT
from dealsite.install.system import InstallError

STAGE = ROOT / "build" / "wheel"
DIST = ROOT / "dist"
PACKAGES = ("dealsite", "cms", "shopping")
EXTRAS = ("requirements-otel", "requirements-opensearch")
BESIDE = ("pyproject.toml", "README.md", "LICENSE", "requirements.in", *(f"{name}.in" for name in EXTRAS))
ENGINE = Path("node_modules/@dynoxide/linux-x64/dynoxide")
PLATFORM = "linux_x86_64"
ZIP_BEGINS = "315532800"  # in 1980: no file in a zip is older


def build() -> None:
    """Write both wheels, and the requirements that they were tested with, into dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name in ("requirements", *EXTRAS):
        shutil.copy(ROOT / f"{name}.txt", DIST)
    for platform in ("", PLATFORM):
        build_wheel(platform, DIST)
    for path in sorted(DIST.iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


def build_wheel(platform: str, folder: Path) -> None:
    """Write one wheel into a folder, with the engine if it is for a platform: from one commit always the same file."""
    stage(with_engine=bool(platform))
    options = [f"--config-settings=--build-option=--plat-name={platform}"] if platform else []
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": committed_at()}
    done = subprocess.run(
        [*pip, *options, str(STAGE)], capture_output=True, text=True, env=environ, umask=0o022
    )
    if done.returncode:
        raise InstallError(f"The wheel cannot be built:\n{(done.stdout + done.stderr).strip()[-3000:]}")


def committed_at() -> str:
    """Return the second of the commit, and outside of a clone the first that a zip can name."""
    if shutil.which("git") is None:
        return ZIP_BEGINS
    git = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or ZIP_BEGINS


def stage(*, with_engine: bool) -> None:
    """Lay out what a wheel holds: the packages, and in dealsite/release what a site needs besides."""
    shutil.rmtree(STAGE, ignore_errors=True)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, STAGE / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in BESIDE:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, STAGE)
    for file in files(with_engine=with_engine):
        target = STAGE / RELEASE.relative_to(ROOT) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, target)
    for path in STAGE.rglob("*"):  # whatever the umask of the clone
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def files(*, with_engine: bool) -> Iterator[Path]:
    """Yield the files that a running site reads and that are in no package."""
    for folder in ("templates", "build/locale"):
        yield from (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    static = Path("build/static")
    yield static / "staticfiles.json"
    manifest = json.loads((ROOT / static / "staticfiles.json").read_text("utf-8"))
    for name in sorted({*manifest["paths"], *manifest["paths"].values()}):  # other builds' stay behind
        yield from (file for file in (static / name, static / f"{name}.gz") if (ROOT / file).exists())
    yield from notices()
    if with_engine:
        yield ENGINE


def notices() -> Iterator[Path]:
    """Yield the licences of what comes from npm, as they want it where their work is passed on."""
    wanted = json.loads((ROOT / "package.json").read_text("utf-8"))
    for name in sorted([*wanted["dependencies"], *wanted["optionalDependencies"], "zrender"]):
        folder = ROOT / "node_modules" / name
        texts = [path for pattern in ("LICENSE*", "NOTICE*") for path in sorted(folder.glob(pattern))]
        yield from (path.relative_to(ROOT) for path in texts or sorted(folder.glob("package.json")))
