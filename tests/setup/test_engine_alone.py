"""The engine answers this user's processes and nobody else, and its files are for their owner's eyes."""

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import boto3
import pytest

from dealsite import environment
from dealsite.data import table
from dealsite.data.table import connection as table_sockets, schema
from dealsite.engine import namespace, programs, server
from dealsite.engine.programs import EngineError
from dealsite.engine.server import Engine
from dealsite.processes import launcher
from tests.reach import (
    NOBODY,
    answers_as_dynamodb,
    as_nobody,
    error_of,
    listening,
    needs_namespaces,
    only_root_can_be_nobody,
)
from tests.setup.conftest import ROOT, alive, wait_for_the_end_of
from tests.setup.test_engine import AROUND_IT, ENGINE, kill, processes, put

WIDE = 0o022  # an umask as most users have it


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in which every user may do everything, also in those above it."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)


@pytest.fixture
def exposed(monkeypatch) -> None:
    """A kernel without network namespaces."""
    monkeypatch.setattr(server, "why_not_isolated", lambda: "not here")


# Where it listens


@needs_namespaces
def test_the_engine_listens_at_no_address_of_this_machine(own_engine):
    assert own_engine.exposed == ""
    assert listening([os.getpid(), *processes(own_engine)]) == listening([os.getpid()])
    mine, its = (Path(f"/proc/{pid}/ns/net").readlink() for pid in ("self", processes(own_engine)[1]))
    assert mine != its


@needs_namespaces
@pytest.mark.parametrize("which", [AROUND_IT, ENGINE])
def test_whoever_calls_while_the_engine_is_started_again_waits_for_it(own_engine, which):
    holder, engine = processes(own_engine)
    os.kill((holder, engine)[which], signal.SIGKILL)
    wait_for_the_end_of(holder)
    with table_sockets.connect(own_engine.url, 15) as connected:
        assert not connected.get_inheritable()


@needs_namespaces
def test_neither_process_outlives_the_other(own_engine):
    for which in (AROUND_IT, ENGINE):
        before = processes(own_engine)
        kill(own_engine, which)
        assert [pid for pid in before if alive(pid)] == []


def test_a_process_whose_parent_ended_a_moment_ago_ends_at_once():
    if (pid := os.fork()) == 0:
        namespace.end_with_parent(parent=os.getpid(), number=signal.SIGKILL)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


@needs_namespaces
def test_a_connection_sends_what_it_is_given_at_once(own_engine):
    connection: Any = table_sockets.new_pool(own_engine.url)._get_conn()
    table_sockets.until.set(time.monotonic() + 5)
    connection.connect()
    assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    connection.close()


def test_an_engine_deep_in_the_folders_is_reached(tmp_path):
    deep = tmp_path / ("a folder of a long name" * 6) / "ä"
    assert len(os.fsencode(deep)) > 150
    with Engine(deep) as engine:
        assert engine.url.isascii()
        assert " " not in engine.url
        assert answers_as_dynamodb(engine.url)


def test_a_socket_that_hands_nothing_out_is_a_refusal(tmp_path):
    with socket.socket(socket.AF_UNIX) as empty:
        empty.bind(str(tmp_path / "a.sock"))
        empty.listen()
        closing = threading.Thread(target=lambda: empty.accept()[0].close())
        closing.start()
        with pytest.raises(ConnectionRefusedError):
            table_sockets.connect(table_sockets.endpoint_url(tmp_path / "a.sock"), 5)
        closing.join()


@needs_namespaces
@only_root_can_be_nobody
def test_another_user_gets_no_connection_even_where_files_are_open_to_all(open_folder):
    with Engine(open_folder / "var") as engine:
        for path in (engine.folder, engine.folder / server.SOCKET):
            path.chmod(0o777)
        assert answers_as_dynamodb(engine.url)
        ours, process = as_nobody(lambda out: out.send(answers_as_dynamodb(engine.url)))
        assert ours.recv() is False
        process.join()
        for path in (engine.folder, engine.folder / server.SOCKET):
            path.chmod(0o700)
        ours, process = as_nobody(
            lambda out: out.send(error_of(lambda: table_sockets.connect(engine.url, 5)))
        )
        assert ours.recv() == "PermissionError"
        process.join()


