"""What the server answers in place of a result: OpenSearch's own types, with reasons in its words."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class Refused(Exception):
    """What the server answers in place of a result."""

    def __init__(self, status: int, kind: str, reason: str, **details: str) -> None:
        super().__init__(reason)
        self.status, self.cause = status, {"type": kind, "reason": reason, **details}

    @property
    def error(self) -> Json:
        return {"root_cause": [self.cause], **self.cause}


class ShardRefused(Refused):
    """What a shard says to a search that could be read."""

    @property
    def error(self) -> Json:
        failed = {"shard": 0, "node": "stand-in", "reason": self.cause}
        kind, reason = "search_phase_execution_exception", "all shards failed"
        whole = {"type": kind, "reason": reason, "phase": "query", "grouped": True, "failed_shards": [failed]}
        return {"root_cause": [self.cause]} | whole


def illegal(reason: str) -> Refused:
    return Refused(400, "illegal_argument_exception", reason)


def unparsed(reason: str) -> Refused:
    return Refused(400, "parsing_exception", reason)


def invalid(problem: str) -> Refused:
    return Refused(400, "action_request_validation_exception", f"Validation Failed: 1: {problem};")


def unmappable(reason: str) -> Refused:
    return Refused(400, "mapper_parsing_exception", reason)


def no_query(reason: str) -> ShardRefused:
    return ShardRefused(400, "query_shard_exception", f"failed to create query: {reason}")


def no_index(name: str, why: str = "") -> Refused:
    details = {"index": name, "resource.id": name, "resource.type": "index_or_alias", "index_uuid": "_na_"}
    return Refused(404, "index_not_found_exception", f"no such index [{name}]{why}", **details)


def only_known(given: Json, known: set[str] | tuple[str, ...], what: str) -> None:
    if unknown := next((key for key in given if key not in known), None):
        raise unparsed(f"[{what}] query does not support [{unknown}]")


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
