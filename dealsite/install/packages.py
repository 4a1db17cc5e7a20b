"""python -m dealsite.install.packages: npm's packages as package-lock.json pins them, and an engine that runs."""

from __future__ import annotations

import subprocess
import sys

from dealsite.engine import programs
from dealsite.install import InstallError, local_engine, node


def install() -> None:
    """Run npm ci. It ends with 0 even if the engine could not be had: so that is tried by running it."""
    node_command, npm = node.find_or_install()
    done = subprocess.run(
        [*npm, "ci", "--loglevel=error"],
        cwd=node.ROOT,
        env=node.environ(node_command),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise InstallError(f"npm ci failed:\n{(done.stdout + done.stderr).strip()[-3000:]}")
    if not programs.runs([programs.NATIVE, "--version"]):
        print(
            "The native engine does not run on this machine: falling back to Amazon's DynamoDB Local.",
            flush=True,
        )
        local_engine.install()


if __name__ == "__main__":
    try:
        install()
    except InstallError as error:
        sys.exit(str(error))
