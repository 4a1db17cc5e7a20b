"""One web process: serves the site at a socket that the launcher opened and listens at.

What the first visitor would otherwise wait for is done before it takes connections.
"""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from types import FrameType
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

import structlog
import uvicorn
from django.conf import settings
from django.template.loader import get_template
from django.utils import timezone

from dealsite.front_door.application import ID_PLACE, Application, FrontDoor, answer_of
from dealsite.front_door.connections import Connections, Limits, limits_from_settings
from dealsite.processes import heartbeat
from dealsite.processes.launcher import BACKLOG, tell_that_it_serves
from dealsite.search import site_index
from dealsite.web import builds, counting, log_lines, readiness
from dealsite.wsgi import application

STOP_SECONDS = 8  # for what is running; the supervisor kills after ten
OWN_FILES = 44  # that a process needs besides connections and the bodies that come over them
logger = structlog.get_logger(__name__)


class WebServer(uvicorn.Server):
    """Says at once, and not only at its end, that it should get no more visitors; `heart` says that it lives."""

    def __init__(self, config: uvicorn.Config, connections: Connections, tells: int | None) -> None:
        super().__init__(config)
        self._connections, self._tells = connections, tells
        self._ends_at = float("inf")
        self._ending = threading.Event()
        self.heart = threading.Thread(
            target=heartbeat.keep, args=(self._ending, "web"), name="heartbeat", daemon=True
        )
        self._follower = threading.Thread(
            target=site_index.follow, args=(self._ending,), name="search-follower", daemon=True
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and tell the launcher."""
        await super().startup(sockets)
        tell_that_it_serves(self._tells)
        self.heart.start()
        if site_index.is_shared():
            self._follower.start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End: at once by SIGINT, since another process serves in its place; by SIGTERM when it has drained."""
        self._connections.are_last = True
        if sig != signal.SIGINT:
            readiness.of_process.is_stopping = True
        if sig == signal.SIGINT or heartbeat.ending or not settings.DEALSITE_DRAIN_SECONDS:
            super().handle_exit(sig, frame)
        else:
            self._ends_at = min(self._ends_at, time.monotonic() + settings.DEALSITE_DRAIN_SECONDS)

    async def on_tick(self, counter: int) -> bool:
        """Look, ten times a second, if it is time to end."""
        self.should_exit = self.should_exit or time.monotonic() >= self._ends_at
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is running; the signal ends the process right after this, so all has to be done."""
        self._ending.set()
        await super().shutdown(sockets)
        if self.heart.is_alive():
            await asyncio.to_thread(self.heart.join, heartbeat.END_SECONDS)


def web_server(door: FrontDoor, bounds: Limits, tells: int | None = None) -> WebServer:
    """Make the server of one process, which finishes what is running when it is told to stop."""
    connections = Connections(bounds)
    config = uvicorn.Config(
        door,
        interface="asgi3",
        http=connections.protocol,  # type: ignore[arg-type]
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
        backlog=BACKLOG,
    )
    return WebServer(config, connections, tells)


def with_open_files(bounds: Limits) -> Limits:
    """Allow this process the open files that its connections take, or take fewer connections and say so."""
    files, most = bounds.connections * 2 + 500, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files if most < 0 else min(files, most), most))
    fitting = max(1, (most - OWN_FILES) // 2)
    if most < 0 or fitting >= bounds.connections:
        return bounds
    logger.warning("few_open_files", limit=most, connections=fitting, wanted=bounds.connections)
    return replace(bounds, connections=fitting)


def keep_static_files() -> None:
    """Let other builds find this one's static files; where they cannot be kept, this build's pages have them still."""
    try:
        builds.keep(settings.STATIC_ROOT, builds.Folder(settings.DEALSITE_STATIC_FOLDER), now=timezone.now())
    except OSError as error:
        logger.warning("static_files_not_kept", reason=str(error))


def serve(listening: socket.socket, tells: int | None = None) -> None:
    """Answer until SIGTERM; the launcher hears at `tells` that this process has begun to."""
    log_lines.note_uncaught()
    keep_static_files()
    bounds = with_open_files(limits_from_settings())
    warm_up(application)
    counting.begin("web")
    door = FrontDoor(application, get_template("503.html").render({"request_id": ID_PLACE}))
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises again the signal that ended it
        web_server(door, bounds, tells).run(sockets=[listening])


# Finding its view imports all of them, and it has what all pages have. Without the table's answer it is whole as well,
# after the seconds that any page waits. Where nothing is searched for, nothing is counted.
PAGE = "/search/"
PUBLIC = "shopping/catalogue"


def warm_up(application: Application) -> None:
    """Read the templates of the public pages, and make one page as for a visitor; 1 request at most."""
    folder = settings.BASE_DIR / "templates"
    for template in sorted((folder / PUBLIC).glob("*.html")):
        get_template(str(template.relative_to(folder)))
    own = urlsplit(settings.DEALSITE_URL)
    environ = {"PATH_INFO": PAGE, "HTTP_HOST": own.netloc, "wsgi.url_scheme": own.scheme}
    setup_testing_defaults(environ)  # what else WSGI asks for
    answer_of(application, environ).close()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    serve(socket.socket(fileno=int(sys.argv[1])), *map(int, sys.argv[2:]))
