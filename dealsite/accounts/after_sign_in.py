"""What other parts of the site do when somebody signs in. They register it here when the site starts."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from django.http import HttpRequest, HttpResponse


class PendingAction(Protocol):
    """What a visitor wanted to do before they were asked to sign in; as text it is what stands in an address."""

    def carry_out(self, request: HttpRequest, username: str, *, now: datetime) -> None:
        """Do it now, and say so; the sign-in stands, whatever becomes of it."""


class Step(Protocol):
    """Something that follows each sign-in. It never raises: signing in is more than what follows."""

    def __call__(
        self, request: HttpRequest, response: HttpResponse, username: str, *, now: datetime
    ) -> None: ...


_readers: list[Callable[[HttpRequest], PendingAction | None]] = []
_steps: list[Step] = []


def register(*, pending_action: Callable[[HttpRequest], PendingAction | None], step: Step) -> None:
    """Have pending actions read from requests by a function, and a step follow each sign-in."""
    _readers.append(pending_action)
    _steps.append(step)


def pending_action_of(request: HttpRequest) -> PendingAction | None:
    """Return the action in a request's form or else its address; None for what is not exactly one."""
    return next((action for read in _readers if (action := read(request))), None)


def follow_up(request: HttpRequest, response: HttpResponse, username: str, *, now: datetime) -> None:
    """Take all steps that follow a sign-in."""
    for step in _steps:
        step(request, response, username, now=now)
