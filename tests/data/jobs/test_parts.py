"""Parts of a job: shared by any number of workers, each with a lease of its own, stopped and resumed with their job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.entities.work import PART, SEND_MESSAGE
from dealsite.data.jobs import jobs, parts, queue
from dealsite.data.jobs.jobs import Job
from dealsite.data.jobs.parts import PartPayload
from dealsite.data.people import users
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from dealsite.worker import loop
from tests.builders import DAY, EDITOR, HOUR, NOW
from tests.jobs import run_all, run_next
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table", "all_are_editors")
SECOND = timedelta(seconds=1)
JOB = new_ulid(NOW, 1)
COUNT = 3


class Singing:
    """A job of three parts, each of three songs; `fails` says which part cannot be sung."""

    def __init__(self) -> None:
        self.sung: Counter[int] = Counter()
        self.fails = set[int]()

    def split(self, job: Job, now: datetime) -> datetime | None:
        if job.parts:
            return parts.look_after(job, now=now, is_all=True)
        return parts.split(job, [parts.ANY] * COUNT, progress={"total": 99}, now=now)

    def sing(self, job: Job, part: Job, now: datetime) -> datetime | None:
        number = parts.payload_of(part).number
        if number in self.fails:
            raise ZeroDivisionError("no voice")
        for done in range(part.checkpoint.get("done", 0), 3):
            self.sung[number] += 1
            part = jobs.save_checkpoint(part, {"done": done + 1}, now=now, progress={"sent": done + 1})
        return None


@pytest.fixture
def singing(monkeypatch: pytest.MonkeyPatch) -> Singing:
    one = Singing()
    monkeypatch.setitem(loop.HANDLERS, SEND_MESSAGE, one.split)
    monkeypatch.setitem(loop.PARTS, SEND_MESSAGE, one.sing)
    table.transact([jobs.job_write(SEND_MESSAGE, {"by": EDITOR}, job_id=JOB, due=NOW)])
    return one


def begin(settle: Callable[[], None]) -> Job:
    """Split the job, and take one of its parts."""
    settle()
    assert run_next(now=NOW)
    settle()
    part = jobs.take_next(now=NOW)
    assert part is not None
    return part


def go_on(settle: Callable[[], None], now: datetime = NOW) -> None:
    settle()
    while run_next(now=now):
        settle()


def states() -> list[str]:
    return [part.state for part in jobs.parts_of(jobs.get(JOB))]


def test_a_job_is_done_once_all_its_parts_are_and_counts_what_they_did(singing, wait_for_indexes):
    wait_for_indexes()
    assert run_next(now=NOW)
    assert (jobs.get(JOB).parts, states()) == (COUNT, ["open"] * COUNT)
    go_on(wait_for_indexes)
    done = jobs.get(JOB)
    assert (done.state, done.progress["sent"], done.progress["total"]) == ("done", 9, 9)
    assert singing.sung == {0: 3, 1: 3, 2: 3}
    assert (states(), jobs.parts_of(done)[0].checkpoint) == (["done"] * COUNT, {})
    assert [job.id for job in jobs.of_month(f"{NOW:%Y-%m}").rows] == [JOB]  # its parts are in no list


@pytest.mark.engines("native", "local")
def test_many_workers_share_the_parts_and_do_each_once(singing):
    for _ in range(3):
        at_once(*[partial(run_all, now=NOW)] * 4)
    run_all(now=NOW + DAY)
    assert singing.sung == {0: 3, 1: 3, 2: 3}
    assert (jobs.get(JOB).state, jobs.get(JOB).progress["sent"]) == ("done", 9)


def test_a_part_whose_worker_died_is_taken_within_its_lease_and_the_job_says_so(singing, wait_for_indexes):
    dead = begin(wait_for_indexes)
    jobs.save_checkpoint(dead, {"done": 2}, now=NOW, progress={"sent": 2})
    go_on(wait_for_indexes)
    go_on(wait_for_indexes, NOW + jobs.SILENT_AFTER)
    assert (jobs.get(JOB).state, jobs.get(JOB).error) == ("open", "")
    go_on(wait_for_indexes, NOW + jobs.SILENT_AFTER + 3 * SECOND)
    job = jobs.get(JOB)
    assert (job.state, job.error, job.progress["sent"]) == ("open", jobs.SILENT, 8)
    go_on(wait_for_indexes, NOW + jobs.LEASE)
    job = jobs.get(JOB)
    assert (job.state, job.error, job.progress["sent"]) == ("done", "", 9)
    assert sum(singing.sung.values()) == 7  # it went on where the dead one was
    with pytest.raises(Conflict):
        jobs.save_checkpoint(dead, {"done": 3}, now=NOW)


def test_a_job_fails_with_a_part_that_does_once_the_others_are_done_and_that_one_is_tried_again(
    singing, wait_for_indexes
):
    singing.fails = {1}
    now = NOW
    for _ in range(2 * jobs.MAX_TRIES):
        go_on(wait_for_indexes, now)
        now += 5 * 60 * SECOND
    job = jobs.get(JOB)
    assert (job.state, job.error, job.progress["sent"]) == ("failed", "no voice", 6)
    assert states() == ["done", "paused", "done"]
    singing.fails = set()
    queue.retry(JOB, by=EDITOR, now=now)
    go_on(wait_for_indexes, now)
    assert (jobs.get(JOB).state, singing.sung) == ("done", {0: 3, 1: 3, 2: 3})


@pytest.mark.parametrize(("stop", "rests"), [(queue.pause, "paused"), (queue.cancel, "cancelled")])
def test_who_stops_a_job_stops_its_parts_in_the_same_moment(singing, wait_for_indexes, stop, rests):
    part = begin(wait_for_indexes)
    part = jobs.save_checkpoint(part, {"done": 1}, now=NOW, progress={"sent": 1})
    stop(JOB, by=EDITOR, now=NOW)
    stop(JOB, by=EDITOR, now=NOW)
    with pytest.raises(Conflict):
        jobs.save_checkpoint(part, {"done": 2}, now=NOW)
    job = jobs.get(JOB)
    assert (job.state, states(), job.progress["sent"]) == (rests, [rests] * COUNT, 1)
    go_on(wait_for_indexes, NOW + DAY)
    assert (jobs.get(JOB).state, sum(singing.sung.values())) == (rests, 0)


def test_a_paused_job_goes_on_where_its_parts_were(singing, wait_for_indexes):
    part = begin(wait_for_indexes)
    jobs.save_checkpoint(part, {"done": 1}, now=NOW, progress={"sent": 1})
    queue.pause(JOB, by=EDITOR, now=NOW)
    queue.resume(JOB, by=EDITOR, now=NOW + HOUR)
    go_on(wait_for_indexes, NOW + HOUR)
    assert (jobs.get(JOB).state, jobs.get(JOB).progress["sent"]) == ("done", 9)
    assert sum(singing.sung.values()) == 8


@pytest.mark.engines("native", "local")
def test_a_job_is_stopped_even_while_a_part_ends(singing, monkeypatch):
    assert run_next(now=NOW)
    real = table.transact
    ends = iter(range(2))

    def end_a_part(writes):
        if next(ends, None) is not None:
            part = jobs.take_next(now=NOW)
            assert part is not None
            jobs.finish(part, progress={"sent": 1})
        return real(writes)

    monkeypatch.setattr(table, "transact", end_a_part)
    queue.cancel(JOB, by=EDITOR, now=NOW)
    assert sorted(states()) == ["cancelled", "done", "done"]
    assert jobs.get(JOB).progress["sent"] == 2


@pytest.mark.parametrize(
    ("state", "becomes"), [("paused", "paused"), ("failed", "paused"), ("done", "cancelled")]
)
def test_a_part_whose_job_does_not_go_on_does_not_either(singing, wait_for_indexes, state, becomes):
    wait_for_indexes()
    assert run_next(now=NOW)
    over = {"state": state, ("card", "state"): state}
    table.write(Update(key=keys.job(JOB), set=over, remove=("GSI3PK", "GSI3SK")))
    go_on(wait_for_indexes)
    assert (states(), singing.sung) == ([becomes] * COUNT, {})


def test_without_its_editor_a_job_rests_and_its_parts_too(singing, wait_for_indexes, monkeypatch):
    wait_for_indexes()
    assert run_next(now=NOW)
    monkeypatch.setattr(users, "is_editor", lambda name: False)
    later = NOW + parts.LOOK_EVERY
    wait_for_indexes()
    table.write(Update(key=keys.job(JOB), set={"GSI3SK": keys.open_jobs.position(NOW, JOB)}))
    wait_for_indexes()
    assert run_next(now=NOW)
    assert (jobs.get(JOB).state, states()) == ("paused", ["paused"] * COUNT)
    go_on(wait_for_indexes, later + DAY)
    assert singing.sung == {}


def test_what_parts_cost(singing, wait_for_indexes):
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job is not None
    ranges = [parts.ANY, (None, JOB), (JOB, None)]
    assert measured(parts.split)(job, ranges, progress={}, now=NOW) == NOW + parts.LOOK_EVERY
    job = jobs.get(JOB)
    some = measured(jobs.parts_of)(job)
    assert {part.kind for part in some} == {PART}
    assert [parts.payload_of(part) for part in some] == [
        PartPayload(JOB, number, COUNT, *one) for number, one in enumerate(ranges)
    ]
    assert measured(parts.look_after)(job, now=NOW + SECOND) is not None
    assert jobs.get(JOB).progress["milliseconds"] == 1000
    measured(parts.tell)(some[0], now=NOW)
    measured(jobs.give_up)(jobs.Job(JOB, SEND_MESSAGE, {}, taken_by=job.taken_by), "It is too much.")
    assert jobs.get(JOB).state == "failed"
