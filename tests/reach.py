"""What a stranger on this machine tries: who listens where, and whether it is an engine."""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import os
import socket
import subprocess
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from dealsite.data.table.connection import connect

NOBODY = 65534
LIST_TABLES = {
    "X-Amz-Target": "DynamoDB_20120810.ListTables",
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, "
    "Signature=x",
    "X-Amz-Date": "20260101T000000Z",
}
only_root_can_be_nobody = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can try what another user can"
)


def _namespaces() -> bool:
    """Whether a user may have a network namespace here, asked of another program than the site's."""
    try:
        ways = ["--net"], ["--net", "--map-root-user"]
        return any(
            subprocess.run(["unshare", *way, "true"], capture_output=True).returncode == 0 for way in ways
        )
    except FileNotFoundError:
        return False


needs_namespaces = pytest.mark.skipif(
    not _namespaces(), reason="this kernel lets nobody be alone on a network"
)


def answers_as_dynamodb(endpoint_url: str) -> bool:
    """Whether what is at an endpoint lists tables."""
    connection = http.client.HTTPConnection("localhost")
    try:
        connection.sock = connect(endpoint_url, 5)
        connection.request("POST", "/", b"{}", LIST_TABLES)
        return "TableNames" in json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def listening(pids: Iterable[int]) -> set[str]:
    """The addresses at which processes can be reached over TCP from where this process is, as `127.0.0.1:80`."""
    theirs: set[str] = set()
    for pid in pids:
        for opened in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                theirs.add(str(opened.readlink()))
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in theirs:
                address, _, port = fields[1].partition(":")
                words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
                found.add(f"{socket.inet_ntop(family, b''.join(words))}:{int(port, 16)}")
    return found


def as_nobody(do: Callable[[Connection], None]) -> tuple[Connection, multiprocessing.process.BaseProcess]:
    """Run a function as the user nobody, in a process of its own, which everything is loaded into already."""
    ours, theirs = multiprocessing.Pipe()

    def run() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        do(theirs)

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    theirs.close()
    return ours, process


def error_of(do: Callable[[], object]) -> str:
    try:
        do()
    except OSError as error:
        return type(error).__name__
    return ""
