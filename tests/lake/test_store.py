"""The lake's files in a folder and in a bucket."""

import os

import pyarrow.fs as pafs
import pytest
from moto.server import ThreadedMotoServer

from dealsite.lake import manifest, store
from dealsite.lake.projection import Lake, compact
from dealsite.lake.store import Bucket, Folder
from dealsite.stream.projection import Checkpoint
from tests.builders import NOW
from tests.lake.disks import assert_is
from tests.lake.items import item, key
from tests.stream.fakes import FakeStream


@pytest.fixture(scope="module")
def bucket():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    files = pafs.S3FileSystem(
        access_key="a",
        secret_key="a",
        region="eu-central-1",
        scheme="http",
        endpoint_override=f"{host}:{port}",
        allow_bucket_creation=True,
    )
    files.create_dir("deals")
    yield Bucket("s3://deals/lake/", files)
    server.stop()


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    return Folder(tmp_path / "lake") if request.param == "folder" else request.getfixturevalue("bucket")


def test_files_are_written_read_listed_and_deleted(place):
    assert place.get("a/b.parquet") is None
    assert place.paths("a") == []
    place.put("a/c/d.parquet", b"1")
    place.put("a/b.parquet", b"2")
    place.put("a/b.parquet", b"3")
    assert place.paths("a") == ["a/b.parquet", "a/c/d.parquet"]
    assert place.get("a/b.parquet") == b"3"
    place.delete("a/b.parquet")
    place.delete("a/b.parquet")
    assert place.paths("a") == ["a/c/d.parquet"]
    place.delete("a/c/d.parquet")
    assert place.paths("a") == []


def test_a_lake_in_a_bucket_is_the_same_as_one_in_a_folder(bucket, tmp_path):
    stream, folder = FakeStream(), Folder(tmp_path / "copy")
    for kind in ("Deal", "Order"):
        for number in range(5):
            stream.write(key(kind, number), item(kind, number, 1))
    before = list(stream.table.values())
    start = Checkpoint("arn:fake", NOW, {"shard-0": f"{len(stream.changes):040d}"})
    stream.write(key("Deal", 1), None)
    for place in (bucket, folder):
        lake = Lake(place)
        lake.build(before, start)
        lake.swap()
        assert lake.open() == start
        lake.apply(stream.changes[-1:])
        lake.commit(start)
        compact(place, now=NOW)
        compact(place, now=NOW)
    assert bucket.paths("") == folder.paths("")
    for path in bucket.paths(""):
        folder.put(path, bucket.get(path))
    assert_is(folder.root, stream.table, stream.changes[-1:])
    assert manifest.STATE in bucket.paths("")


def test_a_file_that_is_being_made_is_not_seen(tmp_path, monkeypatch):
    folder = Folder(tmp_path)

    def fails(handle):
        assert folder.paths("") == []
        raise OSError("The disk is full.")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="full"):
        folder.put("a/b.parquet", b"1")
    assert list((tmp_path / "a").iterdir()) == []


def test_the_lake_lies_where_the_settings_say(settings, tmp_path, monkeypatch):
    settings.VAR, settings.DEALSITE_LAKE = tmp_path, ""
    place = store.store_of_site()
    assert isinstance(place, Folder)
    assert place.root == tmp_path / "lake"
    settings.DEALSITE_LAKE = "s3://deals/lake"
    monkeypatch.setattr(pafs, "S3FileSystem", lambda region: pafs.LocalFileSystem())
    place = store.store_of_site()
    assert isinstance(place, Bucket)
    assert place.address == "s3://deals/lake"
