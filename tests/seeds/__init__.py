"""The published models that the site grew out of, declared once: what each asks and stores, and what we do.

    @MODEL.question(12, "One deal", "GetItem DEAL#id", deals.get)
    def one_deal(ask): ...  # returns our answer, and the same worked out from a scan

    @MODEL.entity("Brand", "BRAND#b", "Brand", keys="brand")
    def brand(): ...        # writes an example; returns it as it is found again, and as it went in

The tests try each line on a real engine, and docs/seeds.md is written from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dealsite.data import table
from dealsite.data.table.convert import Item
from dealsite.data.table.meters import ACCESS_PATTERNS, metered

Function = Callable[..., Any]
Both = tuple[Any, Any]  # what we answer, and what it has to be


@dataclass
class Ask:
    """Calls the function that a question is about, and counts the requests of each call; `d` is as in budgets."""

    function: Function
    d: int = 1
    sent: list[Counter[str]] = field(default_factory=list)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        with metered() as meter:
            answer = self.function(*arguments, **named)
        self.sent.append(Counter(operation for operation, _ in meter.log))
        return answer


@dataclass(frozen=True)
class Question:
    """A line of a model's access patterns; `example` says in its docstring what it compares."""

    number: int
    asks: str
    condition: str
    function: Function
    requests: str
    differs: str
    example: Callable[[Ask], Both]


@dataclass(frozen=True)
class Entity:
    """A kind of item that a model stores; `keys` are lines of our key chart, `example` is written and found again."""

    name: str
    stored: str
    type: str
    keys: str
    differs: str
    example: Callable[[], Both]


@dataclass
class Model:
    """A published model, with what stands above its tables in docs/seeds.md."""

    name: str
    about: str
    questions: list[Question] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)

    def question(
        self,
        number: int,
        asks: str,
        condition: str,
        function: Function,
        *,
        requests: str = "",
        differs: str = "",
    ) -> Callable[[Callable[[Ask], Both]], Callable[[Ask], Both]]:
        """Declare a question; `requests` is what the example's first call sends, if not what the function says."""
        requests = requests or ACCESS_PATTERNS[function].requests

        def declare(example: Callable[[Ask], Both]) -> Callable[[Ask], Both]:
            self.questions.append(Question(number, asks, condition, function, requests, differs, example))
            return example

        return declare

    def entity(
        self, name: str, stored: str, type_: str, *, keys: str, differs: str = ""
    ) -> Callable[[Callable[[], Both]], Callable[[], Both]]:
        """Declare an entity; `stored` is its key in the model."""

        def declare(example: Callable[[], Both]) -> Callable[[], Both]:
            self.entities.append(Entity(name, stored, type_, keys, differs, example))
            return example

        return declare


_scans: dict[str, list[Item]] = {}  # of tables as they are now


def forget(**_: object) -> None:
    """Forget what was scanned: something is being written."""
    _scans.clear()


def stored(type_: str, **equal: Any) -> list[Item]:
    """Return all items of a type whose attributes equal these: from a scan of the table, not by any key or index."""
    if table.name() not in _scans:
        _scans[table.name()] = list(table.scan_all(consistent=True))
    return [
        item
        for item in _scans[table.name()]
        if item["type"] == type_ and all(item.get(name) == value for name, value in equal.items())
    ]
