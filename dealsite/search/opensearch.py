"""The index in OpenSearch, for sites whose index is too large for their machines: one worker feeds it, all ask it.

    dealsite-<table>-<format>[-office]            aliases of the parts in use, which all ask
    dealsite-<table>-<format>-<token>[-office]    a generation's indices, made anew by each rebuild
    ...-writes                                    an alias of each, to write to: that makes no index of a deleted one

Who holds the lease of the table's stream writes, as in `published`. Each document is replaced only if it still is the
one that was read, so whoever lost the lease and does not know it changes nothing.
"""

import contextlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Generic

import orjson
from django.conf import settings
from opensearchpy import NotFoundError, OpenSearch, OpenSearchException, RequestError

from dealsite.data import table
from dealsite.data.jobs.leases import Lease
from dealsite.data.table.convert import Item
from dealsite.search import reader
from dealsite.search.changes import Failed, Parts
from dealsite.search.documents import CHECKPOINT, Stored, StoredDocument, stem
from dealsite.search.office import OfficeDocument
from dealsite.search.published import LOST, renewing
from dealsite.search.queries import BEGINNINGS, Found, Hits, Query, Sort, term
from dealsite.search.reader import KINDS, READABLE, Unreadable
from dealsite.stream import consumer_status
from dealsite.stream.consumer_status import ConsumerStatus
from dealsite.stream.projection import Checkpoint, Damaged
from dealsite.stream.rebuilding import TurnLost
from dealsite.stream.records import ItemChange

ASK_SECONDS = 1.5  # for all that one answer asks
AWAY_SECONDS = 5.0  # after a failure, in which nobody is kept waiting
WRITE_SECONDS = 15.0
READ_AT_ONCE = 500  # rows of all
AT_ONCE = 100  # documents, of which each may have 80 KB: a small node at Amazon takes 10 MB
BUILT_AT_ONCE = 2_000  # items between two commits of a new index
CONNECTIONS = 20  # of a process
MOST_ROWS = 20_000  # to the last row of the last page
BEGINNING = {"type": "edge_ngram", "min_gram": 4, "max_gram": 20}  # letters
SETTINGS = {
    "index": {"refresh_interval": -1, "auto_expand_replicas": "0-1", "max_result_window": MOST_ROWS},
    "analysis": {
        "filter": {"beginnings": BEGINNING},
        "analyzer": {"beginnings": {"type": "custom", "tokenizer": "whitespace", "filter": ["beginnings"]}},
    },
}
REFUSED, GONE, CONFLICT = 400, 404, 409


@cache
def _client(url: str, user: str, password: str) -> OpenSearch:
    logging.getLogger("opensearch").setLevel(logging.WARNING)  # it would write a line for each request
    secret = (user, password) if user else None
    return OpenSearch(
        url,
        http_auth=secret,
        pool_maxsize=CONNECTIONS,
        timeout=WRITE_SECONDS,
        max_retries=1,  # where a kept connection has ended
        retry_on_status=(),
    )


def client() -> OpenSearch:
    """Return what talks to the site's OpenSearch."""
    return _client(
        settings.DEALSITE_OPENSEARCH_URL,
        settings.DEALSITE_OPENSEARCH_USER,
        settings.DEALSITE_OPENSEARCH_PASSWORD,
    )


def site() -> str:
    """Return how the names of this site's indices begin."""
    return f"dealsite-{table.name().lower()}"


def base() -> str:
    """Return how those of this format begin."""
    return f"{site()}-{READABLE}"


def named(generation: str, kind: type[Stored]) -> str:
    """Return the name of a part: of a generation's index, or of the alias of the one in use."""
    return f"{generation}-{kind.part}" if kind.part else generation


