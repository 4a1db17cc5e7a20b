"""A running site under clients that are silent, slow and many; and its web processes, each with a life of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dealsite.engine.server import free_port
from dealsite.front_door import connections
from dealsite.processes import launcher
from dealsite.processes.launcher import LaunchError
from tests.setup.conftest import ROOT, alive, descendants, wait_for
from tests.setup.silent_clients import SilentClients, timed

PICTURE = "pictures/aa/" + "a" * 32 + "-800.webp"


def with_large_file(site) -> None:
    file = site.var / "media" / PICTURE
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(30_000_000))


@pytest.mark.release
def test_pages_answer_under_570_silent_and_slow_clients_all_of_which_are_closed(start_site):
    site = start_site(DEALSITE_CLIENT_SECONDS="1")
    with_large_file(site)
    site.wait_until_up()
    wait_for(lambda: timed(site.port, "/readyz")[0] == 200)
    timed(site.port, "/")  # a page's templates are read once
    clients = SilentClients(site.port, f"/media/{PICTURE}")
    seconds: list[float] = []
    try:
        while any(clients.open.values()) and time.monotonic() - clients.began < 25:
            began = time.monotonic()
            for path in ("/", "/healthz", "/readyz"):
                status, took = timed(site.port, path)
                assert status == 200
                seconds.append(took)
            clients.a_second()
            time.sleep(max(0, 0.5 - (time.monotonic() - began)))
        assert clients.open == {"silent": [], "trickling": [], "reading": []}
        seconds.sort()  # other tests may hold up the machine for a moment
        assert seconds[len(seconds) * 9 // 10] < 1
        assert seconds[-1] < 3
        assert clients.closed_after["silent"] < 8
        assert clients.closed_after["trickling"] < 8
    finally:
        clients.close()


def web_processes(site) -> list[int]:
    return [
        pid
        for pid in site.children()
        if alive(pid) and b"dealsite.front_door.process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


@pytest.mark.thorough
def test_a_web_process_that_is_killed_is_started_again_and_nobody_is_refused(start_site):
    site = start_site()
    site.wait_until_up()
    before = web_processes(site)
    assert len(before) == launcher.WORKERS
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert timed(site.port, "/healthz")[0] == 200  # who comes meanwhile waits at the socket
    wait_for(lambda: len(web_processes(site)) == launcher.WORKERS)
    assert not set(before) & set(web_processes(site))


def test_the_web_server_runs_alone_where_table_and_worker_are_elsewhere(tmp_path, native_engine):
    port = free_port()
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    environ = kept | {"DEALSITE_VAR": str(tmp_path), "DYNAMODB_ENDPOINT_URL": native_engine}
    command = [sys.executable, "manage.py", "web", "--port", str(port), "--workers", "1"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True, process_group=0
    )
    try:
        wait_for(lambda: timed(port, "/healthz")[0] == 200)
        (only,) = descendants(process.pid)
        limit = [
            line for line in Path(f"/proc/{only}/limits").read_text().splitlines() if "open files" in line
        ]
        hard = int(limit[0].split()[4])
        assert int(limit[0].split()[3]) == min(hard, 2 * 1_000 + 500)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert said.splitlines() == [f"Dealsite listens at 127.0.0.1:{port}.", "Stopped."]
    assert not alive(only)


def test_a_port_that_was_taken_meanwhile_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        plan = launcher.LaunchPlan(port=taken.getsockname()[1])
        with pytest.raises(LaunchError, match=r"taken by \S+ \(process \d+\).*PORT="):
            launcher.listener(plan)


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_the_socket_belongs_to_the_address_that_was_asked_for(host, family):
    with launcher.listener(launcher.LaunchPlan(port=0, host=host)) as listening:
        assert listening.family == family
        assert listening.getsockname()[0] == host


def test_the_limits_of_a_site_are_its_settings(settings):
    settings.DEALSITE_CLIENT_SECONDS = 3
    settings.DEALSITE_CONNECTIONS, settings.DEALSITE_CONNECTIONS_PER_ADDRESS = 70, 7
    assert connections.limits_from_settings() == connections.Limits(patience=3, per_address=7, connections=70)
