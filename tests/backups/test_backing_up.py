"""A backup of a site in use holds all of it, as it was at one moment, and was read again."""

import io
import os
import stat
import tarfile

import pytest
from django.core.management import CommandError, call_command

from dealsite.backups import archive, backing_up
from dealsite.backups.archive import SCRATCH
from dealsite.data import table
from dealsite.data.jobs import command_runs
from dealsite.data.table.writes import Put
from dealsite.engine.database import copy_database
from tests.builders import DAY, EVER, NOW


def put(number: int) -> None:
    table.write(Put(key=(f"TEST#{number:06}", "TEST"), item={"type": "test"}))


def test_a_backup_holds_the_table_as_it_was_when_its_copy_was_made(own_site, tmp_path, monkeypatch):
    def copy_while_writing(database, copy):
        put(2)
        copy_database(database, copy)
        put(3)

    put(1)
    monkeypatch.setattr(backing_up, "copy_database", copy_while_writing)
    backing_up.back_up(tmp_path / "copy.tar", now=NOW)
    with tarfile.open(tmp_path / "copy.tar") as tar:
        items = archive.read_items(tar.extractfile(archive.TABLE))
        assert [item["PK"] for item in items] == ["TEST#000001", "TEST#000002"]
    assert table.get(("TEST#000003", "TEST")) is not None


def test_a_backup_holds_the_table_pictures_private_files_and_all_keys(own_site, tmp_path, capsys):
    put(1)
    call_command("backup", str(tmp_path / "copy.tar"))
    assert "Backed up 1 items and 5 files to" in capsys.readouterr().out
    with tarfile.open(tmp_path / "copy.tar") as tar:
        read = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
    assert read.pop("backup.json")
    (item,) = archive.read_items(io.BytesIO(read.pop("table.jsonl.gz")))
    assert (item["PK"], item["SK"], item["type"]) == ("TEST#000001", "TEST", "test")
    assert read == {
        "media/pictures/one-480.webp": b"picture",
        "private/exports/orders.csv": b"id;total",
        "secret_key": b"key",
        "secret_key_fallbacks": b"before",
    }


def test_a_backup_is_for_its_owners_eyes_alone_and_leaves_nothing_beside_it(own_site, tmp_path):
    for name, age in (("left", 3), ("in-use", 1)):  # by one that was killed, and by another that runs
        made = tmp_path / f"{SCRATCH}{name}"
        made.mkdir()
        os.utime(made, ((NOW - age * DAY).timestamp(),) * 2)
    backing_up.back_up(tmp_path / "copy.tar", now=NOW)
    assert stat.S_IMODE((tmp_path / "copy.tar").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{SCRATCH}in-use", "copy.tar", "engine"]


def test_a_backup_without_a_name_gets_one_in_the_folder_of_backups(own_site, settings, tmp_path):
    settings.DEALSITE_BACKUPS = tmp_path / "backups"
    call_command("backup", verbosity=0)
    (made,) = (tmp_path / "backups").iterdir()
    assert made.name.startswith("dealsite-20")
    assert made.suffix == ".tar"


def test_of_its_own_archives_the_newest_are_kept_and_nobody_elses_is_touched(own_site, settings, tmp_path):
    settings.DEALSITE_BACKUPS = tmp_path
    for name in ("dealsite-20261118-000000.tar", "dealsite-20261119-000000.tar", "before-the-move.tar"):
        (tmp_path / name).write_text("an archive")
    call_command("backup", "--keep", "2", verbosity=0)
    left = sorted(path.name for path in tmp_path.glob("*.tar"))
    assert left[:2] == ["before-the-move.tar", "dealsite-20261119-000000.tar"]
    assert len(left) == 3
    (noted,) = command_runs.newest("backup", now=EVER)
    assert (noted.ok, noted.by) == (True, "command")
    assert noted.said.endswith(f"{left[2]}, and read it again.")


def test_a_backup_that_fails_removes_no_archive(own_site, settings, tmp_path, monkeypatch):
    def full(database, copy):
        raise OSError("No space left on device")

    settings.DEALSITE_BACKUPS = tmp_path
    (tmp_path / "dealsite-20261118-000000.tar").write_text("an archive")
    (tmp_path / "dealsite-20261119-000000.tar").write_text("an archive")
    monkeypatch.setattr(backing_up, "copy_database", full)
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", "--keep", "1")
    assert len(list(tmp_path.glob("*.tar"))) == 2
    (noted,) = command_runs.newest("backup", now=EVER)
    assert (noted.ok, noted.said) == (False, "No space left on device")


def test_a_picture_that_an_item_names_and_the_site_lacks_is_told(own_site, tmp_path, capsys):
    for name in ("one", "two"):
        picture = {"name": f"pictures/{name}", "width": 1, "height": 1}
        table.write(Put(key=(f"TEST#{name}", "TEST"), item={"type": "test", "card": {"picture": picture}}))
    call_command("backup", str(tmp_path / "copy.tar"))
    assert capsys.readouterr().err.endswith(
        "1 pictures that items name are missing on the site: pictures/two\n"
    )


def test_a_backup_overwrites_nothing(own_site, tmp_path):
    (tmp_path / "copy.tar").write_text("precious")
    with pytest.raises(CommandError, match="exists already"):
        call_command("backup", str(tmp_path / "copy.tar"))
    assert (tmp_path / "copy.tar").read_text() == "precious"


def test_a_backup_that_fails_leaves_nothing_behind(own_site, tmp_path, monkeypatch):
    def full(database, copy):
        raise OSError("No space left on device")

    monkeypatch.setattr(backing_up, "copy_database", full)
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", str(tmp_path / "copy.tar"))
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]


def test_a_folder_without_an_engine_cannot_be_backed_up(settings, tmp_path):
    settings.VAR, settings.DEALSITE_EMBEDDED = tmp_path, True
    with pytest.raises(CommandError, match="no engine's data"):
        call_command("backup", str(tmp_path / "copy.tar"))
