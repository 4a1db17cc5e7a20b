"""Runs things at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any


def at_once(actions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all actions in threads that start together; return each one's result, or the error that it raised."""
    gate = threading.Barrier(len(actions))
    results: list[Any] = [None] * len(actions)

    def run(number: int, action: Callable[[], Any]) -> None:
        gate.wait()
        try:
            results[number] = action()
        except Exception as error:  # noqa: BLE001 - an error is a result here
            results[number] = error

    threads = [threading.Thread(target=run, args=(number, action)) for number, action in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def errors_of(results: Sequence[Any]) -> list[type[Exception]]:
    """The kinds of errors among results."""
    return [type(result) for result in results if isinstance(result, Exception)]
