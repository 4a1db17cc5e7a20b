"""A loopback port to an engine that listens on none, for tools that know nothing else."""

import contextlib
import select
import socket
from collections.abc import Callable
from socketserver import BaseRequestHandler, ThreadingTCPServer

from dealsite.data.table import sockets
from dealsite.engine.server import random_loopback

SECONDS = 2.0  # to reach the engine
CHUNK = 65_536


def serve(endpoint_url: str, say: Callable[[str], None]) -> None:
    """Open a port at a random address of 127.0.0.0/8, say its URL, and pass bytes on until Ctrl-C."""

    class Call(BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError), sockets.connect(endpoint_url, SECONDS) as engine:
                engine.settimeout(None)
                pass_on(self.request, engine)

    with ThreadingTCPServer((random_loopback(), 0), Call) as server, contextlib.suppress(KeyboardInterrupt):
        server.daemon_threads, server.block_on_close = True, False
        host, port = server.server_address[:2]
        say(f"http://{host!s}:{port}")
        server.serve_forever()


def pass_on(one: socket.socket, other: socket.socket) -> None:
    """Give each of two sockets what comes from the other, until one of them is closed."""
    to = {one: other, other: one}
    while True:
        for ready in select.select([*to], [], [])[0]:
            if not (data := ready.recv(CHUNK)):
                return
            to[ready].sendall(data)
