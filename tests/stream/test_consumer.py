"""The consumer: in order, from its checkpoint, parents first; it waits its turn, and notices what was trimmed."""

import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest

from dealsite.stream import consumer as consumers, rebuilding
from dealsite.stream.consumer import Consumer, opened
from dealsite.stream.projection import FINISHED, KEPT, Checkpoint
from dealsite.stream.records import PAGE, Expired, Lost, Stream
from tests.builders import NOW
from tests.stream.fakes import Copy, FakeStream

START = Checkpoint("arn:fake", NOW, {})


def clock():
    return NOW


@pytest.fixture
def stream():
    return FakeStream()


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path / "copy")


def write(stream, *numbers, value=1):
    for number in numbers:
        stream.write((f"K#{number}", "X"), {"type": "Thing", "value": value})


def drained(consumer):
    while consumer.round():
        pass


def expected(stream):
    return {"|".join(key): item for key, item in stream.table.items()}


def test_each_change_is_applied_once_and_in_order(stream, copy):
    write(stream, *range(10))
    consumer = Consumer(copy, stream, START, clock=clock)
    drained(consumer)
    write(stream, 3, 4, value=2)
    drained(consumer)
    assert copy.applied == [change.sequence for change in stream.changes]
    assert copy.items == expected(stream)


def test_a_consumer_goes_on_from_its_checkpoint(stream, copy):
    write(stream, *range(7))
    drained(Consumer(copy, stream, START, clock=clock))
    write(stream, 7, 8)
    again = Copy(copy.folder)
    drained(Consumer(again, stream, again.open(), clock=clock))
    assert again.applied == [f"{number:040d}" for number in (8, 9)]
    assert again.items == expected(stream)


def test_what_was_applied_and_not_committed_comes_again(stream, copy):
    write(stream, *range(2))
    consumer = Consumer(copy, stream, START, clock=clock)
    drained(consumer)
    write(stream, 5, 6)
    assert consumer.round() == 2
    again = Copy(copy.folder)
    drained(Consumer(again, stream, again.open(), clock=clock))
    assert again.applied == [f"{number:040d}" for number in (3, 4)]


def test_a_change_waits_no_longer_than_there_is_patience_and_a_portion_not_at_all(stream, copy, monkeypatch):
    monkeypatch.setattr(consumers, "PORTION", 4)
    ticks = [0.0]
    consumer = Consumer(copy, stream, START, clock=clock, ticks=lambda: ticks[0])
    for number, waited in enumerate([0.0, consumers.PATIENCE_SECONDS - 0.1, consumers.PATIENCE_SECONDS]):
        assert copy.commits == 0
        ticks[0] = waited
        write(stream, number)
        consumer.round()
    assert copy.commits == 1
    write(stream, 3, 4, 5, 6)
    consumer.round()
    assert copy.commits == 1
    consumer.round()
    assert copy.commits == 2


def test_a_change_is_committed_once_no_more_come(stream, copy):
    consumer = Consumer(copy, stream, START, clock=clock, ticks=lambda: 0.0)
    for number in range(3):
        write(stream, number)
        assert consumer.pause(consumer.round()) == consumers.GATHER_SECONDS
    assert copy.commits == 0
    assert consumer.pause(consumer.round()) == consumers.IDLE_SECONDS
    assert copy.commits == 1
    assert consumer.pause(PAGE) == 0.0


def test_what_says_nothing_to_the_projection_is_not_committed_at_once(stream, copy, monkeypatch):
    monkeypatch.setattr(Copy, "apply", lambda *_: False)
    monkeypatch.setattr(consumers, "PORTION", 5)
    consumer = Consumer(copy, stream, START, clock=clock)
    write(stream, *range(4))
    drained(consumer)
    assert copy.commits == 0
    write(stream, 4)
    drained(consumer)
    assert copy.commits == 1
    assert copy.checkpoint().shards == {"shard-0": f"{5:040d}"}


def test_where_the_next_look_is_far_away_what_came_is_committed_before_it(stream, copy, settings):
    settings.DEALSITE_PRIVATE_BUCKET = "private"
    consumer = Consumer(copy, stream, START, clock=clock)
    write(stream, 1)
    assert consumer.round() == 1
    assert copy.commits == 1


@pytest.mark.parametrize(("endpoint", "bucket"), [("", ""), ("http://127.0.0.1:1", "private")])
def test_where_it_costs_a_shard_is_asked_once_a_second(stream, copy, monkeypatch, settings, endpoint, bucket):
    monkeypatch.setattr(consumers, "configuration", lambda: SimpleNamespace(endpoint_url=endpoint))
    settings.DEALSITE_PRIVATE_BUCKET = bucket
    consumer = Consumer(copy, stream, START, clock=clock)
    assert consumer.pause(1) == consumer.pause(0) == consumers.COSTLY_SECONDS


