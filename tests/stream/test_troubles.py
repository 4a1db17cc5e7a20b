"""Consumers that fail: they wait longer and longer, skip the record that is at fault, and never more than that."""

import shutil
import threading
from collections import namedtuple
from datetime import timedelta

import pytest

from dealsite.data.table.errors import Unavailable
from dealsite.stream import consumer as consumers, consumer as feeding, consumer_status, rebuilding
from dealsite.stream.consumer import FIRST_SECONDS, MOST_SECONDS, TRIES, WORKED_SECONDS, Troubles
from dealsite.stream.consumer_status import SkippedRecord, lag, status
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.rebuilding import TurnLost
from dealsite.stream.records import Stream
from tests.builders import NOW
from tests.stream.fakes import Copy, FakeStream
from tests.stream.test_consumer import clock, expected, until, write


class Panic(BaseException):
    """Looks as pyo3's does, which has no module to be imported from."""


Panic.__module__ = "pyo3_runtime"


class Picky(Copy):
    """A copy that cannot take some items, at once or not before the commit."""

    poison: frozenset[str] = frozenset()
    tries = 0
    fails_with: type[BaseException] = ValueError
    when = "apply"

    def apply(self, changes):
        self.tries += 1
        for change in changes:
            if change.key[0] in self.poison and self.when == "apply":
                raise self.fails_with("It has no price.")
            super().apply([change])
        return True

    def commit(self, checkpoint):
        if self.when == "commit" and any(key.split("|")[0] in self.poison for key in self.items):
            raise self.fails_with("It has no price.")
        super().commit(checkpoint)


@pytest.fixture
def stream(monkeypatch):
    stream = FakeStream()
    monkeypatch.setattr(Stream, "of_table", lambda: stream)
    monkeypatch.setattr("dealsite.data.table.scan_all", lambda **_: list(stream.table.values()))
    for name in ("TURN_SECONDS", "IDLE_SECONDS", "CHECK_SECONDS"):
        monkeypatch.setattr(consumers, name, 0.001)
    for name in ("FIRST_SECONDS", "MOST_SECONDS", "AWAY_SECONDS"):
        monkeypatch.setattr(feeding, name, 0.001)
    return stream


@pytest.fixture
def consuming():
    """A function that has a projection fed until the test ends."""
    stop, threads = threading.Event(), []

    def begin(projection):
        thread = threading.Thread(
            target=consumers.consume, args=(projection, stop), kwargs={"clock": clock}, daemon=True
        )
        threads.append(thread)
        thread.start()
        return thread

    yield begin
    stop.set()
    for thread in threads:
        thread.join(10)


def test_waits_double_up_to_a_bound_and_begin_anew_after_a_while_that_worked(tmp_path):
    trouble = Troubles(Copy(tmp_path))
    ticks, pauses = 0.0, []
    for _ in range(10):
        pauses.append(trouble.note(ZeroDivisionError(), now=NOW, ticks=ticks))
        ticks += pauses[-1] + WORKED_SECONDS - 1
    assert pauses[:4] == [FIRST_SECONDS, 2 * FIRST_SECONDS, 4 * FIRST_SECONDS, 8 * FIRST_SECONDS]
    assert pauses[-1] == MOST_SECONDS
    assert trouble.note(ZeroDivisionError(), now=NOW, ticks=ticks + 1) == FIRST_SECONDS


def test_a_table_that_is_away_is_asked_each_second_and_is_nobodys_fault(tmp_path):
    trouble = Troubles(Copy(tmp_path))
    for _ in range(20):
        assert trouble.note(Unavailable("away"), now=NOW, ticks=0.0) == feeding.AWAY_SECONDS
    assert trouble.note(TurnLost("gone"), now=NOW, ticks=0.0) == 0.0
    assert (trouble.anew, trouble.careful) == (False, False)


def test_failures_that_nothing_explains_end_with_one_new_build(tmp_path):
    trouble = Troubles(Copy(tmp_path))
    anew = []
    for _ in range(2 * feeding.ANEW_AFTER):
        trouble.note(ZeroDivisionError(), now=NOW, ticks=0.0)
        anew.append(trouble.anew)
        trouble.anew = False
    assert anew.count(True) == 1