@needs_namespaces
@only_root_can_be_nobody
def test_any_user_has_such_an_engine_and_root_is_a_stranger_to_it(open_folder, monkeypatch):
    python = next(
        (found for found in (sys.executable, "/usr/bin/python3") if readable_by_all(Path(found))), None
    )
    if python is None or not readable_by_all(Path(namespace.__file__)):
        pytest.skip("nobody may not read the programs here")
    monkeypatch.setattr(sys, "executable", python)

    def run(out: Connection) -> None:
        os.umask(WIDE)
        with Engine(open_folder / "var") as engine:
            out.send((engine.exposed, engine.url, engine.answers(), processes(engine)))
            out.recv()

    ours, process = as_nobody(run)
    reason, url, answers, pids = ours.recv()
    assert (reason, answers) == ("", True)
    assert listening(pids) == set()
    assert modes(open_folder / "var") == {0o600}
    assert not answers_as_dynamodb(url)
    process.kill()
    process.join()
    for pid in pids:
        wait_for_the_end_of(pid)


def readable_by_all(path: Path) -> bool:
    real = path.resolve()
    return all(one.stat().st_mode & 0o005 for one in (real, *real.parents))


# Where the kernel does not allow that


def test_without_namespaces_the_engine_is_at_a_random_address(exposed, tmp_path):
    with Engine(tmp_path / "one") as one, Engine(tmp_path / "two") as two:
        assert one.exposed == "not here"
        urls = [one.url, two.url]
        hosts = {url.rpartition(":")[0] for url in urls}
        assert len(hosts) == 2
        assert [url.startswith("http://127.") for url in urls] == [True, True]
        assert "http://127.0.0.1" not in hosts
        assert [answers_as_dynamodb(url) for url in urls] == [True, True]
        assert listening([one.supervisor.pid]) == {one.url.removeprefix("http://")}
        assert modes(tmp_path / "one") == {0o600}


def test_such_an_engine_needs_no_credentials_of_amazon(exposed, tmp_path, settings, monkeypatch):
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with Engine(tmp_path / "engine") as engine:
        settings.DYNAMODB_ENDPOINT_URL, settings.DEALSITE_TABLE = engine.url, "deals"
        table.reset()
        assert schema.create_table()
        put(1)
    table.reset()


@pytest.mark.release
@needs_namespaces
def test_a_site_without_namespaces_says_so_at_its_start_and_in_check(start_site, tmp_path):
    refused = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    site = start_site(before=["unshare", "--user", "--map-root-user", "sh", "-c", refused, "sh"])
    site.wait_until_up()
    url = environment.read_engine_env(site.var)["DYNAMODB_ENDPOINT_URL"]
    said = f"Every program on this machine can reach the engine at {url}"
    assert f"Warning: {said}" in site.said()
    assert "No space left on device" in site.said()  # how the kernel puts it
    environ = {"PATH": os.environ["PATH"], "DEALSITE_VAR": str(site.var), "DEALSITE_SECRET_KEY": "none"}
    checked = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"(dealsite.engine.W001) {said}" in checked.stderr


@needs_namespaces
def test_check_has_nothing_to_say_of_an_engine_that_is_alone(settings, own_engine):
    from dealsite.checks import engine_is_alone

    settings.DEALSITE_EMBEDDED = True
    assert engine_is_alone() == []
    settings.DYNAMODB_ENDPOINT_URL = environment.NOWHERE
    assert engine_is_alone() == []
    settings.DYNAMODB_ENDPOINT_URL = "http://127.1.2.3:4567"
    assert [one.id for one in engine_is_alone()] == ["dealsite.engine.W001"]


# Its files


def test_the_engines_files_are_its_owners_alone_whatever_the_umask(tmp_path, settings):
    before = os.umask(WIDE)
    try:
        with Engine(tmp_path / "var") as engine:
            environment.write_engine_env(engine.folder, engine.url, "deals")
            settings.DYNAMODB_ENDPOINT_URL, settings.DEALSITE_TABLE = engine.url, "deals"
            table.reset()
            schema.create_table()
            names = {path.name for path in engine.folder.iterdir()}
            assert names >= {"engine.db", "engine.db-wal", "engine.db-shm", "engine.env"}
            assert modes(engine.folder) == {0o600}
            assert stat.S_IMODE(engine.folder.stat().st_mode) == 0o700
    finally:
        os.umask(before)
        table.reset()


