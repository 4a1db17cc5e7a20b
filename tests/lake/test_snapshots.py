"""A snapshot is there whole or not at all, on this machine and in a bucket, whatever dies while it is made."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import call_command
from django.utils import timezone

from dealsite.ask import numbers
from dealsite.buckets import files
from dealsite.data import table
from dealsite.data.table import client
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import is_ulid, new_ulid, time_of
from dealsite.lake import exports, snapshots
from dealsite.lake.entities import ENTITIES
from tests.buckets import KEYS, empty_bucket
from tests.builders import NOW, make_deal
from tests.lake.items import item
from tests.table_requests import Lost, Request, handled

LATER = NOW + timedelta(hours=1)


def titles(folder: Path) -> list[str]:
    found: list[str] = pq.read_table(folder / "deals")["title"].to_pylist()
    return sorted(found)


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Path) -> Path:
    settings.VAR, settings.DEALSITE_LAKE = tmp_path / "var", ""
    return tmp_path / "var"


def make(moment: Any = NOW) -> Path:
    with snapshots.making(now=moment):
        pass
    newest = snapshots.newest()
    assert newest is not None
    return newest


def test_a_snapshot_holds_the_table_as_it_was(fresh_table: Any):
    make_deal(title="Lamp")
    made = make()
    make_deal(title="Mug")
    assert (titles(made), time_of(made.name)) == (["Lamp"], NOW)
    assert titles(make(LATER)) == ["Lamp", "Mug"]
    assert sorted(path.name for path in made.iterdir()) == sorted(one.table for one in ENTITIES)


def test_the_command_makes_one_and_counts_its_numbers(fresh_table: Any, capsys: Any):
    call_command("snapshot")
    newest = snapshots.newest()
    assert newest is not None
    assert "rows." in capsys.readouterr().out
    assert len(numbers.of(newest)["orders"].days) == 30


def test_many_rows_are_written_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshots, "ROWS", 7)
    made = [item(kind, number, 1) for number in range(20) for kind in ("Order", "Deal")]
    assert snapshots.write([*made, {"type": "Session"}, {}], tmp_path / "made") == 40
    for name in ("orders", "deals"):
        file = pq.ParquetFile(tmp_path / "made" / name / "0.parquet")
        assert (file.metadata.num_rows, file.num_row_groups > 1) == (20, True)
    ids = duckdb.sql(f"SELECT count(DISTINCT id) FROM '{tmp_path}/made/orders/0.parquet'").fetchall()  # noqa: S608
    assert ids == [(20,)]


def test_the_newest_two_are_kept_and_what_is_none_is_left_alone(fresh_table: Any, var: Path):
    (var / "lake" / "history").mkdir(parents=True)
    for hours in range(4):
        make(NOW + timedelta(hours=hours))
    kept = [path.name for path in (var / "lake").iterdir() if path.is_dir()]
    assert len(kept) == 3
    assert "history" in kept
    newest = snapshots.newest()
    assert newest is not None
    assert time_of(newest.name) == NOW + timedelta(hours=3)


@pytest.mark.parametrize("dies", ["scan", "numbers", "disk"])
def test_one_that_was_broken_off_does_not_count_and_its_files_go(
    fresh_table: Any, var: Path, monkeypatch: pytest.MonkeyPatch, dies: str
):
    before = make()

    def broken(**_: Any) -> Iterator[Any]:
        yield {"type": "Deal"}
        raise DataError("The table is away.")

    breaks = {"scan": (table, "scan_all", broken), "disk": (os, "fsync", _full)}

    def make_and_die() -> None:
        with snapshots.making(now=LATER):
            if dies == "numbers":
                raise DataError("The numbers cannot be counted.")

    with monkeypatch.context() as patched:
        if dies in breaks:
            patched.setattr(*breaks[dies])
        with pytest.raises((DataError, OSError)):
            make_and_die()
    assert snapshots.newest() == before
    assert len([*(var / "lake").glob(".making-*")]) == 1
    assert time_of(make(LATER).name) == LATER
    assert [*(var / "lake").glob(".making-*")] == []


def _full(*_: Any) -> None:
    raise OSError("No space left on device")


# In a bucket


@pytest.fixture
def bucket(moto_engine: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An S3 bucket for snapshots, empty; the site's machines share it."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    lake = empty_bucket(moto_engine, "deals", location="lake")
    settings.STORAGES = settings.STORAGES | {"lake": lake}
    settings.DEALSITE_LAKE = "s3://deals/lake"
    monkeypatch.setattr(snapshots, "_fetch_soon", lambda: None)
    return storages["lake"]


def test_another_machine_fetches_the_newest_and_goes_on_with_it(
    fresh_table: Any, bucket: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    make_deal(title="Lamp")
    first = make()
    settings.VAR = tmp_path / "other"
    assert snapshots.newest() is None
    snapshots.fetch()
    other = snapshots.newest()
    assert other is not None
    assert (other.name, titles(other)) == (first.name, ["Lamp"])
    assert other != first
    settings.STORAGES = settings.STORAGES | {"lake": {"BACKEND": "no.Such"}}
    snapshots.fetch()  # S3 is away
    assert snapshots.newest() == other


def test_one_that_was_not_copied_whole_is_fetched_by_nobody(
    fresh_table: Any, bucket: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = make()
    with monkeypatch.context() as patched:
        patched.setattr(type(bucket), "save", _full)
        with pytest.raises(OSError, match="No space"):
            make(LATER)
    settings.VAR = tmp_path / "other"
    snapshots.fetch()
    other = snapshots.newest()
    assert other is not None
    assert other.name == first.name


def test_one_that_was_not_fetched_whole_is_fetched_again(
    fresh_table: Any, bucket: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = make()
    settings.VAR = tmp_path / "other"
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", _full)
        snapshots.fetch()
    assert snapshots.newest() is None
    snapshots.fetch()
    assert snapshots.newest() == tmp_path / "other" / "lake" / first.name


def test_one_that_is_deleted_while_it_is_fetched_is_not_kept(
    fresh_table: Any, bucket: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = make()
    settings.VAR = tmp_path / "other"
    snapshots.fetch()
    settings.VAR = tmp_path / "var"
    second = make(LATER)
    opens, opened = type(bucket).open, []

    def open_slowly(self: Any, name: str, mode: str = "rb") -> Any:
        opened.append(name)
        if len(opened) == 2:  # after the pointer, the first table
            for path in {*files(self, second.name)} - {name}:
                self.delete(path)
        return opens(self, name, mode)

    settings.VAR = tmp_path / "other"
    with monkeypatch.context() as patched:
        patched.setattr(type(bucket), "open", open_slowly)
        snapshots.fetch()
    assert snapshots.newest() == tmp_path / "other" / "lake" / first.name


def test_a_later_one_stays_the_newest_where_an_earlier_comes_after_it(
    fresh_table: Any, bucket: Any, var: Path
):
    late = make(LATER)
    shutil.rmtree(var)
    make(NOW)
    assert snapshots._named(bucket) == late.name
    with bucket.open("newest/deals/symlink.txt") as file:
        assert file.read().decode() == f"s3://deals/lake/{late.name}/deals/0.parquet\n"


def test_one_of_a_clock_that_was_ahead_is_not_the_newest_once_that_is_right(
    fresh_table: Any, bucket: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    moment = [NOW]
    monkeypatch.setattr(timezone, "now", lambda: moment[0])
    for hours in (0, 1):
        moment[0] = NOW + timedelta(days=60, hours=hours)
        assert time_of(make(moment[0]).name) == moment[0]
    for hours in (0, 1):
        moment[0] = NOW + timedelta(hours=hours)
        right = make(moment[0])
        assert time_of(right.name) == moment[0]
        assert snapshots._named(bucket) == right.name
        assert len([name for name in bucket.listdir("")[0] if is_ulid(name)]) == 2
    settings.VAR = tmp_path / "other"
    snapshots.fetch()
    assert snapshots.newest() == tmp_path / "other" / "lake" / right.name


def test_one_that_a_clock_behind_gave_an_earlier_id_is_fetched_once(
    fresh_table: Any, bucket: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = tmp_path / "other"
    monkeypatch.setattr(timezone, "now", lambda: LATER)
    for moment in (NOW, LATER):
        make(moment)
        settings.VAR = other
        snapshots.fetch()
        settings.VAR = tmp_path / "var"
    behind = NOW - timedelta(days=60)
    monkeypatch.setattr(timezone, "now", lambda: behind)
    made = make(behind).name
    assert snapshots._named(bucket) == made
    settings.VAR = other
    monkeypatch.setattr(timezone, "now", lambda: LATER)
    snapshots.fetch()
    with monkeypatch.context() as patched:
        patched.setattr(snapshots, "_keep", None)
        snapshots.fetch()
    assert (other / "lake" / made).is_dir()
    newest = snapshots.newest()
    assert newest is not None
    assert time_of(newest.name) == LATER


def test_the_bucket_keeps_two_and_what_dead_exports_left_goes(fresh_table: Any, bucket: Any):
    old = new_ulid(NOW - timedelta(days=2))
    bucket.save(f"exports/{old}/AWSDynamoDB/x/data/y.json.gz", ContentFile(b""))
    for hours in range(4):
        make(NOW + timedelta(hours=hours))
    folders = bucket.listdir("")[0]
    assert len([name for name in folders if len(name) == 26]) == 2
    assert bucket.listdir("exports") == ([], [])


@pytest.mark.parametrize("engine_kind", ["moto"])
def test_on_amazon_the_table_exports_itself(
    fresh_table: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch, engine_kind: str
):
    make_deal(title="Lamp")
    monkeypatch.setattr(exports, "is_amazon", lambda: True)
    monkeypatch.setattr(exports, "LOOK_SECONDS", 0.01)
    on = {"PointInTimeRecoveryEnabled": True}
    assert not exports.is_offered()
    table.call("UpdateContinuousBackups", TableName=table.name(), PointInTimeRecoverySpecification=on)
    assert exports.is_offered()
    with monkeypatch.context() as patched:
        patched.setattr(table, "scan_all", None)
        assert titles(make(LATER)) == ["Lamp"]
    assert bucket.listdir("exports") == ([], [])
    failed = {"ExportStatus": "FAILED", "FailureMessage": "Why"}
    monkeypatch.setattr(exports, "_described", lambda *_, **__: failed)
    with pytest.raises(DataError, match="Amazon could not export the table: Why"):
        make(LATER + timedelta(hours=1))


@pytest.mark.parametrize("engine_kind", ["moto"])
def test_an_export_whose_answer_was_lost_is_made_once(
    fresh_table: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch, engine_kind: str
):
    make_deal(title="Lamp")
    on = {"PointInTimeRecoveryEnabled": True}
    table.call("UpdateContinuousBackups", TableName=table.name(), PointInTimeRecoverySpecification=on)
    monkeypatch.setattr(exports, "is_amazon", lambda: True)
    monkeypatch.setattr(exports, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(client, "pause", lambda seconds: None)
    answers: dict[str | None, Any] = {}
    asked: list[str | None] = []

    def as_amazon(request: Request) -> Any:
        asked.append(token := json.loads(request.body).get("ClientToken"))
        if token is None or token not in answers:
            answers[token] = request.send()
        if len(asked) == 1:
            raise Lost()
        return answers[token]

    with handled(as_amazon, "ExportTableToPointInTime"):
        made = make()
    assert titles(made) == ["Lamp"]
    assert asked == [made.name] * 2


def test_an_engine_of_this_machine_and_a_site_without_a_bucket_are_scanned(settings: Any):
    assert not exports.is_amazon()
    settings.DYNAMODB_ENDPOINT_URL = ""
    assert exports.is_amazon()
    assert not exports.is_offered()


def test_what_names_no_snapshot_names_none(bucket: Any):
    bucket.save(snapshots.POINTER, ContentFile(b"../../etc"))
    assert snapshots._named(bucket) == ""


def test_a_page_looks_at_the_bucket_now_and_then_and_waits_for_nothing(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.DEALSITE_LAKE = "s3://deals/lake"
    looked: list[str] = []
    monkeypatch.setattr(snapshots, "_looked_at", float("-inf"))
    monkeypatch.setattr(threading, "Thread", lambda **given: _Started(looked, given["name"], given["target"]))
    for _ in range(3):
        assert snapshots.newest() is None
    assert looked == ["fetch-snapshot"]


class _Started:
    def __init__(self, looked: list[str], name: str, target: Any) -> None:
        self.looked, self.name = looked, name
        assert target is snapshots.fetch

    def start(self) -> None:
        self.looked.append(self.name)
