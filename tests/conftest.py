"""What every test can ask for: an engine, a fresh table on it, and time that passes when told to."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import random
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from dealsite import middleware
from dealsite.accounts import limits
from dealsite.accounts.security_log import failures
from dealsite.data import table
from dealsite.data.catalogue import buckets, lists
from dealsite.data.integrity import checks
from dealsite.data.jobs import site_switch
from dealsite.data.table import client, schema
from dealsite.engine.server import Engine
from dealsite.metrics import counting
from dealsite.search import reader
from dealsite.web import readiness
from tests.faults.unkind import READS, WRITES, Faults
from tests.searching import index_table

pytest_plugins = ["tests.sampling", "tests.seconds"]
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in memory, where there is one: engines wait for disks otherwise
if os.access(MEMORY, os.W_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # and tmp_path is there, too
hypothesis.settings.register_profile("dealsite", deadline=None, max_examples=100)
hypothesis.settings.load_profile("dealsite")
SEED = int(os.environ.get("FAULT_SEED") or 0)  # another seed, other faults
_numbers = itertools.count()


def pytest_collection_finish() -> None:
    """Leave thousands of collected tests out of every later look for garbage, which took seconds each."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the end of the process find what DuckDB would otherwise call leaked."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def engine_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the engines' files, in memory where that is possible."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path_factory.mktemp("engines")
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="dealsite-engines-", dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def native_engine(engine_folder: Path) -> Iterator[str]:
    """The address of the embedded engine."""
    with Engine(engine_folder / "native", kind="native") as engine:
        endpoint_url = engine.url
        yield endpoint_url


@pytest.fixture(scope="session")
def local_engine(engine_folder: Path) -> Iterator[str]:
    """The address of DynamoDB Local."""
    with Engine(engine_folder / "local", kind="local") as engine:
        endpoint_url = engine.url
        yield endpoint_url


@pytest.fixture(scope="session")
def local_stream_engine(engine_folder: Path) -> Iterator[str]:
    """The address of a DynamoDB Local whose streams are read: whatever else was written to it would slow them down."""
    with Engine(engine_folder / "local-stream", kind="local") as engine:
        endpoint_url = engine.url
        yield endpoint_url


@pytest.fixture(autouse=True)
def _nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test use up what another may do, nor count for /metrics until the process ends."""
    monkeypatch.setattr(counting, "begin", lambda part: None)
    monkeypatch.setattr(client, "READ_TIMEOUT", client.READ_TIMEOUT)  # some commands are patient
    limits.forget()
    readiness.of_process = readiness.Readiness()
    # Open, and never read again unless a test asks for it: nobody's calls count that one.
    site_switch.of_process = site_switch.KnownSwitch()
    site_switch.of_process._read_at = float("inf")


@pytest.fixture(autouse=True)
def _same_signals() -> Iterator[None]:
    """Let no command that a test runs keep the signals of the tests: copies of them would not end by a signal."""
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    yield
    for one, handler in before.items():
        if signal.getsignal(one) is not handler:
            signal.signal(one, handler)


@pytest.fixture
def engine_kind() -> str:
    """native, local, moto, or weak: the embedded engine with faults. tests/data runs on each of them."""
    return "native"


@pytest.fixture
def faults(request: pytest.FixtureRequest, engine_kind: str) -> Faults | None:
    """The faults of weak mode, repeatable for each test."""
    if engine_kind != "weak":
        return None
    return Faults(seed=zlib.crc32(request.node.nodeid.encode()) ^ SEED)


@pytest.fixture
def wait_for_indexes(faults: Faults | None) -> Callable[[], None]:
    """Let the indexes catch up, where a test asks for what was written a moment ago."""
    return faults.wait_for_indexes if faults else lambda: None


@pytest.fixture
def engine(
    request: pytest.FixtureRequest,
    engine_kind: str,
    faults: Faults | None,
    settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """Point the site at an engine for one test; yields the engine's kind."""
    if engine_kind == "moto":
        from moto import mock_aws
        from moto.dynamodb.responses import DynamoHandler

        settings.DYNAMODB_ENDPOINT_URL = ""
        call_action, one_at_a_time = DynamoHandler.call_action, threading.Lock()

        def call_alone(handler: DynamoHandler) -> Any:
            """Do a call of its own: moto's own calls see each other's halves, and counts get lost."""
            with one_at_a_time:
                return call_action(handler)

        monkeypatch.setattr(DynamoHandler, "call_action", call_alone)
        with mock_aws():
            table.reset()
            yield engine_kind
        table.reset()
        return
    # A machine busy with tests answers late; what a page does about late answers has tests of its own.
    monkeypatch.setattr(client, "READ_TIMEOUT", 15.0)
    monkeypatch.setattr(middleware, "DATA_SECONDS", 30.0)
    monkeypatch.setattr(lists, "SLOW", 30.0)
    fixture = "local_engine" if engine_kind == "local" else "native_engine"
    if engine_kind == "local" and request.node.get_closest_marker("own_stream"):
        fixture = "local_stream_engine"
    settings.DYNAMODB_ENDPOINT_URL = request.getfixturevalue(fixture)
    # One connection for all tests of an engine: making a client takes 50 ms.
    if client.connect().endpoint_url != settings.DYNAMODB_ENDPOINT_URL:
        table.reset()
    client.connect().gate.answered(now=time.monotonic())  # whatever a test before did
    yield engine_kind


