"""Whatever is written, repeated, late or broken off: the lake ends equal to the table, each change in it once."""

import contextlib
import io
import itertools
from datetime import timedelta

import hypothesis.strategies as st
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings as hypothesis_settings

from dealsite.data.table.ids import iso
from dealsite.lake import manifest, projection, projection as lakes, rows
from dealsite.lake.entities import BY_TYPE, ENTITIES
from dealsite.lake.projection import Lake
from dealsite.stream import rebuilding
from dealsite.stream.consumer import Consumer
from dealsite.stream.projection import Checkpoint
from tests.builders import NOW
from tests.crashes import Crash, at_any_request
from tests.lake.disks import Disk, assert_is
from tests.lake.items import item, key
from tests.stream.fakes import FakeStream

KINDS = [entity.type for entity in ENTITIES]
LATER = NOW + timedelta(hours=1)


class Site:
    """A table with its stream, a lake on a disk that may fail, and a consumer that is started again when it died."""

    def __init__(self, disk: Disk, page_size: int = 3) -> None:
        self.disk, self.stream = disk, FakeStream(page_size)
        self.consumer: Consumer | None = None
        self.rebuilt_at = 0  # how many changes there were when the last new lake was begun
        lake = self.lake()
        lake.build([], Checkpoint(self.stream.arn, NOW, {"shard-0": ""}))
        lake.swap()

    def lake(self) -> Lake:
        lake = Lake(self.disk, clock=lambda: LATER)
        lake.patience = lake.delay = 0.0
        return lake

    def write(self, kind: str, number: int, variant: int) -> None:
        self.stream.write(key(kind, number), item(kind, number, variant) if variant else None)

    def round(self) -> int:
        if self.consumer is None:
            lake = self.lake()
            checkpoint = lake.open()
            assert checkpoint is not None
            self.consumer = Consumer(lake, self.stream, checkpoint, clock=lambda: NOW)
        return self.consumer.round()

    def crash(self, at: int, after: bool) -> None:
        """Let one of the next writes to the disk be the last one of the process."""
        self.disk.crash_at, self.disk.after = at, after

    def repeat(self, first: int, number: int) -> None:
        """Deliver some changes once more, and late at that."""
        first = max(first, self.rebuilt_at)
        applied = self.stream.changes[first : first + number]
        lake = self.lake()
        lake.apply(applied)
        lake.commit(None)

    def rebuild(self, meanwhile: list) -> None:
        """Make a new lake from a scan, during which the table changes and the consumer goes on."""
        lake = self.lake()
        start = lake.checkpoint()
        self.rebuilt_at = len(self.stream.changes)

        def scanned():
            found = list(self.stream.table)
            for position, place in enumerate(found):
                if position < len(meanwhile):
                    self.write(*meanwhile[position])
                    self.round()
                if place in self.stream.table:
                    yield self.stream.table[place]

        lake.build(scanned(), start)
        self.close()
        lake.swap()

    def close(self) -> None:
        if self.consumer is not None:
            self.consumer.projection.close()
            self.consumer = None

    def wait_for_indexes(self) -> None:
        self.disk.crash_at = None
        while self.round():
            pass
        self.close()

    def assert_is_whole(self) -> None:
        assert_is(self.disk.root, self.stream.table, self.stream.changes)

    def assert_is_whole_but_for_history(self) -> None:
        assert_is(self.disk.root, self.stream.table, None)


WRITES = st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 3))
STEPS = st.one_of(
    st.tuples(st.just("write"), WRITES),
    st.tuples(st.just("write"), WRITES),
    st.tuples(st.just("write"), WRITES),
    st.tuples(st.just("round"), st.just(())),
    st.tuples(st.just("round"), st.just(())),
    st.tuples(st.just("crash"), st.tuples(st.integers(0, 12), st.booleans())),
    st.tuples(st.just("repeat"), st.tuples(st.integers(0, 20), st.integers(1, 5))),
    st.tuples(st.just("rebuild"), st.tuples(st.lists(WRITES, max_size=3))),
    st.tuples(st.just("split"), st.just(())),
    st.tuples(st.just("compact"), st.just(())),
    st.tuples(st.just("restart"), st.just(())),
)


