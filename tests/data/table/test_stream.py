"""The stream of a real engine: what the site writes is in a projection, whatever happens to the consumer."""

import itertools
import json

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, deal_changes, deals, relations
from dealsite.data.commerce import cart_changes, carts, order_changes
from dealsite.data.people import users
from dealsite.data.table.writes import SCHEMA, Delete, Put
from dealsite.stream import rebuilding
from dealsite.stream.consumer import Consumer, opened
from dealsite.stream.rebuilding import Busy, rebuild
from dealsite.stream.records import ItemChange, Lost, Stream
from tests.builders import EDITOR, NOW, make_content, make_deal, make_draft, make_id
from tests.orders import make_order
from tests.people import make_user
from tests.stream.fakes import Copy

pytestmark = [
    pytest.mark.engines("native", "local"),  # moto leaves records out
    pytest.mark.engines_differ,
    pytest.mark.own_stream,
    pytest.mark.usefixtures("fresh_table"),
]


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path / "copy")


def start(copy) -> Consumer:
    return opened(copy, Stream.of_table(), clock=lambda: NOW)


def drain(consumer) -> int:
    return sum(iter(consumer.round, 0))


def assert_is_the_table(copy) -> None:
    stored = {f"{item['PK']}|{item['SK']}": item for item in table.scan_all()}
    kept = json.loads(copy.file.read_text())["items"]
    assert _comparable(kept) == _comparable(json.loads(json.dumps(stored, default=str)))


def _comparable(items):
    return {key: {**item, SCHEMA: None} for key, item in items.items()}


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


def test_what_the_site_writes_is_in_the_projection(copy):
    consumer = start(copy)
    for _ in work_on_the_site():
        drain(consumer)
        assert_is_the_table(copy)
    assert copy.applied == sorted(set(copy.applied))


def test_a_consumer_that_ends_anywhere_goes_on_where_it_was(copy):
    for number, _ in enumerate(work_on_the_site()):
        consumer = start(copy)
        if number % 2:
            drain(consumer)
        else:
            consumer.round()
            shard = consumer.stream.shards()[0]
            copy.apply(consumer.stream.page(consumer.stream.iterator(shard.id, "")).changes)
    drain(start(copy))
    assert_is_the_table(copy)


def test_a_projection_that_begins_late_holds_what_was_there_before(copy):
    for _ in work_on_the_site():
        pass
    drain(start(copy))
    assert_is_the_table(copy)


def test_a_projection_is_made_anew_while_its_consumer_goes_on(copy, monkeypatch):
    consumer = start(copy)
    steps = work_on_the_site()
    for _ in itertools.islice(steps, 4):
        drain(consumer)
    scan_all = table.scan_all

    def scanned(**options):
        for number, item in enumerate(scan_all(**options)):
            if number % 3 == 0:
                next(steps, None)
                drain(consumer)
            yield item

    monkeypatch.setattr(table, "scan_all", scanned)
    assert rebuild(Copy(copy.folder), now=NOW) > 10
    monkeypatch.undo()
    for _ in steps:
        pass
    drain(start(copy))
    assert_is_the_table(copy)


def test_only_one_new_projection_is_made_at_a_time(copy):
    with rebuilding.locked(copy.folder, rebuilding.BUILDING, wait=True):
        with pytest.raises(Busy):
            rebuild(copy, now=NOW)
        with pytest.raises(Busy):
            start(copy)


def test_images_are_those_before_and_after(copy):
    consumer = start(copy)
    drain(consumer)
    seen: list[ItemChange] = []
    copy.apply = seen.extend
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
