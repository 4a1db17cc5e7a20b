"""Who makes a request: `request.user` is one of these two. What signs a user in stays behind `account`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dealsite.data.people.preferences import USUAL, Preferences
from dealsite.data.people.sessions import Session
from dealsite.data.people.users import User


@dataclass(frozen=True)
class Anonymous:
    """A visitor who is not signed in."""

    is_authenticated: Literal[False] = False
    username: str = ""
    name: str = ""
    email: str = ""
    timezone: str = ""
    roles: frozenset[str] = frozenset()
    preferences: Preferences = USUAL

    def has_role(self, *names: str) -> bool:
        return False

    def __str__(self) -> str:
        return "a visitor"


@dataclass(frozen=True)
class SignedIn:
    """A user on one of his devices."""

    session: Session
    account: User
    is_authenticated: Literal[True] = True

    @property
    def username(self) -> str:
        return self.account.username

    @property
    def name(self) -> str:
        return self.account.name

    @property
    def email(self) -> str:
        return self.account.email

    @property
    def timezone(self) -> str:
        return self.account.timezone

    @property
    def preferences(self) -> Preferences:
        return self.account.preferences

    @property
    def roles(self) -> frozenset[str]:
        return self.account.roles

    def has_role(self, *names: str) -> bool:
        """Tell whether the user has one of some roles; an admin has all of them."""
        return "admin" in self.roles or not self.roles.isdisjoint(names)

    def __str__(self) -> str:
        return self.name
