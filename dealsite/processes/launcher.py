"""Runs a whole site: its engine, its table, its worker and its web server, and ends them together."""

import contextlib
import io
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

from dealsite import environment
from dealsite.checks import DEMO_LOADED, settings_that_are_none
from dealsite.data.people import users
from dealsite.demo.people import ADMIN, SIGN_INS
from dealsite.engine import server
from dealsite.engine.supervisor import Supervisor
from dealsite.front_door.limits import BACKLOG
from dealsite.install import assets
from dealsite.processes import orphans, parts, ports
from dealsite.processes.data_folder import LaunchError, Say, make_data_folder, only_one, own_engine
from dealsite.site_setup import tables

WORKERS = 2
SITE_SECONDS = 60.0  # until the web server answers


class Stopped(BaseException):
    """Ctrl-C, or somebody asked this process to end."""


@dataclass(frozen=True)
class LaunchPlan:
    """What to run: the port and address to serve at, and whether for developing."""

    port: int
    host: str = server.HOST
    dev: bool = False
    workers: int = WORKERS


def serve(plan: LaunchPlan, say: Say) -> None:
    """Run web processes alone, until a signal ends them; what else a site needs runs elsewhere."""
    with contextlib.suppress(Stopped), stopped_by_signals(), no_orphans(say), ExitStack() as stack:
        settings.VAR.mkdir(mode=0o700, parents=True, exist_ok=True)  # at Amazon nothing else makes it
        check_code()
        listening = stack.enter_context(listener(plan))
        children = [stack.enter_context(one) for one in web_processes(plan, listening)]
        say(f"{settings.DEALSITE_NAME} listens at {plan.host}:{plan.port}.")
        watch(children, None)
    say("Stopped.")


def run(plan: LaunchPlan, say: Say) -> None:
    """Run the site until a signal ends it; LaunchError when a part of it does not start or stay up."""
    with contextlib.suppress(Stopped), stopped_by_signals(), no_orphans(say), ExitStack() as stack:
        if not server.port_is_free(plan.port, plan.host):
            raise port_is_taken(plan)
        make_data_folder(say)
        for finding in settings_that_are_none():
            say(f"Warning: {finding.msg} {finding.hint}")
        stack.enter_context(only_one(settings.VAR))
        engine = stack.enter_context(own_engine(settings.VAR, say)) if settings.DEALSITE_EMBEDDED else None
        if not plan.dev:  # runserver shows an error and waits until it is repaired
            check_code()
        made = prepare_table(say)
        for lacking in tables.no_admin() if not wants_demo() else ():
            say(f"{lacking.text} {lacking.todo}")
        if engine is not None:
            # Not before there is a table: a folder with this file is one that was in use.
            environment.write_engine_env(settings.VAR, engine.url, settings.DEALSITE_TABLE)
            load_demo_once(made, say)
        listening = None if plan.dev else stack.enter_context(listener(plan))
        children = [stack.enter_context(child) for child in started(plan, listening)]
        if engine is not None:
            children.append(engine.supervisor)
        web = children[0]
        server.wait_until(lambda: server.answers(plan.port, plan.host), web, SITE_SECONDS)
        say(welcome(plan, demo=engine is not None))
        watch(children, engine, settings.VAR)
    say("Stopped.")


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Turn the first signal to end into Stopped; later ones do not disturb the ending."""

    def end(number: int, _frame: FrameType | None) -> None:
        for one in signals:
            signal.signal(one, signal.SIG_IGN)
        raise Stopped

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {one: signal.signal(one, end) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


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


def check_code() -> None:
    """Load what the web server will load: it would try a broken application again and again.

    A site with https is not for this machine alone, so what is unsafe there keeps it from starting.
    """
    call_command("check", deploy=settings.HTTPS, stdout=io.StringIO())
    get_wsgi_application()


def prepare_table(say: Say) -> bool:
    """Make what is missing of the table, and say how an existing one differs; True if it was made."""
    made = tables.prepare()
    for finding in tables.problems():
        say(f"Warning: {finding.text} {finding.todo}")
    return made


def load_demo_once(table_is_new: bool, say: Say) -> None:
    """Load the demo content unless that was finished before, or DEALSITE_DEMO says no; never into a public site."""
    marker = settings.VAR / DEMO_LOADED
    if table_is_new:
        marker.unlink(missing_ok=True)
    if marker.exists() or not wants_demo() or _is_somebodys(table_is_new):
        return
    say("Loading the demo content ...")
    call_command("load_demo")
    marker.touch()


def wants_demo() -> bool:
    """Tell whether a table of our own is for the demo, if it is empty."""
    return environment.value("DEALSITE_DEMO") and not settings.HTTPS


def _is_somebodys(table_is_new: bool) -> bool:
    """Tell whether somebody has made a site of their own here, whose admin is not the demo's."""
    return not table_is_new and users.count() > 0 and users.find(ADMIN.username) is None


