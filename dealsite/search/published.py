"""The index on several machines: one writes it and publishes what is new to the private bucket, all others fetch that.

    search/<table>/<format>/current.json    the pointer: which files make the index, and in which pack each one is
    search/<table>/<format>/<ulid>.zip      a pack: the files that were new to one commit; none ever changes

Who holds the lease of the table's stream writes: `dealsite.data.jobs.leases`. It replaces the pointer only if that is
the one that it knows, so whoever lost the lease and does not know it changes nothing. A build with another format of
the index has a lease and a folder of its own, so that machines can be upgraded one after the other.
"""

import contextlib
import re
import shutil
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import structlog
from django.core.files import File
from django.core.files.storage import storages
from django.utils import timezone

from dealsite.buckets import SEARCH, delete, files
from dealsite.data import table
from dealsite.data.jobs.leases import Lease
from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import from_iso, iso, new_ulid
from dealsite.processes.orphans import write_whole
from dealsite.search import reader
from dealsite.search.office import OfficeDocument
from dealsite.search.projection import SearchIndex
from dealsite.stream import consumer_status
from dealsite.stream.consumer_status import ConsumerStatus
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.rebuilding import TurnLost

POINTER = "current.json"
FILE = re.compile(rf"({OfficeDocument.part}/)?[0-9a-f]{{32}}\.({'|'.join(reader.PARTS)}|\d+\.del)")
PACK = re.compile(r"[0-9A-Z]{26}\.zip")
METAS = (f"{OfficeDocument.part}/{reader.META}", reader.META)  # the deals' one last: in it is the checkpoint
LOOK_SECONDS = 1.0  # between two looks at the pointer, and between two publications
SAID_SECONDS = 20.0  # between two pointers while nothing changes: others see from it that the stream is read
LEFT_SECONDS = (
    60.0  # after which a file that no pointer names any more is deleted: somebody may be reading it
)
LOST = "Another process reads the stream by now."
MISSING = "NoSuchKey"
CHANGED = ("PreconditionFailed", "ConditionalRequestConflict", MISSING)  # since it was read
FORMAT_KEPT = timedelta(days=7)  # of another build, after its last pointer

logger = structlog.get_logger(__name__)


def code_of(error: Any) -> str:
    """Return the code of what S3 refuses; "" for any other error."""
    return str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))


def renewing(lease: Lease, items: Iterable[Item]) -> Iterator[Item]:
    """Yield items while nobody else has a lease; all of them to who has none, `manage.py rebuild`."""
    leads = lease.is_held
    for item in items:
        if leads and not lease.take():
            raise TurnLost(LOST)
        yield item


