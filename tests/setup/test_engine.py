"""The engine under its supervisor: it comes back, at the same endpoint, with every acknowledged write."""

import os
import signal
import threading
from pathlib import Path

import pytest

from dealsite.data import table
from dealsite.data.table import errors
from dealsite.data.table.writes import Put
from dealsite.engine import programs
from dealsite.engine.programs import EngineError
from dealsite.engine.server import FAILURES, Engine, Supervisor
from tests.reach import needs_namespaces
from tests.setup.conftest import alive, children_of, wait_for, wait_for_the_end_of


def put(number: int) -> None:
    table.write(Put(key=(f"TEST#{number:06}", f"TEST#{number:06}"), item={"type": "test", "number": number}))


def stored(number: int) -> bool:
    return table.get((f"TEST#{number:06}", f"TEST#{number:06}")) is not None


AROUND_IT, ENGINE = 0, -1  # one process if the kernel knows no namespaces


def processes(engine: Engine) -> list[int]:
    """The process that made the engine's network, and the engine itself."""
    holder = engine.supervisor.pid
    assert holder is not None
    return [holder, *children_of(holder)]


def kill(engine: Engine, which: int = ENGINE) -> None:
    """Kill the engine, or the process around it, and wait until its supervisor has put another in its place."""
    before, restarts = processes(engine), engine.supervisor.restarts
    os.kill(before[which], signal.SIGKILL)
    wait_for(lambda: engine.supervisor.restarts > restarts and engine.answers())
    for pid in before:
        wait_for_the_end_of(pid)
    assert set(processes(engine)).isdisjoint(before)


def wait_for_more(acknowledged: list[int]) -> None:
    count = len(acknowledged)
    wait_for(lambda: len(acknowledged) > count + 100)


def test_every_acknowledged_write_survives_an_engine_killed_while_writing(own_engine):
    acknowledged: list[int] = []
    enough = threading.Event()

    def write(first: int) -> None:
        for number in range(first, 1_000_000, 4):
            if enough.is_set():
                return
            try:
                put(number)
            except errors.Unavailable:
                continue  # not acknowledged: it may be there or not
            acknowledged.append(number)

    writers = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for writer in writers:
        writer.start()
    try:
        for which in (ENGINE, AROUND_IT, ENGINE):
            wait_for_more(acknowledged)
            kill(own_engine, which)
        wait_for_more(acknowledged)
    finally:
        enough.set()
        for writer in writers:
            writer.join()
    assert [number for number in acknowledged if not stored(number)] == []


@needs_namespaces
def test_how_the_engine_ended_is_known_outside_its_namespace(own_engine):
    kill(own_engine)
    assert own_engine.supervisor.ended == "SIGKILL"


def test_an_engine_that_is_away_is_unavailable_and_recovers_by_itself(own_engine):
    put(1)
    own_engine.supervisor.stop()
    with pytest.raises(errors.Unavailable):
        table.get(("TEST#000001", "TEST#000001"))
    again = Engine(own_engine.folder)
    again.start()
    try:
        assert again.url == own_engine.url
        assert stored(1)
    finally:
        again.stop()


def test_a_crash_of_the_engine_costs_nothing_but_a_moment(own_engine):
    """A character beyond ASCII in an expression's text ends the pinned version: the supervisor is there for it."""
    put(1)
    broken = {
        "TableName": table.name(),
        "Key": {"PK": {"S": "a"}, "SK": {"S": "a"}},
        "ProjectionExpression": "é",
    }
    with pytest.raises((errors.Unavailable, errors.DataError)):
        table.call("GetItem", **broken)
    wait_for(own_engine.answers)
    assert stored(1)


def test_an_engine_stopped_leaves_no_process(tmp_path):
    with Engine(tmp_path) as engine:
        pids = processes(engine)
    assert [pid for pid in pids if alive(pid)] == []


def test_the_engine_sees_neither_secrets_nor_credentials(own_engine, monkeypatch):
    monkeypatch.setenv("DEALSITE_SECRET_KEY", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert "secret" not in programs.environment().values()
    seen = [Path(f"/proc/{pid}/environ").read_bytes() for pid in processes(own_engine)]
    assert [one for one in seen if b"DEALSITE" in one] == []
    assert seen


def test_an_engine_that_cannot_start_says_what_it_said_itself(tmp_path):
    (tmp_path / "engine.db").write_text("this is no database, and long enough to be seen as none " * 100)
    with pytest.raises(EngineError, match=r"(?s)The engine does not start.*not a valid SQLite database"):
        Engine(tmp_path).start()


def test_a_missing_program_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "NATIVE", tmp_path / "nothing")
    with pytest.raises(EngineError, match="Run make setup"):
        Engine(tmp_path).start()


def test_a_process_that_always_dies_is_given_up(tmp_path):
    supervisor = Supervisor("quitter", ["/bin/sh", "-c", "exit 3"])
    supervisor.start()
    assert supervisor.failed.wait(30)
    assert supervisor.restarts == FAILURES - 1
    supervisor.stop()


def test_a_process_that_ignores_the_request_to_end_is_killed_with_its_children(tmp_path):
    pids = tmp_path / "pids"
    stubborn = f"trap '' TERM; sleep 600 & echo $! $$ > {pids}; wait; wait"
    supervisor = Supervisor("stubborn", ["/bin/sh", "-c", stubborn])
    supervisor.start()
    wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    supervisor.stop(patience=0.2)
    for pid in map(int, pids.read_text().split()):
        wait_for_the_end_of(pid)


def test_the_native_engine_goes_first_and_dynamodb_local_stands_in(tmp_path, monkeypatch):
    assert programs.available() == "native"
    monkeypatch.setattr(programs, "NATIVE", tmp_path / "nothing")
    assert programs.available() == "local"
    monkeypatch.setattr(programs, "LOCAL", tmp_path / "nothing")
    assert programs.available() is None
    with pytest.raises(EngineError, match="make setup"):
        programs.kind_for(tmp_path)


def test_a_program_that_is_there_but_does_not_run_is_no_engine(tmp_path):
    broken = tmp_path / "engine"
    broken.write_bytes(b"\x7fELF of another machine")
    broken.chmod(0o755)
    assert not programs.runs([broken, "--version"])


def test_data_of_the_other_engine_is_not_overlooked(tmp_path, monkeypatch):
    (tmp_path / "engine-local").mkdir()
    with pytest.raises(EngineError, match="was written by the local engine"):
        programs.kind_for(tmp_path)
    (tmp_path / "engine.db").touch()
    assert programs.kind_for(tmp_path) == "native"


def test_dynamodb_local_runs_and_sends_nothing_home(tmp_path):
    with Engine(tmp_path, kind="local") as engine:
        assert engine.answers()
    assert programs.environment()["DDB_LOCAL_TELEMETRY"] == "0"
