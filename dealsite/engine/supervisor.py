"""Runs one child process and starts it again when it dies."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

QUICK_DEATHS = 5  # so many within QUICK_SECONDS are no accident any more
QUICK_SECONDS = 10.0
PAUSE = 0.01

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """A child must not outlive a launcher that was killed: it would go on holding the data and the port."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Supervisor:
    """Keeps one command running until stop(); `failed` is set when it dies too often to be started again."""

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
    ) -> None:
        self.name = name
        self.command = list(command)
        self.restarts = 0
        self.failed = threading.Event()
        self._environ, self._folder, self._output = environ, folder, output
        self._input, self._umask, self._pass_fds = input, umask, pass_fds
        self._stopping = threading.Event()
        self._started = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._keep, name=f"keep-{name}", daemon=True)

    def start(self) -> None:
        """Start the command; OSError when it cannot be started at all."""
        self._thread.start()
        self._started.wait()
        if self._error:
            raise self._error

    @property
    def pid(self) -> int | None:
        """The process of now; None between two of them."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    def stop(self, patience: float = 10) -> None:
        """Ask the process to end, wait for it, and kill what is left of its group."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        self._thread.join(patience)

    def _spawn(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            # A group of its own: Ctrl-C reaches the launcher alone, which ends its children in order.
            self._process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self._environ,
                stdin=self._input,
                stdout=self._output,
                stderr=self._output,
                umask=self._umask,
                process_group=0,
                pass_fds=self._pass_fds,
                preexec_fn=_die_with_parent,
            )
            return self._process

    def _keep(self) -> None:
        # The kernel sends the death signal when the thread that forked ends: so this one waits, too.
        deaths: list[float] = []
        while True:
            try:
                process = self._spawn()
            except OSError as error:
                self._error = error
                self._started.set()
                self.failed.set()
                return
            if process is None:
                return
            if self._started.is_set():
                self.restarts += 1
            self._started.set()
            process.wait()
            if self._stopping.is_set():
                return
            now = time.monotonic()
            deaths = [moment for moment in deaths if now - moment < QUICK_SECONDS] + [now]
            if len(deaths) >= QUICK_DEATHS:
                self.failed.set()
                return
            self._stopping.wait(PAUSE)
