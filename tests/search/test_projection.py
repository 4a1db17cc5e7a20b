"""The index as the stream's consumer feeds it: killed anywhere, given duplicates or late records, it ends right."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings, strategies as st

from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso
from dealsite.search import reader
from dealsite.search.documents import LOW_STOCK, StoredDocument
from dealsite.search.finding import known_of
from dealsite.search.office import OfficeDocument
from dealsite.search.site_index import search_index
from dealsite.stream.projection import Checkpoint
from dealsite.stream.records import ItemChange, padded
from tests.builders import DAY, LINK, NOW, make_id
from tests.hostile import EXAMPLES
from tests.search.conftest import START, deal_item, draft_item, in_a_folder, search, titles


def change(item: Item, number: int, *, gone: bool = False) -> ItemChange:
    return ItemChange((item["PK"], item["SK"]), None, None if gone else item, padded(str(number)), NOW)


def likes_of(deal_id: str, number: int) -> Item:
    return {"PK": f"DEAL#{deal_id}", "SK": "COUNTS", "type": "DealCounts", "likes": number}


def offer_of(deal_id: str, stock: int | None) -> Item:
    left = {} if stock is None else {"stock": stock}
    return {"PK": f"DEAL#{deal_id}", "SK": "OFFER", "type": "Offer", "id": deal_id, **left}


def is_low(deal_id: str) -> bool:
    found = search("", for_editors=True, kind="deal", lacks="few")
    return deal_id in {card.id for card in found.cards}


@pytest.fixture
def fed(index):
    """The projection, open, over an index with one deal."""
    index(deal_item())
    projection = search_index()
    assert projection.open() == START
    yield projection
    projection.close()


def test_what_is_not_built_cannot_be_opened():
    assert search_index().checkpoint() is None
    assert search_index().open() is None


def test_a_change_is_found_once_it_is_committed_and_not_before(fed):
    fed.apply([change(deal_item("Lamp"), 1)])
    assert titles(search("lamp")) == []
    later = START.moved({"shard": padded("1")})
    fed.commit(later)
    assert titles(search("lamp")) == ["Lamp"]
    assert search_index().checkpoint() == later


def test_a_change_replaces_what_was_there_and_a_deletion_removes_it(fed):
    item = deal_item("Lamp")
    fed.apply([change(item, 1), change(item | {"card": item["card"] | {"title": "Chair"}}, 2)])
    fed.commit(START)
    assert (titles(search("lamp")), titles(search("chair"))) == ([], ["Chair"])
    fed.apply([change(item, 3, gone=True)])
    fed.commit(START)
    assert titles(search("chair")) == []


@pytest.mark.parametrize("committed", [True, False])
def test_late_and_repeated_records_change_nothing(fed, committed):
    item = deal_item("Lamp")
    newer = item | {"card": item["card"] | {"title": "Chair"}}
    fed.apply([change(newer, 5)])
    if committed:
        fed.commit(START)
    fed.apply([change(item, 4), change(newer, 5), change(item, 3, gone=True)])
    fed.commit(START)
    assert titles(search("chair")) == ["Chair"]
    fed.apply([change(item, 7, gone=True)])
    if committed:
        fed.commit(START)
    fed.apply([change(newer, 6)])
    fed.commit(START)
    assert titles(search("chair")) == []


def test_a_published_draft_is_found_as_a_deal_alone(fed):
    draft = draft_item("Lamp")
    fed.apply([change(draft, 1)])
    fed.commit(START)
    assert titles(search("lamp", for_editors=True, kind="draft")) == ["Lamp"]
    pointer = {name: draft[name] for name in ("PK", "SK", "type", "id")} | {"published_as": make_id()}
    fed.apply([change(pointer, 2)])
    fed.commit(START)
    assert titles(search("lamp", for_editors=True, kind="draft")) == []


def test_items_beside_a_deal_and_other_items_are_left_alone(fed):
    item = deal_item("Lamp")
    others = [
        {"PK": item["PK"], "SK": "OFFER", "type": "Offer"},
        {"PK": item["PK"], "SK": "CHANGE", "type": "Change", "card": item["card"]},
        {"PK": "USER#ann", "SK": "USER#ann", "type": "User"},
    ]
    fed.apply([change(item, 1), *(change(other, 2 + n) for n, other in enumerate(others))])
    fed.apply([change(others[0], 9, gone=True)])
    fed.commit(START)
    assert titles(search("lamp")) == ["Lamp"]


def test_what_was_not_committed_comes_again_after_a_crash(fed):
    fed.apply([change(deal_item("Lamp"), 1)])
    fed.close()
    again = search_index()
    assert again.open() == START
    assert titles(search("lamp")) == []
    again.close()


def test_a_commit_without_a_checkpoint_leaves_it_where_it_was(fed):
    fed.apply([change(deal_item("Lamp"), 1)])
    fed.commit(None)
    assert titles(search("lamp")) == ["Lamp"]
    assert search_index().checkpoint() == START


@in_a_folder
def test_an_index_that_is_being_built_is_not_used_and_what_is_left_of_it_goes(index):
    index(deal_item("Old"))
    projection = search_index()

    def interrupted():
        yield deal_item("New")
        assert titles(search("")) == ["Old"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        projection.build(interrupted(), START)
    assert titles(search("")) == ["Old"]
    projection.build([deal_item("New")], START)
    assert titles(search("")) == ["Old"]
    projection.swap()
    assert titles(search("")) == ["New"]
    assert [path for path in reader.index_root().iterdir() if path.is_dir()] == [
        reader.current_generation(reader.index_root())
    ]


def test_changes_after_a_build_began_are_applied_over_it(index):
    item = deal_item("Old")
    projection = search_index()
    start = Checkpoint("stream", NOW, {"shard": padded("10")})
    projection.build([item], start)
    projection.swap()
    assert projection.open() == start
    projection.apply(
        [change(item, 9, gone=True), change(item | {"card": item["card"] | {"title": "New"}}, 11)]
    )
    projection.commit(start)
    projection.close()
    assert titles(search("")) == ["New"]


def test_a_liked_deal_keeps_all_that_search_knows_of_it(fed):
    words = "lamp " * 1_000 + "filament"
    item = deal_item("Lamp", description=words, link=LINK, stock=None)
    item |= {"link": LINK, "link_check": {"link": LINK, "since": iso(NOW), "failures": 2, "reason": "404"}}
    item |= {"featured_on": {"front"}, "updated_at": iso(NOW), "updated_by": "mara"}
    fed.apply([change(item, 1), change(deal_item("Chair", deal_id=make_id(NOW - DAY)), 2)])
    fed.commit(START)
    before = known_of([item["id"]])[item["id"]]
    fed.apply([change(likes_of(item["id"], 3), 3)])
    fed.commit(START)
    after = known_of([item["id"]])[item["id"]]
    assert after == replace(before, likes=3, counted=padded("3"))
    assert after.changed_by == "mara"
    for found in (
        search("filament"),
        search(lacks="link", for_editors=True),
        search(featured="front", for_editors=True),
    ):
        assert titles(found) == ["Lamp"]


@pytest.mark.parametrize("likes_first", [True, False])
def test_a_new_index_knows_how_many_like_a_deal(index, likes_first):
    item = deal_item("Lamp")
    items = [item, likes_of(item["id"], 7), {"PK": "BRAND#x", "SK": "COUNTS", "likes": 9}]
    projection = search_index()
    projection.build(reversed(items) if likes_first else items, START)
    projection.swap()
    assert known_of([item["id"]])[item["id"]].likes == 7
    projection.open()
    projection.apply([change(likes_of(item["id"], 8), 1), change(likes_of(item["id"], 7), 0)])
    projection.commit(START)
    projection.close()
    assert known_of([item["id"]])[item["id"]].likes == 8


@in_a_folder
def test_another_process_finds_what_was_committed(fed, settings):
    """As web processes do with what the worker writes."""
    program = f"""
