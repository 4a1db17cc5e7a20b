"""python3 -m dealsite.install.virtualenv: makes .venv, with Debian's python3-venv where that is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from dealsite.install import InstallError, system

ROOT = Path(__file__).resolve().parent.parent.parent
VENV = ROOT / ".venv"


def works(venv: Path) -> bool:
    """Whether a virtual environment is there with a pip that starts."""
    python = venv / "bin" / "python"
    return (
        python.exists()
        and not subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode
    )


def make(venv: Path = VENV) -> None:
    """Leave a working environment alone, make it otherwise."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this runs before anything else could say so
        raise InstallError(f"Dealsite needs Python 3.11 or newer, and python3 is {sys.version.split()[0]}.")
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
        system.install("python3-venv", why)


if __name__ == "__main__":
    try:
        make()
    except InstallError as error:
        sys.exit(str(error))
