"""The stream of a real engine: what the site writes is in the lake, whatever happens to the consumer."""

import itertools
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from dealsite.data import table
from dealsite.data.catalogue import brands, deal_changes, deals, relations
from dealsite.data.commerce import cart_changes, carts, order_changes
from dealsite.data.people import users
from dealsite.data.table.writes import Delete, Put
from dealsite.lake.entities import BY_TYPE
from dealsite.lake.projection import Lake
from dealsite.stream import rebuilding
from dealsite.stream.consumer import Consumer, opened
from dealsite.stream.rebuilding import Busy, rebuild
from dealsite.stream.records import ItemChange, Lost, Stream
from tests.builders import EDITOR, NOW, make_content, make_deal, make_draft, make_id
from tests.lake.disks import Disk, assert_is, connected
from tests.orders import make_order
from tests.people import make_user

pytestmark = [
    pytest.mark.engines("native", "local"),  # moto leaves records out
    pytest.mark.engines_differ,
    pytest.mark.own_stream,
    pytest.mark.usefixtures("fresh_table"),
]


@pytest.fixture
def lake(tmp_path, settings):
    settings.VAR = tmp_path
    lake = Lake(Disk(tmp_path / "lake"))
    lake.patience = lake.delay = 0.0
    return lake


def start(lake) -> Consumer:
    return opened(lake, Stream.of_table(), clock=lambda: NOW)


def drain(consumer) -> int:
    return sum(iter(consumer.round, 0))


def in_table():
    return {(item["PK"], item["SK"]): item for item in table.scan_all() if item["type"] in BY_TYPE}


def work_on_the_site():
    """Yield after each of many things that people do."""
    first = make_deal(title="Lamp")
    yield
    ann = make_user("ann")
    relations.add(relations.BRAND_LIKE, "nordlicht", username="ann", now=NOW)
    relations.add(relations.CATEGORY_WATCH, first.content.category, username="ann", now=NOW)
    yield
    relations.remove(relations.BRAND_LIKE, "nordlicht", username="ann")
    deal_changes.edit(
        first,
        make_content(title="Lamp, green", price=first.content.price - 1),
        version=first.version,
        brand=brands.get("nordlicht"),
        by=EDITOR,
        now=NOW,
    )
    yield
    draft = make_draft(title="Chair")
    make_deal(title="Chair", draft=draft)
    yield
    order = make_order("ann", make_deal(title="Desk"), plan=3)
    yield
    order_changes.cancel("ann", order.id, by=EDITOR, reason="Ordered twice.", now=NOW)
    yield
    cart_changes.add(carts.user_cart("ann"), cart_changes.CartAddition(first.id, 1, make_id(NOW)), now=NOW)
    deal_changes.delete(deals.get(first.id), by=EDITOR, now=NOW)
    yield
    users.delete(ann, job_id=order.id, now=NOW)
    yield


def test_what_the_site_writes_is_in_the_lake(lake):
    consumer = start(lake)
    for _ in work_on_the_site():
        drain(consumer)
        assert_is(lake.store.root, in_table(), None)
    with connected(lake.store.root) as connection:
        titles = connection.execute("SELECT title FROM deals_history ORDER BY sequence").fetchall()
        assert [title for (title,) in titles][:2] == ["Lamp", "Lamp, green"]
        assert connection.execute("SELECT DISTINCT country FROM orders").fetchall() == [("GB",)]


def test_a_consumer_that_ends_anywhere_goes_on_where_it_was(lake):
    for number, _ in enumerate(work_on_the_site()):
        consumer = start(lake)
        if number % 2:
            drain(consumer)
        else:
            consumer.round()
            lake.apply(consumer.stream.page(consumer.stream.iterator(one_shard(consumer), "")).changes)
    drain(start(lake))
    assert_is(lake.store.root, in_table(), None)


def one_shard(consumer) -> str:
    return consumer.stream.shards()[0].id


def test_a_lake_that_begins_late_holds_what_was_there_before(lake):
    for _ in work_on_the_site():
        pass
    consumer = start(lake)
    drain(consumer)
    assert_is(lake.store.root, in_table(), None)


def test_a_lake_is_made_anew_while_its_consumer_goes_on(lake, monkeypatch):
    consumer = start(lake)
    steps = work_on_the_site()
    for _ in itertools.islice(steps, 4):
        drain(consumer)
    scan_all = table.scan_all

    def scanned(**options):
        for number, item in enumerate(scan_all(**options)):
            if number % 3 == 0:
                next(steps, None)
                drain(consumer)
            if number == 20:
                consumer.projection.close()
            yield item

    monkeypatch.setattr(table, "scan_all", scanned)
    other = Lake(lake.store)
    assert rebuild(other, now=NOW) > 10
    monkeypatch.undo()
    for _ in steps:
        pass
    drain(start(lake))
    assert_is(lake.store.root, in_table(), None)


def test_only_one_new_lake_is_made_at_a_time(lake):
    with rebuilding.locked(lake.folder, rebuilding.BUILDING, wait=True):
        with pytest.raises(Busy):
            rebuild(lake, now=NOW)
        with pytest.raises(Busy):
            start(lake)


def test_the_command_makes_a_lake_anew(lake, monkeypatch):
    monkeypatch.setattr(table, "be_patient", lambda: None)
    make_deal(title="Lamp")
    out = StringIO()
    call_command("rebuild", "lake", stdout=out)
    assert "made anew" in out.getvalue()
    with connected(lake.folder) as connection:
        assert connection.execute("SELECT title FROM deals").fetchall() == [("Lamp",)]


def test_images_are_those_before_and_after(lake):
    consumer = start(lake)
    drain(consumer)
    seen: list[ItemChange] = []
    lake.apply = seen.extend
    table.write(Put(key=("A", "B"), item={"type": "Job", "n": 1}))
    table.write(Put(key=("A", "B"), item={"type": "Job", "n": 1}))
    table.write(Put(key=("A", "B"), item={"type": "Job", "n": 2}))
    table.write(Delete(key=("A", "B")))
    drain(consumer)
    one, two = ({"PK": "A", "SK": "B", "type": "Job", "n": n} for n in (1, 2))
    assert [(change.old, change.new) for change in seen] == [(None, one), (one, two), (two, None)]
    assert sorted(change.sequence for change in seen) == [change.sequence for change in seen]


def test_a_stream_that_is_not_there_is_lost():
    gone = Stream("arn:aws:dynamodb:eu-central-1:000000000000:table/gone/stream/2026-11-21T00:00:00.000")
    with pytest.raises(Lost):
        gone.shards()


def test_a_checkpoint_that_is_too_old_is_built_anew(lake):
    make_deal(title="Lamp")
    drain(start(lake))
    old = lake.checkpoint()
    lake.close()
    make_deal(title="Desk")
    consumer = opened(lake, Stream.of_table(), clock=lambda: NOW + timedelta(days=2))
    assert consumer.checkpoint.read_at == NOW + timedelta(days=2)
    assert old.read_at == NOW
    assert_is(lake.store.root, in_table(), None)
