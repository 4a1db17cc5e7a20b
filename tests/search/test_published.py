"""The index on several machines: one writes it and publishes it to a bucket, the others fetch what is new."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from storages.backends.s3 import S3Storage

from dealsite.data import table
from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.jobs import leases, processes
from dealsite.search import published, reader, site_index
from dealsite.search.projection import SearchIndex
from dealsite.search.published import SharedIndex
from dealsite.search.site_index import search_index
from dealsite.stream import consumer_status, rebuilding
from dealsite.stream.consumer import consume, opened
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.rebuilding import TurnLost
from dealsite.stream.records import Stream
from tests.buckets import KEYS, empty_bucket
from tests.builders import EDITOR, HOUR, make_deal
from tests.search.conftest import search, titles

pytestmark = pytest.mark.usefixtures("fresh_table")


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def bucket(moto_engine: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A private bucket that machines share, empty."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    private = empty_bucket(moto_engine, "private")
    settings.STORAGES = settings.STORAGES | {"private": private}
    settings.DEALSITE_PRIVATE_BUCKET = "private"
    return storages.create_storage(private)


class Clock:
    """Seconds that go on where a test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Machine:
    """A machine with a folder of its own, whose worker does one thing after the other."""

    def __init__(self, folder: Path, bucket: Any, ticks: Clock, settings: Any) -> None:
        self.folder, self.ticks, self._settings = folder, ticks, settings
        self.index = SharedIndex(folder, clock=now, ticks=ticks, bucket=bucket)

    def turn(self) -> bool:
        """Feed the index and publish it, or fetch it, as a worker does; tell whether this machine led."""
        try:
            return self.index.leads() and self.feed()
        except TurnLost:
            return self.turn()

    def feed(self) -> bool:
        try:
            consumer = opened(self.index, Stream.of_table(), clock=now)
            while consumer.round():
                pass
            consumer.commit()
            self.ticks.seconds += published.LOOK_SECONDS
            self.index.check(now())
        finally:
            self.index.close()
        return True

    def finds(self, words: str = "") -> list[str]:
        self._settings.SEARCH_ROOT = self.folder
        reader.forget()
        return sorted(titles(search(words, now=now())))


@pytest.fixture
def ticks() -> Clock:
    return Clock()


@pytest.fixture
def machine(tmp_path: Path, bucket: Any, ticks: Clock, settings: Any) -> Callable[[str], Machine]:
    return lambda name: Machine(tmp_path / name, bucket, ticks, settings)


def publish(title: str) -> Any:
    return make_deal(title=title, live_at=now() - HOUR, now=now())


def pointer_of(bucket: Any) -> dict[str, Any]:
    with bucket.open(f"search/{table.name()}/{reader.READABLE}/current.json") as file:
        found: dict[str, Any] = json.loads(file.read())
    return found


def names_in(bucket: Any) -> list[str]:
    return sorted(bucket.listdir(f"search/{table.name()}/{reader.READABLE}")[1])


# One publishes, all find


