"""What every test can ask for: an engine, a fresh table on it, and time that passes when told to."""

from __future__ import annotations

import contextlib
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
from django.utils import timezone, translation

from dealsite import middleware
from dealsite.accounts import limits
from dealsite.accounts.security_log import failures
from dealsite.data import table
from dealsite.data.catalogue import activity, buckets, hot, lists
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.integrity import checks
from dealsite.data.jobs import site_switch, task_counts
from dealsite.data.people import users
from dealsite.data.table import client, schema
from dealsite.data.table.convert import key_attributes
from dealsite.data.table.errors import Misconfigured
from dealsite.engine.server import Engine
from dealsite.search import reader
from dealsite.templatetags import kept
from dealsite.web import counting, page_cache, readiness
from shopping.templatetags.shopping import hot_of_process
from tests import measuring
from tests.faults.unkind import Faults
from tests.kept_parts import CheckedParts, render
from tests.searching import index_table
from tests.table_requests import handled

pytest_plugins = ["tests.sampling"]
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in memory, where there is one: engines wait for disks otherwise
if os.access(MEMORY, os.W_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # and tmp_path is there, too
hypothesis.settings.register_profile("dealsite", deadline=None, max_examples=100)
hypothesis.settings.load_profile("dealsite")
# Whose tests have one table in each process: in the others, streams are read, or other processes write late.
ONE_TABLE = ("accounts", "cms", "data", "shopping", "site", "web")
SEED = int(os.environ.get("FAULT_SEED") or 0)  # another seed, other faults
_numbers = itertools.count()
kept.of_process = CheckedParts()
kept.KeptNode.render = render  # type: ignore[method-assign, assignment]


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
def moto_engine() -> Iterator[str]:
    """The address of moto."""
    from moto.dynamodb.responses import DynamoHandler
    from moto.server import ThreadedMotoServer

    call_action, one_at_a_time = DynamoHandler.call_action, threading.Lock()

    def call_alone(handler: DynamoHandler) -> Any:
        """Do a call of its own: moto's own calls see each other's halves, and counts get lost."""
        with one_at_a_time:
            return call_action(handler)

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DynamoHandler, "call_action", call_alone)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture(scope="session")
def local_stream_engine(engine_folder: Path) -> Iterator[str]:
    """The address of a DynamoDB Local whose streams are read: whatever else was written to it would slow them down."""
    with Engine(engine_folder / "local-stream", kind="local") as engine:
        endpoint_url = engine.url
        yield endpoint_url


@pytest.fixture(autouse=True)
def _nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test use up what another may do, keep its time zone, nor count for /metrics until the process ends."""
    timezone.deactivate()
    translation.deactivate()
    monkeypatch.setattr(counting, "begin", lambda part: None)
    monkeypatch.setattr(client, "READ_TIMEOUT", client.READ_TIMEOUT)  # some commands are patient
    monkeypatch.setattr(activity, "_noted", {})
    limits.forget()
    readiness.of_process = readiness.Readiness()
    # Open, and never read again unless a test asks for it: nobody's calls count that one.
    site_switch.of_process = site_switch.KnownSwitch()
    site_switch.of_process.keep(site_switch.SiteSwitch())
    site_switch.of_process._read_at = float("inf")
    task_counts.of_process.keep(task_counts.TaskCounts())
    task_counts.of_process._read_at = float("inf")
    hot.of_process.keep(hot.Ranking())
    hot.of_process._read_at = float("inf")
    hot_of_process.keep([])
    hot_of_process._read_at = float("inf")


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
    """native, local, moto, or weak: the embedded engine with faults. tests/data/conftest.py says what runs where."""
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
) -> str:
    """Point the site at an engine for one test; return the engine's kind."""
    monkeypatch.setattr(measuring, "engine_kind", engine_kind)
    monkeypatch.setattr(measuring, "asked", set())
    # A machine busy with tests answers late; what a page does about late answers has tests of its own.
    monkeypatch.setattr(client, "READ_TIMEOUT", 15.0)
    monkeypatch.setattr(middleware, "DATA_SECONDS", 30.0)
    monkeypatch.setattr(lists, "SLOW", 30.0)
    fixture = "native_engine" if engine_kind == "weak" else f"{engine_kind}_engine"
    if engine_kind == "local" and request.node.get_closest_marker("own_stream"):
        fixture = "local_stream_engine"
    settings.DYNAMODB_ENDPOINT_URL = request.getfixturevalue(fixture)
    # One connection for all tests of an engine: making a client takes 50 ms.
    if client.connect().endpoint_url != settings.DYNAMODB_ENDPOINT_URL:
        table.reset()
    client.connect().gate.answered(now=time.monotonic())  # whatever a test before did
    return engine_kind


@pytest.fixture
def new_table(
    request: pytest.FixtureRequest,
    engine: str,
    faults: Faults | None,
    settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[], None]]:
    """A function that names an empty table in the settings: the one of this process, or one of the test's own."""
    folder = request.path.relative_to(Path(__file__).parent).parts[0]
    own = folder not in ONE_TABLE or request.node.get_closest_marker("own_stream")
    made: list[str] = []
    hooks = contextlib.ExitStack()

    def create() -> None:
        hooks.close()
        for known in (buckets, failures, page_cache, brand_names, category_names):
            known.forget()
        if own:
            delete()
            settings.DEALSITE_TABLE = f"test-{os.getpid()}-{next(_numbers)}"
            schema.create_table()
            made.append(settings.DEALSITE_TABLE)
        else:
            settings.DEALSITE_TABLE = f"test-{os.getpid()}"
            _empty_table()
        if faults:
            faults.wait_for_indexes()
            hooks.enter_context(handled(faults.handle))

    def delete() -> None:
        """Delete what is in the way: the embedded engine slows down with the number of tables."""
        while made:
            table.call("DeleteTable", TableName=made.pop())

    if faults:
        monkeypatch.setattr(client, "pause", faults.pause)
        monkeypatch.setattr(client, "jitter", random.Random(SEED))
    yield create
    hooks.close()
    delete()


def _empty_table() -> None:
    """Take the one table of this process again: making another takes longer, and slows down all that follows."""
    try:
        while found := table.scan_page(consistent=True, as_stored=True).items:
            requests = [{"DeleteRequest": {"Key": key_attributes((one["PK"], one["SK"]))}} for one in found]
            for first in range(0, len(requests), 25):  # as many as a batch may hold
                table.call("BatchWriteItem", RequestItems={table.name(): requests[first : first + 25]})
    except Misconfigured:
        schema.create_table()


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
def all_are_editors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run whoever ordered them: these tests are about what jobs do."""
    monkeypatch.setattr(users, "is_editor", lambda username: True)


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
