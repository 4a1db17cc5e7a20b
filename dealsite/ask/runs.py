"""Questions that are being answered, and what came of them: a folder each, for an hour or until 100 newer ones.

A child process (see `child`) answers, and page after page can look how far it is. It ends with the web process
that started it. Whether it still works says a file that it keeps locked; how long it may work it has been told
in a way that the kernel enforces.

    var/ask/<run>/   question.json   answer   progress   working (locked while it works)   ended
    var/ask/slots/   a file for each question that may be answered at the same time, in all and of each person

The questions that come with the site are a .sql file each, in the order of their numbers.
"""

import contextlib
import csv
import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _

from dealsite.ask.lake import Lake, keeps_reach
from dealsite.data.table.errors import Invalid, NotFound, TooManyRequests
from dealsite.data.table.ids import from_iso, hash_of, is_ulid, iso, time_of
from dealsite.processes.orphans import first_free
from dealsite.stream.rebuilding import is_locked
from dealsite.text.writing import safe_cell

NUMBERS = re.compile(r"(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U\w*INT|FLOAT|DOUBLE|DECIMAL.*)")
TIMES = re.compile(r"(DATE|TIMESTAMP.*)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer; `type` is DuckDB's."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        return NUMBERS.fullmatch(self.type) is not None

    @property
    def is_whole(self) -> bool:
        return self.is_number and "INT" in self.type

    @property
    def is_time(self) -> bool:
        return TIMES.fullmatch(self.type) is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """All rows of an answer as the child wrote them; `more` if there were more than an answer may have."""

    columns: list[Column]
    rows: list[list[Any]]
    more: bool
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question was not answered, in words for whoever asked."""

    why: str


def read_answer(path: Path) -> Answer | Refusal | None:
    """Return what a child has written, or None if it broke off."""
    try:
        lines = path.read_text("ascii").splitlines()
        parts = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return None
    if not parts or not isinstance(parts[-1], dict):
        return None
    if "refused" in parts[-1]:
        return Refusal(str(parts[-1]["refused"]))
    if "end" not in parts[-1] or "columns" not in parts[0]:
        return None
    columns = [Column(name, kind) for name, kind in parts[0]["columns"]]
    end = parts[-1]["end"]
    return Answer(columns, parts[1:-1], bool(end["more"]), int(end["milliseconds"]))


def as_csv(answer: Answer) -> Iterator[str]:
    """Yield an answer as CSV, line by line; no cell of it is a formula to a spreadsheet."""
    yield "\ufeff" + _csv_line([safe_cell(column.name) for column in answer.columns])
    for row in answer.rows:
        cells = zip(answer.columns, map(_text, row), strict=True)
        yield _csv_line([text if column.is_number else safe_cell(text) for column, text in cells])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _text(value: Any) -> str:
    return "" if value is None else str(value)


FOLDER = Path(__file__).parent / "ready"
FILE = re.compile(r"\d\d-(?P<slug>[a-z-]+)\.sql")
HEAD = re.compile(r"-- (?P<title>[^\n]+)\n-- (?P<about>[^\n]+)\n")


@dataclass(frozen=True, slots=True)
class ReadyQuestion:
    """A question with its title, and a sentence about what the answer holds."""

    slug: str
    title: str
    about: str
    sql: str


@cache
def ready_questions() -> dict[str, ReadyQuestion]:
    """Return the ready questions by slug: the first comment of each file is its title, the second what it is about."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        name = FILE.fullmatch(path.name)
        text = path.read_text("utf-8")
        head = HEAD.match(text)
        if name and head:
            slug = name["slug"]
            found[slug] = ReadyQuestion(slug, head["title"], head["about"], text[head.end() :].strip())
    return found


CHILD = Path(__file__).parent / "child.py"
KEPT = timedelta(hours=1)
MOST = 100  # runs that are kept
GRACE = 5.0  # seconds after a child should have ended by itself
SLOTS = 4  # questions that are answered at the same time,
SLOTS_EACH = 2  # and those of one person
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
        found = read_answer(self.folder / "answer")
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
    """Ask a question of a snapshot under a new id; wait so many seconds for its end.

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
        child = _child(folder, taken, sql, lake, limits)
        try:
            _note_end(folder, child.wait(patience))
        except subprocess.TimeoutExpired:
            rest = (folder, child, limits.seconds + GRACE)
            threading.Thread(target=_watch, args=rest, daemon=True).start()
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
            "folders": {table.name: table.folder for table in lake.tables},
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
    found = read_answer(folder / "answer")
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