@pytest.mark.parametrize("histories", [20, pytest.param(80, marks=pytest.mark.thorough)])
def test_whatever_happens_the_lake_ends_equal_to_the_table(histories, tmp_path_factory):
    @hypothesis_settings(max_examples=histories)
    @given(steps=st.lists(STEPS, max_size=40), page_size=st.integers(1, 5), few=st.booleans())
    def live(steps, page_size, few):
        site = Site(Disk(tmp_path_factory.mktemp("lake", numbered=True)), page_size)
        for step, arguments in steps:
            try:
                match step:
                    case "write":
                        kind, number, variant = arguments
                        # All writes to few items meet more often.
                        site.write(*((KINDS[len(kind) % 2], number % 2, variant) if few else arguments))
                    case "round":
                        site.round()
                    case "crash":
                        site.crash(*arguments)
                    case "repeat":
                        site.repeat(*arguments)
                    case "rebuild":
                        site.rebuild(*arguments)
                    case "split":
                        site.stream.split()
                    case "compact":
                        projection.compact(site.disk, now=LATER)
                    case "restart":
                        site.close()
            except Crash:
                note("crash")
                site.disk.crash_at = None
                site.consumer = None
        site.wait_for_indexes()
        site.assert_is_whole()
        projection.compact(site.disk, now=LATER)
        site.assert_is_whole()
        projection.compact(site.disk, now=LATER)
        site.assert_is_whole()
        assert site.disk.paths(manifest.RECENT) == []

    live()


@at_any_request
def test_a_lake_is_whole_after_a_crash_at_each_of_its_writes(tmp_path):
    def story(site):
        for number in range(2):
            site.write("Deal", number, 1)
            site.write("Order", number, 1)
        site.round()
        site.write("Deal", 1, 0)
        site.write("Order", 0, 2)
        site.round()
        projection.compact(site.disk, now=LATER)
        site.write("Deal", 0, 3)
        site.rebuild([("Order", 1, 0), ("User", 1, 1)])
        while site.round():
            pass
        projection.compact(site.disk, now=LATER)

    for at in itertools.count():  # the last moment before a write is the first one after the write before
        site = Site(Disk(tmp_path / str(at)), page_size=4)
        site.crash(at, after=False)
        try:
            story(site)
        except Crash:
            pass
        else:
            assert at > 50  # so many writes there are
            return
        site.disk.crash_at = None
        site.consumer = None
        site.wait_for_indexes()
        site.assert_is_whole()


def test_a_new_lake_holds_nothing_of_the_old_one(disk):
    site = Site(disk)
    for number in range(3):
        site.write("Deal", number, 1)
    site.wait_for_indexes()
    strays = site.lake()
    stray = FakeStream()
    stray.write(key("Deal", 9), item("Deal", 9, 1))
    strays.apply(stray.changes)
    strays.commit(None)
    site.rebuild([])
    site.wait_for_indexes()
    assert_is(disk.root, site.stream.table, None)


@pytest.mark.parametrize("at", range(1, 12))
def test_a_swap_that_was_broken_off_is_finished(disk, at):
    site = Site(disk)
    stray = FakeStream()
    stray.write(key("Deal", 9), item("Deal", 9, 1))
    lake = site.lake()
    lake.apply(stray.changes)
    lake.commit(None)
    site.write("Deal", 1, 1)
    site.wait_for_indexes()
    lake = site.lake()
    lake.build(list(site.stream.table.values()), lake.checkpoint())
    site.crash(at, after=False)
    with contextlib.suppress(Crash):
        lake.swap()
    site.wait_for_indexes()
    assert_is(disk.root, site.stream.table, None)


def test_an_item_that_moves_to_another_day_leaves_nothing_behind(disk):
    site = Site(disk)
    first = item("User", 1, 1)
    for days in (0, 1):
        moved = first | {"created_at": iso(NOW - timedelta(days=days))}
        site.stream.write(key("User", 1), moved)
        site.wait_for_indexes()
    site.assert_is_whole()
    site.write("User", 1, 0)
    site.wait_for_indexes()
    much_later = site.stream.changes[-1].at + timedelta(days=3)
    for _ in range(3):
        for number in (4, 7):  # of the same days, so that their files are written anew
            site.write("User", number, 1)
            site.write("User", number - 1, 1)
            site.write("User", number - 2, 1)
        site.repeat(0, 100)
        projection.compact(disk, now=much_later)
        for number in (2, 3, 4, 5, 6, 7):
            site.write("User", number, 2)
    site.wait_for_indexes()
    assert_is(disk.root, site.stream.table, None)


