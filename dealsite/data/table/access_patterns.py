"""Access patterns: each function that asks the table something says beside itself what it asks and what that costs.

    @access_pattern("the deals of a day", "1 query")
    def deals_of_day(day): ...

The page of all questions is written from these, and tests hold each function to its requests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """A question to the table, and the requests that it takes where a test measures it."""

    question: str
    requests: str


_registered: dict[Callable[..., Any], AccessPattern] = {}
ACCESS_PATTERNS = MappingProxyType(_registered)  # of all modules imported so far


def access_pattern(question: str, requests: str) -> Callable[[Function], Function]:
    """Register the question that a function asks; `requests` reads `1 batch get + 2 queries`."""

    def register(function: Function) -> Function:
        _registered[function] = AccessPattern(question, requests)
        return function

    return register
