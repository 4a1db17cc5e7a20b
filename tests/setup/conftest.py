"""A process that runs a whole site, and engines of a test's own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.table import schema
from dealsite.engine.server import Engine
from tests.setup.disks import mounted, read_only, small_disk  # noqa: F401 - fixtures

ROOT = Path(__file__).resolve().parent.parent.parent


def wait_for(true: Callable[[], bool], seconds: float = 30, *, pause: float = 0.01) -> None:
    """Look again and again until it is so; fails after a while."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not so after {seconds} seconds"
        time.sleep(pause)


class Site:
    """manage.py run in a process of its own, of this code unless another build is given."""

    def __init__(
        self, var: Path, port: int, before: Sequence[str] = (), build: Path = ROOT, **environ: str
    ) -> None:
        self.var, self.port, self.url = var, port, f"http://127.0.0.1:{port}"
        self.output = var.parent / f"{var.name}-{port}.log"
        kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [*before, sys.executable, "manage.py", "run"],
                cwd=build,
                env=kept
                | {"DEALSITE_VAR": str(var), "PORT": str(port), "DEALSITE_DEMO": "no"}
                | {"DEALSITE_LOG_FORMAT": "text"}
                | environ,
                stdout=output,
                stderr=output,
                process_group=0,
            )

    def said(self) -> str:
        return self.output.read_text("utf-8")

    def wait_until_up(self) -> None:
        wait_for(lambda: "runs at" in self.said() or self.process.poll() is not None, 60)
        assert self.process.poll() is None, self.said()

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)

    def children(self) -> list[int]:
        return descendants(self.process.pid)


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def children_of(pid: int) -> list[int]:
    """The processes that a process started itself."""
    return [child for child in descendants(pid) if parent_of(child) == pid]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_the_end_of(pid: int) -> None:
    wait_for(lambda: not alive(pid))


@pytest.fixture
def start_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """A function that starts a site on a data folder of this test's, at a free port."""
    from dealsite.engine.server import free_port

    sites: list[Site] = []

    def start(name: str = "var", port: int = 0, before: Sequence[str] = (), **more: Any) -> Site:
        site = Site(tmp_path / name, port or free_port(), before, **more)
        sites.append(site)
        return site

    yield start
    for site in sites:
        if site.process.poll() is None:
            site.stop(signal.SIGTERM)


@pytest.fixture
def own_engine(tmp_path: Path, settings) -> Iterator[Engine]:
    """An engine of this test's own, with the table, for what others would be disturbed by."""
    engine = Engine(tmp_path / "engine")
    engine.start()
    settings.DYNAMODB_ENDPOINT_URL, settings.DEALSITE_TABLE = engine.url, "deals"
    table.reset()
    schema.create_table()
    yield engine
    engine.stop()
    table.reset()
