"""Questions that are being answered, and what came of them: a folder each, for an hour or until 100 newer ones.

A child process (see `child`) answers, and page after page can look how far it is. It ends with the web process
that started it. Whether it still works says a file that it keeps locked; how long it may work it has been told
in a way that the kernel enforces.

    var/ask/<run>/   question.json   answer   progress   working (locked while it works)   ended
    var/ask/slots/   a file for each question that may be answered at the same time, in all and of each person
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from django.conf import settings
from django.utils.translation import gettext as _

from dealsite.ask import answers
from dealsite.ask.answers import Answer, Refusal
from dealsite.ask.lake import Lake, keeps_reach, lake_in
from dealsite.data.table.errors import Invalid, NotFound, TooManyRequests
from dealsite.data.table.ids import from_iso, hash_of, is_ulid, iso, time_of
from dealsite.processes.shared_files import first_free
from dealsite.stream.leases import is_locked

CHILD = Path(__file__).parent / "child.py"
KEPT = timedelta(hours=1)
MOST = 100  # runs that are kept
GRACE = 5.0  # seconds after a child should have ended by itself
SLOTS = 4  # questions that are answered at the same time,
SLOTS_EACH = 2  # and those of one person
TRIES = 3  # if the lake's files are renewed while they are read
STARTING = 0.5  # seconds in which a child that ended may still be noted


@dataclass(frozen=True, slots=True)
class Limits:
    """What an answer may take: rows, size (bytes of text), memory (bytes), seconds, threads."""

    rows: int = 5_000
    size: int = 4_000_000
    memory: int = 400_000_000
    seconds: int = 20
    threads: int = 2


ON_PAGES = Limits()


@dataclass(frozen=True, slots=True)
class Run:
    """A question that was asked; `state` is working, answered, refused, stopped or cancelled."""

    id: str
    sql: str
    title: str
    by: str
    at: datetime
    state: str
    percent: int
    why: str = ""

    @property
    def folder(self) -> Path:
        return _folder(self.id)

    def answer(self) -> Answer:
        """Return the answer; NotFound if there is none."""
        found = answers.read(self.folder / "answer")
        if not isinstance(found, Answer):
            raise NotFound(_("This question has no answer."))
        return found


def start(
    sql: str,
    *,
    run_id: str,
    by: str,
    lake: Lake,
    title: str = "",
    limits: Limits = ON_PAGES,
    patience: float = 0.0,
    on_start: Callable[[], None] = lambda: None,
) -> Run:
    """Ask a question of what a lake shows under a new id; wait so many seconds for its end.

    Invalid if there is no question, TooManyRequests if too many are being answered. `on_start` is called when it is
    sure to be asked, and not asked if that fails. Who is no user (with a space before the name) may ask any number.
    """
    if not sql.strip():
        raise Invalid(sql=_("Write a question: one SELECT."))
    folder = _folder(run_id)
    _delete_old(time_of(run_id))
    with contextlib.ExitStack() as slots:
        taken = [slots.enter_context(_slot_of(by))] if not by.startswith(" ") else []
        taken.append(slots.enter_context(_slot()))
        on_start()
        folder.mkdir(mode=0o700, parents=True)
        asked = {"sql": sql, "title": title, "by": by, "roles": sorted(lake.roles)}
        asked["at"] = iso(time_of(run_id))
        (folder / "question.json").write_text(json.dumps(asked), "ascii")
        for _try in range(TRIES):
            child = _child(folder, taken, sql, lake, limits)
            try:
                code = child.wait(patience)
            except subprocess.TimeoutExpired:
                rest = (folder, child, limits.seconds + GRACE)
                threading.Thread(target=_watch, args=rest, daemon=True).start()
                break
            _note_end(folder, code)
            found = answers.read(folder / "answer")
            if not (isinstance(found, Refusal) and found.again):
                break
            lake = lake_in(lake.folder, lake.roles)
    return look(run_id, by=by, roles=lake.roles)


def _child(
    folder: Path, slots: list[IO[str]], sql: str, lake: Lake, limits: Limits
) -> subprocess.Popen[bytes]:
    """Start the process that answers; it inherits the locks, and lets go of them when it ends."""
    with contextlib.ExitStack() as open_files:
        working = open_files.enter_context((folder / "working").open("w"))
        fcntl.flock(working, fcntl.LOCK_EX)
        progress = open_files.enter_context((folder / "progress").open("w"))
        out = open_files.enter_context((folder / "answer").open("wb"))
        child = subprocess.Popen(
            [sys.executable, "-I", "-B", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.DEVNULL,
            pass_fds=(working.fileno(), progress.fileno(), *(slot.fileno() for slot in slots)),
            env={},
            cwd=folder,
            start_new_session=True,
        )
        (folder / "pid").write_text(str(child.pid), "ascii")
        question = {
            "sql": sql,
            "views": {table.name: table.select for table in lake.tables},
            "folders": {table.name: table.folders for table in lake.tables},
            "lake": str(lake.folder),
            "progress": progress.fileno(),
            "parent": os.getpid(),
            **asdict(limits),
        }
        # If it ended already, what it left says why.
        with contextlib.suppress(BrokenPipeError), child.stdin as stdin:  # type: ignore[union-attr]
            stdin.write(json.dumps(question).encode())
    return child


def look(run_id: str, *, by: str, roles: Collection[str]) -> Run:
    """Return a run as it is now; NotFound: over for an hour, another user's, or asked with a role now gone."""
    folder = _folder(run_id)
    try:
        asked = json.loads((folder / "question.json").read_text("ascii"))
    except (OSError, ValueError):
        raise NotFound(_("This answer is no longer kept. Ask again.")) from None
    if asked["by"] != by or not keeps_reach(asked["roles"], roles):
        raise NotFound(_("This answer is no longer kept. Ask again."))
    state, why, percent = "working", "", 100
    if _works(folder):
        percent = _number_in(folder / "progress")
    else:
        state, why = _end(folder)
    return Run(run_id, asked["sql"], asked["title"], by, from_iso(asked["at"]), state, percent, why)