@pytest.mark.parametrize("when", ["apply", "commit"])
@pytest.mark.parametrize("error", [ValueError, Panic])
def test_a_poison_record_is_skipped_alone_and_all_others_are_taken(
    tmp_path, stream, consuming, caplog, when, error
):
    copy = Picky(tmp_path / "copy")
    copy.build([], Checkpoint("arn:fake", NOW, {"shard-0": ""}))
    copy.swap()
    copy.poison, copy.fails_with, copy.when = frozenset({"K#4"}), error, when
    write(stream, *range(9))
    consuming(copy)
    until(lambda: len(copy.items) == 8)
    assert copy.items == {key: item for key, item in expected(stream).items() if not key.startswith("K#4")}
    (record,) = consumer_status.skipped_records(copy.folder)
    assert (record.key, record.sequence, record.at) == (("K#4", "X"), f"{5:040d}", NOW)
    assert "It has no price." in record.reason
    assert caplog.text.count("event='record_fails'") == TRIES - 1
    assert caplog.text.count("event='record_skipped'") == 1
    assert all("K#4" not in key for key in copy.items)
    until(lambda: copy.checkpoint().shards == {"shard-0": f"{9:040d}"})

    copy.poison = frozenset()  # repaired by a later change of the same item
    write(stream, 4, value=2)
    until(lambda: copy.items == expected(stream))
    until(lambda: consumer_status.skipped_records(copy.folder) == [])


@pytest.mark.parametrize("error", [OSError, Unavailable, Damaged])
def test_the_disks_and_the_tables_troubles_skip_no_record(tmp_path, stream, consuming, error):
    copy = Picky(tmp_path / "copy")
    copy.poison, copy.fails_with = frozenset({"K#1"}), error
    thread = consuming(copy)
    until(lambda: copy.file.exists())
    write(stream, 0, 1)
    until(lambda: copy.tries > 3 * TRIES or (error is Damaged and copy.items == expected(stream)))
    assert consumer_status.skipped_records(copy.folder) == []
    copy.poison = frozenset()
    until(lambda: copy.items == expected(stream))
    assert thread.is_alive()


@pytest.mark.parametrize("error", [OSError, Unavailable, Damaged, MemoryError])
def test_not_even_a_record_that_is_tried_alone_is_blamed_for_them(tmp_path, stream, error):
    copy = Picky(tmp_path / "copy")
    copy.build([], Checkpoint("arn:fake", NOW, {"shard-0": ""}))
    copy.swap()
    copy.poison, copy.fails_with = frozenset({"K#1"}), error
    write(stream, 1)
    start = copy.open()
    assert start is not None
    careful = Troubles(copy, careful=True)
    with pytest.raises(error):
        consumers.Consumer(copy, stream, start, clock=clock, troubles=careful).round()


def test_what_fails_on_a_full_disk_skips_no_record(tmp_path, stream, consuming, monkeypatch):
    copy = Picky(tmp_path / "copy")
    copy.poison = frozenset({"K#1"})
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(consumers.ROOM - 1))
    consuming(copy)
    until(lambda: copy.file.exists())
    write(stream, 0, 1)
    until(lambda: copy.tries > 4 * TRIES)
    assert consumer_status.skipped_records(copy.folder) == []


