"""The worker keeps the projections up to date, one worker each."""

import contextlib
import threading

import pytest
from django.core.management import call_command

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
    with loop.feeding(first):
        until(lambda: titles() == ["Lamp"])
        with loop.feeding(second):
            make_deal(title="Desk")
            until(lambda: titles() == ["Desk", "Lamp"])
            first.set()
            make_deal(title="Chair")
            until(lambda: titles() == ["Chair", "Desk", "Lamp"])
    assert second.is_set()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("consumer")] == []


def test_a_worker_feeds_only_what_the_settings_name(settings, monkeypatch):
    made = []
    monkeypatch.setattr(loop, "PROJECTIONS", {"search": lambda: made.append("search")})
    settings.DEALSITE_PROJECTIONS = []
    with loop.feeding(threading.Event()):
        assert made == []


def test_every_projection_is_known_by_its_name():
    assert {make().name for make in loop.PROJECTIONS.values()} == set(loop.PROJECTIONS)


def test_a_worker_may_feed_projections_alone(monkeypatch):
    fed = []
    monkeypatch.setattr("signal.signal", lambda *given: None)
    monkeypatch.setattr("signal.alarm", lambda seconds: None)
    monkeypatch.setattr("dealsite.web.log_lines.note_uncaught", lambda: None)
    monkeypatch.setattr(loop, "feeding", lambda stop: contextlib.nullcontext(["a consumer"]))
    monkeypatch.setattr(loop, "watch", lambda stop, parts: fed.append(parts))
    monkeypatch.setattr(loop, "Part", lambda *given: pytest.fail("It charges payments."))
    monkeypatch.setattr(loop, "run", lambda *given, **more: pytest.fail("It runs jobs."))
    call_command("worker", "--only-projections")
    assert fed == [["a consumer"]]


def test_one_whose_consumer_dies_ends(monkeypatch):
    monkeypatch.setattr(loop, "IDLE_SECONDS", 0.001)
    part = loop.Part("consumer-search", lambda: None)
    part.error = RuntimeError("gone")
    with pytest.raises(loop.PartDied, match="The consumer-search of this worker died"):
        loop.watch(threading.Event(), [part])
