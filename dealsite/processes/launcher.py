"""Runs a whole site on a data folder of its own: its engine, its table, its worker and its web server.

Parts are started in order, replaced one after the other, and ended together. A data folder is used by one site at a
time.
"""

import contextlib
import fcntl
import functools
import io
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.core.wsgi import get_wsgi_application

from dealsite import checks, environment, home, site_setup
from dealsite.checks import DEMO_LOADED, settings_that_are_none
from dealsite.data import table
from dealsite.data.people import users
from dealsite.data.table.errors import DataError
from dealsite.demo.people import ADMIN, SIGN_INS
from dealsite.engine import database, programs, server
from dealsite.engine.programs import EngineError
from dealsite.engine.server import Supervisor, wait_until
from dealsite.install import packages
from dealsite.processes import orphans
from dealsite.processes.orphans import write_whole
from dealsite.web.readiness import PARTS

Say = Callable[[str], None]
BACKLOG = 512  # connections that the kernel holds while no process takes them


class LaunchError(Exception):
    """The site cannot run; the message says what to do about it."""


def make_data_folder(say: Say) -> None:
    """Make the data folder for its owner alone, or take from others what rights they have to it."""
    if problem := environment.unwritable(settings.VAR):
        raise LaunchError(problem)
    for path in programs.make_private(settings.VAR):
        say(f"Others could read {path}: from now on only its owner can.")


