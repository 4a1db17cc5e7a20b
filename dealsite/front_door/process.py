"""One web process: serves the site at a socket that the launcher opened and listens at."""

import os
import resource
import socket
import sys

import uvicorn
from django.template.loader import get_template
from django.urls import get_resolver

from dealsite.front_door import limits
from dealsite.front_door.application import FrontDoor
from dealsite.front_door.connections import Connections
from dealsite.wsgi import application

STOP_SECONDS = 8  # for what is running; the supervisor kills after ten


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
    return uvicorn.Server(config)


def serve(listening: socket.socket) -> None:
    """Answer until SIGTERM."""
    bounds = limits.from_settings()
    files, most = bounds.connections * 2 + 500, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files if most < 0 else min(files, most), most))
    _ = get_resolver().url_patterns  # the first visitor should not wait for all views to be imported
    door = FrontDoor(application, get_template("503.html").render())
    web_server(door, bounds).run(sockets=[listening])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    serve(socket.socket(fileno=int(sys.argv[1])))