def port_is_taken(plan: LaunchPlan) -> LaunchError:
    by = ports.holder(plan.port) or "another program"
    return LaunchError(
        f"Port {plan.port} is taken by {by}. Choose another one: make run PORT={plan.port + 1}"
    )


def listener(plan: LaunchPlan) -> socket.socket:
    """Open the socket that all web processes share: while one is started again, clients wait and are not refused."""
    family = socket.AF_INET6 if ":" in plan.host else socket.AF_INET
    try:
        return socket.create_server((plan.host, plan.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise port_is_taken(plan) from error


def started(
    plan: LaunchPlan, listening: socket.socket | None
) -> Iterator[contextlib.AbstractContextManager[Supervisor]]:
    """The web server first, then what works beside it."""
    environ = child_environ(plan)
    manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
    if listening is None:
        environ["DEALSITE_DEBUG"] = "yes"
        yield child("web server", [*manage, "runserver", f"{plan.host}:{plan.port}"], environ)
        command, node_environ = assets.css_command(watch=True)
        yield child("CSS compiler", command, {**environ, "PATH": node_environ["PATH"]}, is_needed=False)
    else:
        yield from web_processes(plan, listening)
    yield child("worker", [*manage, "worker"], environ, is_needed=False)


def web_processes(
    plan: LaunchPlan, listening: socket.socket
) -> Iterator[contextlib.AbstractContextManager[Supervisor]]:
    """The processes that answer at a socket."""
    fd = listening.fileno()
    for number in range(1, plan.workers + 1):
        command = [sys.executable, "-m", "dealsite.front_door.process", str(fd)]
        yield child(f"web process {number}", command, child_environ(plan), pass_fds=(fd,))


def child_environ(plan: LaunchPlan) -> dict[str, str]:
    """The environment of what this process starts."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "dealsite.settings",
        "DEALSITE_VAR": str(settings.VAR),
        "PORT": str(plan.port),
        "PYTHONUNBUFFERED": "1",
    } | orphans.mark(settings.VAR)


@contextlib.contextmanager
def child(
    name: str,
    command: list[str],
    environ: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    *,
    is_needed: bool = True,
) -> Iterator[Supervisor]:
    """Keep a command running for the time of the block."""
    supervisor = Supervisor(name, command, environ, settings.BASE_DIR, pass_fds=pass_fds, is_needed=is_needed)
    try:
        supervisor.start()
        yield supervisor
    finally:
        supervisor.stop()


def watch(children: list[Supervisor], engine: server.Engine | None, var: Path | None = None) -> None:
    """Until a signal comes: look after the engine, note restarts in a data folder, notice a child given up."""
    pause = threading.Event()
    noted = None
    while True:
        for one in children:
            if one.failed.is_set():
                raise LaunchError(
                    f"The {one.name} ended again and again ({one.ended}); what it said stands above."
                )
        restarts = [one.restarts for one in children]
        if var and restarts != noted:
            noted = restarts
            parts.note(var, children)
        orphans.end_adopted()
        if engine is not None:
            engine.look_after()
        pause.wait(0.5)


def welcome(plan: LaunchPlan, *, demo: bool) -> str:
    """What to say when the site is up: where it is, and who can sign in."""
    lines = ["", f"{settings.DEALSITE_NAME} runs at http://{plan.host}:{plan.port}/  (Ctrl-C stops it)"]
    if demo and (settings.VAR / DEMO_LOADED).exists():
        lines += ["", "Demo sign-ins:"]
        lines += [f"  {role:<12}{username:<16}{password}" for role, username, password in SIGN_INS]
    return "\n".join([*lines, ""])