def cancel(run_id: str, *, by: str, roles: Collection[str]) -> Run:
    """End a run that works; one that has ended stays as it is."""
    run = look(run_id, by=by, roles=roles)
    if run.state != "working":
        return run
    try:
        process = os.pidfd_open(int((run.folder / "pid").read_text("ascii")))
    except (OSError, ValueError):
        return look(run_id, by=by, roles=roles)
    try:
        # Only while the lock is held is the number certainly the child's.
        if _works(run.folder):
            (run.folder / "cancelled").touch()
            signal.pidfd_send_signal(process, signal.SIGKILL)
    finally:
        os.close(process)
    _until(lambda: not _works(run.folder))
    return look(run_id, by=by, roles=roles)


def forget(run: Run) -> None:
    """Remove a run that nobody will look at any more."""
    shutil.rmtree(run.folder, ignore_errors=True)


def _folder(run_id: str) -> Path:
    if not is_ulid(run_id):
        raise NotFound(_("There is no such answer."))
    return Path(settings.VAR) / "ask" / run_id


def _slot() -> IO[str]:
    """Return a locked file of those for all."""
    taken = first_free(Path(settings.VAR, "ask", "slots"), range(SLOTS))
    if taken:
        return taken
    raise TooManyRequests(
        _("%(slots)s questions are being answered just now. Please wait some seconds.") % {"slots": SLOTS},
        retry_after=5,
    )


def _slot_of(by: str) -> IO[str]:
    """Return a locked file of somebody's own."""
    taken = first_free(
        Path(settings.VAR, "ask", "slots"), [f"{hash_of(by)}-{number}" for number in range(SLOTS_EACH)]
    )
    if taken:
        return taken
    raise TooManyRequests(
        _("%(slots)s of your questions are being answered just now. Wait for one of them, or cancel it.")
        % {"slots": SLOTS_EACH},
        retry_after=5,
    )


def _delete_old(now: datetime) -> None:
    """Remove what is no longer kept."""
    folders = sorted(folder for folder in (Path(settings.VAR) / "ask").glob("?" * 26) if is_ulid(folder.name))
    for number, folder in enumerate(reversed(folders), 1):
        if (number >= MOST or time_of(folder.name) < now - KEPT) and not _works(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _works(folder: Path) -> bool:
    return is_locked(folder, "working")


def _number_in(file: Path) -> int:
    """Return the number that a file holds, 0 where it holds none."""
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return 0


def _end(folder: Path) -> tuple[str, str]:
    """Return the state of a run that has ended, and why it has no answer."""
    if (folder / "cancelled").exists():
        return "cancelled", "This question was cancelled."
    found = answers.read(folder / "answer")
    if isinstance(found, Answer):
        return "answered", ""
    if isinstance(found, Refusal):
        return "refused", found.why
    _until((folder / "ended").exists)
    if not (folder / "ended").exists():  # nobody was there to note it
        return "stopped", "The site was started again before this was answered. Ask again."
    if -_number_in(folder / "ended") in (signal.SIGALRM, signal.SIGXCPU):
        return "stopped", "This took too long and was stopped. Ask for less, or for a shorter span of time."
    return "stopped", "The answer broke off: it needed more memory or room than a question may have."


def _watch(folder: Path, child: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for the end of a child; one that has shaken off its alarm is killed."""
    try:
        code = child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        code = child.wait()
    _note_end(folder, code)


def _note_end(folder: Path, code: int) -> None:
    with contextlib.suppress(OSError):  # expired meanwhile
        partly = folder / "ended.part"
        partly.write_text(str(code), "ascii")
        partly.rename(folder / "ended")


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + STARTING
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