def mappings(kind: type[Stored]) -> dict[str, Any]:
    """Return how OpenSearch keeps the fields of a part."""
    fields = kind.fields
    found: dict[str, Any] = {name: {"type": "keyword"} for name in (*fields.names, *fields.counted)}
    for name in fields.words:
        options = "freqs" if name in fields.stemmed else "docs"
        options = "positions" if name in fields.places else options
        found[name] = {"type": "text", "analyzer": "whitespace", "index_options": options}
        if name in fields.beginnings:
            beginnings = {"type": "text", "analyzer": "beginnings", "search_analyzer": "whitespace"}
            found[name]["fields"] = {BEGINNINGS.removeprefix("."): beginnings | {"index_options": "docs"}}
    found |= {name: {"type": "unsigned_long"} for name in fields.numbers}
    found["stored"] = {"type": "text", "index": False}
    return {"dynamic": "strict", "_source": {"includes": ["stored"]}, "properties": found}


# -- Asking it


_away_until = float("-inf")


def searcher(kind: type[Found]) -> "OpenSearchSearcher[Found] | None":
    """Return the index in use to search in, for one answer; None shortly after it could not be asked."""
    now = time.monotonic()
    return OpenSearchSearcher(kind, now + ASK_SECONDS) if now >= _away_until else None


