"""One command runs a whole site, and one signal ends it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from dealsite import environment
from dealsite.processes import launcher, orphans
from dealsite.processes.launcher import Stopped
from tests.setup.conftest import alive, wait_for, wait_for_the_end_of


def status(site, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except OSError:
        return 0
    finally:
        connection.close()


def is_ready(site) -> bool:
    """Tell whether a site comes to be ready: on a busy machine its first answers may be too late for it."""
    wait_for(lambda: status(site, "/readyz") == 200)
    return True


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_a_site_runs_until_a_signal_and_leaves_nothing_running(start_site, number):
    site = start_site()
    site.wait_until_up()
    assert f"runs at {site.url}/" in site.said()
    assert status(site, "/healthz") == 200
    assert is_ready(site)
    children = site.children()
    assert len(children) >= 2
    assert site.stop(number) == 0
    assert [pid for pid in children if alive(pid)] == []
    socket.create_server(("127.0.0.1", site.port)).close()
    assert site.said().endswith("Stopped.\n")


@pytest.mark.thorough
def test_the_next_run_finds_the_data_and_the_engine_where_it_was(start_site):
    first = start_site()
    first.wait_until_up()
    joined = environment.read_engine_env(first.var)
    assert joined.keys() == {"DYNAMODB_ENDPOINT_URL", "DEALSITE_TABLE"}
    key = (first.var / "secret_key").read_text()
    first.stop()
    second = start_site(port=first.port)
    second.wait_until_up()
    assert environment.read_engine_env(second.var) == joined
    assert (second.var / "secret_key").read_text() == key
    assert is_ready(second)


def test_a_taken_port_is_said_before_anything_starts(start_site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        site = start_site(port=port)
        assert site.process.wait(30) == 1
        assert (
            f"Port {port} is taken by {orphans.command_name(os.getpid())} (process {os.getpid()})"
            in site.said()
        )
        assert f"PORT={port + 1}" in site.said()
        assert not (site.var / "engine.db").exists()


@pytest.mark.thorough
def test_a_second_site_on_the_same_data_is_refused(start_site):
    first = start_site()
    first.wait_until_up()
    second = start_site()
    assert second.process.wait(30) == 1
    assert f"Another site runs on the data in {first.var} (process {first.process.pid})" in second.said()
    (first.var / "lock").unlink()
    third = start_site()
    assert third.process.wait(30) == 1
    assert f"Another site runs on the data in {first.var} (process unknown)" in third.said()
    assert is_ready(first)


@pytest.mark.thorough
def test_two_sites_run_side_by_side(start_site):
    sites = [start_site("one"), start_site("two")]
    for site in sites:
        site.wait_until_up()
    assert all(is_ready(site) for site in sites)
    engines = {environment.read_engine_env(site.var)["DYNAMODB_ENDPOINT_URL"] for site in sites}
    assert len(engines) == 2


@pytest.mark.thorough
def test_another_dynamodb_is_used_without_an_engine(start_site, native_engine):
    site = start_site(DYNAMODB_ENDPOINT_URL=native_engine, DEALSITE_TABLE="elsewhere", DEALSITE_DEMO="yes")
    site.wait_until_up()
    assert is_ready(site)
    assert not (site.var / "engine.db").exists()
    assert not (site.var / "engine.env").exists()
    assert not (site.var / "demo-loaded").exists()
    assert "Demo" not in site.said()


def test_a_launcher_that_is_killed_takes_its_children_along(start_site):
    site = start_site()
    site.wait_until_up()
    children = site.children()
    os.kill(site.process.pid, signal.SIGKILL)
    site.process.wait(30)
    for pid in children:
        wait_for_the_end_of(pid)


@pytest.mark.thorough
def test_an_engine_that_is_killed_comes_back_under_the_running_site_and_is_told_of(start_site):
    site = start_site()
    site.wait_until_up()
    *_, engine = [pid for pid in site.children() if b"engine.db" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(engine, signal.SIGKILL)
    wait_for(lambda: engine not in site.children() and status(site, "/readyz") == 200)
    wait_for(lambda: restarts(site) == {"engine": 1, "web process 1": 0, "web process 2": 0, "worker": 0})
    assert site.said().count("event='part_restarted' part='engine' restarts=1 ended='SIGKILL'") == 1
    shown = {'dealsite_processes{part="web"} 2.0', 'dealsite_processes{part="worker"} 1.0'}
    shown.add('dealsite_part_restarts_total{part="engine"} 1.0')
    wait_for(lambda: shown <= set(metrics(site)))


def metrics(site) -> list[str]:
    with urllib.request.urlopen(f"{site.url}/metrics", timeout=5) as answer:  # noqa: S310 - this site
        return answer.read().decode().splitlines()


def restarts(site) -> dict[str, int]:
    noted = json.loads((site.var / "parts.json").read_text())
    return {name: part["restarts"] for name, part in noted.items()}


def test_a_site_that_cannot_load_says_why_and_starts_no_web_server(start_site):
    site = start_site(DEALSITE_DEBUG="perhaps")
    assert site.process.wait(30) == 1
    assert "DEALSITE_DEBUG should be yes or no" in site.said()


@pytest.fixture
def loads(fresh_table, settings, tmp_path, monkeypatch) -> list[str]:
    """The commands that the launcher calls, on a data folder of this test's."""
    settings.VAR = tmp_path
    called: list[str] = []
    monkeypatch.setattr(subprocess, "call", lambda command, **_: called.append(command[-1]))
    return called


def test_the_demo_content_is_loaded_once(loads):
    for _ in range(2):
        launcher.load_demo_once(table_is_new=False, say=lambda text: None)
    assert loads == ["load_demo"]


def test_a_new_table_gets_the_demo_content_again(loads, tmp_path):
    (tmp_path / "demo-loaded").touch()
    launcher.load_demo_once(table_is_new=True, say=lambda text: None)
    assert loads == ["load_demo"]


def test_demo_content_that_was_interrupted_is_not_taken_for_complete(loads, tmp_path, monkeypatch):
    def interrupted(command: list[str], **_: object) -> None:
        raise Stopped

    monkeypatch.setattr(subprocess, "call", interrupted)
    with pytest.raises(Stopped):
        launcher.load_demo_once(table_is_new=True, say=lambda text: None)
    monkeypatch.setattr(subprocess, "call", lambda command, **_: 3)
    with pytest.raises(SystemExit, match="3"):
        launcher.load_demo_once(table_is_new=True, say=lambda text: None)
    assert not (tmp_path / "demo-loaded").exists()


def test_the_demo_content_can_be_left_out(loads, settings):
    settings.DEALSITE_DEMO = False
    launcher.load_demo_once(table_is_new=True, say=lambda text: None)
    assert loads == []


def test_the_address_and_a_sign_in_of_each_kind_are_told(loads, tmp_path):
    plan = launcher.LaunchPlan(port=8001)
    (tmp_path / "demo-loaded").touch()
    text = launcher.welcome(plan, demo=True)
    assert "http://127.0.0.1:8001/" in text
    told = [line.strip() for line in text.partition("Demo sign-ins:")[2].strip().splitlines()]
    kinds = ("editor", "back office", "admin", "shopper")
    assert [line.startswith(kind) for line, kind in zip(told, kinds, strict=True)] == [True] * 4


def test_no_sign_ins_are_told_for_a_table_that_is_not_the_projects_own(loads, tmp_path):
    (tmp_path / "demo-loaded").touch()
    assert "sign-ins" not in launcher.welcome(launcher.LaunchPlan(port=8001), demo=False)
