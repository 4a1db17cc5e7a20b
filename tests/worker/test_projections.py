"""The worker keeps the projections up to date, one worker each."""

import contextlib
import threading

import pytest
from django.core.management import call_command

from dealsite.lake.projection import Lake
from dealsite.stream import consumer as consumers
from dealsite.worker import loop
from tests.builders import make_deal
from tests.lake.disks import connected
from tests.stream.test_consumer import until


@pytest.fixture
def var(settings, tmp_path, monkeypatch):
    settings.VAR = tmp_path
    settings.DEALSITE_PROJECTIONS = ["lake"]
    monkeypatch.setattr(consumers, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(consumers, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(Lake, "patience", 0.0)
    monkeypatch.setattr(Lake, "delay", 0.0)
    return tmp_path


def titles(var) -> list[str]:
    with connected(var / "lake") as connection:
        found = connection.execute("SELECT title FROM deals ORDER BY title").fetchall()
    return [title for (title,) in found]


@pytest.mark.usefixtures("fresh_table")
def test_workers_feed_the_lake_and_one_takes_over_from_another(var):
    make_deal(title="Lamp")
    first, second = threading.Event(), threading.Event()
    with loop.feeding(first):
        until(lambda: titles(var) == ["Lamp"])
        with loop.feeding(second):
            make_deal(title="Desk")
            until(lambda: titles(var) == ["Desk", "Lamp"])
            first.set()
            make_deal(title="Chair")
            until(lambda: titles(var) == ["Chair", "Desk", "Lamp"])
    assert second.is_set()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("consumer")] == []


def test_a_worker_feeds_only_what_the_settings_name(settings, monkeypatch):
    made = []
    monkeypatch.setattr(loop, "PROJECTIONS", {"lake": lambda: made.append("lake")})
    settings.DEALSITE_PROJECTIONS = ["search"]
    with loop.feeding(threading.Event()):
        assert made == []


def test_every_projection_is_known_by_its_name(settings, tmp_path):
    settings.VAR = tmp_path
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
