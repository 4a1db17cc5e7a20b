"""One web process: serves the site at a socket that the launcher opened and listens at."""

import os
import resource
import socket
import sys
from dataclasses import replace
from types import FrameType

import structlog
import uvicorn
from django.template.loader import get_template

from dealsite.front_door import limits
from dealsite.front_door.application import ID_PLACE, FrontDoor
from dealsite.front_door.connections import Connections
from dealsite.front_door.warm_up import warm_up
from dealsite.web import log_lines, readiness
from dealsite.wsgi import application

STOP_SECONDS = 8  # for what is running; the supervisor kills after ten
OWN_FILES = 44  # that a process needs besides connections and the bodies that come over them
logger = structlog.get_logger(__name__)


class WebServer(uvicorn.Server):
    """Says at once, and not only at its end, that it should get no more visitors."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        readiness.of_process.is_stopping = True
        super().handle_exit(sig, frame)


def web_server(door: FrontDoor, bounds: limits.Limits) -> uvicorn.Server:
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
    door = FrontDoor(application, get_template("503.html").render({"request_id": ID_PLACE}))
    web_server(door, bounds).run(sockets=[listening])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    serve(socket.socket(fileno=int(sys.argv[1])))
