"""Right values of what people reported of such products: the table's answers, jobs that kill their worker, clocks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.retries import standard
from botocore.session import Session

from dealsite.data import table
from dealsite.data.jobs import command_runs, jobs, processes, site_switch
from dealsite.data.jobs.command_runs import CommandPayload
from dealsite.data.jobs.jobs import Job
from dealsite.data.jobs.processes import heartbeat_is_missing
from dealsite.data.people import mails, throttles
from dealsite.data.people.throttles import Limit
from dealsite.data.table import client, errors, schema
from dealsite.data.table.connection import UNANSWERED, Connection
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Put, Update, equals
from dealsite.worker import loop, schedule
from dealsite.worker.schedule import HeldJob
from tests.builders import NOW
from tests.data.table.test_repeats import Forgetful, engine_of
from tests.data.table.wire import COST, ITEM, Wire, whole
from tests.jobs import run_next
from tests.measuring import measured

__all__ = ["engine_of"]
A, B = ("A", "A"), ("B", "B")
LIMIT = Limit("sing", 3, timedelta(hours=1))


# Answers that say nothing of whether it was done


def count() -> None:
    throttles.count(LIMIT, "ann", now=NOW)


def uses() -> int:
    return throttles.uses([LIMIT], "ann", now=NOW)["sing"]


@pytest.fixture
def failing(engine_of: Forgetful, monkeypatch: pytest.MonkeyPatch) -> Forgetful:
    """An engine that forgets tokens; what loses its answer is answered 500."""
    send = Connection.send

    def answer(self: Any, *request: Any) -> Any:
        try:
            return send(self, *request)
        except UNANSWERED:
            raise errors.Refused("InternalServerError", "It failed.", [], 500) from None

    monkeypatch.setattr(Connection, "send", answer)
    return engine_of


@pytest.mark.engines("native")
def test_a_count_that_was_answered_500_is_not_sent_again_and_says_so(failing: Forgetful):
    """A3: of three tries the second visitor has two."""
    failing.loses = lambda number: "answer" if number == 1 else ""
    with pytest.raises(errors.Unavailable) as error:
        count()
    assert (error.value.status, failing.requests, uses()) == (503, 1, 1)
    count()
    count()
    with pytest.raises(errors.TooManyRequests):
        count()


def stored_mails() -> int:
    return sum(item["type"] == "Job" for item in table.scan_all(consistent=True))


@pytest.mark.engines("native")
def test_a_mail_whose_order_was_answered_500_is_ordered_once_and_no_conflict(failing: Forgetful):
    """A4: a password reset."""
    failing.loses = lambda number: "answer" if number == 1 else ""
    mails.request_password_reset("ann@example.org", now=NOW)
    assert (stored_mails(), failing.requests) == (1, 2)


@pytest.mark.engines("native")
@pytest.mark.parametrize("lost", ["answer", "request"])
def test_what_a_transaction_does_is_done_once_whatever_was_answered_500(failing: Forgetful, lost: str):
    table.write(Put(key=A, item={"state": "old", "n": 1}))
    failing.loses = lambda number: lost if number in (2, 3) else ""
    step = Update(key=A, set={"state": "new"}, add={"n": 1}, when=(equals("state", "old"),))
    table.transact([step, Update(key=B, add={"n": 1})])
    found = table.batch_get([A, B])
    assert (found[A]["n"], found[B]["n"]) == (2, 1)


# Codes that pass by themselves, and those that are our mistakes


def refusal(code: str, status: str = "400 No", **more: Any) -> bytes:
    return whole({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "No."} | more, status)


PASSING = {
    **dict.fromkeys(standard.ThrottledRetryableChecker._THROTTLED_ERROR_CODES, "400 No"),
    **dict.fromkeys(standard.TransientRetryableChecker._TRANSIENT_ERROR_CODES, "400 No"),
    **dict.fromkeys(("ReplicatedWriteConflictException", "TransactionConflictException"), "400 No"),
    **dict.fromkeys(("ServiceUnavailableException", "InternalServerError"), "500 No"),
    "SomethingNewException": "503 No",
}


@pytest.mark.parametrize(("code", "status"), PASSING.items(), ids=PASSING)
def test_what_passes_by_itself_is_tried_again_after_a_pause(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, code: str, status: str
):
    """A6, and every code that botocore tries again."""
    pauses: list[float] = []
    monkeypatch.setattr(client, "pause", pauses.append)
    said = iter([refusal(code, status), whole({"Item": ITEM, "ConsumedCapacity": COST})])
    wire.say = lambda operation, body: next(said)
    assert table.get(A)
    assert (len(wire.requests), len(pauses)) == (2, 1)


def test_every_code_of_dynamodb_that_blames_the_engine_passes():
    shapes = Session().get_service_model("dynamodb")._shape_resolver._shape_map
    faults = {name for name, shape in shapes.items() if shape.get("exception") and shape.get("fault")}
    assert faults
    assert faults <= errors.TRY_AGAIN.keys()


MISTAKES = {
    "an update that adds to a text": [
        {"Code": "None"},
        {"Code": "ValidationError", "Message": "Wrong type."},
    ],
    "beside a conflict": [
        {"Code": "TransactionConflict"},
        {"Code": "ValidationError", "Message": "Wrong type."},
    ],
    "a code that nobody knows": [{"Code": "Teapot", "Message": "Wrong type."}],
}


@pytest.mark.parametrize("reasons", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_of_ours_in_a_transaction_is_no_conflict_and_says_what_the_engine_said(
    wire: Wire, reasons: list[dict[str, str]]
):
    """A7."""
    wire.say = lambda operation, body: refusal("TransactionCanceledException", CancellationReasons=reasons)
    asked: list[Callable[[], object]] = [
        lambda: table.transact([Update(key=A, add={"n": 1}), Update(key=B, add={"n": 1})]),
        lambda: table.load([{"PK": "A", "SK": "A"}]),
    ]
    for ask in asked:
        with pytest.raises(errors.DataError, match="Wrong type") as error:
            ask()
        assert (type(error.value), error.value.status) == (errors.DataError, 500)


@pytest.mark.usefixtures("fresh_table")
def test_adding_to_a_text_is_a_mistake_of_ours_on_this_engine_too():
    table.write(Put(key=A, item={"n": "one"}))
    with pytest.raises(errors.DataError) as error:
        table.transact([Update(key=A, add={"n": 1}), Update(key=B, add={"n": 1})])
    assert error.value.status == 500


# Batches that come back in part


def eleven_at_a_time(operation: str, body: Any) -> bytes:
    if operation == "BatchGetItem":
        asked = body["RequestItems"]["t"]["Keys"]
        left = {"t": {"Keys": asked[11:]}} if asked[11:] else {}
        return whole({"Responses": {"t": asked[:11]}, "UnprocessedKeys": left, "ConsumedCapacity": [COST]})
    busy = {"Error": {"Code": "ThrottlingError"}}
    return whole({"Responses": [{} if n < 1 else busy for n in range(len(body["Statements"]))]})


def test_a_batch_goes_on_while_it_gets_on(wire: Wire):
    """A8: 100 keys in 10 calls; of 25 items one is written at a time."""
    wire.say = eleven_at_a_time
    wanted = [(f"K{n}", "K") for n in range(100)]
    assert list(table.batch_get(wanted)) == wanted
    assert wire.requests == ["BatchGetItem"] * 10
    wire.requests.clear()
    assert table.insert([{"PK": f"K{n}", "SK": "K"} for n in range(25)]) == 25
    assert len(wire.requests) == 25


def test_a_batch_of_which_nothing_gets_on_ends_after_nine_tries(wire: Wire):
    def nothing(operation: str, body: Any) -> bytes:
        left = {"UnprocessedKeys": {"t": {"Keys": body["RequestItems"]["t"]["Keys"]}}}
        return whole({"Responses": {"t": []}, "ConsumedCapacity": [COST]} | left)

    wire.say = nothing
    with pytest.raises(errors.Busy):
        table.batch_get([A, B])
    assert len(wire.requests) == client.ATTEMPTS_WHEN_REFUSED


# Jobs that kill their worker


class Killed(BaseException):
    """Stands for the end of a process: nothing catches it."""


def kill(save: Callable[[Job], object]) -> Callable[[Job, datetime], None]:
    def handle(job: Job, now: datetime) -> None:
        save(job)
        raise Killed

    return handle


SAVED: dict[str, tuple[Callable[[Job], object], int]] = {
    "nothing": (lambda job: None, 8),
    "what it does anew each time": (lambda job: jobs.save_progress(job, {"rows": 5}, now=NOW), 8),
    "the same place": (lambda job: jobs.save_checkpoint(job, {"at": 1}, now=NOW), 9),
    "its lease": (lambda job: HeldJob(job, lambda: NOW).hold(), 8),
    "a further place": (lambda job: jobs.save_checkpoint(job, {"at": job.taken_by}, now=NOW), 11),
}


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
@pytest.mark.parametrize(("save", "takes"), SAVED.values(), ids=SAVED)
def test_a_job_that_kills_its_worker_is_given_up_after_eight_takes_without_progress(
    monkeypatch: pytest.MonkeyPatch, save: Callable[[Job], object], takes: int
):
    """A2: eleven workers, one after the other."""
    monkeypatch.setitem(loop.HANDLERS, "sing", kill(save))
    job_id, killed = new_ulid(NOW), 0
    table.write(jobs.job_write("sing", CommandPayload(), job_id=job_id, due=NOW))
    for start in range(11):
        try:
            run_next(now=NOW + start * timedelta(seconds=61))
        except Killed:
            killed += 1
    left = jobs.get(job_id)
    assert (killed, left.state) == (takes, "open" if takes == 11 else "failed")
    assert left.error == ("" if takes == 11 else "The worker has ended 8 times before this did.")


# A clock that was wrong

AHEAD = timedelta(days=730)


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_a_worker_whose_clock_was_ahead_plans_and_expires_once_an_hour_again(monkeypatch: pytest.MonkeyPatch):
    """A5: the clock is two years ahead for three hours, then right; 400 hours pass."""
    hours = [NOW, *(NOW + AHEAD + timedelta(hours=n) for n in range(3))]
    hours += [NOW + timedelta(hours=n) for n in range(400)]
    done: dict[str, list[datetime]] = {"plan": [], "expire": []}
    passed, stop = [0], threading.Event()

    def rest(*_: object) -> None:
        passed[0] += 1
        if passed[0] == len(hours):
            stop.set()

    monkeypatch.setattr(loop, "rest", rest)
    monkeypatch.setattr(site_switch.of_process, "lets_work", lambda: True)
    monkeypatch.setattr(schedule, "plan", lambda now: done["plan"].append(now))
    monkeypatch.setattr(schema, "delete_expired", lambda now: done["expire"].append(now))
    monkeypatch.setattr(schedule, "check_alarms", Quiet())
    monkeypatch.setattr(schedule, "count_tasks", Quiet())
    for name in ("take", "jobs"):
        monkeypatch.setattr(loop, name, Quiet())
    loop.run(stop, expire=True, clock=lambda: hours[passed[0]])
    assert done == {"plan": hours, "expire": hours}


class Quiet:
    """Does nothing, whatever it is asked."""

    EVERY = timedelta(minutes=1)

    def __call__(self, **_: Any) -> None: ...
    def __getattr__(self, name: str) -> Quiet:
        return self


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_a_job_that_was_taken_by_a_clock_ahead_is_taken_again(wait_for_indexes: Callable[[], None]):
    taken, put_off, planned = (new_ulid(NOW, number) for number in range(3))
    due = {taken: NOW, put_off: NOW, planned: NOW + AHEAD}
    for job_id, at in due.items():
        table.write(jobs.job_write("sing", CommandPayload(), job_id=job_id, due=at))
    assert jobs.take_next(now=NOW) is not None
    later = jobs.take_next(now=NOW)
    assert later is not None
    jobs.wait_until(later, NOW + AHEAD)  # by a clock that is right: so it was meant
    assert jobs.take_next(now=NOW + timedelta(days=700)) is not None
    wait_for_indexes()
    measured(jobs.free_taken_ahead)(now=NOW)
    again = [jobs.take_next(now=NOW), jobs.take_next(now=NOW)]
    assert [job and job.id for job in again] == [taken, None]


def test_who_last_spoke_by_a_clock_ahead_is_missing():
    assert [heartbeat_is_missing(NOW + by, now=NOW) for by in (AHEAD, timedelta(seconds=50))] == [True, False]


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_what_a_clock_ahead_left_behind_is_not_what_happened_last():
    for at in (NOW, NOW + AHEAD):
        command_runs.note("backup", by="-", began=at, now=at, ok=True, said="")
        processes.save(processes.Process(new_ulid(at), "worker", "a", 1, "1", at))
    assert [run.began_at for run in command_runs.newest("backup", now=NOW)] == [NOW]
    assert [one.at for one in processes.listed(now=NOW)] == [NOW]


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_work_that_goes_on_after_a_clock_ahead_renews_its_lease():
    now = [NOW + AHEAD]
    table.write(jobs.job_write("sing", CommandPayload(), job_id=new_ulid(NOW), due=NOW))
    job = jobs.take_next(now=now[0])
    assert job is not None
    held = HeldJob(job, lambda: now[0])
    now[0] = NOW
    held.renew()
    assert jobs.take_next(now=NOW + timedelta(seconds=61)) is not None
