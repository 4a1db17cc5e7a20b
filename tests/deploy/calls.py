"""What a process may ever ask of Amazon: the operations that the code names which it can reach, read from the source.

A function reaches what it names: functions, classes with all their methods, and objects of such classes. That is
more than what it calls, and never less, but for what is passed in from elsewhere, whose sender is reached itself.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import botocore.session

OURS = ("dealsite.", "cms.", "shopping.")
Function = Callable[..., Any]
# What a request to the table needs a right for, where that is not its own name.
RIGHTS = {
    "Put": {"PutItem"},
    "Update": {"UpdateItem"},
    "Delete": {"DeleteItem"},
    "Check": {"ConditionCheckItem"},
    "TransactWriteItems": set(),  # those of its writes, whose classes are reached
    "BatchExecuteStatement": {"PartiQLInsert"},  # items.py alone sends statements, and these insert
}


@functools.cache
def operations() -> frozenset[str]:
    """The names of all operations of DynamoDB and its streams."""
    session = botocore.session.get_session()
    services = (session.get_service_model(name) for name in ("dynamodb", "dynamodbstreams"))
    return frozenset(name for service in services for name in service.operation_names)


def reached(roots: Iterable[object], *, but: frozenset[Function] = frozenset()) -> set[Function]:
    """The functions and methods of the site that some of its functions or classes reach, without some of them."""
    found: set[Function] = set()
    waiting = [function for root in roots for function in functions_of(root)]
    while waiting:
        function = waiting.pop()
        if function not in found and function not in but:
            found.add(function)
            waiting += [callee for thing in named_in(function) for callee in functions_of(thing)]
    return found


def called_within(kind: type, *names: str) -> set[Function]:
    """The methods of a class that some of its methods call of their own object, and these themselves."""
    found: set[Function] = set()
    waiting = list(names)
    while waiting:
        for function in functions_of(inspect.getattr_static(kind, waiting.pop(), None)):
            if function not in found:
                found.add(function)
                waiting += [
                    node.attr
                    for node in ast.walk(_source(function))
                    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "super()")
                ]
    return found


def functions_of(thing: object) -> Iterator[Function]:
    """A function; the methods of a class, or of an object's class; what a partial, a list or a mapping holds."""
    if isinstance(thing, functools.partial):
        yield from functions_of(thing.func)
    elif isinstance(thing, Mapping):
        for value in thing.values():
            yield from functions_of(value)
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield from functions_of(value)
    elif isinstance(thing, FunctionType):
        if is_ours(thing):
            yield thing
        for cell in thing.__closure__ or ():  # what a decorator surrounds
            if inspect.isroutine(held := _content(cell)):
                yield from functions_of(held)
    elif isinstance(thing, staticmethod | classmethod):
        yield from functions_of(thing.__func__)
    elif isinstance(thing, property):
        yield from functions_of(thing.fget)
    elif isinstance(thing, functools.cached_property):
        yield from functions_of(thing.func)
    elif isinstance(wrapped := getattr(thing, "__wrapped__", None), FunctionType):
        yield from functions_of(wrapped)
    else:
        kind = thing if isinstance(thing, type) else type(thing)
        for one in kind.__mro__ if is_ours(kind) else ():
            if is_ours(one):
                for value in vars(one).values():
                    if not isinstance(value, type | Mapping | list | tuple | set | frozenset):
                        yield from (
                            functions_of(value) if inspect.isroutine(value) or _is_property(value) else ()
                        )


def _is_property(value: object) -> bool:
    return isinstance(value, property | functools.cached_property | staticmethod | classmethod)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def is_ours(thing: Any) -> bool:
    return (getattr(thing, "__module__", "") or "").startswith(OURS)


@functools.cache
def _source(function: Function) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])  # made by a library, as a dataclass's methods are


@functools.cache
def named_in(function: Function) -> tuple[object, ...]:
    """What of the site a function names, also as `module.name`."""
    tree, scope = _source(function), dict(getattr(function, "__globals__", {}))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OURS):
            module = import_module(node.module or "")
            scope |= {one.asname or one.name: getattr(module, one.name, None) for one in node.names}

    def value(node: ast.AST) -> object:
        if isinstance(node, ast.Name):
            return scope.get(node.id)
        if isinstance(node, ast.Attribute):
            of = value(node.value)
            if isinstance(of, ModuleType) and of.__name__.startswith(OURS):
                return getattr(of, node.attr, None)
        return None

    found = [value(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    return tuple(one for one in found if one is not None and not isinstance(one, ModuleType | str | int))


def rights(functions: Iterable[Function]) -> set[str]:
    """The rights at DynamoDB that functions need."""
    return {right for function in functions for right in rights_in(_source(function))}


def rights_in(tree: ast.AST) -> set[str]:
    """The rights that code needs, by the operations and the kinds of writes that it names."""
    needed: set[str] = set()
    for node in ast.walk(tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "value", None)
        if isinstance(name, str) and name in RIGHTS:
            needed |= RIGHTS[name]
        elif isinstance(node, ast.Constant) and name in operations():
            needed.add(str(name))
    return needed


def storage_calls(functions: Iterable[Function]) -> set[tuple[str, str]]:
    """Which methods of which storage functions call, as ("media", "save")."""
    found = set()
    for function in functions:
        for node in ast.walk(_source(function)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            of = ast.unparse(node.func.value)
            if of == "storage":  # either of them, one after the other
                found |= {("media", node.func.attr), ("private", node.func.attr)}
            elif of == "default_storage":
                found.add(("media", node.func.attr))
            elif of == "bucket":
                found.add(("lake", node.func.attr))
            elif of.startswith("self._object("):  # of the search index, without the storage's way to it
                found.add(("private", {"get": "open", "put": "save"}[node.func.attr]))
            elif of.endswith("storage()") or of.startswith("storages[") or of == "self._bucket":
                found.add(("private", node.func.attr))
    return found
