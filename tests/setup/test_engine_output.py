"""The engine's output: bounded, private to its owner, and nothing that the engine would wait or end for."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dealsite.engine import server
from dealsite.engine.server import BoundedLog, Engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "engine.log"


def kept(path: Path) -> dict[str, str]:
    found = {}
    for one in path.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):  # it is given its other name just now
            found[one.name] = one.read_text()
    return found


def write(path: Path, *lines: str, most: int = 1_000) -> None:
    """Let a program print some lines, one at a time."""
    log = BoundedLog(path, most)
    for line in lines:
        os.write(log.fd, line.encode())
        while line not in "".join(kept(path).values()):
            os.sched_yield()
    log.close()


def test_a_log_is_begun_anew_at_each_start_and_the_one_before_is_kept(path: Path):
    write(path, "first\n")
    assert kept(path) == {"engine.log": "first\n"}
    write(path, "second\n", "third\n")
    assert kept(path) == {"engine.log": "second\nthird\n", "engine.log.1": "first\n"}
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()} == {0o600}


def test_a_log_is_begun_anew_at_its_size_while_the_program_runs(path: Path):
    write(path, "one " * 100, "two " * 100, "three " * 100, most=1_000)
    assert kept(path) == {"engine.log": "three " * 100, "engine.log.1": "one " * 100 + "two " * 100}


def test_a_program_of_many_words_fills_two_files_at_most(path: Path):
    log = BoundedLog(path, 100_000)
    subprocess.run(
        [sys.executable, "-c", "for _ in range(20_000): print('x' * 99)"], stdout=log.fd, check=True
    )
    log.close()
    sizes = [one.stat().st_size for one in path.parent.iterdir()]
    assert len(sizes) == 2
    assert max(sizes) <= 100_000


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without space for the log."""
    full = {"open": lambda *_: os.open("/dev/full", os.O_WRONLY)}
    monkeypatch.setattr(server, "os", SimpleNamespace(**vars(os) | full))


def test_a_full_disk_cuts_the_log_short_and_holds_up_no_program(path: Path, full_disk: None):
    log = BoundedLog(path)
    said = "print('x' * 1_000_000, flush=True); print('at the end')"
    done = subprocess.run([sys.executable, "-c", said], stdout=log.fd, timeout=30, check=False)
    assert done.returncode == 0
    log.close()


def test_a_log_that_cannot_be_made_is_tried_again(tmp_path: Path):
    folder = tmp_path / "away"
    log = BoundedLog(folder / "engine.log")
    os.write(log.fd, b"lost\n")
    folder.mkdir()
    while "kept\n" not in "".join(kept(folder / "engine.log").values()):
        os.write(log.fd, b"kept\n")
        os.sched_yield()
    log.close()
    assert "kept\n" in (folder / "engine.log").read_text()


def test_an_engine_starts_although_its_log_cannot_be_written(tmp_path: Path, full_disk: None):
    """Without the pipe dynoxide aborts: it has to print where it listens."""
    with Engine(tmp_path) as engine:
        assert engine.answers()
        assert engine.supervisor.restarts == 0