def test_what_was_open_to_others_is_closed_to_them_and_named(tmp_path):
    files = [
        tmp_path / name for name in ("engine.db", "engine.db-wal", "engine.env", "engine.log", "engine.log.1")
    ]
    for path in files:
        path.write_text("")
        path.chmod(0o644)
    tmp_path.chmod(0o755)
    assert set(programs.make_private(tmp_path)) == {tmp_path, *files}
    assert modes(tmp_path) == {0o600}
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert programs.make_private(tmp_path) == []
    assert programs.make_private(tmp_path / "new" / "one") == []


def test_a_site_says_what_it_closed(start_site, tmp_path):
    (tmp_path / "var").mkdir()
    (tmp_path / "var").chmod(0o755)
    with launcher.only_one(tmp_path / "var"):  # so that it goes no further
        site = start_site()
        assert site.process.wait(30) == 1
    assert f"Others could read {site.var}: from now on only its owner can." in site.said()
    assert stat.S_IMODE(site.var.stat().st_mode) == 0o700


@only_root_can_be_nobody
def test_a_folder_of_another_user_is_refused_with_what_to_do(start_site, tmp_path):
    (tmp_path / "var").mkdir()
    os.chown(tmp_path / "var", NOBODY, NOBODY)
    site = start_site()
    assert site.process.wait(30) == 1
    assert f"{site.var} belongs to the user nobody" in site.said()
    assert "DEALSITE_VAR" in site.said()
    assert not (site.var / "engine.db").exists()


@pytest.mark.parametrize("how", ["does nothing", "fails"])
def test_a_folder_that_cannot_be_closed_is_refused(tmp_path, monkeypatch, how):
    def chmod(path: Path, mode: int) -> None:
        if how == "fails":
            raise OSError("Operation not permitted")

    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", chmod)
    with pytest.raises(EngineError, match="cannot be kept to its owner"):
        programs.make_private(tmp_path)


# A way for other tools


@pytest.fixture
def open_port(own_engine, tmp_path) -> Iterator[subprocess.Popen[str]]:
    """manage.py engine_port, on the engine of this test."""
    environ = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    environ |= {"DYNAMODB_ENDPOINT_URL": own_engine.url, "DEALSITE_VAR": str(tmp_path / "var")}
    with subprocess.Popen(
        [sys.executable, "manage.py", "engine_port"],
        cwd=ROOT,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.release
def test_plain_boto3_works_through_a_port_for_as_long_as_it_is_open(own_engine, open_port):
    name, _, url = open_port.stdout.readline().strip().partition("=")
    assert name == "DYNAMODB_ENDPOINT_URL"
    assert url.startswith("http://127.")
    assert not url.startswith("http://127.0.0.1:")
    boto = boto3.client(
        "dynamodb", "eu-central-1", endpoint_url=url, aws_access_key_id="x", aws_secret_access_key="x"
    )
    assert boto.list_tables()["TableNames"] == ["deals"]
    item = {"PK": {"S": "A"}, "SK": {"S": "A"}, "text": {"S": "long" * 50_000}}
    boto.put_item(TableName="deals", Item=item)
    kill(own_engine)
    assert boto.get_item(TableName="deals", Key={"PK": item["PK"], "SK": item["SK"]})["Item"] == item
    boto.close()
    open_port.send_signal(2)
    _, said = open_port.communicate(timeout=20)
    assert open_port.returncode == 0
    assert "every web page" in said
    assert "Traceback" not in said
    assert not answers_as_dynamodb(url)


@pytest.mark.parametrize(
    ("url", "said"), [("", "in no engine on this machine"), ("unix:/nowhere/engine.sock", "no engine at")]
)
def test_a_port_to_nowhere_is_refused(settings, url, said):
    from django.core.management import CommandError, call_command

    settings.DYNAMODB_ENDPOINT_URL = url
    with pytest.raises(CommandError, match=said):
        call_command("engine_port")
