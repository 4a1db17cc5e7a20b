"""Several threads that do something at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.table.errors import Busy, Conflict
from tests.faults.unkind import RACER


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Start all actions together; return what each returned, or the exception it raised, in order."""
    barrier = threading.Barrier(len(actions))
    outcomes: list[Any] = [None] * len(actions)

    def run(number: int) -> None:
        barrier.wait(60)
        try:
            outcomes[number] = actions[number]()
        except Exception as error:  # noqa: BLE001 - handed to the test, whatever it is
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,), name=RACER) for number in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


def meanwhile(monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> None:
    """Have something happen once, right before the next transaction is sent."""
    transact = table.transact

    def act_first(writes: Any) -> None:
        monkeypatch.setattr(table, "transact", transact)
        action()
        transact(writes)

    monkeypatch.setattr(table, "transact", act_first)


def one_did(outcomes: list[Any]) -> bool:
    """Whether one did it and the others met a conflict."""
    return [type(one) for one in outcomes if one is not None] == [Conflict] * (len(outcomes) - 1)


def errors_of(results: list[Any]) -> list[type[Exception]]:
    """Return the types of what was raised."""
    return [type(result) for result in results if isinstance(result, Exception)]


def again(action: Callable[[], Any]) -> Callable[[], Any]:
    """Do something again while the site is too busy, as a shopper would."""

    def act() -> Any:
        for _ in range(20):
            try:
                return action()
            except Busy:
                continue
        return action()

    return act
