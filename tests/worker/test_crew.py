"""Which jobs a worker runs at once, and where it looks for the next one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.entities.work import (
    BULK,
    CONFIRMATION,
    FORMER_PLACE,
    JOB,
    LANES,
    PASSWORD_RESET,
    PLACES,
    SEND_MESSAGE,
    lane_of,
    place_of,
)
from dealsite.data.jobs import jobs
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.writes import Update
from dealsite.worker import loop
from dealsite.worker.crew import ROOM, Crew, Lookout
from tests.builders import HOUR, NOW, make_id
from tests.measuring import measured
from tests.stream.test_consumer import until
from tests.worker.test_loop import add_job

SECOND = timedelta(seconds=1)


def is_idle(crew: Crew) -> bool:
    crew.check()
    return not crew.is_busy


@pytest.fixture
def crew() -> Iterator[Crew]:
    with Crew(threading.Event()) as made:
        yield made


def test_bulk_work_leaves_room_for_what_somebody_waits_for_and_that_for_mail(crew: Crew):
    go_on = threading.Event()
    found = []

    def wait(event: threading.Event) -> None:
        event.wait(5)

    for _ in range(5):
        found.append(crew.lanes())
        crew.start(lambda: wait(go_on))
    assert found == [[*LANES], [*LANES], ["mail", "asked"], ["mail"], []]
    go_on.set()
    until(lambda: is_idle(crew))
    assert crew.lanes() == [*LANES]


def test_a_table_that_is_away_ends_no_worker_and_a_fault_of_its_own_does(crew: Crew):
    def fail(error: Exception) -> None:
        raise error

    crew.start(lambda: fail(Unavailable()))
    until(lambda: is_idle(crew))
    crew.start(lambda: fail(ZeroDivisionError("no")))
    with pytest.raises(ZeroDivisionError, match="no"):
        until(lambda: is_idle(crew))


@pytest.mark.usefixtures("fresh_table")
def test_a_mail_goes_out_while_bulk_work_fills_its_threads(monkeypatch: pytest.MonkeyPatch):
    go_on, stop, began = threading.Event(), threading.Event(), []

    def work(job: jobs.Job, now: object) -> None:
        began.append(job.kind)
        if job.kind in BULK:
            go_on.wait(10)
        else:
            stop.set()
            go_on.set()

    for kind in ("check_link", CONFIRMATION):
        monkeypatch.setitem(loop.HANDLERS, kind, work)
    monkeypatch.setattr(loop, "between_jobs", lambda expire: {})
    for number in range(5):
        add_job("check_link", number, due=NOW - HOUR)
    add_job(CONFIRMATION, 9)

    def take(**options: object) -> object:
        """Take the mail last, as if it had come by then."""
        lanes = [place[:-1] for place in options["at"]]  # type: ignore[attr-defined]
        if "bulk" in lanes:
            options["at"] = [place for place in options["at"] if place[:-1] == "bulk"]  # type: ignore[attr-defined]
        return jobs.take_next(now=NOW, at=options["at"])  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "take", take)
    loop.run(stop, expire=False, clock=lambda: NOW)
    assert began == ["check_link"] * ROOM["bulk"] + [CONFIRMATION]


def test_all_kinds_but_those_of_newer_builds_wait_in_their_lane():
    assert loop.HANDLERS.keys() >= BULK
    lanes = [lane_of(kind) for kind in (PASSWORD_RESET, "payment_notice", SEND_MESSAGE, "of a newer build")]
    assert lanes == ["mail", "bulk", "asked", "asked"]
    used = {place_of(kind, make_id(NOW + number * SECOND)) for kind in loop.HANDLERS for number in range(50)}
    assert {keys.open_jobs.partition(place) for place in used} == {*jobs.OPEN}
    assert len(jobs.OPEN) == sum(PLACES.values()) == 8


def test_a_worker_looks_for_mail_first_and_within_a_lane_at_random():
    orders = {tuple(jobs.everywhere(*LANES)) for _ in range(100)}
    assert len(orders) > 10
    assert {tuple(place[:-1] for place in order) for order in orders} == {
        ("mail", "mail", "asked", "asked", "bulk", "bulk", "bulk", "bulk")
    }
    assert {*Lookout().places(["mail"], now=NOW, everywhere=True)} == {"mail0", "mail1"}


def test_while_nothing_comes_a_worker_looks_at_one_place_after_the_other_and_where_it_knows_of_a_due_job():
    lookout = Lookout()
    looked = [lookout.places(LANES, now=NOW, everywhere=False) for _ in range(16)]
    assert [len(places) for places in looked] == [1] * 16
    assert looked[:8] == looked[8:]
    assert {places[0] for places in looked} == {*jobs.everywhere(*LANES)}
    (other,) = looked[3]
    lookout.note(other, NOW)
    assert lookout.places(LANES, now=NOW - SECOND, everywhere=False) == looked[0]
    assert lookout.places(LANES, now=NOW, everywhere=False) == [*looked[1], other]
    lookout.note(other, None)
    assert lookout.places(LANES, now=NOW, everywhere=False) == looked[2]


@pytest.mark.usefixtures("fresh_table")
def test_a_look_tells_when_the_next_job_is_due():
    told: dict[str, object] = {}
    later = add_job("sing", 1, due=NOW + HOUR)
    assert jobs.take_next(now=NOW, note_due=told.__setitem__) is None
    assert told == dict.fromkeys(jobs.everywhere(*LANES)) | {place_of("sing", later): NOW + HOUR}


@pytest.mark.usefixtures("fresh_table")
def test_what_a_build_before_the_lanes_ordered_is_found_once_it_is_adopted(wait_for_indexes):
    job_id = add_job(PASSWORD_RESET, 1)
    table.write(Update(key=keys.job(job_id), set={"GSI3PK": FORMER_PLACE}))
    item = table.get(keys.job(job_id))
    assert item is not None
    assert JOB.rows_of(item)["GSI3PK"] == FORMER_PLACE  # no damage
    wait_for_indexes()
    assert jobs.take_next(now=NOW) is None
    measured(jobs.adopt)()
    wait_for_indexes()
    job = jobs.take_next(now=NOW, at=[place_of(PASSWORD_RESET, job_id)])
    assert job is not None
    assert job.id == job_id
