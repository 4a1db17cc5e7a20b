"""python -m dealsite.install.browser: Debian's chromium for the browser tests."""

from __future__ import annotations

import shutil
import sys

from dealsite.install import InstallError, system


def chromium() -> str | None:
    """Where a Chromium stands that the tests can drive."""
    return (
        shutil.which("chromium-headless-shell")
        or shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )


def install() -> None:
    """Install chromium where it is missing; InstallError names the package where that is not allowed."""
    if chromium() is None:
        system.install("chromium", "The browser tests need Chromium.")
    if chromium() is None:
        raise InstallError("The browser tests need Chromium, and Debian's package chromium did not bring it.")


if __name__ == "__main__":
    try:
        install()
    except InstallError as error:
        sys.exit(str(error))
