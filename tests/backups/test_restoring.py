"""A backup of either kind of site restores into a data folder, and into another table."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from dealsite.backups import backing_up, restoring
from dealsite.backups.archive import ArchiveError
from dealsite.backups.restoring import engine_aside
from dealsite.data import SCHEMAS, table
from dealsite.data.jobs import site_switch
from dealsite.data.table import schema
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.ids import epoch_seconds
from dealsite.data.table.writes import Put
from dealsite.engine.database import RESTORING, check_there
from dealsite.engine.programs import EngineError
from tests.backups.conftest import name_storages
from tests.builders import NOW

ODD: Item = {
    "type": "Deal",
    "schema": 0,
    "n": 12,
    "texts": {"a", "b"},
    "map": {"none": None, "list": [b"x", True]},
}


@pytest.fixture
def path(own_site, tmp_path):
    """An archive of sixty items, one of them of another schema than this build writes, one that has expired."""
    items: list[Item] = [{"PK": f"T#{n}", "SK": "T", "type": "test", "text": "x" * 50_000} for n in range(58)]
    items += [{"PK": "ODD", "SK": "ODD", **ODD}, {"PK": "OVER", "SK": "OVER", "ttl": epoch_seconds(NOW)}]
    table.insert(items, as_stored=True)
    backing_up.back_up(tmp_path / "copy.tar", now=NOW)
    return tmp_path / "copy.tar"


def quiet(items: int, total: int) -> None:
    """Show nothing."""


def items() -> int:
    """Count the items, but for what marks a copy."""
    return sum(item["type"] not in ("SiteSwitch", "AuditEntry") for item in table.scan_all())


def test_a_backup_restores_into_an_empty_folder_and_the_same_once_more_from_there(
    path, own_site, settings, tmp_path, monkeypatch
):
    new = tmp_path / "new"
    monkeypatch.chdir(tmp_path)
    restoring.into_folder(path, Path("new"), now=NOW, advance=quiet)
    assert sorted(one.name for one in new.iterdir()) == [
        "engine.db",
        "media",
        "private",
        "secret_key",
        "secret_key_fallbacks",
    ]
    assert (new / "media" / "pictures" / "one-480.webp").read_bytes() == b"picture"
    assert (new / "private" / "exports" / "orders.csv").read_bytes() == b"id;total"
    assert (new / "secret_key").read_text() == "key"
    check_there(new)
    with engine_aside(new):
        assert schema.drift() == []
        assert table.get(("ODD", "ODD"), as_stored=True) == {"PK": "ODD", "SK": "ODD", **ODD}
        assert table.get(("OVER", "OVER")) is None
        assert items() == 59

    settings.VAR, settings.MEDIA_ROOT = new, new / "media"
    name_storages(settings, new)
    again = backing_up.back_up(tmp_path / "again.tar", now=NOW)
    assert again.manifest.items == {"test": 58, "Deal": 1, "SiteSwitch": 1, "AuditEntry": 1}


@pytest.mark.parametrize("into", ["folder", "table"])
def test_what_is_restored_is_a_copy_that_rests_whatever_the_switch_of_the_site_says(
    own_site, settings, tmp_path, capsys, monkeypatch, into
):
    monkeypatch.setattr(backing_up, "__version__", "1\x1b[31m")
    site_switch.switch_site("open", message="As always.", by="olga", now=NOW)
    backing_up.back_up(tmp_path / "copy.tar", now=NOW)
    if into == "folder":
        call_command("restore", str(tmp_path / "copy.tar"), folder=tmp_path / "new")
        with engine_aside(tmp_path / "new"):
            switch = site_switch.read()
    else:
        settings.DEALSITE_TABLE = "copied"
        name_storages(settings, tmp_path / "copied")
        settings.MEDIA_ROOT = tmp_path / "copied"
        call_command("restore", str(tmp_path / "copy.tar"), "--table")
        switch = site_switch.read()
    assert (switch.state, switch.by) == ("copy", "-")
    said = capsys.readouterr().out
    assert site_switch.COPY_RESTS in said
    assert "by release 1\\x1b[31m." in said


def test_a_folder_that_holds_anything_is_left_alone(path, tmp_path):
    (tmp_path / "engine" / "media").mkdir(exist_ok=True)
    with pytest.raises(CommandError, match="is not empty: it holds"):
        call_command("restore", str(path), folder=tmp_path / "engine")
    assert (tmp_path / "engine" / "engine.db").exists()


def test_a_restore_that_ends_before_its_end_begins_anew_and_no_site_starts_meanwhile(
    path, tmp_path, monkeypatch
):
    new = tmp_path / "new"

    def end(items: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restoring.into_folder(path, new, now=NOW, advance=end)
    assert (new / RESTORING).exists()
    with pytest.raises(EngineError, match="did not end"):
        check_there(new)
    (new / "lock").touch()  # of a site that was refused
    restoring.into_folder(path, new, now=NOW, advance=quiet)
    check_there(new)
    assert (new / "engine.db").exists()


def test_a_restore_that_begins_anew_removes_only_what_a_restore_makes(path, tmp_path):
    new = tmp_path / "new"
    (new / RESTORING).mkdir(parents=True)
    (new / "media").mkdir()
    (new / "media.before").mkdir()
    with pytest.raises(ArchiveError, match=r"is not empty: it holds media\.before"):
        restoring.into_folder(path, new, now=NOW, advance=quiet)
    assert {one.name for one in new.iterdir()} == {RESTORING, "media", "media.before"}


def test_an_archive_in_the_folder_that_is_to_be_emptied_is_refused(path, tmp_path):
    inside = tmp_path / "new" / "media" / "copy.tar"
    inside.parent.mkdir(parents=True)
    (tmp_path / "new" / RESTORING).mkdir()
    path.rename(inside)
    with pytest.raises(ArchiveError, match="Move it elsewhere"):
        restoring.into_folder(inside, tmp_path / "new", now=NOW, advance=quiet)
    assert inside.exists()


def test_two_restores_do_not_share_a_folder(path, tmp_path):
    (tmp_path / "new").mkdir()
    with restoring._alone(tmp_path / "new"), pytest.raises(ArchiveError, match="in use"):
        restoring.into_folder(path, tmp_path / "new", now=NOW, advance=quiet)


def test_a_backup_restores_into_a_new_table_and_goes_on_where_it_was_ended(
    path, settings, tmp_path, monkeypatch
):
    settings.DEALSITE_TABLE = "elsewhere"
    settings.MEDIA_ROOT = tmp_path / "elsewhere"
    name_storages(settings, tmp_path / "elsewhere")
    insert, calls = table.insert, []

    def break_off(items, **options):
        calls.append(items)
        if len(calls) == 2:
            raise Unavailable()
        return insert(items, **options)

    monkeypatch.setattr(table, "insert", break_off)
    with pytest.raises(CommandError):
        call_command("restore", str(path), "--table")
    with pytest.raises(CommandError, match="holds items already"):
        call_command("restore", str(path), "--table")
    table.write(Put(key=("T#0", "T"), item={"type": "test", "text": "written since"}))
    (tmp_path / "elsewhere" / "pictures").mkdir(parents=True)
    (tmp_path / "elsewhere" / "pictures" / "one-480.webp").write_bytes(b"pict")
    assert site_switch.read().is_copy  # before it is complete
    call_command("restore", str(path), "--table", "--resume")
    assert items() == 59
    assert table.get(("T#0", "T"))["text"] == "written since"
    assert (tmp_path / "elsewhere" / "pictures" / "one-480.webp").read_bytes() == b"picture"
    assert (tmp_path / "elsewhere" / "private" / "exports" / "orders.csv").read_bytes() == b"id;total"


def test_a_table_of_amazon_is_backed_up_by_a_scan_and_restores_into_a_folder(own_site, settings, tmp_path):
    settings.DEALSITE_EMBEDDED = False  # its tables are wherever the endpoint is
    table.write(Put(key=("A", "A"), item={"type": "test"}))
    backing_up.back_up(tmp_path / "copy.tar", now=NOW)
    restoring.into_folder(tmp_path / "copy.tar", tmp_path / "new", now=NOW, advance=quiet)
    with engine_aside(tmp_path / "new"):
        assert table.get(("A", "A"))["type"] == "test"


def test_a_type_that_was_retired_since_is_not_newer(path, tmp_path, monkeypatch):
    monkeypatch.setattr(restoring, "RETIRED", SCHEMAS.keys())
    monkeypatch.setattr(restoring, "SCHEMAS", {})
    restoring.into_folder(path, tmp_path / "new", now=NOW, advance=quiet)


def test_what_a_newer_release_wrote_is_not_restored(path, tmp_path, monkeypatch):
    monkeypatch.setattr(restoring, "SCHEMAS", {})
    with pytest.raises(ArchiveError, match="knows more than this one of"):
        restoring.into_folder(path, tmp_path / "new", now=NOW, advance=quiet)
    assert not (tmp_path / "new").exists()


def test_items_that_the_table_lacks_after_a_restore_are_told(path, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "load", lambda items: None)
    with pytest.raises(ArchiveError, match="59 items are missing"):
        restoring.into_folder(path, tmp_path / "new", now=NOW, advance=quiet)