@contextlib.contextmanager
def renewed(lease: Lease) -> Iterator[None]:
    """Renew a lease while this thread copies what may take longer."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(LOOK_SECONDS):
            with contextlib.suppress(DataError):
                lease.take()

    thread = threading.Thread(target=renew, name="renew-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class Pointer:
    """What the index consists of: by part the meta.json, and by file the pack that it is in.

    `read_at`: a moment up to which its writer had read the whole stream.
    """

    generation: str
    read_at: str
    metas: Mapping[str, str] = field(default_factory=dict)
    packs: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: bytes) -> "Pointer":
        """Read a pointer; ValueError for what is none, or names files elsewhere."""
        try:
            found = cls(**orjson.loads(text))
            names = [
                (FILE, found.packs),
                (PACK, found.packs.values()),
                (reader.GENERATION, [found.generation]),
            ]
            is_sound = all(pattern.fullmatch(name) for pattern, given in names for name in given)
            if not is_sound or set(found.metas) != set(METAS):
                raise ValueError("It names what is no file of the index.")
            from_iso(found.read_at)
        except (TypeError, LookupError, AttributeError) as error:
            raise ValueError(repr(error)) from error
        return found


NOTHING = Pointer("", "")


class SharedIndex(SearchIndex):
    """The index of this machine, which is like that of all others."""

    def __init__(
        self,
        root: Path | None = None,
        *,
        clock: Callable[[], datetime] = timezone.now,
        ticks: Callable[[], float] = time.monotonic,
        bucket: Any = None,
    ) -> None:
        super().__init__(root)
        private: Any = storages["private"]
        self._bucket = bucket or private
        self._refused: type[Exception] = self._bucket.connection.meta.client.exceptions.ClientError
        self._clock, self._ticks = clock, ticks
        self._place = f"{SEARCH}{table.name()}/{reader.READABLE}"
        self._lease = Lease(f"search-{reader.READABLE}", clock=clock, ticks=ticks)
        self._etag: str | None = None  # of the pointer to be replaced, "" for none; None: not read yet
        self._is_new = False  # there is something to publish
        self._next_at = self._warned_at = float("-inf")
        self._left: dict[str, float] = {}  # packs and files that no pointer names, and since when
        self._whole: dict[str, dict[str, tuple[int, int]]] = {"": {}, OfficeDocument.part: {}}

    # -- Feeding it

    def leads(self) -> bool:
        was_held = self._lease.is_held
        if not self._lease.take():
            self.follow()
            return False
        if was_held and self._etag is not None:
            return True
        if self._tried("search_not_fetched", self._begin):
            return True
        self._lease.give_back()
        return False

    def leave(self) -> None:
        self._etag = None
        self._lease.give_back()

    def _begin(self) -> None:
        """Fetch what was published last; where that is damaged, this machine's own index is published whole."""
        newest, etag = self._read()
        try:
            newest = self._fetch(newest)
        except Damaged as error:
            logger.error("search_published_damaged", reason=str(error))
            (self.folder / POINTER).unlink(missing_ok=True)
            newest = NOTHING
        self._left = dict.fromkeys(self._packs() - set(newest.packs.values()), self._ticks())
        self._forget_formats()
        self._etag = etag

    def check(self, read_at: datetime) -> None:
        if not self._lease.take():
            self._etag = None
            raise TurnLost(LOST)
        super().check(read_at)
        if self._ticks() - self._next_at >= (0 if self._is_new else SAID_SECONDS):
            self._publish_or_wait(read_at)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        super().commit(checkpoint)
        self._is_new = True
        if checkpoint and self._ticks() >= self._next_at:
            self._publish_or_wait(checkpoint.read_at)

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        return super().build(renewing(self._lease, items), start)

    def swap(self) -> None:
        """As everywhere; and what another process feeds is taken from it, by `manage.py rebuild`."""
        if self._lease.is_held and self._etag is not None:
            super().swap()
            self._is_new = True
            return
        try:
            self._etag = self._read()[1]
            if not self._lease.take(by_force=True):
                raise TurnLost(LOST)
            super().swap()
            self._is_new = True
            self._publish(self._clock())
        except (DataError, Damaged, TurnLost):
            raise
        except Exception as error:
            raise Damaged(f"The bucket does not take the new index: {error!r}") from error
        finally:
            self.leave()

    # -- Publishing it

    def _tried(self, event: str, work: Callable[[], None]) -> bool:
        """Do something, and tell whether it worked; all go on with what they have, and a warning a minute says why."""
        try:
            work()
        except (DataError, TurnLost):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the library of a storage raises
            if self._ticks() - self._warned_at >= LEFT_SECONDS:
                self._warned_at = self._ticks()
                logger.warning(event, reason=repr(error))
            return False
        return True

    def _publish_or_wait(self, read_at: datetime) -> None:
        done = self._tried("search_not_published", lambda: self._publish(read_at))
        self._next_at = self._ticks() + (LOOK_SECONDS if done else SAID_SECONDS)

    def _publish(self, read_at: datetime) -> None:
        """Copy what is new to the bucket, and name it there. 1 request of the bucket, 2 where there is something."""
        known = self._known()
        pointer = replace(known, read_at=iso(read_at))
        if self._is_new or known == NOTHING:
            pointer = self._packed(pointer)
        self._name(pointer)
        self._is_new, now = False, self._ticks()
        self._left |= dict.fromkeys(set(known.packs.values()) - set(pointer.packs.values()), now)
        for pack in [pack for pack, since in self._left.items() if now - since >= LEFT_SECONDS]:
            self._bucket.delete(f"{self._place}/{pack}")
            del self._left[pack]

    def _name(self, pointer: Pointer) -> None:
        """Put a pointer in the place of the one that is known; TurnLost where another one is there by now."""
        if self._etag is None or not self._lease.take():
            raise TurnLost(LOST)
        known = {"IfMatch": self._etag} if self._etag else {"IfNoneMatch": "*"}
        content = orjson.dumps(asdict(pointer))
        try:
            self._etag = self._object(POINTER).put(Body=content, **known)["ETag"]
        except self._refused as error:
            if code_of(error) not in CHANGED:
                raise
            self._etag = None
            raise TurnLost(LOST) from error
        write_whole(self.folder / POINTER, content)

    def _packed(self, pointer: Pointer) -> Pointer:
        """Save a pack of the files of the last commit that no pack holds yet, and return the pointer that names it."""
        generation = reader.current_generation(self.folder)
        if generation is None:
            raise reader.Broken("There is no index.")
        known = dict(pointer.packs) if generation.name == pointer.generation else {}
        pack = f"{new_ulid(self._clock())}.zip"
        for tried in range(reader.TRIES):
            # The deals' first: what the office's one is ahead of their checkpoint comes again.
            metas = {path: (generation / path).read_text("utf-8") for path in reversed(METAS)}
            names = [path.replace(reader.META, name) for path in METAS for name in reader.named(metas[path])]
            packs = {name: known.get(name, pack) for name in names}
            try:
                self._save_pack(generation, [name for name in names if name not in known], pack)
            except FileNotFoundError:  # merged into another meanwhile
                if tried + 1 == reader.TRIES:
                    raise
                continue
            break
        return replace(pointer, generation=generation.name, metas=metas, packs=packs)

    def _save_pack(self, generation: Path, names: list[str], pack: str) -> None:
        if not names:
            return
        with renewed(self._lease), tempfile.TemporaryFile(dir=self.folder) as packed:
            with zipfile.ZipFile(packed, "w") as archive:
                for name in names:
                    archive.write(generation / name, name)
            packed.seek(0)
            self._bucket.save(f"{self._place}/{pack}", File(packed))

    def _packs(self) -> set[str]:
        return {name for name in self._bucket.listdir(self._place)[1] if PACK.fullmatch(name)}

    def _forget_formats(self) -> None:
        """Delete what builds with another format published, once none of them has run for a week."""
        root = self._place.rpartition("/")[0]
        for other in self._bucket.listdir(root)[0]:
            place = f"{root}/{other}"
            names = files(self._bucket, place)
            said = max((self._bucket.get_modified_time(name) for name in names), default=None)
            if place != self._place and said and self._clock() - said > FORMAT_KEPT:
                delete(self._bucket, place)

    # -- Fetching it

    def follow(self) -> None:
        """Fetch what is new, for a machine that does not write; with what is away, the last one goes on."""
        if not self._tried("search_not_fetched", self._follow):
            known = consumer_status.status(self.folder)
            read_at = known.read_at if known else None
            status = ConsumerStatus(self._clock(), "failing", read_at, "The log says why.")
            consumer_status.note_status(self.folder, status)

    def _follow(self) -> None:
        newest = self._fetch(self._read()[0])
        if newest != NOTHING:
            status = ConsumerStatus(self._clock(), "following", from_iso(newest.read_at))
            consumer_status.note_status(self.folder, status)

    def _known(self) -> Pointer:
        """Return what this machine fetched or published last."""
        try:
            return Pointer.from_json((self.folder / POINTER).read_bytes())
        except (OSError, ValueError):
            return NOTHING

    def _read(self) -> tuple[Pointer, str]:
        """Return what the bucket names, and the version of that. 1 request of the bucket."""
        try:
            found = self._object(POINTER).get()
        except self._refused as error:
            if code_of(error) != MISSING:
                raise
            return NOTHING, ""
        try:
            return Pointer.from_json(found["Body"].read()), found["ETag"]
        except ValueError:
            return NOTHING, found["ETag"]

    def _object(self, name: str) -> Any:
        """Return a file of the bucket as S3 has it: the storage's way to it takes 3 requests, without conditions."""
        return self._bucket.bucket.Object(f"{self._place}/{name}")

    def _fetch(self, newest: Pointer) -> Pointer:
        """Bring this machine's index to what a pointer names, unless it came from there; return what it is now.

        1 request of the bucket for each pack. Raises Damaged where one is not what the pointer says.
        """
        known = self._known()
        if not self._is_whole(known):
            (self.folder / POINTER).unlink(missing_ok=True)
            known = NOTHING
        if newest in (known, NOTHING):
            return known
        generation = self.folder / newest.generation
        is_other = generation != reader.current_generation(self.folder)
        lacking: dict[str, list[str]] = {}
        for name, pack in newest.packs.items():
            # Of another generation what is there was fetched by an earlier try.
            is_known = is_other or known.packs.get(name) == pack
            if not (is_known and (generation / name).is_file()):
                lacking.setdefault(pack, []).append(name)
        (generation / OfficeDocument.part).mkdir(mode=0o700, parents=True, exist_ok=True)
        for pack, names in lacking.items():
            try:
                self._unpack(pack, names, generation)
            except (zipfile.BadZipFile, LookupError) as error:
                raise Damaged(f"{pack}: {error!r}") from error
            except self._refused as error:
                raise (Damaged(f"{pack} is gone.") if code_of(error) == MISSING else error) from error
        for path in METAS:
            write_whole(generation / path, newest.metas[path].encode())
            managed = [reader.META, *reader.named(newest.metas[path])]
            write_whole((generation / path).parent / reader.MANAGED, orjson.dumps(managed))
        if is_other:
            try:
                reader.check_generation(generation)
            except reader.Broken as error:
                shutil.rmtree(generation)
                raise Damaged(str(error)) from error
            reader.use_generation(generation)
        write_whole(self.folder / POINTER, orjson.dumps(asdict(newest)))
        self._tidy(generation, newest)
        return newest

    def _is_whole(self, known: Pointer) -> bool:
        """Tell whether the files are still there and as they were."""
        generation = reader.current_generation(self.folder)
        if generation is None or generation.name != known.generation:
            return False
        try:
            for part, whole in self._whole.items():
                reader.check_files(generation / part, whole)
        except reader.Broken:
            return False
        return True

    def _unpack(self, pack: str, names: list[str], generation: Path) -> None:
        with tempfile.TemporaryFile(dir=self.folder) as packed:
            shutil.copyfileobj(self._object(pack).get()["Body"], packed)
            with zipfile.ZipFile(packed) as archive:
                for name in names:
                    made = generation / f"{name}.new"
                    with archive.open(name) as content, made.open("wb") as out:
                        shutil.copyfileobj(content, out)
                    made.chmod(0o600)
                    made.replace(generation / name)

    def _tidy(self, generation: Path, pointer: Pointer) -> None:
        """Delete files that were merged into others, once nobody opens them any more."""
        now, left = self._ticks(), {}
        for path in generation.rglob("*.*"):
            name = str(path.relative_to(generation))
            if FILE.fullmatch(name.removesuffix(".new")) and name not in pointer.packs:
                left[name] = self._left.get(name, now)
                if now - left[name] >= LEFT_SECONDS:
                    path.unlink(missing_ok=True)
        self._left = left
