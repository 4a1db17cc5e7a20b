"""From a write to being found, with the real stream and its consumer: the index ends equal to the table."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings, strategies as st

from dealsite.data import table
from dealsite.data.catalogue import deal_changes, deals, drafts
from dealsite.data.catalogue.content import DealContent
from dealsite.search.documents import is_indexed
from dealsite.search.projection import SearchIndex
from dealsite.stream.consumer import Consumer, consume, opened
from dealsite.stream.records import Stream
from tests.builders import EDITOR, HOUR, make_brand, make_content, make_deal, make_draft
from tests.hostile import EXAMPLES
from tests.search.conftest import search, titles

SOON = 10.0  # seconds that a busy machine may take; the benchmark measures it


def now() -> datetime:
    return datetime.now(UTC)


def stored() -> set[tuple[str, str]]:
    """What search should find of the table: ids and titles."""
    return {
        (item["id"], item["card"]["title"])
        for item in table.scan_all(consistent=True)
        if is_indexed(item) and item["type"] != "Brand"
    }


def found() -> set[tuple[str, str]]:
    """What search does find, on all pages."""
    cards = []
    for kind in ("deal", "draft"):
        first = search("", for_editors=True, kind=kind)
        cards += first.cards
        for page in range(2, first.pages + 1):
            cards += search("", for_editors=True, kind=kind, page=page).cards
    return {(card.id, card.title) for card in cards}


def read_all(consumer: Consumer) -> None:
    while consumer.round():
        pass
    consumer.commit()


@pytest.mark.usefixtures("fresh_table")
def test_a_published_deal_is_found_while_the_consumer_runs():
    make_deal(title="First", live_at=now() - HOUR, now=now())
    stop = threading.Event()
    thread = threading.Thread(target=consume, args=(SearchIndex(), stop), kwargs={"clock": now})
    thread.start()
    try:
        wait_for("first")
        deal = make_deal(title="Zanzibar lamp", live_at=now() - HOUR, now=now())
        wait_for("zanzibar lamp")
        deal_changes.delete(deals.get(deal.id), by=EDITOR, now=now())
        wait_for("zanzibar", there=False)
        call_command("rebuild", verbosity=0)
        make_deal(title="Nairobi lamp", live_at=now() - HOUR, now=now())
        wait_for("nairobi")
    finally:
        stop.set()
        thread.join()
    assert found() == stored()


def wait_for(words: str, *, there: bool = True) -> None:
    end = time.monotonic() + SOON
    while bool(titles(search(words, now=now()))) != there:
        assert time.monotonic() < end, words
        time.sleep(0.02)


STEPS = ("publish", "edit", "delete", "draft", "save draft", "publish draft", "read", "crash", "rebuild")


@pytest.mark.usefixtures("fresh_table")
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=12), data=st.data())
def test_any_writes_with_crashes_between_end_with_what_the_table_holds(steps, data):
    projection = SearchIndex()
    consumer = opened(projection, Stream.of_table(), clock=now)
    titles_ = st.sampled_from(["Lamp", "Chair", "Desk"])
    made: list[str] = []
    draft_ids: list[str] = []
    try:
        for step in steps:
            if step == "publish":
                made.append(make_deal(title=data.draw(titles_), live_at=now(), now=now()).id)
            elif step == "edit" and made:
                deal = deals.get(made[-1])
                content = make_content(title=data.draw(titles_))
                deal_changes.edit(
                    deal, content, version=deal.version, brand=make_brand(), by=EDITOR, now=now()
                )
            elif step == "delete" and made:
                deal_changes.delete(deals.get(made.pop()), by=EDITOR, now=now())
            elif step == "draft":
                draft_ids.append(make_draft(title=data.draw(titles_), now=now()).id)
            elif step == "save draft" and draft_ids:
                draft = drafts.get(draft_ids[-1])
                content = DealContent(title=data.draw(titles_))
                drafts.save(draft, content, version=draft.version, by=EDITOR, now=now())
            elif step == "publish draft" and draft_ids:
                draft = drafts.get(draft_ids.pop())
                made.append(make_deal(title="Published", draft=draft, live_at=now(), now=now()).id)
            elif step == "read":
                consumer.round()
            elif step == "crash":
                projection.close()
                consumer = opened(projection, Stream.of_table(), clock=now)
            elif step == "rebuild":
                projection.close()
                call_command("rebuild", verbosity=0)
                consumer = opened(projection, Stream.of_table(), clock=now)
        read_all(consumer)
        assert found() == stored()
    finally:
        projection.close()
