"""Runs one child process and starts it again when it dies."""

import contextlib
import functools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from dealsite.engine.namespace import end_with_parent
from dealsite.processes import orphans

FAILURES = 5  # so many in a row, each before QUICK_SECONDS were over, are no accident any more
QUICK_SECONDS = 10.0
PAUSE, LONGEST_PAUSE = 0.01, 30.0  # doubled with each failure
KILLED = "SIGKILL"  # which is never a process's own doing

logger = structlog.get_logger(__name__)


def name_of(code: int) -> str:
    """How a process ended, by its return code: "status 1" or "SIGKILL"."""
    if code >= 0:
        return f"status {code}"
    return next((one.name for one in signal.Signals if one == -code), f"signal {-code}")


class Supervisor:
    """Keeps one command running until stop(); `failed` is set when it is given up, and `ended` says how it ended last.

    What is needed is given up when it fails again and again; anything else is tried for ever, after longer and longer
    pauses.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
        output: int | None = None,
        *,
        input: int = subprocess.DEVNULL,  # noqa: A002 - what Popen's own functions call it
        umask: int = -1,
        pass_fds: Sequence[int] = (),
        is_needed: bool = True,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.pid: int | None = None  # None between two processes
        self.restarts = 0
        self.ended = ""
        self.failed = threading.Event()
        self._environ, self._folder, self._output = environ, folder, output
        self._input, self._umask, self._pass_fds = input, umask, pass_fds
        self.is_needed = is_needed
        self._stopping = threading.Event()
        self._started = threading.Event()
        self._lock = threading.Lock()  # held while the process is reaped: then its id may be another's
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._keep, name=f"keep-{name}", daemon=True)

    def start(self) -> None:
        """Start the command; OSError when it cannot be started at all."""
        self._thread.start()
        self._started.wait()
        if self._error:
            raise self._error

    def ask_to_end(self, number: int = signal.SIGTERM) -> None:
        """Tell the process to end, once, and start no other."""
        with self._lock:
            if self.pid and not self._stopping.is_set():
                os.kill(self.pid, number)
            self._stopping.set()

    def stop(self, patience: float = 10) -> None:
        """Ask the process to end, wait for it, and kill what is left of its group."""
        self.ask_to_end()
        if self._thread.ident is None:
            return
        self._thread.join(patience)
        with self._lock:
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)
        self._thread.join(patience)

    def _keep(self) -> None:
        # The kernel sends the death signal when the thread that forked ends: so this one waits, too.
        try:
            self._run_again_and_again()
        finally:
            if not self._stopping.is_set():
                self.failed.set()
            self._started.set()

    def _run_again_and_again(self) -> None:
        failures = 0
        while True:
            began = time.monotonic()
            try:
                self.ended = self._run()
            except OSError as error:
                if not self._started.is_set():
                    self._error = error
                    return
                self.ended = str(error)
            ran = time.monotonic() - began
            failures = 0 if ran >= QUICK_SECONDS else failures + (self.ended != KILLED)
            if self.is_needed and failures >= FAILURES:
                return
            if self._stopping.wait(min(PAUSE * 2**failures, LONGEST_PAUSE)):
                return
            self.restarts += 1
            logger.warning(
                "part_restarted", part=self.name, restarts=self.restarts, ended=self.ended, ran=round(ran, 1)
            )

    def _run(self) -> str:
        """Run the process until it ends, kill what it leaves behind, and return how it ended."""
        with self._lock:
            if self._stopping.is_set():
                return ""
            process = self._start()
        self._started.set()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            # Its id is nobody else's before it is waited for; nor is that of its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code, self.pid = process.wait(), None
            orphans.parts.discard(process.pid)
        orphans.end_adopted()
        return name_of(code)

    def _start(self) -> subprocess.Popen[bytes]:
        with orphans.STARTING:
            # A group of its own: Ctrl-C reaches the launcher alone, which ends its children in order.
            process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self._environ,
                stdin=self._input,
                stdout=self._output,
                stderr=self._output,
                umask=self._umask,
                process_group=0,
                pass_fds=self._pass_fds,
                # A child must not outlive a launcher that was killed: it would go on holding the data and the port.
                preexec_fn=functools.partial(end_with_parent, os.getpid(), signal.SIGKILL),
            )
            orphans.parts.add(process.pid)
        self.pid = process.pid
        return process