def test_an_idle_consumer_notes_now_and_then_that_it_has_seen_everything(stream, copy):
    moment = [NOW]
    consumer = Consumer(copy, stream, START, clock=lambda: moment[0])
    moment[0] = NOW + Copy.keep_every - timedelta(seconds=1)
    consumer.round()
    assert copy.commits == 0
    moment[0] = NOW + Copy.keep_every
    consumer.round()
    assert copy.checkpoint().read_at == NOW + Copy.keep_every


def test_a_shards_children_are_read_after_it(stream, copy):
    write(stream, *range(5))
    stream.split()
    write(stream, *range(5), value=2)
    stream.split()
    write(stream, 0, value=3)
    consumer = Consumer(copy, stream, START, clock=clock)
    drained(consumer)
    assert copy.applied == [change.sequence for change in stream.changes]
    assert stream.asked == ["shard-0", "shard-1", "shard-2"]
    assert copy.checkpoint().shards == {"shard-0": FINISHED, "shard-1": FINISHED, "shard-2": f"{11:040d}"}


def test_shards_that_are_read_to_their_end_may_go(stream, copy):
    write(stream, 0)
    stream.split()
    write(stream, 1)
    drained(Consumer(copy, stream, START, clock=clock))
    stream.trimmed = {"shard-0"}
    write(stream, 2)
    again = Copy(copy.folder)
    drained(Consumer(again, stream, again.open(), clock=clock))
    assert again.items == expected(stream)
    assert set(again.checkpoint().shards) == {"shard-1"}


def test_a_shard_that_went_before_it_was_read_is_noticed(stream, copy):
    write(stream, *range(5))
    consumer = Consumer(copy, stream, START, clock=clock)
    consumer.round()
    consumer.commit()
    stream.split()
    stream.trimmed = {"shard-0"}
    again = Copy(copy.folder)
    with pytest.raises(Lost):
        drained(Consumer(again, stream, again.open(), clock=clock))


@pytest.mark.parametrize(
    ("away", "stays"), [(KEPT - timedelta(seconds=1), True), (KEPT, False), (timedelta(days=3), False)]
)
def test_who_was_away_longer_than_records_are_kept_builds_anew(stream, copy, monkeypatch, away, stays):
    write(stream, *range(3))
    consumer = Consumer(copy, stream, START, clock=clock)
    drained(consumer)
    consumer.commit()
    stream.changes.clear()
    stream.parts[0][1].clear()  # as if trimmed
    stream.table[("K#9", "X")] = {"PK": "K#9", "SK": "X", "type": "Thing", "value": 1}
    monkeypatch.setattr("dealsite.data.table.scan_all", lambda **_: list(stream.table.values()))
    again = Copy(copy.folder)
    consumer = opened(again, stream, clock=lambda: NOW + away)
    drained(consumer)
    assert ("K#9|X" in again.items) is not stays
    with pytest.raises(Lost):
        Consumer(again, stream, Checkpoint("arn:fake", NOW), clock=lambda: NOW + KEPT)


def test_another_tables_checkpoint_is_no_checkpoint(stream, copy, monkeypatch):
    copy.build([], Checkpoint("arn:other", NOW, {"shard-0": f"{99:040d}"}))
    copy.swap()
    write(stream, 1)
    monkeypatch.setattr("dealsite.data.table.scan_all", lambda **_: list(stream.table.values()))
    consumer = opened(copy, stream, clock=clock)
    assert consumer.checkpoint.stream == "arn:fake"
    assert copy.items == expected(stream)


def test_one_consumer_at_a_time_and_it_makes_room_when_asked(stream, copy, monkeypatch):
    monkeypatch.setattr(Stream, "of_table", lambda: stream)
    monkeypatch.setattr("dealsite.data.table.scan_all", lambda **_: list(stream.table.values()))
    monkeypatch.setattr(consumers, "TURN_SECONDS", 0.01)
    monkeypatch.setattr(consumers, "IDLE_SECONDS", 0.001)
    stop = threading.Event()
    thread = threading.Thread(target=consumers.consume, args=(copy, stop), kwargs={"clock": clock})
    thread.start()
    try:
        write(stream, 1)
        until(lambda: copy.commits)
        assert rebuilding.is_locked(copy.folder, rebuilding.OPEN)
        with rebuilding.next_turn(copy.folder):
            assert copy.checkpoint().shards == {"shard-0": f"{1:040d}"}
            assert copy.items == {}  # closed
        write(stream, 2)
        until(lambda: len(copy.items) == 2)
    finally:
        stop.set()
        thread.join()
    assert not rebuilding.is_locked(copy.folder, rebuilding.OPEN)


