"""Workers keep the search index up to date, one at a time."""

import threading

import pytest

from dealsite.search import reader
from dealsite.search.finding import find
from dealsite.search.question import Question
from dealsite.stream import consumer as consumers
from dealsite.worker import loop
from tests.builders import NOW, make_deal
from tests.stream.test_consumer import until


@pytest.fixture
def search_root(settings, tmp_path, monkeypatch):
    settings.SEARCH_ROOT = tmp_path / "search"
    reader.forget()
    monkeypatch.setattr(consumers, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "IDLE_SECONDS", 0.01)


def titles() -> list[str]:
    return sorted(card.title for card in find(Question(kind="deal"), now=NOW).cards)


@pytest.mark.usefixtures("fresh_table", "search_root")
def test_workers_feed_the_index_and_one_takes_over_from_another():
    make_deal(title="Lamp")
    first, second = threading.Event(), threading.Event()
    with loop.feeding(first, threading.Event()):
        until(lambda: titles() == ["Lamp"])
        with loop.feeding(second, threading.Event()):
            make_deal(title="Desk")
            until(lambda: titles() == ["Desk", "Lamp"])
            first.set()
            make_deal(title="Chair")
            until(lambda: titles() == ["Chair", "Desk", "Lamp"])
    assert second.is_set()
    assert "consumer" not in {thread.name for thread in threading.enumerate()}
