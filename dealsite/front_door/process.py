"""One web process: serves the site at a socket that the launcher opened and listens at."""

import os
import resource
import socket
import sys

import uvicorn
from django.conf import settings
from django.template.loader import get_template
from django.urls import get_resolver

from dealsite.front_door import limits
from dealsite.front_door.application import FrontDoor
from dealsite.front_door.connections import Connections
from dealsite.wsgi import application

STOP_SECONDS = 8  # for what is running; the supervisor kills after ten


def serve(listening: socket.socket) -> None:
    """Answer until SIGTERM, and then finish what is running."""
    with_files = settings.DEALSITE_CONNECTIONS * 2 + 500
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(with_files, most) if most > 0 else with_files, most))
    _ = get_resolver().url_patterns  # the first visitor should not wait for all views to be imported
    config = uvicorn.Config(
        FrontDoor(application, get_template("503.html").render()),
        interface="asgi3",
        http=Connections(limits.from_settings()).protocol,  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        loop="uvloop",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,  # who is behind a proxy is for Django to say: settings.DEALSITE_TRUSTED_PROXIES
        server_header=False,
        timeout_keep_alive=settings.DEALSITE_CLIENT_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=limits.BACKLOG,
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    serve(socket.socket(fileno=int(sys.argv[1])))
