"""A drill tells if the newest backup could be restored, and leaves nothing behind."""

import os

import pytest
from django.core.management import CommandError, call_command

from dealsite.backups import backing_up
from dealsite.backups.scratch import PREFIX
from dealsite.data import table
from dealsite.data.integrity import checks
from dealsite.data.jobs import command_runs
from dealsite.data.table.writes import Put
from tests.builders import NOW


@pytest.fixture
def backups(own_site, settings, tmp_path):
    """A folder with two backups, the older one with the later name."""
    checks.repair_all()  # makes the roots
    settings.DEALSITE_BACKUPS = tmp_path / "backups"
    for name, mtime in (("b.tar", 1), ("a.tar", 2)):
        backing_up.back_up(settings.DEALSITE_BACKUPS / name, now=NOW)
        os.utime(settings.DEALSITE_BACKUPS / name, (mtime, mtime))
    return settings.DEALSITE_BACKUPS


def test_a_drill_restores_the_newest_backup_checks_it_and_removes_it(backups, capsys):
    (backups / f"{PREFIX}left").mkdir()  # by one that was killed
    call_command("restore_drill")
    said = capsys.readouterr().out
    assert "a.tar, of 2026-11-21 12:00 UTC, restores whole: " in said
    noted = command_runs.newest("restore_drill")
    assert noted is not None
    assert (noted.ok, noted.said) == (True, said.strip())
    assert sorted(one.name for one in backups.iterdir()) == ["a.tar", "b.tar"]


def test_a_backup_of_a_table_that_is_not_whole_fails_the_drill(backups, capsys):
    table.write(Put(key=("BRAND#odd", "BRAND#odd"), item={"type": "Brand"}))
    backing_up.back_up(backups / "odd.tar", now=NOW)
    with pytest.raises(CommandError, match=r"odd\.tar, .* was restored, and its table has \d+ problems"):
        call_command("restore_drill", backups / "odd.tar")
    assert "BRAND#odd" in capsys.readouterr().err


def test_without_a_backup_a_drill_says_so_and_that_is_noted(own_site, settings, tmp_path):
    settings.DEALSITE_BACKUPS = tmp_path
    with pytest.raises(CommandError, match="There is no backup in"):
        call_command("restore_drill")
    noted = command_runs.newest("restore_drill")
    assert noted is not None
    assert (noted.ok, noted.by, noted.said[:18]) == (False, "command", "There is no backup")


def test_a_drill_of_a_worker_is_noted_by_the_worker_alone(own_site, settings, tmp_path):
    settings.DEALSITE_BACKUPS = tmp_path
    with pytest.raises(CommandError, match="There is no backup in"):
        call_command("restore_drill", "--unnoted")
    assert command_runs.newest("restore_drill") is None
