"""A whole site under load, parts of which are killed at any moment: nothing is lost or done twice, nothing is left."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dealsite import environment
from dealsite.data import table
from dealsite.data.integrity import checks
from dealsite.data.table.errors import Unavailable
from dealsite.lake import snapshots
from tests.reach import needs_namespaces
from tests.setup.conftest import Site, alive, children_of, wait_for, wait_for_the_end_of
from tests.setup.mixed_load import LIMITS, Browser, MixedLoad

SEED = int(os.environ.get("KILL_SEED") or 1)
BACK_SECONDS = 5.0
# What is killed, and how often in a hundred times. With a question, the process that answers one is there.
KINDS = {
    "engine": 17,
    "around engine": 10,
    "web": 27,
    "worker": 20,
    "launcher": 6,
    "answer": 10,
    "web with answer": 10,
}
PARTS = {
    "engine": b"dynoxide",
    "around engine": b"engine/namespace.py",
    "web": b"dealsite.front_door.process",
    "worker": b"dealsite\0worker",
    "answer": b"ask/child.py",
}
FOREVER = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


class Killed:
    """A site whose parts are killed; it knows every process that it ever had."""

    def __init__(self, start: Callable[..., Site], settings) -> None:
        began = time.monotonic()
        self.site = start(DEALSITE_LIMITS=LIMITS)
        self.site.wait_until_up()
        self.seconds = time.monotonic() - began
        self._start = start
        self.ever: set[int] = set()
        joined = environment.read_engine_env(self.site.var)
        settings.DYNAMODB_ENDPOINT_URL = joined["DYNAMODB_ENDPOINT_URL"]
        settings.DEALSITE_TABLE = joined["DEALSITE_TABLE"]
        settings.VAR = self.site.var
        table.reset()
        with snapshots.making(now=datetime.now(UTC)):  # for questions
            pass
        self.asker = Browser.of("ask", self.site.port, ["admin"])

    def processes(self) -> dict[str, list[int]]:
        """The processes of now, by kind."""
        pids = self.site.children()
        self.ever |= {self.site.process.pid, *pids}
        found: dict[str, list[int]] = {kind: [] for kind in PARTS}
        for pid in pids:
            command = command_of(pid)
            for kind, part in PARTS.items():
                # The process around the engine names the engine, too.
                if part in command and not (kind == "engine" and PARTS["around engine"] in command):
                    found[kind].append(pid)
        return found

    def is_whole(self) -> bool:
        found = self.processes()
        return [len(found[kind]) for kind in ("engine", "around engine", "web", "worker")] == [1, 1, 2, 1]

    def kill(self, kind: str, choice: random.Random) -> float:
        """Kill a process, and the site again if it was the launcher; the seconds until it is ready again."""
        if "answer" in kind:
            wait_for(self.is_answering)
        found = self.processes()
        if kind == "launcher":
            victim = self.site.process.pid
        elif kind == "web with answer":
            victim = next(pid for pid in found["web"] if found["answer"][0] in children_of(pid))
        else:
            victim = choice.choice(found[kind])
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        if kind == "launcher":
            self.site.process.wait(10)
            self.site = self._start(port=self.site.port, DEALSITE_LIMITS=LIMITS)
        wait_for(lambda: not alive(victim) and self.is_whole() and self.is_ready())
        seconds = time.monotonic() - began
        for pid in found["answer"]:
            wait_for_the_end_of(pid)
        return seconds

    def is_answering(self) -> bool:
        self.asker.send("/cms/ask/", {"sql": FOREVER})
        return self.processes()["answer"] != []

    def is_ready(self) -> bool:
        assert self.site.process.poll() is None, self.site.said()
        return Browser(self.site.port).send("/readyz").status == 200


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def killed(start_site, settings) -> Iterator[Killed]:
    yield Killed(start_site, settings)
    table.reset()


def kill_under_load(killed: Killed, kinds: list[str], choice: random.Random) -> None:
    """Kill some, and see that all is there once and each is back in time; on a busy machine that is longer."""
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with MixedLoad(killed.site.port) as load:
        for kind in kinds:
            time.sleep(choice.uniform(0, 0.4))
            seconds[kind].append(killed.kill(kind, choice))
    load.check()
    problems: list[str] = []
    wait_for(lambda: is_checked(problems))
    assert problems == []
    killed.processes()
    assert killed.site.stop() == 0
    assert [pid for pid in killed.ever if alive(pid)] == []
    slowest = {kind: max(found) for kind, found in seconds.items() if found}
    print(f"KILL_SEED={SEED}", dict(load.answers), slowest, f"first start {killed.seconds:.1f}")  # noqa: T201
    assert max(slowest.values()) < max(BACK_SECONDS, 2 * killed.seconds)


def is_checked(problems: list[str]) -> bool:
    try:
        problems[:] = [str(problem) for problem in checks.find()]
    except Unavailable:
        return False
    return True


@needs_namespaces
@pytest.mark.thorough
def test_one_of_each_part_is_killed_under_load(killed):
    kill_under_load(killed, ["engine", "worker", "launcher", "web with answer"], random.Random(SEED))


@needs_namespaces
@pytest.mark.release
def test_a_hundred_parts_are_killed_under_load(killed):
    choice = random.Random(SEED)
    kinds = [kind for kind, times in KINDS.items() for _ in range(times)]
    choice.shuffle(kinds)
    kill_under_load(killed, kinds, choice)
