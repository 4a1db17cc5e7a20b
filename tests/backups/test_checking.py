"""`restore --check` tells if a backup could be restored, and leaves nothing behind."""

import os

import pytest
from django.core.management import CommandError, call_command

from dealsite.backups import backing_up
from dealsite.data import table
from dealsite.data.integrity import checks
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


def test_the_newest_backup_is_restored_checked_and_removed(backups, capsys):
    before = list(table.scan_all(consistent=True))
    call_command("restore", "--check")
    said = capsys.readouterr().out
    assert "a.tar: restored " in said
    assert "Its table is whole" in said
    assert sorted(one.name for one in backups.iterdir()) == ["a.tar", "b.tar"]
    assert list(table.scan_all(consistent=True)) == before


def test_a_backup_of_a_table_that_is_not_whole_fails(backups, capsys):
    table.write(Put(key=("BRAND#odd", "BRAND#odd"), item={"type": "Brand"}))
    backing_up.back_up(backups / "odd.tar", now=NOW)
    with pytest.raises(CommandError, match=r"odd\.tar was restored, and its table has \d+ problems"):
        call_command("restore", "--check", backups / "odd.tar")
    assert "BRAND#odd" in capsys.readouterr().err


def test_without_a_backup_it_says_so(own_site, settings, tmp_path):
    settings.DEALSITE_BACKUPS = tmp_path
    with pytest.raises(CommandError, match="There is no backup in"):
        call_command("restore", "--check")
    with pytest.raises(CommandError, match="Name the archive"):
        call_command("restore")
