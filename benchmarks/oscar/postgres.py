"""A PostgreSQL of one's own: in a temporary folder, on a Unix socket alone, gone at the end."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INSTALLED = Path("/usr/lib/postgresql")  # where Debian puts each version
READY_SECONDS = 60
OWNER = "postgres"  # who runs it for root, as whom it does not run


def programs(installed: Path = INSTALLED) -> Path:
    """Return the folder of the newest version's programs."""
    found = [path.parent for path in installed.glob("*/bin/initdb")]
    if not found:
        raise SystemExit(
            f"There is no PostgreSQL in {installed}: install Debian's package postgresql (apt-get install postgresql)."
        )
    return max(found, key=lambda path: int(path.parent.name))


@contextlib.contextmanager
def running() -> Iterator[Path]:
    """Run a new PostgreSQL with its default settings; give the folder of its socket, where its owner may write."""
    with tempfile.TemporaryDirectory(prefix="dealsite-oscar-") as name:
        folder, bin_ = Path(name), programs()
        who: dict[str, Any] = {"cwd": folder}
        if os.geteuid() == 0:
            owner = pwd.getpwnam(OWNER)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            who |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        initdb = f"{bin_}/initdb --auth=trust --username={OWNER} --encoding=UTF8 --locale=C.UTF-8 data"
        subprocess.run(initdb.split(), check=True, stdout=subprocess.DEVNULL, **who)
        command = [str(bin_ / "postgres"), "-D", "data", "-k", str(folder), "-c", "listen_addresses="]
        with (folder / "log").open("wb") as log:
            server: subprocess.Popen[bytes] = subprocess.Popen(
                command, stdout=log, stderr=log, process_group=0, **who
            )
        try:
            _wait(bin_, folder, server)
            yield folder
        finally:
            server.send_signal(signal.SIGINT)  # its fast shutdown
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(bin_: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and server.poll() is None:
        if not subprocess.run([bin_ / "pg_isready", "-q", "-h", folder]).returncode:
            return
        time.sleep(0.1)
    raise SystemExit(f"PostgreSQL does not start.\n{(folder / 'log').read_text('utf-8', 'replace')}")
