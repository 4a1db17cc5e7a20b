"""Locks whose file, or whole folder, is deleted under whoever holds them."""

import shutil
import threading

import pytest

from dealsite.stream import rebuilding
from dealsite.stream.rebuilding import TurnLost


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_lock_whose_file_is_deleted_is_no_longer_held(tmp_path, what):
    folder = tmp_path / "search"
    with rebuilding.locked(folder, rebuilding.OPEN, wait=False) as first:
        assert first.is_held()
        first.check()
        if what == "file":
            (folder / rebuilding.OPEN).unlink()
        else:
            shutil.rmtree(folder)
        assert not first.is_held()
        with rebuilding.locked(folder, rebuilding.OPEN, wait=False) as second:
            assert second.is_held()
            assert not first.is_held()
            with pytest.raises(TurnLost):
                first.check()


def test_who_waited_for_a_file_that_was_deleted_meanwhile_locks_the_new_one(tmp_path):
    held, got = [], threading.Event()

    def wait():
        with rebuilding.locked(tmp_path, rebuilding.OPEN, wait=True) as lock:
            held.append(lock.is_held())
            got.set()

    waiting = threading.Thread(target=wait)
    with rebuilding.locked(tmp_path, rebuilding.OPEN, wait=False):
        waiting.start()
        while not _is_waited_for(tmp_path / rebuilding.OPEN):
            got.wait(0.01)
        (tmp_path / rebuilding.OPEN).unlink()
    assert got.wait(10)
    waiting.join()
    assert held == [True]


def _is_waited_for(file):
    """Tell whether the kernel has somebody waiting for the lock of a file."""
    with open("/proc/locks", encoding="ascii") as locks:  # noqa: PTH123 - no file of a disk
        return any("->" in line and line.split()[-3].endswith(f":{file.stat().st_ino}") for line in locks)


def test_looking_at_a_lock_makes_no_file(tmp_path):
    assert not rebuilding.is_locked(tmp_path / "gone", rebuilding.WAITING)
    assert not (tmp_path / "gone").exists()
    with rebuilding.locked(tmp_path, rebuilding.WAITING, wait=False):
        assert rebuilding.is_locked(tmp_path, rebuilding.WAITING)
        with rebuilding.locked(tmp_path, rebuilding.WAITING, wait=False) as other:
            assert other is None
    assert not rebuilding.is_locked(tmp_path, rebuilding.WAITING)