@pytest.fixture
def new_table(
    request: pytest.FixtureRequest,
    engine: str,
    faults: Faults | None,
    settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[], None]]:
    """A function that names a new empty table in the settings and creates it."""

    if engine == "local" and not request.node.get_closest_marker("own_stream"):
        yield functools.partial(_empty_table, settings)
        return
    made: list[str] = []

    def create() -> None:
        for old in made:  # the embedded engine slows down with the number of tables
            table.call("DeleteTable", TableName=old)
        settings.DEALSITE_TABLE = f"test-{os.getpid()}-{next(_numbers)}"
        made[:] = [settings.DEALSITE_TABLE]
        buckets.forget()
        failures.forget()
        schema.create_table()

    if faults is None:
        yield create
        if made and engine != "moto":
            table.call("DeleteTable", TableName=made[0])
        return
    monkeypatch.setattr(client, "pause", faults.pause)
    monkeypatch.setattr(client, "jitter", random.Random(SEED))
    events = table.events()
    names = [f"before-send.dynamodb.{operation}" for operation in (*READS, *WRITES)]
    for name in names:
        events.register(name, faults.handle)
    yield create
    for name in names:
        events.unregister(name, faults.handle)
    if made:
        table.call("DeleteTable", TableName=made[0])


def _empty_table(settings: Any) -> None:
    """Take the one table of DynamoDB Local again: each that is made, even if deleted, slows down all that follows."""
    settings.DEALSITE_TABLE = f"test-{os.getpid()}-again"
    buckets.forget()
    if schema.create_table():
        return
    keys = [{name: {"S": item[name]} for name in ("PK", "SK")} for item in table.scan_all(consistent=True)]
    for first in range(0, len(keys), 25):  # as many as a batch may hold
        requests = [{"DeleteRequest": {"Key": key}} for key in keys[first : first + 25]]
        table.call("BatchWriteItem", RequestItems={settings.DEALSITE_TABLE: requests})


@pytest.fixture
def fresh_table(new_table: Callable[[], None]) -> None:
    """A new empty table."""
    new_table()


@pytest.fixture
def whole_table(fresh_table: None) -> Iterator[None]:
    """A new empty table, which must still be whole when the test ends."""
    yield
    assert [str(problem) for problem in checks.find()] == []


@pytest.fixture
def search_index(settings, tmp_path: Path) -> Callable[[], None]:
    """A function that makes the index of deals from what the table holds now; there is none before."""
    settings.SEARCH_ROOT = tmp_path / "search"
    reader.forget()
    return index_table


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests found out that people want to see (`record_property("printed", ...)`)."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in report.user_properties:
            if name == "printed":
                terminalreporter.section(report.head_line or "found")
                terminalreporter.write_line(str(text))