import os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
from django.conf import settings
from dealsite.data.catalogue.display_names import category_names
settings.SEARCH_ROOT = {str(settings.SEARCH_ROOT)!r}
category_names.names = dict
from tests.search.conftest import search, titles
for line in sys.stdin:
    print(titles(search(line.strip())), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:

        def ask(text: str) -> str:
            other.stdin.write(f"{text}\n")
            other.stdin.flush()
            return other.stdout.readline().strip()

        assert ask("lamp") == "[]"
        fed.apply([change(deal_item("Lamp"), 1)])
        fed.commit(START)
        assert ask("lamp") == "['Lamp']"
        other.stdin.close()


@pytest.mark.parametrize(
    ("stock", "few"), [(None, False), (0, False), (1, True), (LOW_STOCK, True), (LOW_STOCK + 1, False)]
)
@pytest.mark.parametrize("offer_first", [True, False])
def test_an_index_knows_of_which_deals_little_is_left(index, stock, few, offer_first):
    item = deal_item("Lamp")
    items = [item, offer_of(item["id"], stock)]
    index(*(reversed(items) if offer_first else items))
    assert is_low(item["id"]) == few


def test_what_is_sold_and_put_back_changes_of_which_deals_little_is_left(fed):
    item = deal_item("Lamp")
    for number, (stock, few) in enumerate([(6, False), (5, True), (0, False), (2, True), (None, False)], 1):
        changes = [change(offer_of(item["id"], stock), number * 10)]
        fed.apply([*changes, change(item, number * 10 + 1)])
        fed.commit(START)
        assert is_low(item["id"]) == few
    fed.apply([change(offer_of(item["id"], 3), 5)])  # late
    fed.commit(START)
    assert not is_low(item["id"])


IDS = [make_id(number=number) for number in range(4)]


@st.composite
def histories(draw):
    """Some changes of a few items, and the order in which a consumer gets them, some of them more than once."""
    changes = []
    for number in range(1, draw(st.integers(1, 10)) + 1):
        item_id = draw(st.sampled_from(IDS))
        make = draw(st.sampled_from(["deal", "draft", "likes", "offer"]))
        title = draw(st.sampled_from(["Lamp", "Chair", "Desk"]))
        if make == "likes":
            item = likes_of(item_id, number)
        elif make == "offer":
            item = offer_of(item_id, draw(st.sampled_from([None, 0, 3, 9])))
        else:
            item = (
                deal_item(title, deal_id=item_id) if make == "deal" else draft_item(title, draft_id=item_id)
            )
        changes.append(change(item, number, gone=draw(st.booleans())))
    repeated = changes + draw(st.lists(st.sampled_from(changes), max_size=6))
    return changes, draw(st.permutations(repeated))


@pytest.mark.parametrize("runs", [EXAMPLES, pytest.param(EXAMPLES * 2, marks=pytest.mark.thorough)])
def test_any_order_any_repetition_and_any_crash_end_with_the_newest_of_each(runs, index):
    @settings(max_examples=runs)
    @given(history=histories(), data=st.data())
    def feed(history, data):
        changes, delivered = history
        index(deal_item("First", deal_id=make_id(number=99)))
        projection = search_index()
        projection.open()
        pending: list[ItemChange] = []
        for one in delivered:
            projection.apply([one])
            pending.append(one)
            what = data.draw(st.sampled_from(["go on", "commit", "crash"]))
            if what == "commit":
                projection.commit(START)
                pending = []
            elif what == "crash":
                projection.close()
                projection.open()
                projection.apply(pending)
        projection.commit(START)
        projection.close()
        reader.forget()
        newest = {one.key: one for one in sorted(changes, key=lambda one: one.sequence)}
        for kind, prefix in (("deal", "DEAL#"), ("draft", "DRAFT#")):
            expected = {
                (one.new["id"], one.new["card"]["title"])
                for key, one in newest.items()
                if one.new and key == (f"{prefix}{one.new.get('id')}",) * 2
            }
            found = {
                (card.id, card.title)
                for card in search("", for_editors=True, kind=kind).cards
                if card.title != "First"
            }
            assert found == expected
        for deal_id, known in known_of(IDS).items():
            counted = newest.get((f"DEAL#{deal_id}", "COUNTS"))
            liked = counted.new["likes"] if counted and counted.new else 0
            assert known.likes == (liked if known.kind == "deal" else 0)
            offered = newest.get((f"DEAL#{deal_id}", "OFFER"))
            left = offered.new.get("stock") if offered and offered.new else None
            assert is_low(deal_id) == (known.kind == "deal" and left == 3)

    feed()


def test_a_checkpoint_survives_as_it_was(fed):
    checkpoint = replace(START, shards={"a": padded("7"), "b": "finished"})
    fed.commit(checkpoint)
    assert search_index().checkpoint() == checkpoint


@in_a_folder
def test_an_index_of_a_build_that_keeps_or_indexes_other_things_is_made_anew(index, monkeypatch):
    """Its fields are known by their places: such an index answers wrongly, or not at all."""

    @dataclass(frozen=True)
    class Longer(StoredDocument):
        more: str = ""

    class Other(StoredDocument):
        fields = OfficeDocument.fields

    names = {reader.readable(kind) for kind in (StoredDocument, Longer, Other)}
    assert len(names) == 3
    monkeypatch.setattr(reader, "READABLE", reader.readable(Longer))
    index(deal_item("Lamp"))
    monkeypatch.undo()
    reader.forget()
    assert search_index().open() is None
    assert [path.is_dir() for path in reader.unused_generations(reader.index_root())] == [True]
