"""One web process: serves the site at a socket that the launcher opened and listens at."""

import asyncio
import os
import resource
import socket
import sys
import threading
from dataclasses import replace
from types import FrameType

import structlog
import uvicorn
from django.template.loader import get_template

from dealsite.front_door import limits
from dealsite.front_door.application import FrontDoor
from dealsite.front_door.connections import Connections
from dealsite.front_door.warm_up import warm_up
from dealsite.processes import heartbeat
from dealsite.web import log_lines, readiness, traffic
from dealsite.wsgi import application

STOP_SECONDS = 8  # for what is running; the supervisor kills after ten
OWN_FILES = 44  # that a process needs besides connections and the bodies that come over them
logger = structlog.get_logger(__name__)


class WebServer(uvicorn.Server):
    """Says at once, and not only at its end, that it should get no more visitors; `heart` says that it lives."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = threading.Event()
        self.heart = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def _beat(self) -> None:
        heartbeat.keep(self._ending, "web", traffic.of_process.last_hour)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        readiness.of_process.is_stopping = True
        self._ending.set()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.heart.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is running; the signal ends the process right after this, so its heart has to be done."""
        await super().shutdown(sockets)
        if self.heart.is_alive():
            await asyncio.to_thread(self.heart.join, heartbeat.END_SECONDS)


def web_server(door: FrontDoor, bounds: limits.Limits) -> WebServer:
    """Make the server of one process, which finishes what is running when it is told to stop."""
    config = uvicorn.Config(
        door,
        interface="asgi3",
        http=Connections(bounds).protocol,  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        loop="uvloop",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,  # whom to believe an address is for settings.DEALSITE_TRUSTED_PROXIES to say
        server_header=False,
        timeout_keep_alive=86_400,  # Connections closes those that idle
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=limits.BACKLOG,
    )
    return WebServer(config)


def with_open_files(bounds: limits.Limits) -> limits.Limits:
    """Allow this process the open files that its connections take, or take fewer connections and say so."""
    files, most = bounds.connections * 2 + 500, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files if most < 0 else min(files, most), most))
    fitting = max(1, (most - OWN_FILES) // 2)
    if most < 0 or fitting >= bounds.connections:
        return bounds
    logger.warning("few_open_files", limit=most, connections=fitting, wanted=bounds.connections)
    return replace(bounds, connections=fitting)


def serve(listening: socket.socket) -> None:
    """Answer until SIGTERM."""
    log_lines.note_uncaught()
    bounds = with_open_files(limits.from_settings())
    warm_up(application)
    traffic.of_process = traffic.Traffic()  # nobody waited for what warmed up
    door = FrontDoor(application, get_template("503.html").render())
    web_server(door, bounds).run(sockets=[listening])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    serve(socket.socket(fileno=int(sys.argv[1])))
