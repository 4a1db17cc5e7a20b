"""The further files of a picture, AVIF at several widths, which a job makes outside the request.

A picture is shown from the moment it is stored, by the files that the request made. A page names the further
ones only once all of them are there. The job says so by a file of its own, its mark, empty and written last, whose name
says for which widths: what a release of other widths has made is made anew. On a disk a page looks whether it is
there, which takes microseconds; a bucket is asked in the background, and until it has answered the page shows what it
can be sure of (docs/decisions/0018-renditions.md).
"""

import io
import os
import queue
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.core.files.storage import FileSystemStorage, default_storage
from django.http import FileResponse, Http404, HttpRequest
from PIL import Image

from dealsite.data.catalogue.content import MAKE_RENDITIONS, RenditionsCheckpoint, RenditionsPayload
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.pictures import encoding, uploads
from dealsite.web.pages import CLOSED, everyone, open_while

PICTURE_FILE = re.compile(r"pictures/[0-9a-f]{2}/[0-9a-f]{32}-[0-9]{2,4}\.(webp|avif)")


@everyone.feed("none")
@open_while(*CLOSED)
def serve_picture(request: HttpRequest, name: str) -> FileResponse:
    """Answer with one stored picture; only names that uploads.py makes exist here."""
    known = PICTURE_FILE.fullmatch(name)
    if not known:
        raise Http404
    try:
        file = default_storage.open(name)
    except FileNotFoundError:
        raise Http404 from None
    response = FileResponse(file, content_type=TYPES[known[1]])
    response["Cache-Control"] = "public, max-age=31536000, immutable"  # the name changes with the content
    response["X-Content-Type-Options"] = "nosniff"
    return response


WIDTHS = (96, 320, 480, 800, 1200)
AVIF, WEBP = "avif", "webp"
TYPES = {AVIF: "image/avif", WEBP: "image/webp"}
OPTIONS = {"quality": 60, "speed": 6}
SECONDS_AT_A_TIME = 5.0  # then other jobs have their turn
MARK = "".join(f"-{width}" for width in WIDTHS) + ".made"
ASK_AGAIN = 30.0  # seconds after a bucket has said no
WAITING = 500  # pictures that a bucket is to be asked for; more are asked for another time
REMEMBERED = 100_000

monotonic: Callable[[], float] = time.monotonic  # replaced in tests
logger = structlog.get_logger(__name__)


# Making them


def make_renditions(job: Job, now: datetime) -> datetime | None:
    """Make the files of the pictures that a job names, one picture after the other; what is there is left."""
    names = payload_from_item(RenditionsPayload, job.payload).pictures
    began = monotonic()
    for number in range(payload_from_item(RenditionsCheckpoint, job.checkpoint).done, len(names)):
        make(names[number])
        spent = timedelta(seconds=monotonic() - began)
        if spent.total_seconds() >= SECONDS_AT_A_TIME and number + 1 < len(names):
            jobs.save_checkpoint(job, payload_to_item(RenditionsCheckpoint(number + 1)), now=now + spent)
            return now + spent
    return None


HANDLERS: dict[str, Handler] = {MAKE_RENDITIONS: make_renditions}


def make(name: str) -> bool:
    """Make the files of a picture that are missing; False if they are all there, or the picture is gone.

    Killed anywhere, it goes on where it was: the file that says that all are there is written last.
    """
    if default_storage.exists(made_name(name)):
        return False
    source = next((file for file in _sources(name) if default_storage.exists(file)), None)
    if source is None:
        logger.warning("picture_gone", picture=name)
        return False
    with default_storage.open(source) as file:
        image = Image.open(io.BytesIO(file.read()))
        image.load()
    for width in sorted(WIDTHS, reverse=True):
        encoding.fit(image, width)
        content = encoding.as_file(image, "AVIF", **OPTIONS)
        uploads.save_file(uploads.file_name(name, width, AVIF), content, TYPES[AVIF])
    uploads.save_file(made_name(name), b"", "application/octet-stream")
    return True


def made_name(name: str) -> str:
    """Return the name of the file that says that all files of a picture are there, at all widths of now."""
    return name + MARK


def _sources(name: str) -> tuple[str, ...]:
    """Return what a picture can be made from, the best first: pictures of before had no original."""
    return uploads.original_name(name), uploads.file_name(name, encoding.WIDTHS[-1])


# Knowing of them


def are_made(name: str) -> bool:
    """Tell whether all files of a picture are known to be there. No waiting for a storage elsewhere."""
    if isinstance(default_storage, FileSystemStorage):
        return os.path.exists(f"{default_storage.location}/{made_name(name)}")  # noqa: PTH110 - half the time of Path
    return _bucket.says(name)


class Bucket:
    """What this process knows of a storage that is asked over the network: once yes, always yes."""

    def __init__(self) -> None:
        self._made: set[str] = set()
        self._asked: dict[str, float] = {}
        self._questions: queue.Queue[str] = queue.Queue(WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def says(self, name: str) -> bool:
        """Tell what is known of a picture; ask in the background where that is nothing."""
        if name in self._made:
            return True
        if monotonic() - self._asked.get(name, -ASK_AGAIN) >= ASK_AGAIN:
            self._ask_later(name)
        return False

    def ask(self, name: str) -> None:
        """Ask the storage, and remember a yes."""
        if default_storage.exists(made_name(name)):
            with self._lock:
                if len(self._made) >= REMEMBERED:
                    self._made.clear()
                self._made.add(name)
                self._asked.pop(name, None)

    def _ask_later(self, name: str) -> None:
        with self._lock:
            try:
                self._questions.put_nowait(name)
            except queue.Full:
                return
            if len(self._asked) >= REMEMBERED:
                self._asked.clear()
            self._asked[name] = monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._answer, name="renditions", daemon=True)
                self._thread.start()

    def _answer(self) -> None:
        while True:
            name = self._questions.get()
            try:
                self.ask(name)
            except Exception as error:  # noqa: BLE001 - the storage does not answer: pages go on without
                logger.warning("renditions_unknown", picture=name, error=repr(error))


_bucket = Bucket()
