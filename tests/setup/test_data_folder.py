"""A data folder that is damaged, incomplete or cannot be written: what the operator reads, and that nothing is lost."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from dealsite import checks, environment
from dealsite.data import table
from dealsite.data.table import schema
from dealsite.data.table.writes import Put
from dealsite.engine import database
from dealsite.engine.programs import EngineError
from dealsite.engine.server import Engine, free_port
from dealsite.environment import ENGINE_ENV
from tests.setup.conftest import ROOT

ITEMS = 300
RUNS = ("run", "web", "worker", "check")
RESTORE = "Restore a backup into an empty folder: manage.py restore ARCHIVE --folder FOLDER"


@pytest.fixture(scope="module")
def used(tmp_path_factory) -> Path:
    """The data folder of a site that ran and was stopped."""
    from django.conf import settings

    var = tmp_path_factory.mktemp("used") / "var"
    before = settings.DYNAMODB_ENDPOINT_URL, settings.DEALSITE_TABLE
    with Engine(var) as engine:
        environment.write_engine_env(var, engine.url, "deals")
        settings.DYNAMODB_ENDPOINT_URL, settings.DEALSITE_TABLE = engine.url, "deals"
        table.reset()
        schema.create_table()
        for number in range(ITEMS):
            table.write(Put(key=(f"TEST#{number}", "TEST"), item={"type": "test", "text": "x" * 2_000}))
    settings.DYNAMODB_ENDPOINT_URL, settings.DEALSITE_TABLE = before
    table.reset()
    (var / "secret_key").write_text("k" * 86)
    return var


@pytest.fixture
def var(used, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(used, tmp_path / "var", ignore=shutil.ignore_patterns("*.sock")))


def manage(var: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as an operator does, who gives no secret key."""
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "DEALSITE_VAR": str(var),
            "DEALSITE_DEMO": "no",
            "PORT": str(free_port()),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )


def said_in_short(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed said, which is for operators: no traceback."""
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


# The secret key


@pytest.mark.parametrize("content", [b"", b"\n", b"\xf8\x80 key", b"key\0key"])
def test_a_damaged_secret_key_is_named_and_not_replaced(var, content):
    (var / "secret_key").write_bytes(content)
    with pytest.raises(
        ImproperlyConfigured, match=r"secret_key is empty or damaged\. Restore it from a backup\."
    ):
        environment.secret_key(var)
    assert (var / "secret_key").read_bytes() == content


def test_a_deleted_secret_key_is_missed_until_the_operator_wants_a_new_one(var):
    (var / "secret_key").unlink()
    with pytest.raises(
        ImproperlyConfigured, match=r"secret_key is missing, although .* Restore it"
    ) as refused:
        environment.secret_key(var)
    subprocess.run(["sh", "-c", str(refused.value).partition("all the same: ")[2]], check=True)
    assert len(environment.secret_key(var)) >= 64
    assert environment.secret_key_fallbacks(var) == []


def test_earlier_keys_that_cannot_be_read_are_named(var):
    (var / "secret_key_fallbacks").write_bytes(b"\xf8")
    with pytest.raises(ImproperlyConfigured, match=r"secret_key_fallbacks cannot be read: .*from a backup"):
        environment.secret_key_fallbacks(var)


def test_a_full_disk_leaves_no_half_of_a_secret_key(monkeypatch, tmp_path):

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(ImproperlyConfigured, match=r"disk of the data folder .* is full\. Free some space"):
        environment.secret_key(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_settings_that_cannot_be_read_are_a_sentence_for_every_command(var):
    (var / "secret_key").write_bytes(b"")
    assert said_in_short(manage(var, "check")).startswith(f"{var}/secret_key is empty or damaged.")


# Where the engine is


def test_a_damaged_note_of_where_the_engine_is_names_none(var):
    (var / ENGINE_ENV).write_bytes(b"DEALSITE_TABLE=deals\n\xdb\xff\0=\xf0\n")
    assert environment.read_engine_env(var).get("DYNAMODB_ENDPOINT_URL") is None
    assert environment.read_engine_env(var)["DEALSITE_TABLE"] == "deals"


# The table


def empty(file: Path) -> None:
    file.write_bytes(b"")


def garbage(file: Path) -> None:
    file.write_bytes(os.urandom(50_000))


def truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def a_page_overwritten(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(3 * 4_096)
        opened.write(os.urandom(20_000))


def later(*cases):
    return [pytest.param(*case, marks=pytest.mark.thorough) for case in cases]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (Path.unlink, f"The table is gone: the data folder .*is missing or empty. {RESTORE}"),
        (truncated, f"engine.db is damaged: database disk image is malformed. {RESTORE}"),
        *later(
            (empty, f"The table is gone: the data folder .*is missing or empty. {RESTORE}"),
            (garbage, f"engine.db is damaged: file is not a database. {RESTORE}"),
            (a_page_overwritten, rf"engine.db is damaged: (.|\n)*{RESTORE}"),
        ),
    ],
)
def test_a_site_whose_table_is_damaged_names_the_backup_and_makes_no_new_table(
    start_site, var, damage, words
):
    damage(var / "engine.db")
    size = (var / "engine.db").stat().st_size if (var / "engine.db").exists() else None
    site = start_site(var.name)
    assert site.process.wait(60) == 1
    assert "Traceback" not in site.said()
    assert re.search(words, site.said()), site.said()
    assert size == ((var / "engine.db").stat().st_size if (var / "engine.db").exists() else None)


def test_a_table_that_an_engine_without_its_file_began_anew_is_a_lost_one(var):
    (var / "engine.db").unlink()
    with Engine(var):  # as it is started again after its file was deleted under it
        pass
    assert (var / "engine.db").stat().st_size
    with pytest.raises(EngineError, match="The table is gone"):
        database.check_there(var)


def test_a_table_that_is_deleted_under_a_running_site_ends_it(var):
    with Engine(var) as engine:
        engine.look_after()
        engine.database.unlink()
        with pytest.raises(EngineError, match=r"engine\.db was deleted under the running site") as said:
            engine.look_after()
    assert RESTORE in str(said.value)


def test_an_empty_table_is_made_once_the_operator_says_so(var):
    (var / "engine.db").unlink()
    with pytest.raises(EngineError, match="remove ") as refused:
        database.check_there(var)
    Path(str(refused.value).rpartition("remove ")[2]).unlink()
    database.check_there(var)


def test_a_new_folder_and_a_restored_backup_are_no_lost_tables(var, tmp_path):
    database.check_there(tmp_path / "new")
    database.check_there(var)
    (var / ENGINE_ENV).unlink()  # a backup has none
    database.check_there(var)


def test_an_engine_in_trouble_whose_files_are_whole_keeps_its_own_words(var):
    assert str(database.explained(var, "It is too busy.")) == "It is too busy."
    with contextlib.closing(sqlite3.connect(var / "engine.db")) as file:
        assert file.execute("PRAGMA quick_check").fetchone() == ("ok",)


# A folder that cannot be written


@pytest.mark.parametrize(
    "command", [RUNS[0], *(pytest.param(c, marks=pytest.mark.thorough) for c in RUNS[1:])]
)
def test_a_read_only_folder_is_said_in_a_sentence(read_only, var, command):
    said = said_in_short(manage(read_only(var), command))
    assert "The data folder" in said
    assert "cannot be used: [Errno 30] Read-only file system. Let the user " in said
    assert "write to it, or name another one with DEALSITE_VAR." in said


def test_a_read_only_folder_without_a_key_is_said_in_a_sentence(read_only, tmp_path):
    (tmp_path / "new").mkdir()
    said = said_in_short(manage(read_only(tmp_path / "new"), "check"))
    assert said.startswith("The data folder")
    assert "Read-only file system" in said
    said = said_in_short(manage(tmp_path / "read-only" / "below", "check"))
    assert said.startswith("The data folder")
    assert "Read-only file system" in said


def test_a_file_in_the_place_of_the_folder_is_said_in_a_sentence(tmp_path):
    (tmp_path / "var").touch()
    said = said_in_short(manage(tmp_path / "var", "check"))
    assert said.startswith(f"The data folder {tmp_path}/var cannot be used:")


def test_a_folder_in_the_place_of_a_file_is_said_in_a_sentence(start_site, var):
    name = "lock"
    (var / name).unlink(missing_ok=True)
    (var / name).mkdir()
    site = start_site(var.name)
    assert site.process.wait(60) == 1
    assert "Traceback" not in site.said()
    assert f"cannot be used: [Errno 21] Is a directory: '{var / name}'. Let the user" in site.said()


def test_the_check_looks_at_the_folder_or_at_where_it_would_be_made(settings, tmp_path):
    settings.VAR = tmp_path / "not" / "there"
    assert checks.data_folder_is_usable() == []
    (tmp_path / "not").touch()
    (found,) = checks.data_folder_is_usable()
    assert found.id == "dealsite.data_folder_unusable"
    assert "Not a directory" in found.msg


def test_a_backup_of_a_damaged_table_is_refused_in_a_sentence(settings, var, tmp_path):
    truncated(var / "engine.db")
    settings.VAR, settings.DEALSITE_EMBEDDED = var, True
    with pytest.raises(CommandError, match="malformed"):
        call_command("backup", str(tmp_path / "copy.tar"))
    assert not (tmp_path / "copy.tar").exists()