class OpenSearchSearcher(Generic[Found]):
    """See `queries.Searcher`. 1 request each, none for what was asked already."""

    def __init__(self, kind: type[Found], until: float) -> None:
        self._kind, self._until = kind, until
        self._index = named(base(), kind)
        self._answers: dict[bytes, Any] = {}

    def search(
        self, query: Query, size: int, *, offset: int = 0, sort: Sort | None = None, count: bool = False
    ) -> Hits[Found]:
        body: dict[str, Any] = {"query": query, "size": size, "from": offset, "track_total_hits": count}
        if sort:
            body["sort"] = [{sort[0]: sort[1]}]
        found = self._search(body)["hits"]
        return Hits(self._rows(found), found["total"]["value"] if count else 0)

    def every(self, query: Query, sort: Sort) -> Iterator[Found]:
        body: dict[str, Any] = {
            "query": query,
            "size": READ_AT_ONCE,
            "sort": [{sort[0]: sort[1]}, {"key": "asc"}],
        }
        while True:
            self._until = time.monotonic() + ASK_SECONDS
            found = self._sent(body)["hits"]
            yield from self._rows(found)
            if len(found["hits"]) < READ_AT_ONCE:
                return
            body["search_after"] = found["hits"][-1]["sort"]

    def aggregate(self, query: Query, wanted: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._search({"query": query, "size": 0, "aggs": wanted})["aggregations"]
        return found

    def frequency(self, field: str, word: str) -> int:
        return self.search(term(field, word), 0, count=True).total

    def known(self, keys: Iterable[str]) -> dict[str, Found]:
        ids = [*keys]
        if not ids:
            return {}
        found = self._asked(
            lambda seconds: client().mget(body={"ids": ids}, index=self._index, request_timeout=seconds)
        )
        return {
            one["_id"]: self._kind.of(one["_source"]["stored"]) for one in found["docs"] if one.get("found")
        }

    def _rows(self, found: Mapping[str, Any]) -> list[Found]:
        return [self._kind.of(hit["_source"]["stored"]) for hit in found["hits"]]

    def _search(self, body: Mapping[str, Any]) -> Any:
        said = orjson.dumps(body)
        if said not in self._answers:
            self._answers[said] = self._sent(body)
        return self._answers[said]

    def _sent(self, body: Mapping[str, Any]) -> Any:
        return self._asked(
            lambda seconds: client().search(
                body=body, index=self._index, allow_partial_search_results=False, request_timeout=seconds
            )
        )

    def _asked(self, ask: Callable[[float], Any], *, again: bool = True) -> Any:
        global _away_until
        try:
            if (left := self._until - time.monotonic()) <= 0:
                raise OpenSearchException(f"It did not answer within {ASK_SECONDS} s.")
            return ask(left)
        except NotFoundError as error:
            if again:  # one generation has just taken the place of another
                return self._asked(ask, again=False)
            raise Unreadable(str(error)) from error
        except RequestError as error:  # this question is too much for it, others are not
            raise Unreadable(repr(error)) from error
        except (OpenSearchException, AttributeError) as error:  # what the library makes of odd answers
            _away_until = time.monotonic() + AWAY_SECONDS
            raise Unreadable(repr(error)) from error


# -- Feeding it


@contextlib.contextmanager
def _as_the_consumer_knows() -> Iterator[None]:
    """Raise OSError for what is away, TurnLost for what is gone."""
    try:
        yield
    except NotFoundError as error:
        raise TurnLost(LOST) from error
    except OpenSearchException as error:
        raise OSError(f"OpenSearch: {error!r}") from error


class Writer(Generic[Found]):
    """Writes to one part of a generation: see `changes.Part`."""

    def __init__(self, generation: str, kind: type[Found]) -> None:
        self.kind, self.index = kind, named(generation, kind)
        self._known: dict[str, tuple[Found, dict[str, Any]]] = {}  # and which version of it that is
        self._unseen: dict[str, Found] = {}

    def look(self, keys: Collection[str]) -> None:
        """1 request for each 100 that were not looked at since the last commit."""
        for ids in _portions([key for key in keys if key not in self._known]):
            with _as_the_consumer_knows():
                found = client().mget(body={"ids": ids}, index=self.index)["docs"]
            for one in found:
                if one.get("found"):
                    version = {"if_seq_no": one["_seq_no"], "if_primary_term": one["_primary_term"]}
                    self._known[one["_id"]] = self.kind.of(one["_source"]["stored"]), {"index": version}
                else:
                    self._known[one["_id"]] = self.kind(), {"create": {}}

    def known(self, key: str) -> Found:
        return self._unseen.get(key) or self._known[key][0]

    def put(self, key: str, stored: Found) -> None:
        self._unseen[key] = stored

    def commit(self) -> None:
        """1 request for each 100 documents and 1 more, 1 for the checkpoint after them."""
        last = [key for key in self._unseen if key == CHECKPOINT]
        for some in (*_portions([key for key in self._unseen if key != CHECKPOINT]), last):
            if some:
                self._write(some)
        if self._unseen:
            with _as_the_consumer_knows():
                client().indices.refresh(index=self.index)
        self._unseen.clear()
        self._known.clear()

    def _write(self, some: Sequence[str]) -> None:
        lines: list[dict[str, Any]] = []
        for key in some:
            ((verb, version),) = self._known[key][1].items()
            lines += [{verb: {"_id": key, **version}}, self._document(key)]
        with _as_the_consumer_knows():
            answer = client().bulk(body=lines, index=f"{self.index}-writes", require_alias=True)
        for one in answer["items"] if answer["errors"] else ():
            ((_, result),) = one.items()
            if result["status"] in (GONE, CONFLICT):
                raise TurnLost(LOST)
            if result["status"] == REFUSED:
                raise ValueError(str(result["error"]))
            if "error" in result:
                raise OSError(f"OpenSearch: {result['error']}")

    def _document(self, key: str) -> dict[str, Any]:
        made = self._unseen[key].document(key)
        stemmed = {
            name: " ".join(map(stem, made[name].split())) for name in self.kind.fields.stemmed if name in made
        }
        return made | stemmed | {"stored": made["stored"].decode()}


def _portions(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[begin : begin + AT_ONCE] for begin in range(0, len(keys), AT_ONCE))


class OpenSearchIndex:
    """The index as a projection: see `dealsite.stream.projection`. Its locks and its status are in a folder."""

    name = "search"
    keep_every = timedelta(seconds=20)  # from which other machines see that the stream is read

    def __init__(self, *, clock: Callable[[], datetime], ticks: Callable[[], float] = time.monotonic) -> None:
        self.folder = reader.index_root()
        self._clock = clock
        self._lease = Lease(f"search-{READABLE}", clock=clock, ticks=ticks)
        self._parts: Parts | None = None
        self._built: str | None = None

    def leads(self) -> bool:
        was_held = self._lease.is_held
        if not self._lease.take():
            self.follow()
        elif not was_held:
            with _as_the_consumer_knows():
                self._delete_unused(own=False)  # one that is being made is not in use yet
        return self._lease.is_held

    def leave(self) -> None:
        self._lease.give_back()

    def follow(self) -> None:
        """Note how far the index is that another machine feeds, for those who look after this one. 1 request."""
        try:
            known = self.checkpoint()
            status = ConsumerStatus(self._clock(), "following", known.read_at if known else None)
        except OSError as error:
            status = ConsumerStatus(self._clock(), "failing", reason=str(error))
        consumer_status.note_status(self.folder, status)

    def checkpoint(self) -> Checkpoint | None:
        return _checkpoint(base())

    def open(self) -> Checkpoint | None:
        used = self._used()
        self._parts = _parts(used) if used else None
        return self.checkpoint()

    def check(self, read_at: datetime) -> None:
        if not self._lease.take():
            raise TurnLost(LOST)

    def apply(self, changes: Sequence[ItemChange]) -> bool:
        return self._opened().apply(changes)

    def commit(self, checkpoint: Checkpoint | None) -> None:
        self._opened().commit(checkpoint)

    def close(self) -> None:
        self._parts = None

    def build(self, items: Iterable[Item], start: Checkpoint) -> Failed:
        self._built = f"{base()}-{secrets.token_hex(8)}"
        with _as_the_consumer_knows():
            self._delete_unused()
            for kind in KINDS:
                name = named(self._built, kind)
                made = {"settings": SETTINGS, "mappings": mappings(kind), "aliases": {f"{name}-writes": {}}}
                client().indices.create(index=name, body=made)
        return _parts(self._built).fill(renewing(self._lease, items), start, commit_every=BUILT_AT_ONCE)

    def swap(self) -> None:
        """As everywhere; and what another process feeds is taken from it, by `manage.py rebuild`."""
        if self._built is None:
            raise Damaged("There is no new index.")
        was_held = self._lease.is_held
        try:
            if not self._lease.take(by_force=True):
                raise TurnLost(LOST)
            used = self._used()
            actions = []
            for kind in KINDS:
                alias = named(base(), kind)
                actions.append({"add": {"index": named(self._built, kind), "alias": alias}})
                if used:
                    actions.append({"remove": {"index": named(used, kind), "alias": alias}})
            with _as_the_consumer_knows():
                client().indices.update_aliases(body={"actions": actions})
                self._built = None
                self._delete_unused()
        finally:
            if not was_held:
                self.leave()

    def _opened(self) -> Parts:
        if self._parts is None:
            raise RuntimeError("The index is not open.")
        return self._parts

    def _used(self) -> str | None:
        """Return the generation in use, if there is one. 1 request."""
        with _as_the_consumer_knows(), contextlib.suppress(NotFoundError):
            return next(iter(client().indices.get_alias(name=base())), None)
        return None

    def _delete_unused(self, *, own: bool = True) -> None:
        """Delete what nobody of another format has fed for a day, and `own` generations not in use. 2 requests."""
        pattern = re.compile(
            rf"({re.escape(site())}-\d+-[0-9a-f]{{8}})-[0-9a-f]{{16}}(-{OfficeDocument.part})?"
        )
        left = []
        for name, found in client().indices.get(index=f"{site()}-*").items():
            match = pattern.fullmatch(name)
            if match and match[1] == base():
                is_used = found["aliases"].keys() & {named(base(), kind) for kind in KINDS}
                left += [name] * (own and not is_used)
            elif match and (known := _checkpoint(match[1])) and not known.reaches(self._clock()):
                left.append(name)
        if left:
            client().indices.delete(index=",".join(left))


def _parts(generation: str) -> Parts:
    return Parts(Writer(generation, OfficeDocument), Writer(generation, StoredDocument))


def _checkpoint(index: str) -> Checkpoint | None:
    """Return where an index stands; None where there is none. 1 request."""
    part = Writer(index, StoredDocument)
    try:
        part.look([CHECKPOINT])
    except TurnLost:
        return None
    known = part.known(CHECKPOINT).checkpoint
    return Checkpoint.from_json(known) if known else None