def test_a_consumer_outlives_trouble_and_builds_anew_what_the_stream_has_lost(stream, copy, monkeypatch):
    monkeypatch.setattr(Stream, "of_table", lambda: stream)
    monkeypatch.setattr("dealsite.data.table.scan_all", lambda **_: list(stream.table.values()))
    for name in ("TURN_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(consumers, name, 0.001)
    troubles = iter([ZeroDivisionError(), Lost()])
    page = stream.page

    def troubled(iterator):
        for trouble in troubles:
            raise trouble
        return page(iterator)

    builds = []
    build = copy.build

    def noted(items, start):
        builds.append(start)
        return build(items, start)

    monkeypatch.setattr(copy, "build", noted)
    monkeypatch.setattr(stream, "page", troubled)
    stop = threading.Event()
    thread = threading.Thread(target=consumers.consume, args=(copy, stop), kwargs={"clock": clock})
    thread.start()
    try:
        write(stream, 1)
        until(lambda: len(builds) == 2)  # the first one, and that after Lost
        write(stream, 2)
        until(lambda: len(copy.items) == 2)
    finally:
        stop.set()
        thread.join()
    assert len(builds) == 2


def test_a_consumer_waits_for_a_place_to_lock(stream, copy, monkeypatch):
    monkeypatch.setattr(Stream, "of_table", lambda: stream)
    monkeypatch.setattr("dealsite.data.table.scan_all", lambda **_: list(stream.table.values()))
    monkeypatch.setattr(consumers, "TURN_SECONDS", 0.01)
    copy.folder.write_text("in the way")
    stop = threading.Event()
    thread = threading.Thread(target=consumers.consume, args=(copy, stop), kwargs={"clock": clock})
    thread.start()
    try:
        stop.wait(0.05)
        assert thread.is_alive()
        copy.folder.unlink()
        until(lambda: copy.file.exists())
    finally:
        stop.set()
        thread.join()


def until(true, what=""):
    end = threading.Event()
    for _ in range(2000):
        if true():
            return
        end.wait(0.005)
    raise AssertionError(f"It does not happen. {what}")


def test_records_from_before_the_checkpoint_are_known(stream, copy, monkeypatch):
    write(stream, *range(4))
    drained(Consumer(copy, stream, START, clock=clock))
    iterator = stream.iterator
    monkeypatch.setattr(stream, "iterator", lambda shard, after: iterator(shard, ""))
    write(stream, 9)
    again = Copy(copy.folder)
    drained(Consumer(again, stream, again.open(), clock=clock))
    assert again.applied == [f"{5:040d}"]
    assert again.checkpoint().shards == {"shard-0": f"{5:040d}"}


def test_an_iterator_that_is_too_old_is_asked_for_again(stream, copy, monkeypatch):
    write(stream, *range(4))
    consumer = Consumer(copy, stream, START, clock=clock)
    consumer.round()
    page, old = stream.page, [Expired()]

    def expiring(iterator):
        if old:
            raise old.pop()
        return page(iterator)

    monkeypatch.setattr(stream, "page", expiring)
    drained(consumer)
    assert copy.applied == [change.sequence for change in stream.changes]
    assert len(stream.asked) == 2


def test_where_a_file_shows_each_write_nothing_is_asked_without_one(stream, copy, monkeypatch):
    marks, rounds, stop = [(1, 1)], [], threading.Event()
    rounds_ = Consumer.round

    def counted(consumer):
        rounds.append(marks[0])
        return rounds_(consumer)

    monkeypatch.setattr(consumers, "written", lambda: marks[0])
    monkeypatch.setattr(consumers, "IDLE_SECONDS", 0.001)
    monkeypatch.setattr(consumers, "GATHER_SECONDS", 0.001)
    monkeypatch.setattr(Consumer, "round", counted)
    monkeypatch.setattr(Stream, "of_table", lambda: stream)
    copy.build([], START)
    copy.swap()
    working = threading.Thread(target=consumers.consume, args=(copy, stop), kwargs={"clock": clock})
    working.start()
    until(lambda: len(rounds) == 1)
    stop.wait(0.05)
    assert len(rounds) == 1
    write(stream, 1)
    marks[0] = (2, 1)
    until(lambda: copy.items != {})
    until(lambda: len(rounds) == 3)  # after one that found something comes another
    stop.wait(0.05)
    assert len(rounds) == 3
    stop.set()
    working.join(10)


def test_a_write_to_the_engine_of_this_machine_changes_its_mark(settings, tmp_path):
    settings.VAR, settings.DEALSITE_EMBEDDED = tmp_path, True
    assert consumers.written() is None
    (tmp_path / "engine.db-wal").write_bytes(b"1")
    before = consumers.written()
    (tmp_path / "engine.db-wal").write_bytes(b"12")
    assert consumers.written() != before is not None
    settings.DEALSITE_EMBEDDED = False
    assert consumers.written() is None
