"""The files of deploy/ agree with the site and with one another; those programs that are here say so themselves."""

import re
import shutil
import subprocess

import pytest
import yaml

from dealsite.processes.launcher import BACKLOG
from dealsite.variables import VARIABLES
from tests.setup.conftest import ROOT

DEPLOY = ROOT / "deploy"
DOCKERFILE, NGINX = (DEPLOY / "Dockerfile").read_text(), (DEPLOY / "nginx.conf").read_text()
UNIT, SOCKET = (DEPLOY / "dealsite.service").read_text(), (DEPLOY / "dealsite.socket").read_text()
SITE = yaml.safe_load((DEPLOY / "compose.yml").read_text())["services"]["site"]


def test_the_image_is_made_by_the_script_that_installs_on_a_machine_and_runs_as_nobody_special():
    assert "sh /install.sh /dist /opt/dealsite" in DOCKERFILE
    assert re.findall("source=(deploy/.*?),", DOCKERFILE) == ["deploy/install.sh"]
    head, build, final = DOCKERFILE.split("\nFROM $BASE")
    assert re.search(r"^ARG BASE=python:3\.\d+\.\d+-slim-bookworm$", head, re.MULTILINE)
    assert "make dist" in build
    assert "USER 10001" in final
    assert "/healthz" in final.partition("HEALTHCHECK")[2]
    assert not {"node", "make", "COPY"} & set(final.split())


def test_an_installed_command_goes_by_the_link_so_that_a_reload_starts_the_release_it_names(tmp_path):
    venv = 'mkdir -p "$3/bin"; echo "#!$3/bin/python" | tee "$3/bin/python" > "$3/bin/dealsite"'
    (tmp_path / "python3").write_text(f"#!/bin/sh\n{venv}; ln -sf /bin/true $3/bin/python\n")
    (tmp_path / "python3").chmod(0o755)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "dealsite-1.0-py3-none-any.whl").touch()
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    install = ["sh", str(DEPLOY / "install.sh"), "dist", "opt"]
    subprocess.run(install, cwd=tmp_path, env=environ, check=True, capture_output=True)
    command = (tmp_path / "opt" / "current" / "bin" / "dealsite").read_text()
    assert command == f"#!{tmp_path}/opt/current/bin/python\n"


def test_compose_gives_the_container_one_place_to_write_to_bounds_and_no_rights():
    assert SITE["read_only"]
    assert (SITE["volumes"], SITE["tmpfs"]) == (["data:/data"], ["/tmp:size=1g"])  # noqa: S108 - the container's own
    assert (SITE["init"], SITE["mem_limit"]) == (True, "4g")
    assert (SITE["cap_drop"], SITE["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert SITE["ports"] == ["127.0.0.1:8000:8000"]
    assert "DEALSITE_VAR=/data" in DOCKERFILE


def test_the_settings_that_deployments_name_are_settings():
    named = set(re.findall(r"DEALSITE_[A-Z_]+", DOCKERFILE + NGINX + UNIT + SOCKET)) | set(
        SITE["environment"]
    )
    assert named <= VARIABLES.keys()


def test_the_socket_takes_as_many_waiting_clients_as_the_site_and_nginx_asks_there():
    address = re.search("ListenStream=(.+)", SOCKET)[1]
    assert f"server {address} " in NGINX
    assert f"Backlog={BACKLOG}\n" in SOCKET
    assert f"PORT={address.rpartition(':')[2]}\n" in UNIT


def test_the_unit_reloads_by_the_launchers_signal_and_leaves_the_site_up_when_a_part_is_killed():
    assert "ExecReload=/bin/kill -HUP $MAINPID" in UNIT
    assert "OOMPolicy=continue" in UNIT
    assert "ExecStart=/opt/dealsite/current/bin/python -m dealsite run" in UNIT


def test_nginx_passes_on_no_header_that_says_who_asks_but_its_own():
    for name in (
        "X-Forwarded-For $remote_addr",
        "X-Forwarded-Proto $scheme",
        'X-Forwarded-Host ""',
        'Forwarded ""',
        'traceparent ""',
        "X-Request-ID $request_id",
    ):
        assert f"proxy_set_header {name};" in NGINX
    inside = NGINX.partition("    location / {")[2]
    assert "proxy_set_header" not in inside  # one in a location would undo all of the server's


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_understands_the_units_and_finds_little_exposed(tmp_path):
    for name in ("dealsite.service", "dealsite.socket"):
        text = (DEPLOY / name).read_text().replace("/opt/dealsite/current/bin/python", "/bin/true")
        (tmp_path / name).write_text(text)
    verify = ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(verify, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    security = [
        "systemd-analyze",
        "security",
        "--offline=true",
        "--threshold=25",
        str(tmp_path / "dealsite.service"),
    ]
    assert subprocess.run(security, capture_output=True).returncode == 0
