"""No answer takes longer than its time, however slowly it comes; and no page waits beyond its own."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dealsite import middleware
from dealsite.data import table
from dealsite.data.table import amazon, client, connection, errors
from dealsite.data.table.writes import Put, Update
from tests.data.table.wire import COST, ITEM, Pieces, Wire, drip, whole

A = ("A", "A")
GOOD = whole({"Item": ITEM, "ConsumedCapacity": COST})
HEAD, _, BODY = GOOD.partition(b"\r\n\r\n")
SECONDS, LATE = 0.5, 0.8  # an attempt, and what a busy machine may add to two of them


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "READ_TIMEOUT", SECONDS)
    monkeypatch.setattr(client, "ADMIN_TIMEOUT", SECONDS)


def silence(seconds: float = 5) -> Iterator[bytes]:
    yield b""
    time.sleep(seconds)


def late(ask: Callable[[], object]) -> float:
    """Return the seconds until a call gives up."""
    began = time.monotonic()
    with pytest.raises(errors.Unavailable):
        ask()
    return time.monotonic() - began


TRICKLES: dict[str, Callable[[], Pieces]] = {
    "never": silence,
    "its headers": lambda: drip(GOOD),
    "its body": lambda: itertools.chain([HEAD + b"\r\n\r\n"], drip(BODY)),
    "headers without end": lambda: itertools.chain([HEAD], (b"\r\nX-%d: 1" % n for n in drip_numbers())),
    "not yet, not yet": lambda: (b"HTTP/1.1 100 Continue\r\n\r\n" for _ in itertools.count()),
    "pieces without end": lambda: itertools.chain(
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"], (b"1\r\n \r\n" for _ in itertools.count())
    ),
}


def drip_numbers() -> Iterator[int]:
    for number in itertools.count():
        time.sleep(0.05)
        yield number


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("trickle", TRICKLES.values(), ids=TRICKLES)
def test_an_answer_has_one_time_in_all(wire: Wire, trickle: Callable[[], Pieces]):
    wire.say = lambda operation, body: trickle()
    assert late(lambda: table.get(A)) < 2 * SECONDS + LATE
    assert wire.requests == ["GetItem"] * 2


def test_administration_has_one_time_too(wire: Wire):
    wire.say = lambda operation, body: drip(GOOD)
    assert late(lambda: table.call("DescribeTable", TableName="t")) < 2 * SECONDS + LATE


def test_a_request_that_nobody_takes_has_it_too(settings: Any, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0), backlog=8) as nobody:  # connects, and reads nothing
        nobody.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        table.reset()
        items = [{"PK": "A", "SK": f"{n}", "text": "x" * 390_000} for n in range(25)]
        assert late(lambda: table.insert(items)) < 2 * SECONDS + LATE + 1
        table.reset()


def test_what_takes_longer_to_send_than_to_connect_is_answered(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "READ_TIMEOUT", 15.0)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.bind(("127.0.0.1", 0))
        slow.listen(8)

        def serve() -> None:
            with slow.accept()[0] as one:
                time.sleep(2 * connection.CONNECT_TIMEOUT)
                asked = b""
                while not asked.endswith(b"}"):
                    asked += one.recv(1_000_000)
                one.sendall(whole({"ConsumedCapacity": COST}))

        threading.Thread(target=serve, daemon=True).start()
        settings.DYNAMODB_ENDPOINT_URL = f"http://127.0.0.1:{slow.getsockname()[1]}"
        table.reset()
        table.write(Put(key=A, item={"text": "x" * 8_000_000}))
        table.reset()


def test_a_socket_that_nobody_listens_at_leaves_no_doubt(settings: Any, tmp_path: Path):
    """What adds to a number is never sent twice: here nobody was told to."""
    settings.DYNAMODB_ENDPOINT_URL = connection.endpoint_url(tmp_path / "s")
    table.reset()
    with pytest.raises(errors.Unavailable) as error:
        table.write(Update(key=A, add={"n": 1}))
    assert type(error.value) is errors.Unavailable
    table.reset()


def test_threads_that_begin_at_once_share_what_they_look_up(settings: Any, monkeypatch: pytest.MonkeyPatch):
    """boto3 makes one client at a time."""
    looked_up: list[str] = []

    def where(service: str) -> str:
        looked_up.append(service)
        time.sleep(0.05)
        return "http://127.0.0.1:9"

    table.reset()
    kept = client.connect()
    monkeypatch.setattr(kept, "_where", where)
    threads = [threading.Thread(target=kept.service, args=(connection.STREAMS,)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert looked_up == [connection.STREAMS]
    table.reset()


def test_an_engine_that_is_not_handed_out_has_it_too(settings: Any, tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen(8)  # and hands out nothing
        settings.DYNAMODB_ENDPOINT_URL = connection.endpoint_url(tmp_path / "s")
        table.reset()
        assert late(lambda: table.get(A)) < 2 * SECONDS + LATE
        table.reset()


def test_a_page_waits_for_no_answer_beyond_its_time(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "READ_TIMEOUT", 5.0)
    wire.say = lambda operation, body: drip(GOOD)
    with table.deadline(0.5):
        assert 0.4 < late(lambda: table.get(A)) < 0.5 + LATE
        late(lambda: table.get(A))
    assert len(wire.requests) == 1


def test_no_pause_between_tries_goes_beyond_it_either(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    paused: list[float] = []
    monkeypatch.setattr(client, "pause", paused.append)
    wire.say = lambda operation, body: whole({"__type": "a#ThrottlingException"}, "400 Bad Request")
    monkeypatch.setattr(client.jitter, "uniform", lambda low, high: 9.0)
    with table.deadline(0.2), pytest.raises(errors.Busy):
        table.get(A)
    assert len(paused) == client.ATTEMPTS_WHEN_REFUSED - 1
    assert max(paused) <= 0.2


def test_two_attempts_fit_a_page_and_a_page_its_three_seconds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    attempts = client.ATTEMPTS_WITHOUT_ANSWER * client.READ_TIMEOUT + client.RESTART_PAUSE
    assert attempts < middleware.DATA_SECONDS <= 2.5


# TLS


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A certificate of 127.0.0.1 that the client trusts."""
    openssl = shutil.which("openssl")
    assert openssl
    path = tmp_path / "tls.pem"
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = [openssl, "req", "-x509", *options, *subject, "-keyout", str(path), "-out", str(tmp_path / "c")]
    subprocess.run(command, check=True, capture_output=True, timeout=20)
    path.write_text(path.read_text() + (tmp_path / "c").read_text())
    return path