def test_of_changes_that_come_in_any_order_the_newest_counts():
    stream = FakeStream()
    for variant in (1, 2, 3, 0):
        stream.write(key("Deal", 1), item("Deal", 1, variant) if variant else None)
    entity = BY_TYPE["Deal"]
    for number in (3, 4):
        changes = stream.changes[:number]
        (forward,), (backward,) = rows.states(entity, changes), rows.states(entity, changes[::-1])
        assert forward == backward
        assert (forward.sequence, forward.deleted) == (changes[-1].sequence, number == 4)


def test_a_new_lakes_file_that_is_named_as_a_merged_one_stays(disk):
    site = Site(disk)
    site.stream.split()  # with several shards, what a scan finds has no sequence number of its own
    site.write("Deal", 1, 1)
    site.wait_for_indexes()
    site.rebuild([])
    site.write("Deal", 4, 1)  # of the same day
    site.repeat(len(site.stream.changes) - 1, 1)
    projection.compact(disk, now=LATER)
    site.write("Deal", 4, 0)
    site.rebuild([])
    site.assert_is_whole_but_for_history()
    projection.compact(disk, now=LATER)
    site.assert_is_whole_but_for_history()


def test_deletions_are_forgotten_after_two_days_and_no_earlier(disk):
    site = Site(disk)
    site.write("Deal", 1, 1)
    site.write("Deal", 1, 0)
    site.wait_for_indexes()
    deleted_at = site.stream.changes[-1].at
    for second, kept in ((0, [False, True]), (1, [False])):
        site.write("Deal", 4, 1 + second)  # of the same day
        site.repeat(len(site.stream.changes) - 1, 1)
        projection.compact(disk, now=deleted_at + projection.TOMBSTONES_KEPT + timedelta(seconds=second))
        (path,) = set(disk.paths(manifest.CURRENT)) - set(manifest.superseded(disk))
        states = pq.read_table(io.BytesIO(disk.get(path)))
        assert sorted(states["deleted"].to_pylist()) == kept
        site.assert_is_whole()


def test_the_consumer_compacts_after_some_commits_but_not_while_a_new_lake_is_made(
    disk, monkeypatch, tmp_path
):
    compacted = []
    monkeypatch.setattr(lakes, "compact", lambda store, now: compacted.append(now))
    monkeypatch.setattr(lakes, "COMPACT_AFTER", 3)
    monkeypatch.setattr(lakes, "READ_SECONDS", 0.0)
    site = Site(disk, page_size=1)
    for number in range(9):
        site.write("Deal", number, 1)
    site.round()
    assert len(compacted) == 1  # what an earlier process left
    for _ in range(3):
        site.round()
    assert len(compacted) == 2
    with rebuilding.locked(site.consumer.projection.folder, rebuilding.BUILDING, wait=True):
        for _ in range(4):
            site.round()
        assert len(compacted) == 2
    site.round()
    assert len(compacted) == 3


@pytest.mark.parametrize("number", [2, projection.HISTORY_FILES])
def test_a_days_history_becomes_one_file(disk, number):
    site = Site(disk, page_size=1)
    for variant in range(1, number + 1):
        site.write("Deal", 1, variant)
        site.round()
    before = disk.paths(manifest.HISTORY)
    assert len(before) == number
    projection.compact(disk, now=site.stream.changes[-1].at + timedelta(days=1))
    site.assert_is_whole()
    assert set(before) <= set(disk.paths(manifest.HISTORY))  # a query may be reading them
    projection.compact(disk, now=site.stream.changes[-1].at + timedelta(days=1))
    days = {change.at.date() for change in site.stream.changes}
    assert len(disk.paths(manifest.HISTORY)) == len(days)
    site.assert_is_whole()
