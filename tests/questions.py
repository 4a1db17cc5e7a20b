"""The questions to the table by the names that callers use, in the order of the page that lists them."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType, ModuleType
from typing import Any

from dealsite import data
from dealsite.data import table
from dealsite.data.table.meters import ACCESS_PATTERNS

Function = Callable[..., Any]
ROOT = Path(data.__path__[0]).parent.parent
ROOMS = ("catalogue", "editing", "commerce", "people", "jobs", "integrity")
MODULES = [import_module(name) for _, name, _ in walk_packages(data.__path__, "dealsite.data.")]


def room_of(function: Function) -> str:
    return function.__module__.split(".")[2]


def name_of(function: Function) -> str:
    """The name under which callers know a function."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def _place(function: Function) -> tuple[int, str, str, int]:
    """Where the page lists a function: by room and module, then as they are written."""
    room, module = ROOMS.index(room_of(function)), name_of(function).partition(".")[0]
    return room, module, function.__module__, function.__code__.co_firstlineno


QUESTIONS = {name_of(function): function for function in sorted(ACCESS_PATTERNS, key=_place)}
REQUESTS = {table.get, table.batch_get, table.query, table.query_all, table.query_page, table.scan_page}
REQUESTS |= {table.scan_all, table.write, table.transact, table.insert, table.call}


OPERATIONS = {
    "batch get": "BatchGetItem",
    "get": "GetItem",
    "query": "Query",
    "scan": "Scan",
    "put": "PutItem",
    "update": "UpdateItem",
    "delete": "DeleteItem",
    "batch insert": "BatchExecuteStatement",
    "transaction": "TransactWriteItems",
}
WORDS = {operation: name for name, operation in OPERATIONS.items()}
PLURALS = {name.removesuffix("y") + "ies" if name.endswith("y") else f"{name}s": name for name in OPERATIONS}

_sends: dict[Function, bool] = {}


def sends_requests(function: Function) -> bool:
    """Whether a function of a room sends requests that no registered question says."""
    if function not in _sends:
        _sends[function] = False  # what it calls may call it in turn
        tree = ast.parse(inspect.getsource(function))
        _sends[function] = any(
            callee in REQUESTS
            or (
                callee.__module__.split(".")[2:3] != ["table"]
                and callee not in ACCESS_PATTERNS
                and sends_requests(callee)
            )
            for callee in named_in(tree, function.__globals__ | imported(tree))
            if callee is not function
        )
    return _sends[function]


def named_in(tree: ast.AST, scope: dict[str, Any]) -> Iterator[Function]:
    """Yield the functions of the data layer that a piece of code names."""

    def value(node: ast.AST) -> object:
        if isinstance(node, ast.Name):
            return scope.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(module := value(node.value), ModuleType):
            return getattr(module, node.attr, None)
        return None

    for found in map(value, ast.walk(tree)):
        if isinstance(found, FunctionType) and (found.__module__ or "").startswith("dealsite.data."):
            yield found


def imported(tree: ast.Module) -> dict[str, Any]:
    """What a module imports from the data layer, by the names that it gives it."""
    scope: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dealsite.data"):
            module = import_module(node.module)
            scope |= {one.asname or one.name: getattr(module, one.name) for one in node.names}
    return scope


def used_elsewhere() -> set[Function]:
    """The functions of the rooms that modules outside of the data layer name."""
    used: set[Function] = set()
    for folder in ("cms", "dealsite", "shopping"):
        for path in (ROOT / folder).rglob("*.py"):
            if not path.is_relative_to(ROOT / "dealsite" / "data"):
                tree = ast.parse(path.read_text("utf-8"))
                used.update(named_in(tree, imported(tree)))
    return {function for function in used if function.__module__.split(".")[2] != "table"}


def budget(requests: str, *, d: int = 1) -> Counter[str]:
    """Return how often each operation is sent; `d` stands for a number of partitions."""
    sent: Counter[str] = Counter()
    for term in requests.split(" + ") if requests != "none" else ():
        number, _, operation = term.partition(" ")
        sent[OPERATIONS[PLURALS.get(operation, operation)]] += d if number == "d" else int(number)
    return sent


def in_words(sent: Counter[str]) -> str:
    """Say what was sent as a budget does."""
    several = {name: plural for plural, name in PLURALS.items()}
    named = ((count, WORDS[operation]) for operation, count in sent.items())
    return " + ".join(f"{count} {name if count == 1 else several[name]}" for count, name in named) or "none"
