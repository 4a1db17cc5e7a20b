"""An index: its settings, its documents, conditional writes, refreshes."""

from __future__ import annotations

import time
import uuid
from fnmatch import fnmatchcase
from typing import Any

from tests.opensearch.documents import Doc, Field, Snapshot, analyzers_of
from tests.opensearch.errors import Json, Refused, illegal, invalid, listed, only_known, unmappable

Answer = tuple[int, Any]

SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
MAX_ID = 512  # bytes
SETTINGS = {
    *("number_of_shards", "number_of_replicas", "auto_expand_replicas"),
    *("refresh_interval", "max_result_window", "analysis"),
}
NEW, REPLACED = 201, 200


class Index:
    """An index: its documents, and what a search sees of them."""

    def __init__(self, name: str, body: Json, *, is_legacy: bool) -> None:
        only_known(body, {"settings", "mappings", "aliases"}, "create index")
        self.name, self.is_legacy, self.uuid = name, is_legacy, uuid.uuid4().hex
        self.aliases: Json = dict(body.get("aliases", {}))
        given = dict(body.get("settings", {}))
        given = {key.removeprefix("index."): value for key, value in (given | given.pop("index", {})).items()}
        if unknown := given.keys() - SETTINGS:
            raise illegal(f"unknown setting [index.{min(unknown)}]")
        created = {
            "creation_date": str(time.time_ns() // 1_000_000),
            "uuid": self.uuid,
            "provided_name": name,
        }
        self.settings: Json = {"number_of_shards": "1", "number_of_replicas": "1"} | created
        self.settings |= {key: value if key == "analysis" else str(value) for key, value in given.items()}
        self.mappings: Json = body.get("mappings", {})
        if unknown := self.mappings.keys() - {"properties", "dynamic", "_meta", "_source"}:
            raise unmappable(f"Root mapping definition has unsupported parameters: {sorted(unknown)}")
        analyzers = analyzers_of(given.get("analysis", {}))
        specs = self.mappings.get("properties", {}).items()
        self.fields = {one.name: one for name, spec in specs for one in Field.of(name, spec, analyzers)}
        self.docs: dict[str, Doc] = {}
        self._versions: dict[str, int] = {}  # of deleted documents, too
        self._next_seq_no = 0
        self.refresh()

    def refresh(self) -> None:
        self._is_fresh = True
        self._snapshot = Snapshot(self.fields, list(self.docs.values()), is_legacy=self.is_legacy)

    def snapshot(self) -> Snapshot:
        """Return what a search sees: without a refresh interval, only what a refresh was asked for."""
        if not self._is_fresh and self.settings.get("refresh_interval") != "-1":
            self.refresh()
        return self._snapshot

    def write(self, action: str, doc_id: str, source: Any, expected: tuple[int, int] | None) -> Answer:
        """Index, create or delete a document."""
        current = self.docs.get(doc_id)
        found = f"current document has seqNo [{current.seq_no}] and primary term [1]" if current else ""
        if action == "create" and current:
            self._conflict(doc_id, f"document already exists (current version [{current.version}])")
        if expected is not None and (current is None or expected != (current.seq_no, 1)):
            told = f"required seqNo [{expected[0]}], primary term [{expected[1]}]."
            self._conflict(doc_id, f"{told} {found or 'but no document was found'}")
        version = self._versions.get(doc_id, 0) + 1
        if action != "delete":
            made = self._read(Doc(doc_id, source, self._next_seq_no, version))
        self.docs.pop(doc_id, None)
        status, result = (NEW, "created") if current is None else (REPLACED, "updated")
        if action == "delete":
            status, result = (404, "not_found") if current is None else (200, "deleted")
        else:
            self.docs[doc_id] = made
        self._versions[doc_id], self._is_fresh = version, False
        answer: Json = {
            "_index": self.name,
            "_id": doc_id,
            "_version": version,
            "result": result,
            "_shards": SHARDS,
        }
        self._next_seq_no += 1
        return status, answer | {"_seq_no": self._next_seq_no - 1, "_primary_term": 1}

    def _conflict(self, doc_id: str, why: str) -> None:
        reason = f"[{doc_id}]: version conflict, {why}"
        details = {"index": self.name, "shard": "0", "index_uuid": self.uuid}
        raise Refused(409, "version_conflict_engine_exception", reason, **details)

    def _read(self, doc: Doc) -> Doc:
        if len(doc.id.encode()) > MAX_ID:
            raise invalid(f"id [{doc.id}] is too long, must be no longer than {MAX_ID} bytes")
        if not isinstance(doc.source, dict):
            raise unmappable("failed to parse")
        for name, value in doc.source.items():
            if name not in self.mappings.get("properties", {}):
                self._meet(name)
                continue
            for one in self.fields.values():
                if one.name == name or one.name.startswith(f"{name}."):
                    doc.read(one, value)
        doc.source = source_part(doc.source, self.mappings.get("_source", True))["_source"]
        return doc

    def _meet(self, name: str) -> None:
        dynamic = str(self.mappings.get("dynamic", "true")).lower()
        if dynamic == "strict":
            reason = f"mapping set to strict, dynamic introduction of [{name}] within [_doc] is not allowed"
            raise Refused(400, "strict_dynamic_mapping_exception", reason)
        if dynamic == "true":
            raise Refused(501, "stand_in_exception", f"the stand-in guesses no mapping for [{name}]")

    def found(self, doc_id: str, wanted: Any = True) -> Json:
        """Return a document as a get has it, refreshed or not."""
        doc = self.docs.get(doc_id)
        told = {"_index": self.name, "_id": doc_id, "found": doc is not None}
        if doc is None:
            return told
        versions = {"_version": doc.version, "_seq_no": doc.seq_no, "_primary_term": 1}
        return told | versions | source_part(doc.source, wanted)


def source_part(source: Json, wanted: Any) -> Json:
    """Return what `_source` asks for: all, nothing, some fields by their names or wildcards."""
    if wanted in (False, "false"):
        return {}
    if wanted in (None, True, "true", ""):
        return {"_source": source}
    if not isinstance(wanted, dict):
        wanted = {"includes": wanted.split(",") if isinstance(wanted, str) else wanted}
    only_known(wanted, {"includes", "excludes"}, "_source")
    kept, left = listed(wanted.get("includes", "*")), listed(wanted.get("excludes", []))
    return {
        "_source": {
            name: value for name, value in source.items() if matches(name, kept) and not matches(name, left)
        }
    }


def matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, one) for one in patterns)
