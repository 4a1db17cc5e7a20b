"""The server: which request asks for what."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from tests.opensearch.errors import Json, Refused, illegal, invalid, listed, no_index, only_known, unparsed
from tests.opensearch.index import SHARDS, Answer, Index, matches
from tests.opensearch.searches import search

Fault = Callable[[str, str], tuple[int, bytes, str] | None]

JSON = "application/json; charset=UTF-8"
NOT_IN_NAMES = set('\\/*?"<>| ,#:')
SEARCHING = "ignore_unavailable allow_no_indices expand_wildcards preference"
SHOWN = "_source _source_includes _source_excludes realtime refresh preference"
NAMES = "ignore_unavailable allow_no_indices expand_wildcards timeout"
ACTION = {"_index", "_id", "if_seq_no", "if_primary_term", "require_alias", "_require_alias"}


@dataclass
class Request:
    """A request: the parts of its path by their names, its parameters, its body."""

    path: dict[str, str]
    params: dict[str, str]
    body: bytes

    def json(self) -> Json:
        try:
            return orjson.loads(self.body) if self.body else {}
        except orjson.JSONDecodeError as error:
            raise Refused(400, "json_parse_exception", str(error)) from None

    def flag(self, name: str) -> bool:
        return self.params.get(name, "false") != "false"

    @property
    def wanted(self) -> Any:
        """What `_source` and its likes ask for."""
        sides = {side: self.params.get(f"_source_{side}") for side in ("includes", "excludes")}
        named = {side: names.split(",") for side, names in sides.items() if names}
        return named or self.params.get("_source", True)


class StandIn:
    """The server, on a free port; what it holds outlives a stop.

    Scores are those of its version: before 3, BM25 has the factor k1 + 1, and terms of keywords are scored by it.
    """

    def __init__(self, version: str = "2.19.5") -> None:
        self.version = version
        self.requests: list[tuple[str, str]] = []
        self.fault: Fault | None = None
        self.indices: dict[str, Index] = {}
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> Self:
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.stand_in, self._port = self, self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Refuse connections, and answer nothing on those that are open."""
        self._server.stand_in = None
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def reset(self) -> None:
        """Delete all indices, and forget faults and requests."""
        with self._lock:
            self.indices.clear()
        self.fault = None
        self.requests.clear()

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes, str]:
        """Return what a request is answered, as status, body and type."""
        path, params = urlsplit(target).path, dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
        self.requests.append((method, path))
        if self.fault and (broken := self.fault(method, path)):
            return broken
        try:
            with self._lock:
                status, told = self._dispatch(method, path, params, body)
        except Refused as refused:
            status, told = refused.status, {"error": refused.error, "status": refused.status}
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # of a body that has another shape
            status, told = 400, {"error": unparsed(repr(error)).error, "status": 400}
        return status, orjson.dumps(told), JSON

    def _dispatch(self, method: str, path: str, params: dict[str, str], body: bytes) -> Answer:
        allowed = []
        for methods, shape, known, run in ROUTES:
            if found := shape.fullmatch(path):
                if method not in methods.split():
                    allowed += methods.split()
                    continue
                if unknown := next((name for name in params if name not in known.split()), None):
                    raise illegal(f"request [{path}] contains unrecognized parameter: [{unknown}]")
                parts = {name: unquote(part) for name, part in found.groupdict().items() if part}
                return run(self, Request(parts, params, body))
        if allowed:
            told = f"Incorrect HTTP method for uri [{path}] and method [{method}], allowed: {allowed}"
            return 405, {"error": told, "status": 405}
        return 400, {"error": f"no handler found for uri [{path}] and method [{method}]"}

    # What names stand for

    def _resolve(self, expression: str, *, missing: bool = False, aliases: bool = True) -> list[Index]:
        """Return the indices that a list of names, aliases and wildcards names; `missing` are let pass if they may."""
        found: dict[str, Index] = {}
        for part in expression.split(","):
            is_wide = "*" in part or part == "_all"
            named = [
                index
                for name, index in sorted(self.indices.items())
                if matches(name, ["*" if part == "_all" else part])
                or (aliases and any(matches(alias, [part]) for alias in index.aliases))
            ]
            if not named and not is_wide and not missing:
                if any(part in index.aliases for index in self.indices.values()):
                    told = f"The provided expression [{part}] matches an alias"
                    raise illegal(f"{told}, specify the corresponding concrete indices instead.")
                raise no_index(part)
            found |= {index.name: index for index in named}
        return list(found.values())

    def _written(self, name: str, *, require_alias: bool) -> Index:
        """Return the index that is written to; it is made where there is none, as `action.auto_create_index` says."""
        if require_alias and not any(name in index.aliases for index in self.indices.values()):
            why = f" and [require_alias] request flag is [true] and [{name}] is not an alias"
            raise no_index(name, why)
        if not any(name in (index.name, *index.aliases) for index in self.indices.values()):
            self.indices[name] = self._made(name, {})
        return self._one(name)

    def _one(self, name: str) -> Index:
        """Return the index that a document is read from or written to."""
        found = [index for index in self.indices.values() if name == index.name or name in index.aliases]
        if not found:
            raise no_index(name)
        if len(found) > 1:
            raise illegal(f"no write index is defined for alias [{name}]: it points to multiple indices")
        return found[0]

    # Indices and aliases

    def _about(self, request: Request) -> Answer:
        version = {"distribution": "opensearch", "number": self.version}
        return 200, {"name": "stand-in", "cluster_name": "stand-in", "version": version}

    def _create_index(self, request: Request) -> Answer:
        name = request.path["index"]
        problems = {
            "must be lowercase": name != name.lower(),
            "must not start with '_', '-', or '+'": name[0] in "_-+",
            f"must not contain the following characters {sorted(NOT_IN_NAMES)}": NOT_IN_NAMES.intersection(
                name
            ),
            "must not be '.' or '..'": name in (".", ".."),
            "index name is too long": len(name.encode()) > 255,
            "already exists as alias": any(name in index.aliases for index in self.indices.values()),
        }
        reason = next((reason for reason, is_so in problems.items() if is_so), None)
        if reason:
            told = f"Invalid index name [{name}], {reason}"
            raise Refused(400, "invalid_index_name_exception", told, index=name)
        if name in self.indices:
            told = f"index [{name}/{self.indices[name].uuid}] already exists"
            raise Refused(400, "resource_already_exists_exception", told, index=name)
        self.indices[name] = self._made(name, request.json())
        return 200, {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _made(self, name: str, body: Json) -> Index:
        return Index(name, body, is_legacy=int(self.version.split(".")[0]) < 3)

    def _delete_index(self, request: Request) -> Answer:
        missing = request.flag("ignore_unavailable")
        for index in self._resolve(request.path["index"], missing=missing, aliases=False):
            del self.indices[index.name]
        return 200, {"acknowledged": True}

    def _get_index(self, request: Request) -> Answer:
        found = self._resolve(request.path["index"], missing=request.flag("ignore_unavailable"))
        return 200, {
            index.name: {
                "aliases": index.aliases,
                "mappings": index.mappings,
                "settings": {"index": index.settings},
            }
            for index in found
        }

    def _get_aliases(self, request: Request) -> Answer:
        indices = self._resolve(request.path.get("index", "*"), missing=request.flag("ignore_unavailable"))
        names = request.path.get("name", "*").replace("_all", "*").split(",")
        told: Json = {
            index.name: {"aliases": {name: of for name, of in index.aliases.items() if matches(name, names)}}
            for index in indices
        }
        if "name" not in request.path:
            return 200, told
        told = {name: of for name, of in told.items() if of["aliases"]}
        known = {alias for of in told.values() for alias in of["aliases"]}
        missing = sorted(name for name in names if "*" not in name and name not in known)
        if not missing:
            return 200, told
        what = "alias" if len(missing) == 1 else "aliases"
        return 404, {"error": f"{what} [{','.join(missing)}] missing", "status": 404} | told

    def _update_aliases(self, request: Request) -> Answer:
        """Do all of some actions, or nothing."""
        body = request.json()
        only_known(body, {"actions"}, "aliases")
        removed: set[str] = set()
        after = {name: set(index.aliases) for name, index in self.indices.items()}
        done, named = 0, []
        for action in body.get("actions", []):
            [(kind, spec)] = action.items()
            if kind not in ("add", "remove", "remove_index"):
                raise unparsed(f"[alias_action] unknown field [{kind}]")
            only_known(spec, {"index", "indices", "alias", "aliases", "must_exist"}, "alias_action")
            expression = ",".join(listed(spec.get("indices", spec.get("index"))))
            indices = [index.name for index in self._resolve(expression, aliases=False)]
            aliases = listed(spec.get("aliases", spec.get("alias", [])))
            named += aliases
            for name in indices:
                of = {alias for alias in after[name] if matches(alias, aliases)}
                if kind == "remove" and not of and spec.get("must_exist"):
                    raise _no_aliases(aliases)
                done += 1 if kind != "remove" else len(of)
                after[name] = after[name] | set(aliases) if kind == "add" else after[name] - of
            removed |= set(indices) if kind == "remove_index" else set()
        if not body.get("actions"):
            raise invalid("Must specify at least one alias action")
        if not done:
            raise _no_aliases(named)
        for alias in set().union(*after.values()):
            if alias in self.indices.keys() - removed:
                told = f"Invalid alias name [{alias}], an index exists with the same name as the alias"
                raise Refused(400, "invalid_alias_name_exception", told)
        for name, index in list(self.indices.items()):
            index.aliases = {alias: index.aliases.get(alias, {}) for alias in sorted(after[name])}
            if name in removed:
                del self.indices[name]
        return 200, {"acknowledged": True}

    # Documents

    def _multi_get(self, request: Request) -> Answer:
        body = request.json()
        only_known(body, {"docs", "ids"}, "mget")
        asked = body.get("docs", [{"_id": doc_id} for doc_id in body.get("ids", [])])
        if not asked:
            raise invalid("no documents to get")
        told = []
        for number, one in enumerate(asked):
            only_known(one, {"_index", "_id", "_source"}, "mget")
            name = one.get("_index", request.path.get("index"))
            if name is None or "_id" not in one:
                raise invalid(f"{'id' if name else 'index'} is missing for doc {number}")
            try:
                told.append(self._one(name).found(one["_id"], one.get("_source", request.wanted)))
            except Refused as refused:
                told.append({"_index": name, "_id": one["_id"], "error": refused.error})
        return 200, {"docs": told}

    def _bulk(self, request: Request) -> Answer:
        if not request.body:
            raise Refused(400, "parse_exception", "request body is required")
        if not request.body.endswith(b"\n"):
            raise illegal("The bulk request must be terminated by a newline [\\n]")
        lines = iter(line for line in request.body.split(b"\n") if line.strip())
        asked = []
        for number, line in enumerate(lines, 1):
            [(action, spec)] = Request({}, {}, line).json().items()
            if action not in ("index", "create", "delete"):
                expected_one = "expected one of [create, delete, index]"
                raise illegal(
                    f"Malformed action/metadata line [{number}], {expected_one} but found [{action}]"
                )
            if unknown := spec.keys() - ACTION:
                raise illegal(
                    f"Action/metadata line [{number}] contains an unknown parameter {sorted(unknown)}"
                )
            spec = {"_index": request.path.get("index"), "_id": uuid.uuid4().hex} | spec
            if spec["_index"] is None:
                raise invalid("index is missing")
            asked.append(
                (action, spec, _expected(spec, action), next(lines, b"") if action != "delete" else b"")
            )
        items, touched = [], {}
        told: Json
        for action, spec, expected, source in asked:
            needs = spec.get("require_alias", spec.get("_require_alias", request.flag("require_alias")))
            try:
                index = self._written(spec["_index"], require_alias=needs)
                touched[index.name] = index
                body = Request({}, {}, source).json()
                status, told = index.write(action, spec["_id"], body, expected)
            except Refused as refused:
                told = {"_index": spec["_index"], "_id": spec["_id"], "error": refused.cause}
                status = refused.status
            items.append({action: told | {"status": status}})
        _refresh(list(touched.values()), request)
        failed = any("error" in told for item in items for told in item.values())
        return 200, {"took": 0, "errors": failed, "items": items}

    # Searches

    def _refresh_index(self, request: Request) -> Answer:
        for index in self._resolve(request.path["index"], missing=request.flag("ignore_unavailable")):
            index.refresh()
        return 200, {"_shards": SHARDS}

    def _searched(self, request: Request) -> list[Index]:
        return self._resolve(request.path["index"], missing=request.flag("ignore_unavailable"))

    def _search(self, request: Request) -> Answer:
        return 200, search(self._searched(request), request.json())


def _no_aliases(names: list[str]) -> Refused:
    return Refused(404, "aliases_not_found_exception", f"aliases [{','.join(names)}] missing")


def _expected(given: Json, action: str) -> tuple[int, int] | None:
    """Return the sequence number and the term that a write depends on."""
    seq_no, term = given.get("if_seq_no"), given.get("if_primary_term")
    if seq_no is None and term is None:
        return None
    if action == "create":
        raise invalid("create operations do not support compare and set. use index instead")
    if seq_no is None or term is None:
        raise invalid(f"ifSeqNo is [{seq_no}], but primary term is [{term}]")
    return int(seq_no), int(term)


def _refresh(indices: list[Index], request: Request) -> None:
    wish = request.params.get("refresh", "false")
    if wish not in ("true", "", "wait_for", "false"):
        raise illegal(f"Unknown value for refresh: [{wish}].")
    for index in indices if wish != "false" else []:
        index.refresh()


NAME = r"/(?P<index>(?!_)[^/]+)"
ROUTES: list[tuple[str, Any, str, Callable[[StandIn, Request], Answer]]] = [
    (methods, re.compile(shape), known, run)
    for methods, shape, known, run in (
        ("GET HEAD", "/", "", StandIn._about),
        ("POST", "/_aliases", "timeout", StandIn._update_aliases),
        ("GET HEAD", f"(?:{NAME})?/_alias(?:/(?P<name>[^/]+))?", NAMES, StandIn._get_aliases),
        ("PUT", NAME, "timeout wait_for_active_shards", StandIn._create_index),
        ("DELETE", NAME, NAMES, StandIn._delete_index),
        ("GET HEAD", NAME, NAMES, StandIn._get_index),
        ("GET POST", f"(?:{NAME})?/_mget", SHOWN, StandIn._multi_get),
        ("PUT POST", f"(?:{NAME})?/_bulk", "refresh require_alias timeout", StandIn._bulk),
        ("GET POST", f"{NAME}/_refresh", SEARCHING, StandIn._refresh_index),
        ("GET POST", f"{NAME}/_search", f"{SEARCHING} allow_partial_search_results", StandIn._search),
    )
]


class _Server(ThreadingHTTPServer):
    """Knows whose it is; nobody's once it is stopped."""

    stand_in: StandIn | None = None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body go together
    server: _Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.stand_in is None:
            self.close_connection = True
            return
        status, told, kind = self.server.stand_in.answer(self.command, self.path, body)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(told)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""