@contextlib.contextmanager
def only_one(var: Path) -> Iterator[None]:
    """Lock the data folder itself, since a file in it may be deleted; the system frees it however this process ends."""
    folder = os.open(var, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with (var / "lock").open("a+") as file:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise LaunchError(
                    f"Another site runs on the data in {var} (process {holder})."
                    " Stop it, or name another data folder with DEALSITE_VAR."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
        yield
    finally:
        os.close(folder)


@contextlib.contextmanager
def own_engine(var: Path, say: Say) -> Iterator[server.Engine]:
    """Run the data folder's engine, and point this process at it."""
    kind = programs.kind_for(var)
    if kind == "local":
        say("Using DynamoDB Local.")
    database.check_there(var)
    with server.Engine(var, kind) as engine:
        if engine.exposed:
            say(f"Warning: {checks.exposed(engine.url, engine.exposed)}")
        # settings were read before the engine had an endpoint; children read it from engine.env.
        settings.DYNAMODB_ENDPOINT_URL = engine.url
        table.reset()
        try:
            yield engine
        except DataError as error:
            raise database.explained(var, str(error)) from error


@contextlib.contextmanager
def engine_at_hand(say: Say) -> Iterator[server.Engine | None]:
    """Run the data folder's engine meanwhile; yield None where a site runs on it, or the table is elsewhere."""
    with ExitStack() as stack:
        if not settings.DEALSITE_EMBEDDED:
            yield None
            return
        try:
            stack.enter_context(only_one(settings.VAR))
        except LaunchError:
            yield None
            return
        yield stack.enter_context(own_engine(settings.VAR, say))


SERVES_SECONDS = 60.0  # until a web process answers
END_SECONDS = 10.0  # for what a part is doing, once it is told to end

logger = structlog.get_logger(__name__)


def tell_that_it_serves(tells: int | None) -> None:
    """Tell the launcher that this process has begun its work, where one listens."""
    if tells is not None:
        with contextlib.suppress(OSError):  # nobody listens any more
            os.write(tells, b"%d\n" % os.getpid())


class Children:
    """Supervisors that run. Of those that serve, each process writes its id to the pipe `tells` when it begins to."""

    def __init__(self) -> None:
        self._hears, self.tells = os.pipe2(os.O_NONBLOCK)
        self._serving = set[int]()
        self._made: list[tuple[Callable[[], Supervisor], bool]] = []
        self._leaving: list[Supervisor] = []
        self.running: list[Supervisor] = []

    def start(self, make: Callable[[], Supervisor], *, serves: bool = False) -> None:
        """Start a part; with `serves`, it is one that will write to `tells` once it has begun its work."""
        self._made.append((make, serves))
        self.running.append(make())
        self.running[-1].start()

    def wait_until_they_serve(self) -> None:
        """Wait until every part does that serves and is needed; EngineError where one does not come to it."""
        for (_, serves), one in zip(self._made, self.running, strict=True):
            if serves and one.is_needed:
                self._wait_for(one)

    def replace(self) -> bool:
        """Start every part anew, each beside the one that it replaces; tell whether all of them came up.

        The new one serves before the old one is told to end, and where it does not, the old one goes on.
        """
        for number, (make, serves) in enumerate(self._made):
            new = make()
            self._leaving.append(new)  # ended with the others, should a signal come
            try:
                new.start()
                if serves:
                    self._wait_for(new)
            except (EngineError, OSError) as error:
                new.stop()
                self._leaving.clear()
                logger.error("reload_failed", part=new.name, reason=str(error))
                return False
            self._leaving, old = [self.running[number]], self.running[number]
            self.running[number] = new
            old.ask_to_end(signal.SIGINT)  # which a web process understands: another one serves already
            old.stop(END_SECONDS)
            self._leaving.clear()
        logger.info("reloaded", parts=len(self.running))
        return True

    def stop(self, drain: float = 0) -> None:
        """End all parts at the same time; web processes go on for the seconds that they drain."""
        every = [*self._leaving, *self.running]
        for one in every:
            one.ask_to_end()
        for one in reversed(every):
            one.stop(END_SECONDS + drain)
        os.close(self._hears)
        os.close(self.tells)

    def _wait_for(self, one: Supervisor) -> None:
        wait_until(lambda: one.pid in self._heard(), one, SERVES_SECONDS)

    def _heard(self) -> set[int]:
        with contextlib.suppress(BlockingIOError):
            self._serving.update(map(int, os.read(self._hears, 65_536).split()))
        return self._serving


# Memory that pictures, files and indexes took, and nobody needs any more, goes back to the system.
GIVES_BACK = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
WORKERS = 2
FIRST_FD = 3  # sd_listen_fds(3)
DEALSITE = (sys.executable, "-m", "dealsite")


@dataclass(frozen=True)
class LaunchPlan:
    """What to run: the port and address to serve at, and whether for developing."""

    port: int
    host: str = server.HOST
    dev: bool = False
    workers: int = WORKERS


class Stopped(BaseException):
    """Ctrl-C, or somebody asked this process to end."""


@contextlib.contextmanager
def caught() -> Iterator[threading.Event]:
    """Turn the first signal to end into Stopped; later ones do not disturb the ending. SIGHUP sets the event.

    Under a terminal SIGHUP ends the site as well: its window was closed.
    """
    reload = threading.Event()

    def end(number: int, _frame: FrameType | None) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise Stopped

    handlers = {signal.SIGINT: end, signal.SIGTERM: end}
    handlers[signal.SIGHUP] = end if has_terminal() else lambda *_: reload.set()
    before = {one: signal.signal(one, handler) for one, handler in handlers.items()}
    try:
        yield reload
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def has_terminal() -> bool:
    """Tell whether this process belongs to a terminal: SIGHUP then says that its window was closed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def serve(plan: LaunchPlan, say: Say) -> None:
    """Run web processes alone, until a signal ends them; what else a site needs runs elsewhere."""
    open_standard_streams()
    with contextlib.suppress(Stopped), caught() as reload, no_orphans(say), ExitStack() as stack:
        settings.VAR.mkdir(mode=0o700, parents=True, exist_ok=True)  # at Amazon nothing else makes it
        apart(check_code)
        listening = stack.enter_context(listener(plan))
        children = stack.enter_context(started(plan, listening))
        say(f"{settings.DEALSITE_NAME} listens at {plan.host}:{plan.port}.")
        children.wait_until_they_serve()
        watch(children, reload)
    say("Stopped.")


def run(plan: LaunchPlan, say: Say) -> None:
    """Run the site until a signal ends it; LaunchError when a part of it does not start or stay up."""
    open_standard_streams()
    with contextlib.suppress(Stopped), caught() as reload, no_orphans(say), ExitStack() as stack:
        listening = stack.enter_context(listener(plan))
        if plan.dev:
            listening.close()  # runserver opens its own
        make_data_folder(say)
        for lacking in settings_that_are_none():
            say(f"Warning: {lacking.msg} {lacking.hint}")
        stack.enter_context(only_one(settings.VAR))
        engine = stack.enter_context(own_engine(settings.VAR, say)) if settings.DEALSITE_EMBEDDED else None
        if not plan.dev:  # runserver shows an error and waits until it is repaired
            apart(check_code)
        made = site_setup.prepare()
        for finding in site_setup.problems():
            say(f"Warning: {finding.text} {finding.todo}")
        for finding in site_setup.no_admin() if not wants_demo() else ():
            say(f"{finding.text} {finding.todo}")
        if engine is not None:
            # Not before there is a table: a folder with this file is one that was in use.
            environment.write_engine_env(settings.VAR, engine.url, settings.DEALSITE_TABLE)
            load_demo_once(made, say)
        children = stack.enter_context(started(plan, None if plan.dev else listening, is_whole=True))
        children.wait_until_they_serve()
        if plan.dev:
            server.wait_until(
                lambda: server.answers(plan.port, plan.host), children.running[0], SERVES_SECONDS
            )
        say(welcome(plan, demo=engine is not None))
        watch(children, reload, engine, settings.VAR)
    say("Stopped.")


@contextlib.contextmanager
def no_orphans(say: Say) -> Iterator[None]:
    """End what an earlier run left behind, and whatever this one would leave."""
    orphans.adopt()
    for one in orphans.end_earlier(settings.VAR):
        say(f"Ended {one}, which an earlier run on {settings.VAR} had left behind.")
    try:
        yield
    finally:
        orphans.end_adopted()


def apart(work: Callable[[], None]) -> None:
    """Do some work in a process of its own, whose memory goes with it; SystemExit where that fails, and says why."""

    def told() -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)
        try:
            work()
        except (CommandError, ImproperlyConfigured) as error:
            sys.exit(f"{type(error).__name__}: {error}")

    child = multiprocessing.get_context("fork").Process(target=told)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit(child.exitcode)


def check_code() -> None:
    """Load what the web server will load: it would try a broken application again and again.

    A site with https is not for this machine alone, so what is unsafe there keeps it from starting.
    """
    call_command("check", deploy=settings.HTTPS, stdout=io.StringIO())
    get_wsgi_application()


def load_demo_once(table_is_new: bool, say: Say) -> None:
    """Load the demo content unless that was finished before, or DEALSITE_DEMO says no; never into a public site."""
    marker = settings.VAR / DEMO_LOADED
    if table_is_new:
        marker.unlink(missing_ok=True)
    if marker.exists() or not wants_demo():
        return
    if not table_is_new and users.count() > 0 and users.find(ADMIN.username) is None:
        return  # somebody has made a site of their own here, whose admin is not the demo's
    say("Loading the demo content ...")
    environ = os.environ | orphans.mark(settings.VAR) | {"DEALSITE_VAR": str(settings.VAR)}
    if code := subprocess.call([*DEALSITE, "load_demo"], env=environ):  # a process, whose memory goes with it
        sys.exit(code)
    marker.touch()


def wants_demo() -> bool:
    """Tell whether a table of our own is for the demo, if it is empty."""
    return settings.DEALSITE_DEMO and not settings.HTTPS


def open_standard_streams() -> None:
    """Open those that are closed, to nothing: a socket that got one's number would be a child's stream."""
    while (number := os.open(os.devnull, os.O_RDWR)) < FIRST_FD:
        pass
    os.close(number)


def inherited() -> socket.socket | None:
    """Return the socket that this process was started with, by systemd's protocol; None if there is none.

    Whoever gave it keeps it: while this site ends and another one starts, clients wait and are not refused.
    """
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS", "0") == "0":
        return None
    return socket.socket(fileno=os.dup(FIRST_FD))


def listener(plan: LaunchPlan) -> socket.socket:
    """The socket that all web processes share: while one is started again, clients wait and are not refused."""
    if held := inherited():
        return held
    family = socket.AF_INET6 if ":" in plan.host else socket.AF_INET
    try:
        return socket.create_server((plan.host, plan.port), family=family, backlog=BACKLOG)
    except OSError as error:
        by = orphans.port_holder(plan.port) or "another program"
        raise LaunchError(
            f"Port {plan.port} is taken by {by}. Choose another one: PORT={plan.port + 1}"
        ) from error


@contextlib.contextmanager
def started(
    plan: LaunchPlan, listening: socket.socket | None, *, is_whole: bool = False
) -> Iterator[Children]:
    """Run the web server for the time of a block; of a whole site, also what works beside it."""
    children = Children()
    environ = os.environ | orphans.mark(settings.VAR)
    environ |= {"DJANGO_SETTINGS_MODULE": "dealsite.settings", "DEALSITE_VAR": str(settings.VAR)}
    environ |= {"PORT": str(plan.port), "PYTHONUNBUFFERED": "1"}
    try:
        if listening is None:
            environ["DEALSITE_DEBUG"] = "yes"
            address = f"{plan.host}:{plan.port}"
            children.start(part("web server", [*DEALSITE, "runserver", address], environ))
            commands, node_environ = packages.compilers(watch=True)
            environ_of_node = {**environ, "PATH": node_environ["PATH"]}
            for name, command in commands.items():
                children.start(part(name, command, environ_of_node, is_needed=False))
        else:
            fds = (listening.fileno(), children.tells)
            command = [sys.executable, "-m", "dealsite.front_door.process", *map(str, fds)]
            for number in range(1, plan.workers + 1):
                children.start(part(f"web process {number}", command, environ, pass_fds=fds), serves=True)
        if is_whole:
            worker = [*DEALSITE, "worker", f"--tells={children.tells}"]
            options = {"is_needed": False, "pass_fds": (children.tells,)}
            children.start(part("worker", worker, environ | GIVES_BACK, **options), serves=True)
        yield children
    finally:
        children.stop(settings.DEALSITE_DRAIN_SECONDS)


def part(
    name: str, command: list[str], environ: Mapping[str, str], **options: Any
) -> Callable[[], Supervisor]:
    """What makes the supervisor of a part, whenever one is started."""
    return functools.partial(Supervisor, name, command, environ, home.PARTS, **options)


def watch(
    children: Children, reload: threading.Event, engine: server.Engine | None = None, var: Path | None = None
) -> None:
    """Until a signal comes: look after the engine, note restarts in a data folder, notice a child given up."""
    pause = threading.Event()
    noted = None
    while True:
        if reload.is_set():
            reload.clear()
            children.replace()
        every = [*children.running, *([engine.supervisor] if engine else ())]
        for one in every:
            if one.failed.is_set():
                raise LaunchError(
                    f"The {one.name} ended again and again ({one.ended}); what it said stands above."
                )
        restarts = [one.restarts for one in every]
        if var and restarts != noted:
            noted = restarts
            note_parts(var, every)
        orphans.end_adopted()
        if engine is not None:
            engine.look_after()
        pause.wait(0.5)


def note_parts(var: Path, supervisors: Iterable[Supervisor]) -> None:
    """Write how often each part was started again, and how it ended last; a full disk keeps no site from running."""
    found = {one.name: {"restarts": one.restarts, "ended": one.ended} for one in supervisors}
    with contextlib.suppress(OSError):
        write_whole(var / PARTS, json.dumps(found).encode())


def welcome(plan: LaunchPlan, *, demo: bool) -> str:
    """What to say when the site is up: where it is, and who can sign in."""
    lines = ["", f"{settings.DEALSITE_NAME} runs at http://{plan.host}:{plan.port}/  (Ctrl-C stops it)"]
    if demo and (settings.VAR / DEMO_LOADED).exists():
        lines += ["", "Demo sign-ins:"]
        lines += [f"  {role:<12}{username:<16}{password}" for role, username, password in SIGN_INS]
    return "\n".join([*lines, ""])
