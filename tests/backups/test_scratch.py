"""What is being made beside the backups is removed however its process ends."""

import fcntl
import os
import shutil
import signal
import tempfile

import pytest

from dealsite.backups.scratch import PREFIX, scratch


def test_what_a_killed_process_left_is_removed_and_what_another_works_on_stays(tmp_path):
    left = tmp_path / f"{PREFIX}left"
    (left / "var").mkdir(parents=True)
    (left / "var" / "secret_key").write_text("key")
    with scratch(tmp_path) as first:
        assert sorted(tmp_path.iterdir()) == [first]
        with scratch(tmp_path) as second:
            assert sorted(tmp_path.iterdir()) == sorted([first, second])
        assert first.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_told_to_end_removes_it(tmp_path):
    before = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        with scratch(tmp_path) as folder:
            (folder / "copy").write_text("everything")
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as ended:
        work()
    assert ended.value.code == 143
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_folder_that_another_process_removes_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    make, lock, made = tempfile.mkdtemp, fcntl.flock, []

    def make_and_lose(**options):
        made.append(make(**options))
        if len(made) == 1:
            shutil.rmtree(made[0])
        return made[-1]

    def lose_and_lock(*args):
        if len(made) == 2:
            shutil.rmtree(made[1])
        return lock(*args)

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    monkeypatch.setattr(fcntl, "flock", lose_and_lock)
    with scratch(tmp_path) as folder:
        assert str(folder) == made[2]
        assert folder.exists()
