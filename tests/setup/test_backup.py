"""A backup of a data folder in use is a data folder."""

import stat
import tarfile
import threading

import pytest
from django.core.management import CommandError, call_command

from dealsite.data import table
from dealsite.data.table.writes import Put
from dealsite.engine import database as backup
from dealsite.engine.server import Engine
from tests.setup.conftest import wait_for


def put(number: int) -> None:
    table.write(Put(key=(f"TEST#{number:06}", "TEST"), item={"type": "test"}))


def test_a_backup_made_while_writing_holds_every_write_from_before_it(own_engine, settings, tmp_path):
    var = own_engine.folder
    (var / "media" / "pictures").mkdir(parents=True)
    (var / "media" / "pictures" / "one.webp").write_bytes(b"picture")
    (var / "secret_key").write_text("key")
    written: list[int] = []
    enough = threading.Event()

    def write() -> None:
        while not enough.is_set():
            put(len(written))
            written.append(len(written))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_for(lambda: len(written) > 200)
        settings.VAR = var
        before = len(written)
        call_command("backup", str(tmp_path / "copy.tar"), verbosity=0)
        wait_for(lambda: len(written) > before + 50)  # the site went on
    finally:
        enough.set()
        writer.join()

    with tarfile.open(tmp_path / "copy.tar") as tar:
        tar.extractall(tmp_path / "copy")
    assert (tmp_path / "copy" / "media" / "pictures" / "one.webp").read_bytes() == b"picture"
    assert (tmp_path / "copy" / "secret_key").read_text() == "key"
    with Engine(tmp_path / "copy") as engine:
        url = engine.url
        settings.DYNAMODB_ENDPOINT_URL = url
        table.reset()
        missing = [number for number in range(before) if table.get((f"TEST#{number:06}", "TEST")) is None]
    assert missing == []


def test_a_backup_is_for_its_owners_eyes_alone(own_engine, tmp_path):
    backup.back_up(own_engine.folder, tmp_path / "copy.tar")
    assert stat.S_IMODE((tmp_path / "copy.tar").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.tar", "engine"]


def test_a_backup_overwrites_nothing(own_engine, settings, tmp_path):
    (tmp_path / "copy.tar").write_text("precious")
    settings.VAR = own_engine.folder
    with pytest.raises(CommandError, match="exists already"):
        call_command("backup", str(tmp_path / "copy.tar"))
    assert (tmp_path / "copy.tar").read_text() == "precious"


def test_a_backup_that_fails_leaves_nothing_behind(own_engine, settings, tmp_path, monkeypatch):
    def full(database, copy):
        raise OSError("No space left on device")

    monkeypatch.setattr(backup, "copy_database", full)
    settings.VAR = own_engine.folder
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", str(tmp_path / "copy.tar"))
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]


def test_a_folder_without_an_engine_cannot_be_backed_up(settings, tmp_path):
    settings.VAR = tmp_path
    with pytest.raises(CommandError, match="no engine's data"):
        call_command("backup", str(tmp_path / "copy.tar"))
