"""An archive that is not what was written is found out, whatever is wrong with it."""

import gzip
import io
import tarfile
import tracemalloc

import orjson
import pytest
from django.core.management import CommandError, call_command

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


def with_lines(path, *lines):
    """The same archive with another table, of which its manifest knows."""

    def change(read):
        read["table.jsonl.gz"] = content = gzip.compress(b"".join(lines), 1)
        size, said = archive.HashingReader(io.BytesIO(content)), orjson.loads(read["backup.json"])
        size.drain()
        said["files"]["table.jsonl.gz"] = list(size.found)
        read["backup.json"] = orjson.dumps(said)

    return rewritten(path, change)


def line(**attributes):
    """The line of an item."""
    return orjson.dumps({"Item": {"PK": {"S": "A"}, "SK": {"S": "A"}} | attributes}) + b"\n"


def test_items_that_are_fewer_than_the_manifest_counts_are_missed(path):
    with pytest.raises(ArchiveError, match="holds 1 items instead of 2"):
        archive.check(with_lines(path, line()))


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"PK": {"N": "1"}}, "line 2 of its table has no PK, or a wrong one"),
        ({"SK": {"S": ""}}, "has no SK"),
        ({"SK": {"S": "é" * 513}}, "has no SK"),
        ({"GSI1PK": {"N": "1"}}, "has no GSI1PK"),
        ({"ttl": {"S": "soon"}}, "has no ttl"),
        ({"n": {"N": "1E+999999999"}}, "is no number that is stored"),
        ({"n": {"N": "one"}}, "is damaged, or no backup"),
        ({"card": {"M": {"picture": {"M": {"name": {"N": "1"}}}}}}, "is damaged, or no backup"),
    ],
)
def test_a_line_that_is_no_item_is_refused(path, attributes, said):
    with pytest.raises(ArchiveError, match=said):
        archive.check(with_lines(path, line(), line(**attributes)))


def test_an_item_of_too_many_levels_is_refused(path):
    deep = b'{"L":[' * 500 + b"]}" * 500
    with pytest.raises(ArchiveError, match="is damaged, or no backup"):
        archive.check(with_lines(path, line(n={"S": "deep"}).replace(b'{"S":"deep"}', deep)))


def of_a_megabyte(n):
    """A text of its own that compresses well."""
    return {"S": f"{n}{'x' * 1_000_000}"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([line(), line(text={"S": "x" * 20_000_000})], "line 2 of its table is longer than any item"),
        ([line(type=of_a_megabyte(n)) for n in range(20)], "20 items instead of 2"),
        ([line(logo={"M": {"name": of_a_megabyte(n)}}) for n in range(20)], "20 items instead of 2"),
    ],
    ids=["line", "types", "pictures"],
)
def test_no_table_takes_more_memory_than_an_item(path, lines, said):
    with_lines(path, *lines)
    assert len(line(texts={"L": [{"S": ""}] * 409_000})) < archive.MOST_LINE
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError, match=said):
            archive.check(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["media/two.webp"] * 2, "holds 'media/two.webp' twice"),
        (["media/two", "media/two/three.webp"], "twice"),
        (["media/two/three.webp", "media/two"], "twice"),
        (["media/" + "é" * 128], "a name that no file can have"),
        (["media/" + "a/" * 512], "a name that no file can have"),
        (["media/a\0b"], "a name that no file can have"),
    ],
)
def test_names_that_no_folder_could_hold_are_refused_before_anything_is_written(path, tmp_path, names, said):
    with tarfile.open(path, "a") as tar:
        for name in names:
            info = tarfile.TarInfo("media/name")
            info.pax_headers = {"path": name}
            tar.addfile(info)
    with pytest.raises(CommandError, match=said):
        call_command("restore", path, folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_file_of_which_an_archive_holds_only_some_parts_is_refused(path):
    with tarfile.open(path, "a") as tar:  # that says to have a terabyte, of which none is there
        info = tarfile.TarInfo("media/two.webp")
        info.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(10**12)}
        tar.addfile(info)
    with pytest.raises(ArchiveError, match=r"'media/two\.webp', which is part of no"):
        archive.check(path)


def test_an_archive_that_was_compressed_is_refused(path):
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ArchiveError):
        archive.check(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("made_at", "today"),
        ("items", {"test": "many"}),
        ("schemas", {"Deal": None}),
        ("files", {"media/one.webp": 7}),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(path, name, value):
    def change(read):
        read["backup.json"] = orjson.dumps(orjson.loads(read["backup.json"]) | {name: value})

    with pytest.raises(ArchiveError, match="is damaged, or no backup"):
        archive.check(rewritten(path, change))


@pytest.mark.parametrize("command", [["restore", "--folder=new"], ["restore", "--check"]])
def test_what_a_manifest_says_does_not_steer_a_terminal(path, command):
    def change(read):
        read["backup.json"] = orjson.dumps(orjson.loads(read["backup.json"]) | {"format": "\x1b[2J\x07"})

    with pytest.raises(CommandError, match=r"of the format \\x1b\[2J\\x07,"):
        call_command(*command, rewritten(path, change))


def test_an_archive_that_was_cut_off_is_refused(path):
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ArchiveError):
        archive.check(path)


def test_a_format_of_later_is_not_guessed_at(path):
    def change(read):
        read["backup.json"] = read["backup.json"].replace(b'"format":1', b'"format":2')

    with pytest.raises(ArchiveError, match="of the format 2"):
        archive.check(rewritten(path, change))
