"""The index deleted or damaged while it is fed and read: searches are right or say so, and it comes back by itself."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import threading
import time

import pytest

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table.errors import Unavailable
from dealsite.search import lists, reader
from dealsite.search.brands import live_deals
from dealsite.search.finding import find, related
from dealsite.search.projection import SearchIndex
from dealsite.search.question import Question
from dealsite.stream import consumer as consumers, rebuilding
from dealsite.stream.consumer import consume
from dealsite.stream.projection import Damaged
from tests.builders import HOUR, NOW, make_deal
from tests.search.conftest import START, deal_item, in_a_folder, search, titles
from tests.search.test_projection import change
from tests.search.test_stream import SOON, found, now, stored

PARTS = (*reader.PARTS, "json")
WAYS = ("gone", "truncated", "garbage", "spoilt")


def generation():
    return reader.current_generation(reader.index_root())


def forget() -> None:
    """Begin again without any index."""
    shutil.rmtree(reader.index_root())
    reader.forget()


def damage(part: str, how: str) -> None:
    """Damage a file of the index in use, as a disk would or as somebody with an editor would."""
    (file,) = generation().glob("meta.json" if part == "json" else f"*.{part}")
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
        case "spoilt":
            content = bytes([content[0] ^ 0xFF]) + content[1:]
    other = file.with_name("other")
    other.write_bytes(content)
    other.replace(file)


@in_a_folder
def test_an_index_that_is_damaged_is_not_opened_and_a_damage_of_an_open_one_is_noticed(index, subtests):
    for part, how in itertools.product(PARTS, WAYS):
        with subtests.test(part=part, how=how):
            index(*(deal_item(f"Lamp {number}") for number in range(9)))
            projection = SearchIndex()
            assert projection.open() == START
            projection.check(NOW)
            damage(part, how)
            with pytest.raises(Damaged):
                projection.check(NOW)
            try:
                projection.close()
            except ValueError:
                assert part == "json"
            with pytest.raises(Damaged):
                SearchIndex().open()
        forget()


@in_a_folder
def test_what_is_committed_and_merged_meanwhile_is_whole(index):
    index(deal_item("First"))
    projection = SearchIndex()
    projection.open()
    for number in range(30):
        projection.apply([change(deal_item(f"Lamp {number}"), number + 1)])
        projection.commit(START)
        projection.check(NOW)
    projection.close()
    assert SearchIndex().open() == START


@in_a_folder
def test_readers_of_a_damaged_index_find_it_or_say_that_search_is_being_set_up(index, subtests):
    """Never an error, and never that there is nothing."""
    items = [deal_item(f"Lamp {number}") for number in range(9)]
    for part, how, open_before in itertools.product(PARTS, WAYS, (True, False)):
        with subtests.test(part=part, how=how, open_before=open_before):
            index(*items)
            if open_before:
                assert len(titles(search("lamp"))) == 9
            deal_card = DealCard.from_item(items[0]["card"])
            damage(part, how)
            if not open_before:
                reader.forget()
            page = find(Question(text="lamp"), now=NOW, narrowing=True)
            assert not page.ready or page.total == 9 or how == "spoilt"
            related(deal_card, now=NOW)
            counted = live_deals(now=NOW)
            assert counted is None or counted.number == 9 or how == "spoilt"
            with contextlib.suppress(Unavailable):  # which is a 503 and says so
                lists.page(DealFilter(words="lamp"), now=NOW, size=5)
        forget()


def failing(error: BaseException) -> None:
    with reader.unreadable_if_it_fails():
        raise error


def test_a_panic_of_the_index_is_no_error_of_a_page():
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    with pytest.raises(reader.Unreadable):
        failing(panic("index out of bounds"))
    with pytest.raises(KeyboardInterrupt):
        failing(KeyboardInterrupt())


def test_an_item_that_cannot_be_indexed_keeps_no_other_from_being_found():
    projection = SearchIndex()
    odd = deal_item("Odd")
    odd["card"] = {**odd["card"], "id": "no id"}
    lacking = projection.build([deal_item("Lamp"), odd, deal_item("Chair")], START)
    projection.swap()
    assert [key for key, _ in lacking] == [(odd["PK"], odd["SK"])]
    assert sorted(titles(search(""))) == ["Chair", "Lamp"]


@in_a_folder
def test_a_new_index_that_was_deleted_or_damaged_takes_nobodys_place(index):
    index(deal_item("Lamp"))
    for spoil in (shutil.rmtree, lambda made: (made / "meta.json").write_bytes(b"{")):
        projection = SearchIndex()
        projection.build([deal_item("Chair")], START)
        spoil(projection._built)
        with pytest.raises(Damaged):
            projection.swap()
        assert titles(search("")) == ["Lamp"]


@in_a_folder
def test_whoever_still_writes_to_a_deleted_index_does_not_reach_the_new_one(index):
    index(deal_item("Old"))
    late = SearchIndex()
    late.open()
    late.apply([change(deal_item("Late"), 7)])
    while reader.index_root().exists():  # the writer may just make a file
        shutil.rmtree(reader.index_root(), ignore_errors=True)
    index(deal_item("New"))
    with pytest.raises((Damaged, ValueError, OSError)):
        late.check(NOW)
    with pytest.raises((ValueError, OSError)):
        late.commit(START)
    assert titles(search("")) == ["New"]


def deletions(seed: int) -> list[str]:
    """What an operator, or a broken script, takes away: in a random order."""
    ways = [
        *("all", "generation", "current", "segments", "locks", "meta"),
        *("status", "all while building", "spoilt", "all"),
    ]
    return random.Random(seed).sample(ways, len(ways))


def take(way: str) -> None:
    root, used = reader.index_root(), generation()
    match way:
        case "all" | "all while building":
            shutil.rmtree(root, ignore_errors=True)
        case "generation" if used:
            shutil.rmtree(used, ignore_errors=True)
        case "current":
            (root / reader.CURRENT).unlink(missing_ok=True)
        case "locks":
            for lock in root.glob("*.lock"):
                lock.unlink(missing_ok=True)
        case "status":
            (root / "consumer.json").unlink(missing_ok=True)
        case "segments" if used:
            for file in used.glob("*.store"):
                file.unlink(missing_ok=True)
        case "meta" if used:
            damage("json", "truncated")
        case "spoilt" if used:
            for file in used.glob("*.term"):
                other = file.with_name("other")
                other.write_bytes(os.urandom(3000))
                other.replace(file)


@pytest.mark.usefixtures("fresh_table")
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 5))]
)
def test_whatever_is_deleted_while_the_worker_runs_search_comes_back_with_all_that_there_is(
    seed, monkeypatch
):
    monkeypatch.setattr(consumers, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.05)
    moments = random.Random(seed)
    for number in range(3):
        make_deal(title=f"Lamp {number}", live_at=now() - HOUR, now=now())
    stop = threading.Event()
    threads = [
        threading.Thread(target=consume, args=(SearchIndex(), stop), kwargs={"clock": now}) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    try:
        wait_until_whole()
        for number, way in enumerate(deletions(seed)):
            make_deal(title=f"Chair {number}", live_at=now() - HOUR, now=now())
            if way == "all while building":
                shutil.rmtree(reader.index_root(), ignore_errors=True)
                stop.wait(moments.random() * 0.2)  # a new one is being made now
            take(way)
            make_deal(title=f"Desk {number}", live_at=now() - HOUR, now=now())
            wait_until_whole(way)
        assert all(thread.is_alive() for thread in threads)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not rebuilding.is_locked(reader.index_root(), rebuilding.OPEN)


def wait_until_whole(way: str = "") -> None:
    """Wait until search finds all that there is; meanwhile it finds some of it, or says that it is being set up."""
    end = time.monotonic() + SOON
    expected = stored()
    while found() != expected:
        assert time.monotonic() < end, way
        page = search("", now=now())
        assert page.total or not page.ready, way
        time.sleep(0.02)
