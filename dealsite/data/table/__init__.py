"""One DynamoDB table: what a project calls as `table.get`, `table.query`, `table.transact`. See README.md."""

from .client import ask_stream, be_patient, call, reset, retrying
from .configuration import Configuration, Index, Schema, Schemas, configure, name
from .items import (
    Rows,
    batch_get,
    current,
    get,
    insert,
    load,
    query,
    query_all,
    query_page,
    scan_all,
    scan_page,
    transact,
    write,
)
from .meters import Meter, deadline, metered, observe, restart_deadline, tell, working

__all__ = [
    "Configuration",
    "Index",
    "Meter",
    "Rows",
    "Schema",
    "Schemas",
    "ask_stream",
    "batch_get",
    "be_patient",
    "call",
    "configure",
    "current",
    "deadline",
    "get",
    "insert",
    "load",
    "metered",
    "name",
    "observe",
    "query",
    "query_all",
    "query_page",
    "reset",
    "restart_deadline",
    "retrying",
    "scan_all",
    "scan_page",
    "tell",
    "transact",
    "working",
    "write",
]