def test_what_one_machine_publishes_all_find_and_none_but_it_reads_stream_or_table(
    machine: Any, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    assert a.turn()
    publish("Mug")
    assert a.turn()
    with monkeypatch.context() as patched:
        patched.setattr(table, "ask_stream", lambda *_, **__: pytest.fail("It reads the stream."))
        patched.setattr(table, "scan_all", lambda *_, **__: pytest.fail("It scans."))
        assert not b.turn()
    assert a.finds() == b.finds() == ["Lamp", "Mug"]
    noted = consumer_status.status(b.folder)
    assert noted is not None
    assert noted.state == "following"


def test_only_what_is_new_travels(machine: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch):
    a, b = machine("a"), machine("b")
    for number in range(20):
        publish(f"Lamp {number}")
    a.turn()
    b.turn()
    first = set(names_in(bucket))
    opened_: list[str] = []
    opens = SharedIndex._object

    def noted(index: SharedIndex, name: str) -> Any:
        opened_.append(name)
        return opens(index, name)

    monkeypatch.setattr(SharedIndex, "_object", noted)
    b.turn()
    assert opened_ == ["current.json"]
    deal_changes.delete(deals.get(publish("Mug").id), by=EDITOR, now=now())
    a.turn()
    del opened_[:]
    b.turn()
    assert {*opened_} == {*names_in(bucket)} - first | {"current.json"}
    assert b.finds() == a.finds()
    assert len(b.finds()) == 20


def test_what_search_does_not_find_is_not_published(machine: Any, bucket: Any):
    a = machine("a")
    a.turn()
    before = pointer_of(bucket)
    consumer = opened(a.index, Stream.of_table(), clock=now)
    processes.write_heartbeat("web", now=now())
    while consumer.round():
        pass
    assert consumer.checkpoint.shards != consumer.committed.shards
    assert pointer_of(bucket) == before
    a.index.close()


def test_the_pointer_says_that_the_stream_is_read_also_while_nothing_changes(
    machine: Any, bucket: Any, ticks: Clock
):
    a = machine("a")
    a.turn()
    assert a.index.leads()
    a.index.open()
    before = pointer_of(bucket)
    for _ in range(3):
        ticks.seconds += leases.RENEW_SECONDS
        a.index.check(now())
    a.index.close()
    after = pointer_of(bucket)
    assert after["read_at"] > before["read_at"]
    assert after["packs"] == before["packs"]


def test_a_machine_without_a_bucket_keeps_its_own_and_takes_no_lease(settings: Any, tmp_path: Path):
    settings.SEARCH_ROOT = tmp_path / "search"
    index = search_index()
    assert type(index) is SearchIndex
    assert index.leads()
    assert leases.read(f"search-{reader.READABLE}").term == 0


# Another takes over


def test_another_takes_over_without_a_scan_once_the_lease_is_over(
    machine: Any, ticks: Clock, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    assert not b.turn()
    publish("Mug")  # a is dead
    ticks.seconds += leases.SPAN_SECONDS - 1
    assert not b.turn()
    ticks.seconds += leases.RENEW_SECONDS
    monkeypatch.setattr(table, "scan_all", lambda *_, **__: pytest.fail("It scans."))
    assert b.turn()
    assert b.finds() == ["Lamp", "Mug"]
    assert not a.turn()  # it was only away
    assert a.finds() == ["Lamp", "Mug"]


def test_one_that_ends_lets_another_take_over_at_its_next_look(machine: Any, ticks: Clock):
    a, b = machine("a"), machine("b")
    a.turn()
    b.turn()
    a.index.leave()
    ticks.seconds += leases.RENEW_SECONDS
    assert b.turn()


def test_what_one_had_not_published_when_it_lost_its_turn_goes(
    machine: Any, ticks: Clock, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    b.turn()
    with monkeypatch.context() as patched:
        patched.setattr(SharedIndex, "_publish", lambda *_: None)
        deal = publish("Mug")
        a.turn()
    ticks.seconds += leases.SPAN_SECONDS + leases.RENEW_SECONDS
    deal_changes.delete(deals.get(deal.id), by=EDITOR, now=now())
    publish("Fan")
    assert b.turn()
    assert not a.turn()
    assert a.finds() == b.finds() == ["Fan", "Lamp"]


def test_who_lost_the_lease_notices_before_it_publishes(machine: Any, ticks: Clock, bucket: Any):
    a, b = machine("a"), machine("b")
    a.turn()
    b.turn()
    ticks.seconds += leases.SPAN_SECONDS + leases.RENEW_SECONDS
    assert b.turn()
    before = pointer_of(bucket)
    a.index._is_new = True
    with pytest.raises(TurnLost):
        a.index._publish(now())
    with pytest.raises(TurnLost):
        a.index.check(now())
    assert pointer_of(bucket) == before


def test_who_took_longer_than_the_lease_publishes_where_nobody_else_took_it(
    machine: Any, ticks: Clock, bucket: Any
):
    a = machine("a")
    a.turn()
    before = pointer_of(bucket)
    ticks.seconds += leases.SPAN_SECONDS
    a.index._publish(now())
    assert pointer_of(bucket) != before
    assert a.index._lease.is_held


@pytest.mark.parametrize("how", ["first", "rebuild"])
def test_what_takes_longer_than_the_lease_to_copy_is_published_although_another_stands_by(
    machine: Any, ticks: Clock, bucket: Any, monkeypatch: pytest.MonkeyPatch, how: str
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    if how == "rebuild":
        machine("c").turn()
        before = pointer_of(bucket)["generation"]
    saves, asked = type(bucket).save, []

    def slowly(self: Any, *given: Any) -> Any:
        for _ in range(5):
            ticks.seconds += leases.RENEW_SECONDS
            until(lambda: a.index._lease._renewed_at == ticks.seconds)
            asked.append(b.turn())
        return saves(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(published, "LOOK_SECONDS", 0.01)
        patched.setattr(type(bucket), "save", slowly)
        if how == "rebuild":
            rebuilding.rebuild(a.index, now=now())
            assert pointer_of(bucket)["generation"] != before
        else:
            assert a.turn()
    assert {*asked} == {False}
    b.turn()
    assert b.finds() == ["Lamp"]


def test_who_does_not_know_that_the_lease_is_lost_publishes_nothing(
    machine: Any, ticks: Clock, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    ticks.seconds += leases.SPAN_SECONDS + leases.RENEW_SECONDS
    publish("Mug")
    b.turn()
    ticks.seconds += leases.SPAN_SECONDS
    assert b.turn()
    found = pointer_of(bucket)
    with monkeypatch.context() as patched:
        patched.setattr(leases.Lease, "is_held", True)
        with pytest.raises(TurnLost):
            a.index._publish(now())
    assert pointer_of(bucket) == found


def test_two_who_both_think_that_they_are_first_publish_once(
    machine: Any, ticks: Clock, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    monkeypatch.setattr(leases.Lease, "take", lambda *_: True)
    monkeypatch.setattr(leases.Lease, "is_held", True)
    assert a.index.leads()
    assert b.index.leads()
    a.feed()
    with pytest.raises(TurnLost):
        b.feed()


def test_a_rebuild_on_any_machine_takes_the_lease_and_all_find_what_it_made(
    machine: Any, ticks: Clock, bucket: Any
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    b.turn()
    before = pointer_of(bucket)["generation"]
    publish("Mug")
    rebuilding.rebuild(machine("b").index, now=now())
    assert pointer_of(bucket)["generation"] != before
    ticks.seconds += leases.RENEW_SECONDS
    for one in (b, a, b):
        one.turn()
    assert pointer_of(bucket)["generation"] != before
    assert a.finds() == b.finds() == ["Lamp", "Mug"]


def test_a_new_index_is_published_although_the_lease_ran_out_before_it_was_in_use(
    machine: Any, ticks: Clock, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    a = machine("a")
    publish("Lamp")
    a.turn()
    before, began = pointer_of(bucket)["generation"], now()
    scan, checks = table.scan_all, reader.check_generation
    scans: list[int] = []

    def counted(**given: Any) -> Any:
        scans.append(1)
        return scan(**given)

    def slowly(generation: Path) -> None:
        if generation.name != before:
            ticks.seconds += leases.HELD_SECONDS + 1
        checks(generation)

    monkeypatch.setattr(table, "scan_all", counted)
    monkeypatch.setattr(reader, "check_generation", slowly)
    monkeypatch.setattr(Checkpoint, "reaches", lambda self, _: self.read_at >= began)
    assert a.index.leads()
    consumer = opened(a.index, Stream.of_table(), clock=now)
    a.index.check(consumer.checkpoint.read_at)
    a.index.close()
    assert pointer_of(bucket)["generation"] != before
    assert a.turn()
    assert scans == [1]


def test_a_rebuild_that_cannot_be_published_fails_and_the_last_one_is_there_again(
    machine: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch, ticks: Clock
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    b.turn()
    with monkeypatch.context() as patched:
        patched.setattr(type(bucket), "save", away)
        with pytest.raises(Damaged, match="The bucket does not take"):
            rebuilding.rebuild(machine("b").index, now=now())
    ticks.seconds += leases.RENEW_SECONDS
    a.turn()
    b.turn()
    assert a.finds() == b.finds() == ["Lamp"]


# What is away or damaged


def away(*_: Any, **__: Any) -> Any:
    raise OSError("The bucket is away.")


def test_while_the_bucket_is_away_all_go_on_with_what_they_have(
    machine: Any, bucket: Any, ticks: Clock, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    b.turn()
    with monkeypatch.context() as patched:
        patched.setattr(SharedIndex, "_object", away)
        for name in ("save", "delete", "listdir"):
            patched.setattr(type(bucket), name, away)
        publish("Mug")
        assert a.turn()
        assert not b.turn()
        assert a.finds() == ["Lamp", "Mug"]
        assert b.finds() == ["Lamp"]
        noted = consumer_status.status(b.folder)
        assert noted is not None
        assert noted.state == "failing"
        assert not machine("c").turn()
    ticks.seconds += published.SAID_SECONDS
    a.index._lease._renewed_at = ticks()
    assert a.turn()
    assert not b.turn()
    assert b.finds() == ["Lamp", "Mug"]


def test_nobody_leads_who_cannot_see_what_was_published_last(
    machine: Any, bucket: Any, ticks: Clock, monkeypatch: pytest.MonkeyPatch
):
    a = machine("a")
    with monkeypatch.context() as patched:
        patched.setattr(SharedIndex, "_object", away)
        assert not a.turn()
    ticks.seconds += leases.RENEW_SECONDS
    assert machine("b").turn()


@pytest.mark.parametrize("what", ["pack", "content", "pointer"])
def test_what_is_damaged_in_the_bucket_is_published_anew_by_the_next_who_leads(
    machine: Any, bucket: Any, ticks: Clock, what: str
):
    a, b, c = machine("a"), machine("b"), machine("c")
    publish("Lamp")
    a.turn()
    b.turn()
    place = f"search/{table.name()}/{reader.READABLE}"
    pack = next(name for name in names_in(bucket) if name.endswith(".zip"))
    if what == "pack":
        bucket.delete(f"{place}/{pack}")
    elif what == "content":
        with bucket.open(f"{place}/{pack}") as file:
            content = bytearray(file.read())
        content[len(content) // 3] ^= 1
        bucket.save(f"{place}/{pack}", ContentFile(bytes(content)))
    else:
        bucket.save(f"{place}/current.json", ContentFile(b"{}"))
    c.turn()
    assert b.finds() == ["Lamp"]
    assert c.finds() == []
    a.index.leave()
    ticks.seconds += leases.RENEW_SECONDS
    assert c.turn()
    assert not b.turn()
    assert not a.turn()
    assert a.finds() == b.finds() == c.finds() == ["Lamp"]


@pytest.mark.parametrize("what", ["folder", "file", "byte", "current"])
def test_what_is_deleted_or_damaged_on_a_machine_it_fetches_again(machine: Any, what: str):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    b.turn()
    file = next(b.folder.glob("*/*.store"))
    if what == "folder":
        shutil.rmtree(b.folder)
    elif what == "file":
        file.unlink()
    elif what == "byte":
        content = bytearray(file.read_bytes())
        content[0] ^= 1
        file.write_bytes(bytes(content))
    else:
        (b.folder / reader.CURRENT).write_text("nothing")
    b.turn()
    assert b.finds() == ["Lamp"]


def fetched(machine: Any, fails_at: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a machine fetch what is new, but for the n-th pack; return the packs that it asked for."""
    asked: list[str] = []
    opens = SharedIndex._object

    def noted(index: SharedIndex, name: str) -> Any:
        if name.endswith(".zip"):
            asked.append(name)
            if len(asked) == fails_at:
                away()
        return opens(index, name)

    with monkeypatch.context() as patched:
        patched.setattr(SharedIndex, "_object", noted)
        machine.turn()
    return asked


def test_a_new_machine_asks_once_for_each_pack_whatever_breaks_off(
    machine: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    for number in range(4):
        publish(f"Lamp {number}")
        a.turn()
    packs = {*pointer_of(bucket)["packs"].values()}
    assert len(packs) > 2
    first = fetched(b, 3, monkeypatch)
    assert len(first) == 3
    assert b.finds() == []
    second = fetched(b, 0, monkeypatch)
    assert {*second} == packs - {*first[:2]}
    assert b.finds() == a.finds() == [f"Lamp {number}" for number in range(4)]


def test_what_was_fetched_and_is_damaged_is_fetched_again(
    machine: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch
):
    a, b = machine("a"), machine("b")
    for number in range(4):
        publish(f"Lamp {number}")
        a.turn()
    fetched(b, 3, monkeypatch)
    file = next(b.folder.glob("*/*.store"))
    content = bytearray(file.read_bytes())
    content[0] ^= 1
    file.write_bytes(bytes(content))
    b.turn()
    assert b.finds() == []
    b.turn()
    assert b.finds() == a.finds()


HOSTILE = (
    {"generation": "../other"},
    {"packs": {"../../secret_key": "00000001-00000001.zip"}},
    {"packs": {"0" * 32 + ".idx": "../../x.zip"}},
    {"metas": {"meta.json": "{}", "../x": "{}"}},
    {"read_at": "soon"},
    {"more": 1},
)


@pytest.mark.parametrize("change", HOSTILE, ids=str)
def test_a_pointer_that_names_other_places_is_none(machine: Any, bucket: Any, change: dict[str, Any]):
    machine("a").turn()
    found = json.dumps(pointer_of(bucket) | change).encode()
    with pytest.raises(ValueError, match=r".+"):
        published.Pointer.from_json(found)
    assert published.Pointer.from_json(json.dumps(pointer_of(bucket)).encode()).packs


class Killed(BaseException):
    """The process ends here."""


STEPS = {
    "put": (published, "write_whole"),
    "renamed": (Path, "replace"),
    "saved": (S3Storage, "save"),
    "asked": (SharedIndex, "_object"),
}


@pytest.mark.sample(quick=6, whole=2)
@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("step", STEPS)
def test_killed_anywhere_while_it_publishes_or_fetches_all_end_with_what_the_table_holds(
    machine: Any, bucket: Any, ticks: Clock, monkeypatch: pytest.MonkeyPatch, step: str, at: int
):
    publish("Lamp")
    machine("a").turn()
    machine("b").turn()
    publish("Mug")
    left = [at]
    owner, name = STEPS[step]
    does = getattr(owner, name)

    def dies(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise Killed()
        return does(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, dies)
        for one in ("a", "b"):
            ticks.seconds += leases.SPAN_SECONDS + leases.RENEW_SECONDS
            try:
                other = machine(one)
                other.turn()
                ticks.seconds += leases.SPAN_SECONDS + leases.RENEW_SECONDS
                other.turn()
            except Killed:
                pass
    a, b = machine("a"), machine("b")
    for one in (a, b, a, b):
        one.turn()
        ticks.seconds += leases.SPAN_SECONDS / 2
    for _ in range(3):
        a.turn()
        b.turn()
    assert a.finds() == b.finds() == ["Lamp", "Mug"]


# What is no longer needed


def test_packs_and_files_that_nothing_names_go_after_a_minute(machine: Any, bucket: Any, ticks: Clock):
    a, b = machine("a"), machine("b")

    def do(title: str) -> tuple[set[str], set[str]]:
        """Publish, fetch, and return the packs and files that are there without being named."""
        publish(title)
        a.turn()
        b.turn()
        found = pointer_of(bucket)
        generation = b.folder / found["generation"]
        files = {str(path.relative_to(generation)) for path in generation.rglob("*.idx")}
        return {*names_in(bucket)} - {*found["packs"].values(), "current.json"}, files - {*found["packs"]}

    for number in range(12):  # segments are merged
        packs, files = do(f"Lamp {number}")
    assert packs
    assert files
    for tens in range(7):
        assert tens > 3 or packs <= {*names_in(bucket)}
        ticks.seconds += leases.RENEW_SECONDS
        left = do("Mug")
    assert not packs & left[0]
    assert not files & left[1]
    assert len(b.finds()) == len(a.finds()) == 19


def test_what_a_kill_left_half_fetched_goes_after_a_minute(machine: Any, bucket: Any, ticks: Clock):
    a, b = machine("a"), machine("b")
    publish("Lamp")
    a.turn()
    b.turn()
    left = b.folder / pointer_of(bucket)["generation"] / f"{'0' * 32}.idx.new"
    left.write_bytes(b"half")
    is_there: list[bool] = []
    for _ in range(8):
        publish("Mug")
        ticks.seconds += leases.RENEW_SECONDS - published.LOOK_SECONDS  # a turn takes the rest
        a.turn()
        b.turn()
        is_there.append(left.exists())
    assert is_there == [True] * 6 + [False] * 2


def test_what_builds_with_another_format_published_stays_for_a_week(
    machine: Any, bucket: Any, monkeypatch: pytest.MonkeyPatch, ticks: Clock
):
    other = f"search/{table.name()}/1-00000000"
    bucket.save(f"{other}/current.json", ContentFile(b"{}"))
    a = machine("a")
    a.turn()
    assert bucket.listdir(other)[1] == ["current.json"]
    a.index.leave()
    ticks.seconds += leases.RENEW_SECONDS
    a.index._clock = lambda: now() + published.FORMAT_KEPT
    assert a.turn()
    assert bucket.listdir(other)[1] == []


# As processes do it


@pytest.fixture
def working(bucket: Any, tmp_path: Path, settings: Any) -> Iterator[Callable[..., threading.Event]]:
    """A function that starts a thread which consumes or follows, in a folder; what it returns ends it."""
    stops: list[tuple[threading.Event, threading.Thread]] = []

    def start(work: Callable[..., None], *given: Any, **named: Any) -> threading.Event:
        stop = threading.Event()
        thread = threading.Thread(target=work, args=(*given, stop), kwargs=named)
        thread.start()
        stops.append((stop, thread))
        return stop

    yield start
    for stop, thread in stops:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def test_a_worker_publishes_a_web_process_follows_and_another_worker_takes_over(
    bucket: Any, tmp_path: Path, settings: Any, working: Any, monkeypatch: pytest.MonkeyPatch
):
    for name, seconds in (("RENEW_SECONDS", 0.2), ("HELD_SECONDS", 3.0), ("SPAN_SECONDS", 4.0)):
        monkeypatch.setattr(leases, name, seconds)
    publish("Lamp")
    first = working(consume, SharedIndex(tmp_path / "a"), clock=now)
    settings.SEARCH_ROOT = tmp_path / "web"
    working(site_index.follow)
    until(lambda: titles(search("lamp", now=now())) == ["Lamp"])
    working(consume, SharedIndex(tmp_path / "b"), clock=now)
    publish("Mug")
    until(lambda: titles(search("mug", now=now())) == ["Mug"])
    first.set()
    publish("Fan")
    until(lambda: titles(search("fan", now=now())) == ["Fan"])


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
