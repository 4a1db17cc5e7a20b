"""Requests per second of the front page, served as the site serves it, asked for over loopback."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from dealsite.engine.server import free_port

CONNECTIONS = 4


def requests_per_second(environ: dict[str, str], seconds: float) -> float:
    """Start the web server, ask for the front page from four connections, and stop it again."""
    with served(environ) as port:
        _ask(port, min(1.0, seconds))
        started = time.perf_counter()
        answered = _ask(port, seconds)
        return answered / (time.perf_counter() - started)


@contextlib.contextmanager
def served(environ: dict[str, str]) -> Iterator[int]:
    """Run the web server; give its port."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "manage.py", "web", "--port", str(port), "--workers", "1"],
        cwd=Path(__file__).resolve().parent.parent,
        env={**os.environ, **environ},
    )
    try:
        _wait(port, server)
        yield port
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise SystemExit("The web server does not answer.")


def _ask(port: int, seconds: float) -> int:
    """Keep four connections busy for some seconds; return how many answers came."""
    end = time.perf_counter() + seconds
    answered = [0] * CONNECTIONS

    def run(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        while time.perf_counter() < end:
            connection.request("GET", "/")
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                raise SystemExit(f"The front page answers {response.status}.")
            answered[number] += 1
        connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(answered)
