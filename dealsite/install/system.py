"""Debian's packages, installed where this user may."""

from __future__ import annotations

import os
import shutil
import subprocess

from dealsite.install import InstallError


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
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
    ):
        done = subprocess.run([*prefix, *command], env=quiet, capture_output=True, text=True)
        if done.returncode and command[1] == "install":
            raise InstallError(f"{by_hand}\n{done.stderr.strip()[-1500:]}")
