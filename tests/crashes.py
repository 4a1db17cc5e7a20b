"""A process that ends at one of its requests to DynamoDB."""

from __future__ import annotations

import threading
from typing import Self

import pytest

from tests.table_requests import Request, handled


class Crash(BaseException):
    """The process is gone: nothing may catch this."""


class Crasher:
    """Ends the process at the n-th request, before or after it reaches DynamoDB; none of its threads goes on."""

    def __init__(self, at: int, when: str) -> None:
        self.at, self.when, self.requests = at, when, 0
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> None:
        with self.lock:
            self.requests += 1
            number = self.requests
        if number < self.at:
            return
        if number == self.at and self.when == "after":
            request.send()
        raise Crash

    @property
    def crashed(self) -> bool:
        return self.requests >= self.at

    def __enter__(self) -> Self:
        self.handled = handled(self)
        self.handled.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.handled.__exit__(None, None, None)


# Ends at each request in turn, which takes its time: each run does so for some of these tests.
at_any_request = pytest.mark.sample(quick=24, whole=3)
