"""An archive that is not what was written is found out, whatever is wrong with it."""

import io
import tarfile

import orjson
import pytest

from dealsite.backups import archive
from dealsite.backups.archive import ArchiveError, Manifest, Writer
from dealsite.data.table.convert import Item

ITEMS: list[Item] = [{"PK": "A", "SK": "A", "type": "test", "n": 1}, {"PK": "B", "SK": "B"}]


@pytest.fixture
def path(tmp_path):
    """An archive of two items and a picture."""
    items, made = tmp_path / "items", tmp_path / "copy.tar"
    counts = archive.write_items(ITEMS, items)
    with tarfile.open(made, "w") as tar, items.open("rb") as file:
        writer = Writer(tar)
        writer.add(archive.TABLE, file, items.stat().st_size)
        writer.add("media/one.webp", io.BytesIO(b"picture"), 7)
        writer.close(Manifest("2026-01-01T00:00:00.000Z", "1", {}, counts, writer.files))
    return made


def rewritten(path, change):
    """The same archive with other contents."""
    with tarfile.open(path) as tar:
        read = {member.name: tar.extractfile(member).read() for member in tar}
    change(read)
    with tarfile.open(path, "w") as tar:
        for name, content in read.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_a_whole_archive_says_what_it_holds(path):
    contents = archive.check(path)
    assert contents.manifest.items == {"test": 1, "-": 1}
    assert contents.missing == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda read: read.update({"media/one.webp": b"pictura"}), "media/one.webp: missing, or not as"),
        (lambda read: read.pop("media/one.webp"), "media/one.webp: missing, or not as"),
        (lambda read: read.update({"media/two.webp": b""}), "media/two.webp: missing, or not as"),
        (lambda read: read.pop("backup.json"), "ends before its manifest"),
        (lambda read: read.update({"engine.db": b""}), "releases without `manage.py restore` are unpacked"),
        (lambda read: read.update({"media/../secret_key": b""}), "part of no backup"),
        (lambda read: read.update({"table.jsonl.gz": b"no"}), "is damaged, or no backup"),
    ],
)
def test_an_archive_that_is_not_as_it_was_written_is_refused(path, change, said):
    with pytest.raises(ArchiveError, match=said):
        archive.check(rewritten(path, change))


def test_items_that_are_fewer_than_the_manifest_counts_are_missed(path, tmp_path):
    def change(read):
        archive.write_items(ITEMS[:1], tmp_path / "fewer")
        read["table.jsonl.gz"] = content = (tmp_path / "fewer").read_bytes()
        size, said = archive.HashingReader(io.BytesIO(content)), orjson.loads(read["backup.json"])
        size.drain()
        said["files"]["table.jsonl.gz"] = list(size.found)
        read["backup.json"] = orjson.dumps(said)

    with pytest.raises(ArchiveError, match="holds 1 items instead of 2"):
        archive.check(rewritten(path, change))


def test_an_archive_that_was_cut_off_is_refused(path):
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ArchiveError):
        archive.check(path)


def test_a_format_of_later_is_not_guessed_at(path):
    def change(read):
        read["backup.json"] = read["backup.json"].replace(b'"format":1', b'"format":2')

    with pytest.raises(ArchiveError, match="of the format 2"):
        archive.check(rewritten(path, change))
