"""One thing that is wrong with the table; and the pace of a check, which waits where items come too fast."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Check, Condition, Path, Update, Write, equals, exists, missing

# What differs between sentences that are alike.
VALUE = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\S*[\d#]\S*|\bNone\b""")


@dataclass(frozen=True)
class Problem:
    """A sentence about an item; `repairs` is the transaction that repairs it, empty where nothing can be derived."""

    key: Key
    what: str
    repairs: tuple[Write, ...] = ()
    root: Key | None = None  # what it lacks

    @property
    def kind(self) -> str:
        """The sentence without its values, the same for all that are alike."""
        return VALUE.sub("…", self.what)

    def needs(self, roots: Collection[Key]) -> bool:
        """Tell whether it is that some roots are lost, or would be repaired as if they had never been."""
        return self.root in roots or any(isinstance(one, Check) and one.key in roots for one in self.repairs)

    def __str__(self) -> str:
        return f"{self.key[0]} / {self.key[1]}: {self.what}"


def key_of(item: Item) -> Key:
    return item["PK"], item["SK"]


def kept(item: Item, *names: str) -> Item:
    """Return an item's key and those of some attributes that it has: what a check remembers of it."""
    return {name: item[name] for name in ("PK", "SK", *names) if name in item}


def as_seen(item: Item, attributes: Iterable[str]) -> tuple[Condition, ...]:
    """The item still has the values of some attributes that it was seen with."""
    return tuple(equals(name, item[name]) if name in item else missing(name) for name in attributes)


def repair_write(item: Item, wanted: Mapping[str, Any]) -> Update:
    """Return the write that gives attributes their right values (None removes one), if they are still as seen."""
    # A deal counts its changes, so that an editor's write of the same moment notices this one.
    counted: dict[Path, Any] = {"writes": 1} if "writes" in item else {}
    return Update(
        key=key_of(item),
        set={name: value for name, value in wanted.items() if value is not None},
        remove=[name for name, value in wanted.items() if value is None],
        add=counted,
        when=(exists(), *as_seen(item, [*wanted, *(("writes",) if counted else ())])),
    )


def differences(item: Item, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the wanted attributes that an item has otherwise; None stands for absent."""
    return {name: value for name, value in wanted.items() if item.get(name) != value}


def say(text: str, item: Item, wanted: Mapping[str, Any]) -> str:
    """Return a sentence about attributes that are not as wanted: `text` has their name, value and the right one."""
    return "; ".join(text.format(name, item.get(name), value) for name, value in wanted.items()) + "."


def differing(text: str, item: Item, wanted: Mapping[str, Any], *more: Write) -> Problem:
    """Return the problem that an item's attributes are not as wanted, repaired along with more writes."""
    return Problem(key_of(item), say(text, item, wanted), (repair_write(item, wanted), *more))


STEP = 50  # items between two looks at the clock


@dataclass
class Pace:
    """At most `rate` items a second, 0 for as many as come; `then` is called each 50 items.

    What took long is not made up for afterwards.
    """

    rate: float = 0
    then: Callable[[], object] = lambda: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    items: int = 0
    _began: float = field(init=False)
    _next: float = field(init=False)
    _new: int = 0

    def __post_init__(self) -> None:
        self._began = self._next = self.clock()

    @property
    def seconds(self) -> float:
        return self.clock() - self._began

    def __call__(self, items: int = 1) -> None:
        """Count an item, or some that come together, and wait until they may."""
        self.items += items
        self._new += items
        if items == 1 and self._new < STEP:
            return
        if self.rate:
            self._next += self._new / self.rate
            now = self.clock()
            if self._next > now:
                self.sleep(self._next - now)
            self._next = max(self._next, now)
        self._new = 0
        self.then()
