"""A loopback port to an engine that listens on none, for tools that know nothing else."""

import asyncio
import contextlib
from collections.abc import Callable

from dealsite.data.table import sockets
from dealsite.engine.server import random_loopback

SECONDS = 2.0
CHUNK = 65_536


def serve(endpoint_url: str, say: Callable[[str], None]) -> None:
    """Open a port at a random address of 127.0.0.0/8, say its URL, and pass bytes on until a signal comes."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(endpoint_url, say))


async def _serve(endpoint_url: str, say: Callable[[str], None]) -> None:
    async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            connected = await asyncio.to_thread(sockets.connect, endpoint_url, SECONDS)
            to_engine = await asyncio.open_connection(sock=connected)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pass_on(reader, to_engine[1]), _pass_on(to_engine[0], writer))

    server = await asyncio.start_server(call, random_loopback(), 0)
    host, port = server.sockets[0].getsockname()
    say(f"http://{host}:{port}")
    async with server:
        await server.serve_forever()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()
