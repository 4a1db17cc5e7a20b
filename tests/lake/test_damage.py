"""The lake deleted or damaged while it is fed and asked: answers are right or wait, and it comes back by itself."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import threading
from datetime import timedelta

import duckdb
import orjson
import pytest

from dealsite.ask.lake import open_lake
from dealsite.data import table
from dealsite.lake import manifest, projection, projection as lakes, rows
from dealsite.lake.entities import ADMIN, BY_TYPE
from dealsite.lake.projection import Lake
from dealsite.lake.store import Folder
from dealsite.stream import consumer as consumers
from dealsite.stream.consumer import consume
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.records import ItemChange
from tests.builders import NOW, make_deal
from tests.lake.disks import Disk, connected
from tests.lake.items import item, key
from tests.lake.test_lake import LATER, Site
from tests.stream.test_consumer import until

START = Checkpoint("arn:fake", NOW, {"shard-0": ""})
WAYS = ["gone", "truncated", "garbage", "spoilt"]


@pytest.fixture
def site(tmp_path, settings):
    """A lake with current and recent states and a history, open."""
    settings.VAR = tmp_path
    made = Site(Disk(tmp_path / "lake"))
    for number in range(4):
        made.write("Deal", number, 1)
    made.wait_for_indexes()
    made.rebuild([])
    projection.compact(made.disk, now=LATER)
    for number in (1, 2):  # the first commit is followed by a compaction
        made.write("Deal", number, 2)
        made.round()
    return made


def lake_of(site: Site) -> Lake:
    assert site.consumer is not None
    lake = site.consumer.projection
    assert isinstance(lake, Lake)
    return lake


def damage(file, how: str) -> None:
    content = file.read_bytes()
    half = len(content) // 2
    match how:
        case "gone":
            file.unlink()
            return
        case "truncated":
            content = content[:half]
        case "garbage":
            content = os.urandom(len(content))
        case "spoilt":  # one bit of a column's values, which only a checksum tells
            content = content[:30] + bytes([content[30] ^ 1]) + content[31:]
    other = file.with_name(".other")
    other.write_bytes(content)
    other.replace(file)


def look(lake: Lake) -> None:
    """Look as the consumer does, at a moment when it is time to."""
    lake._checked_at = float("-inf")
    lake.check()


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("part", [manifest.CURRENT, manifest.RECENT])
def test_a_file_of_states_that_is_damaged_is_noticed_and_nobody_asks_a_lake_without_it(site, part, how):
    lake = lake_of(site)
    look(lake)
    assert open_lake({ADMIN}) is not None
    gone = set(manifest.superseded(site.disk))
    path = next(path for path in site.disk.paths(part) if path not in gone)
    damage(site.disk.root / path, how)
    if part == manifest.CURRENT:
        assert open_lake({ADMIN}) is None  # at once
    with pytest.raises(Damaged):
        look(lake)
    assert open_lake({ADMIN}) is None
    assert Lake(site.disk).open() is None  # so that it is built anew
    site.close()
    site.rebuild([]) if lake.checkpoint() else build(site)
    site.wait_for_indexes()
    site.assert_is_whole()
    assert open_lake({ADMIN}) is not None


def build(site: Site) -> None:
    lake = site.lake()
    lake.build(list(site.stream.table.values()), Checkpoint("arn:fake", NOW, {"shard-0": ""}))
    lake.swap()


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("running", [True, False])
def test_a_damaged_file_of_changes_is_kept_apart_and_said(site, how, running, caplog):
    lake = lake_of(site)
    look(lake)
    projection.compact(site.disk, now=site.stream.changes[-1].at + timedelta(days=1))
    lake._watch.begin()
    path = next(iter(set(site.disk.paths(manifest.HISTORY)) - set(manifest.superseded(site.disk))))
    damage(site.disk.root / path, how)
    if not running:
        site.close()
        lake = site.lake()
        assert lake.open() is not None
    look(lake)
    assert ("lake_history_lost" if how == "gone" else "lake_history_damaged") in caplog.text
    apart = [path.replace("/", " ")] if how != "gone" else []
    assert site.disk.paths(manifest.DAMAGED) == [f"{manifest.DAMAGED}/{name}" for name in apart]
    caplog.clear()
    look(lake)
    assert caplog.text == ""  # once
    site.assert_is_whole_but_for_history()
    assert open_lake({ADMIN}) is not None


def test_few_damaged_files_are_kept(site):
    for number in range(manifest.DAMAGED_KEPT + 5):
        path = f"{manifest.HISTORY}/entity=deals/day=2026-01-01/{number:03d}.parquet"
        site.disk.put(path, b"no Parquet")
        manifest.unreadable(site.disk, path)
    assert len(site.disk.paths(manifest.DAMAGED)) == manifest.DAMAGED_KEPT


def test_a_file_that_was_only_touched_or_copied_back_is_taken_as_it_is(site):
    lake = lake_of(site)
    path = next(
        path for path in site.disk.paths(manifest.CURRENT) if path not in manifest.superseded(site.disk)
    )
    os.utime(site.disk.root / path, (1, 1))
    look(lake)
    assert open_lake({ADMIN}) is not None
    site.assert_is_whole()


@pytest.mark.parametrize("name", [manifest.STATE, manifest.FILES])
@pytest.mark.parametrize("how", ["gone", "truncated", "garbage"])
def test_without_its_checkpoint_or_its_list_of_files_a_lake_is_built_anew(site, name, how):
    damage(site.disk.root / name, how)
    site.write("Deal", 2, 2)
    lake = lake_of(site)
    with pytest.raises(Damaged):
        look(lake)
    with contextlib.suppress(Damaged):
        lake.commit(lake.checkpoint() or START)
    assert open_lake({ADMIN}) is None  # nor does a commit make it look whole again


def test_a_commit_after_the_folder_was_deleted_makes_no_lake_that_seems_to_be_whole(site):
    lake = lake_of(site)
    shutil.rmtree(site.disk.root)
    site.write("Deal", 3, 2)
    lake.apply(site.stream.changes[-1:])
    with pytest.raises(Damaged):
        lake.commit(START)
    assert open_lake({ADMIN}) is None
    assert Lake(site.disk).open() is None


@pytest.mark.parametrize("spoilt", ["ready", "file", "gone"])
def test_a_new_lake_that_was_damaged_before_its_swap_is_not_taken_for_whole(site, spoilt):
    site.close()
    lake = site.lake()
    lake.build(list(site.stream.table.values()), START)
    (made, *_) = site.disk.paths(f"{manifest.MADE}/")[:1]
    match spoilt:
        case "ready":
            site.disk.put(manifest.READY, b"{")
        case "file":
            damage(site.disk.root / made, "truncated")
        case "gone":
            (site.disk.root / made).unlink()
    with pytest.raises(Damaged):
        lake.swap()
    assert open_lake({ADMIN}) is None
    assert site.lake().open() is None
    build(site)
    site.wait_for_indexes()
    site.assert_is_whole()


def test_who_goes_on_building_a_deleted_lake_adds_nothing_to_the_next_one(site):
    site.close()
    late, stray = site.lake(), item("Deal", 77, 1)
    stray |= dict(zip(("PK", "SK"), key("Deal", 77), strict=True))

    def scanned():
        build_aside = site.lake()
        build_aside.build(list(site.stream.table.values()), START)
        yield stray

    late.build(
        scanned(), START
    )  # whose ready.json would be the newest; its lease is lost, so that nobody swaps it
    names = {path.split("/")[1] for path in site.disk.paths(manifest.MADE)} - {"ready.json"}
    assert len(names) == 2
    (made,) = [n for n in names if orjson.loads(site.disk.get(manifest.READY) or b"")["aside"].endswith(n)]
    assert len(site.disk.paths(f"{manifest.MADE}/{made}")) == 1


def test_an_item_that_no_table_can_hold_keeps_no_other_from_the_lake(tmp_path, settings, monkeypatch):
    settings.VAR = tmp_path
    lake = Lake(Folder(tmp_path / "lake"))
    make, entity = rows.state_table, BY_TYPE["Deal"]

    def picky(entity, states):
        if any(row.key == key("Deal", 5) for row in states):
            raise OverflowError("too large")
        return make(entity, states)

    monkeypatch.setattr(rows, "state_table", picky)
    items = [item("Deal", n, 1) | dict(zip(("PK", "SK"), key("Deal", n), strict=True)) for n in range(9)]
    lacking = lake.build(items, START)
    lake.swap()
    assert lacking == [(key("Deal", 5), "OverflowError('too large')")]
    with connected(tmp_path / "lake", [entity]) as connection:
        assert connection.execute("SELECT count(*) FROM deals").fetchone() == (8,)


def test_a_change_that_cannot_be_written_leaves_nothing_of_it_behind(site, monkeypatch):
    lake = lake_of(site)
    site.write("Deal", 3, 2)
    monkeypatch.setattr(rows, "state_table", lambda *_: (_ for _ in ()).throw(OverflowError()))
    before = site.disk.paths("")
    lake.apply(site.stream.changes[-1:])
    with pytest.raises(OverflowError):
        lake.commit(None)
    assert site.disk.paths("") == before


def test_the_number_of_files_stays_within_a_bound_under_a_load_that_does_not_end(
    tmp_path, settings, monkeypatch
):
    """Ten minutes of commits, one each five seconds, each of two kinds."""
    settings.VAR = tmp_path
    monkeypatch.setattr(lakes, "COMPACT_AFTER", 10_000)
    monkeypatch.setattr(lakes, "COMPACT_FILES", 60)  # as two kinds are not twenty
    kinds = ["Deal", "Order"]
    now, ticks = [NOW], [0.0]
    store = Disk(tmp_path / "lake")
    lake = Lake(store, clock=lambda: now[0], ticks=lambda: ticks[0])
    lake.build([], START)
    lake.swap()
    lake.open()
    counts = []
    for number in range(120):
        changes = []
        for position, kind in enumerate(kinds):
            made = item(kind, number, 1)
            place = key(kind, number)
            changes.append(ItemChange(place, None, made, f"{number * 9 + position + 1:040d}", now[0]))
        lake.apply(changes)
        lake.commit(START)
        now[0] += timedelta(seconds=5)
        ticks[0] += 5
        lake.check()
        counts.append(len(store.paths("")))
    assert max(counts) < 200
    assert max(counts[60:]) < max(counts[:60]) * 1.2
    for kind in kinds:
        with connected(store.root, [BY_TYPE[kind]]) as connection:
            name = BY_TYPE[kind].table
            for view in (name, f"{name}_history"):
                assert connection.execute(f"SELECT count(*) FROM {view}").fetchone() == (120,)  # noqa: S608


def test_what_is_merged_stays_for_a_minute_for_questions_that_read_it(tmp_path, settings):
    settings.VAR = tmp_path
    ticks = [1000.0]
    site = Site(Disk(tmp_path / "lake"))
    lake = Lake(site.disk, clock=lambda: LATER, ticks=lambda: ticks[0])
    lake.open()
    for variant in (1, 2):
        site.write("Deal", 1, variant)
        lake.apply(site.stream.changes[-1:])
        lake.commit(START)
        lake._commits = lakes.COMPACT_AFTER
    merged = manifest.superseded(site.disk)
    assert merged
    for waited, there in ((lakes.READ_SECONDS - 1, True), (1, False)):
        ticks[0] += waited
        lake._commits = 0
        lake.check()
        assert all((site.disk.root / path).exists() is there for path in merged)


WAYS_TO_TAKE = [
    *("all", manifest.CURRENT, manifest.RECENT, manifest.STATE, manifest.FILES, "file", "locks"),
    *("truncated", "garbage", "all twice"),
]


def take(root, way: str, chance: random.Random) -> None:
    files = [*root.glob("current/*/*/*.parquet"), *root.glob("recent/*/*.parquet")]
    match way:
        case "all" | manifest.CURRENT | manifest.RECENT:
            shutil.rmtree(root if way == "all" else root / way, ignore_errors=True)
        case "all twice":
            shutil.rmtree(root, ignore_errors=True)
            threading.Event().wait(chance.random() * 0.3)  # a new one is being made now
            shutil.rmtree(root, ignore_errors=True)
        case manifest.STATE | manifest.FILES:
            (root / way).unlink(missing_ok=True)
        case "locks":
            for lock in root.glob("*.lock"):
                lock.unlink(missing_ok=True)
        case _ if files:
            damage(chance.choice(files), {"file": "gone"}.get(way, way))


@pytest.mark.usefixtures("fresh_table")
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 5))]
)
def test_whatever_is_deleted_while_the_worker_runs_the_lake_comes_back_with_all_that_there_is(
    seed, settings, tmp_path, monkeypatch
):
    settings.VAR, root = tmp_path, tmp_path / "lake"
    monkeypatch.setattr(consumers, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(Folder, "check_seconds", 0.0)
    monkeypatch.setattr(Lake, "patience", 0.0)
    monkeypatch.setattr(Lake, "delay", 0.0)
    chance = random.Random(seed)
    stop = threading.Event()
    threads = [
        threading.Thread(target=consume, args=(Lake(), stop), kwargs={"clock": lakes.utc_now})
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    try:
        for number, way in enumerate(chance.sample(WAYS_TO_TAKE, len(WAYS_TO_TAKE))):
            make_deal(title=f"Lamp {number}")
            until(lambda: titles(root) == stored(), way)
            take(root, way, chance)
            make_deal(title=f"Desk {number}")
            until(lambda: titles(root) == stored(), way)
        assert all(thread.is_alive() for thread in threads)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def titles(root) -> list[str] | None:
    """What a question is answered with; None while it has to wait."""
    if open_lake({ADMIN}) is None:
        return None
    try:
        with connected(root, [BY_TYPE["Deal"]]) as connection:
            return [
                title for (title,) in connection.execute("SELECT title FROM deals ORDER BY title").fetchall()
            ]
    except duckdb.Error:  # renewed just now, or damaged: the page says so
        return None


def stored() -> list[str]:
    return sorted(one["card"]["title"] for one in table.scan_all(consistent=True) if one["type"] == "Deal")
