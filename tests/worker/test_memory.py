"""A worker's threads share two pools of memory, so that what each has freed is there for all."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from django.core.management import call_command

from dealsite.management.commands import worker
from tests.setup.conftest import ROOT

COUNT_ARENAS = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
if not hasattr(libc, "malloc_info"):
    sys.exit("no glibc")
if sys.argv[1] == "few":
    from dealsite.processes.heartbeat import use_few_arenas
    use_few_arenas()
together = threading.Barrier(12)
def hold():
    together.wait()
    libc.malloc(100_000)
    together.wait()
threads = [threading.Thread(target=hold) for _ in range(12)]
[one.start() for one in threads]
[one.join() for one in threads]
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def arenas(how: str) -> int:
    """How many pools twelve threads of a process take."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT_ARENAS, how], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    if "no glibc" in done.stderr:
        pytest.skip("ARENAS ARE NOT TRIED: this C library has none")
    assert done.returncode == 0, done.stderr
    return done.stdout.count("<heap nr=")


def test_many_threads_take_two_arenas_and_without_the_bound_more():
    assert arenas("few") <= 2
    assert arenas("many") > 2


def test_a_worker_bounds_its_arenas_before_it_starts_a_thread(monkeypatch):
    class Bounded(Exception):
        pass

    def bound() -> None:
        raise Bounded

    before = set(threading.enumerate())
    monkeypatch.setattr(worker, "use_few_arenas", bound)
    with pytest.raises(Bounded):
        call_command("worker", skip_checks=True)
    assert set(threading.enumerate()) <= before