def test_a_projection_that_cannot_commit_anything_skips_no_record(tmp_path, stream, consuming, caplog):
    copy = Copy(tmp_path / "copy")
    consuming(copy)
    until(lambda: copy.file.exists())
    tries = []

    def fails(checkpoint):
        tries.append(checkpoint)
        raise ValueError("The writer was killed.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copy, "commit", fails)
        write(stream, 1)
        until(lambda: len(tries) > 3 * TRIES)
        assert consumer_status.skipped_records(copy.folder) == []
    until(lambda: copy.items == expected(stream))


def test_a_record_that_cannot_be_noted_is_not_skipped(tmp_path, monkeypatch):
    trouble = Troubles(Copy(tmp_path))
    stream = FakeStream()
    write(stream, 1)
    monkeypatch.setattr(
        consumer_status, "write_whole", lambda *_: (_ for _ in ()).throw(OSError("The disk is full."))
    )
    for _ in range(TRIES):
        trouble.note(feeding.Poison(stream.changes[0], ValueError()), now=NOW, ticks=0.0)
    assert trouble.skips == set()


def test_skipped_records_are_few_and_a_build_forgets_those_before_it(tmp_path):
    at = [NOW + timedelta(seconds=number) for number in range(consumer_status.MOST + 5)]
    for number, moment in enumerate(at):
        consumer_status.skip(tmp_path, [SkippedRecord((f"K#{number}", "X"), "1", "r" * 9999, moment)])
    known = consumer_status.skipped_records(tmp_path)
    assert [record.key[0] for record in known] == [
        f"K#{number}" for number in range(5, consumer_status.MOST + 5)
    ]
    assert (tmp_path / consumer_status.SKIPPED).stat().st_size < 100_000
    assert (tmp_path / consumer_status.SKIPPED).stat().st_mode & 0o077 == 0
    consumer_status.skip(tmp_path, [known[0]])
    assert len(consumer_status.skipped_records(tmp_path)) == consumer_status.MOST
    consumer_status.forget_skipped(tmp_path, before=at[-2])
    assert [record.at for record in consumer_status.skipped_records(tmp_path)] == at[-2:]
    (tmp_path / consumer_status.SKIPPED).write_bytes(b"[{")
    assert consumer_status.skipped_records(tmp_path) == []


def test_an_item_that_a_build_cannot_take_is_noted_and_repaired_by_the_next(tmp_path, stream, monkeypatch):
    copy = Copy(tmp_path / "copy")
    build = copy.build
    monkeypatch.setattr(copy, "build", lambda *given: build(*given) or [(("K#1", "X"), "odd")])
    assert rebuilding.rebuild(copy, now=NOW) == 0
    assert [record.reason for record in consumer_status.skipped_records(copy.folder)] == ["odd"]
    monkeypatch.undo()
    monkeypatch.setattr(Stream, "of_table", lambda: stream)
    monkeypatch.setattr("dealsite.data.table.scan_all", lambda **_: iter(()))
    rebuilding.rebuild(copy, now=NOW + timedelta(seconds=1))
    assert consumer_status.skipped_records(copy.folder) == []


@pytest.mark.parametrize("before", [True, False])
def test_a_build_ends_when_its_lock_is_deleted_as_another_may_build_by_now(
    tmp_path, stream, monkeypatch, before
):
    copy = Copy(tmp_path / "copy")
    write(stream, 1)

    def scanned(items, start):
        if before:
            shutil.rmtree(copy.folder)
        found = {item["PK"]: item for item in items}
        shutil.rmtree(copy.folder, ignore_errors=True)
        copy._write(copy.made, found, start)
        return []

    monkeypatch.setattr(copy, "build", scanned)
    with pytest.raises(TurnLost):
        rebuilding.rebuild(copy, now=NOW)
    assert not copy.file.exists()


def test_a_close_that_fails_ends_no_consumer(tmp_path, stream, consuming, monkeypatch):
    copy = Copy(tmp_path / "copy")
    closes = []

    def fails():
        closes.append(1)
        copy.items = {}
        raise [ValueError, Panic][len(closes) % 2]("meta.json")

    monkeypatch.setattr(copy, "close", fails)
    thread = consuming(copy)
    until(lambda: closes or copy.file.exists())
    write(stream, 1)
    until(lambda: len(closes) > 3)
    assert thread.is_alive()


@pytest.mark.parametrize("error", [MemoryError, SystemExit])
def test_what_only_a_new_process_repairs_ends_the_thread(tmp_path, stream, error):
    copy = Picky(tmp_path / "copy")
    copy.build([], Checkpoint("arn:fake", NOW, {"shard-0": ""}))
    copy.swap()
    copy.poison, copy.fails_with = frozenset({"K#1"}), error
    write(stream, 1)
    with pytest.raises(error):
        consumers.consume(copy, threading.Event(), clock=clock)


def test_a_consumer_tells_how_it_is_doing(tmp_path, stream, consuming):
    copy = Picky(tmp_path / "copy")
    assert (status(copy.folder), lag(copy.folder, now=NOW)) == (None, None)
    consuming(copy)
    until(lambda: (found := status(copy.folder)) and found.state == "following")
    assert lag(copy.folder, now=NOW + timedelta(seconds=5)) == 5.0
    copy.poison, copy.fails_with = frozenset({"K#1"}), Unavailable
    write(stream, 1)
    until(  # the next try says "following" again, for a moment
        lambda: (found := status(copy.folder)).state == "failing" and found.reason == "It has no price."
    )
    assert lag(copy.folder, now=NOW + timedelta(seconds=60)) == 60.0  # from when it last followed


def test_under_a_load_that_never_ends_the_checkpoint_still_moves_on_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(consumers, "PORTION", 3)
    stream, copy = FakeStream(), Copy(tmp_path / "copy")
    write(stream, *range(9))
    last = stream.changes[-1].at
    consumer = consumers.Consumer(
        copy, stream, Checkpoint("arn:fake", NOW, {}), clock=lambda: last + timedelta(hours=1)
    )
    for number in (3, 6, 9):
        assert consumer.round() == 3
        assert copy.checkpoint().read_at == stream.changes[number - 1].at
    stream.split()
    assert consumer.round() == 1
    assert consumer.checkpoint.read_at <= last + timedelta(hours=1)
