"""One DynamoDB table: what a project calls as `table.get`, `table.query`, `table.transact`. See README.md."""

from .configuration import Configuration, Index, configure, name, names
from .connection import ask_stream, be_patient, call, events, reset
from .meters import Meter, deadline, metered, working
from .reading import Rows, batch_get, get, query, query_page, scan_all, scan_page
from .retries import back_off
from .writing import insert, transact, write

__all__ = [
    "Configuration",
    "Index",
    "Meter",
    "Rows",
    "ask_stream",
    "back_off",
    "batch_get",
    "be_patient",
    "call",
    "configure",
    "deadline",
    "events",
    "get",
    "insert",
    "metered",
    "name",
    "names",
    "query",
    "query_page",
    "reset",
    "scan_all",
    "scan_page",
    "transact",
    "working",
    "write",
]