@contextlib.contextmanager
def speaking_tls(certificate: Path, says: list[Pieces], settings: Any) -> Iterator[list[int]]:
    """The table is a server with this certificate; yields how much each request was that it read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    seen: list[int] = []
    with socket.create_server(("127.0.0.1", 0), backlog=8) as plain:

        def serve() -> None:
            for said in says:
                try:
                    with context.wrap_socket(plain.accept()[0], server_side=True) as one:
                        asked = b""
                        while not asked.endswith(b"}"):
                            asked += one.recv(65_536)
                        seen.append(len(asked))
                        for piece in [said] if isinstance(said, bytes) else said:
                            one.sendall(piece)
                except OSError:
                    continue

        threading.Thread(target=serve, daemon=True).start()
        settings.DYNAMODB_ENDPOINT_URL = f"https://127.0.0.1:{plain.getsockname()[1]}"
        table.reset()
        yield seen
        table.reset()


def test_tls_has_it_too(certificate: Path, settings: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(amazon, "certificates", lambda: str(certificate))
    with speaking_tls(certificate, [GOOD, drip(GOOD), drip(GOOD)], settings) as seen:
        monkeypatch.setattr(client, "READ_TIMEOUT", 5.0)
        assert table.get(A)
        monkeypatch.setattr(client, "READ_TIMEOUT", SECONDS)
        assert late(lambda: table.get(A)) < 2 * SECONDS + LATE
        assert len(seen) >= 2


def test_a_certificate_that_nobody_trusts_is_told_nothing(certificate: Path, settings: Any):
    with speaking_tls(certificate, [GOOD, GOOD], settings) as seen:
        with pytest.raises(errors.Unavailable) as error:
            table.get(A)
        assert "CERTIFICATE_VERIFY_FAILED" in f"{error.value.reason}"
        assert seen == []


def test_a_handshake_that_trickles_has_it_too(settings: Any):
    hello = b"\x16\x03\x03\x40\x00" + bytes(1000)
    with socket.create_server(("127.0.0.1", 0), backlog=8) as plain:

        def serve() -> None:
            while True:
                try:
                    with plain.accept()[0] as one:
                        for piece in drip(hello):
                            one.sendall(piece)
                except OSError:
                    if plain.fileno() < 0:
                        return

        threading.Thread(target=serve, daemon=True).start()
        settings.DYNAMODB_ENDPOINT_URL = f"https://127.0.0.1:{plain.getsockname()[1]}"
        table.reset()
        assert late(lambda: table.get(A)) < 2 * SECONDS + LATE
        table.reset()
