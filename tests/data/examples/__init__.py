"""An example of each question to the table: what budgets and capacity units are measured with.

    @measures(deals.publish_many, make_brand)
    def publish_many(brand): ...

    measures(brands.get)(lambda: brands.get("aurora"))

What a function is given is prepared at no charge. The table holds what the fixture `shop` of tests/site made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Act = Callable[..., Any]
EXAMPLES: dict[
    Act, Callable[[], Callable[[], Any]]
] = {}  # function -> prepares, and returns what is measured


def measures(function: Act, given: Callable[[], Any] | None = None) -> Callable[[Act], Act]:
    """Register an example of what is asked by a function of the data layer."""

    def register(act: Act) -> Act:
        if function in EXAMPLES:
            raise ValueError(f"{function.__qualname__} has an example already.")
        EXAMPLES[function] = (lambda: partial(act, given())) if given else (lambda: act)
        return act

    return register
