"""The cookies of visitors: session, cart, the look of lists, and those that this site signs to know them again."""

import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from dealsite.data.commerce.carts import VISITOR_CART_LIFETIME
from dealsite.data.entities.people import LONGEST_SESSION
from dealsite.data.names import normalise_username
from dealsite.data.people import devices, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Invalid

KEY_BYTES = 32
LOOKS = ("cards", "list", "cards.all", "list.all")  # of lists of deals; all: what is over, too
KEY_PATTERN = re.compile(r"[A-Za-z0-9_-]{43}")


class SessionCookie(NamedTuple):
    username: str
    key: str


class Signed(NamedTuple):
    """A user, and what goes with them: a device's random number, a token, a mark."""

    username: str
    text: str


@dataclass(frozen=True)
class SignedCookie:
    """A kind of signed cookie; its name stands beside the session's: `__Host-device`, `device-8000` on loopback."""

    short_name: str
    salt: str
    lifetime: timedelta

    @property
    def name(self) -> str:
        return _name(self.short_name)

    def read(self, request: HttpRequest) -> Signed | None:
        """Return what the browser holds, as this site itself noted it."""
        return self.unsign(request.COOKIES.get(self.name, ""))

    def set(self, response: HttpResponse, signed: Signed) -> None:
        _set(response, self.name, self.sign(signed), self.lifetime)

    def forget(self, response: HttpResponse) -> None:
        response.delete_cookie(self.name, samesite="Lax")

    def sign(self, signed: Signed) -> str:
        return signing.TimestampSigner(salt=self.salt).sign(":".join(signed))

    def unsign(self, text: str) -> Signed | None:
        """Return what `sign` wrote within the cookie's lifetime; None for anything else."""
        try:
            plain = signing.TimestampSigner(salt=self.salt).unsign(text, max_age=self.lifetime)
        except signing.BadSignature:
            return None
        username, _, more = plain.partition(":")
        return Signed(username, more)


# A device on which a user has signed in before: strangers' failed tries will not keep them out there.
DEVICE = SignedCookie("device", "dealsite.accounts.device", timedelta(days=180))
# Carries a reset link past the redirect that takes its token out of the address.
RESET_LINK = SignedCookie(
    "reset", "dealsite.accounts.reset", timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
)
# They carry links that confirm an address, or take one back, in the same way.
CONFIRM_LINK = SignedCookie("confirm", "dealsite.accounts.confirm_link", timedelta(hours=1))
TAKE_BACK_LINK = SignedCookie("take-back", "dealsite.accounts.take_back_link", timedelta(hours=1))
# Who has given their password and not yet their code: it signs nobody in.
HALF = SignedCookie("half", "dealsite.accounts.half", timedelta(minutes=10))
# What a browser is to have signed by a passkey. Of a user who adds one: who has just shown that it is they.
PASSKEY = SignedCookie("passkey", "dealsite.accounts.passkey", timedelta(minutes=5))


def new_key() -> str:
    """Return a random session key of 256 bits."""
    return secrets.token_urlsafe(KEY_BYTES)


def session(request: HttpRequest) -> SessionCookie | None:
    """Return what a session cookie of the right form says."""
    username, _, key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "").partition(":")
    with suppress(Invalid):
        if KEY_PATTERN.fullmatch(key) and normalise_username(username) == username:
            return SessionCookie(username, key)
    return None


def session_key(request: HttpRequest) -> str:
    """Return the key of the browser's session, '' without one."""
    cookie = session(request)
    return cookie.key if cookie else ""


def set_session(response: HttpResponse, username: str, key: str) -> None:
    """Give the browser a session; when it ends is decided here, not there."""
    _set(response, settings.SESSION_COOKIE_NAME, f"{username}:{key}", LONGEST_SESSION)


def forget_session(response: HttpResponse) -> None:
    """Take the session from the browser, and with it the pages that Back would show.

    Cookies stay, which hold the visitor's cart and known devices, and so does storage, which holds the theme alone.
    """
    response["Clear-Site-Data"] = '"cache"'
    response.delete_cookie(settings.SESSION_COOKIE_NAME, samesite="Lax")


def user_of(signed: Signed | None) -> User | None:
    """Return the user whom a signed cookie names, unless they are suspended. No call or 1 get."""
    user = users.find(signed.username) if signed and "@" not in signed.username else None
    return user if user and not user.suspended_at else None


def device_of(request: HttpRequest, user: User) -> str:
    """Return the random number of a device on which a user has signed in before, '' of any other."""
    device = DEVICE.read(request)
    mine = device is not None and device.username == user.username and devices.is_known(user, device.text)
    return device.text if device and mine else ""


def cart(request: HttpRequest) -> str:
    """Return the key of a visitor's cart, '' where the browser has none of the right form."""
    key = request.COOKIES.get(_name("cart"), "")
    return key if KEY_PATTERN.fullmatch(key) else ""


def set_cart(response: HttpResponse, key: str) -> None:
    """Give the browser a cart, for as long as the cart itself is kept."""
    _set(response, _name("cart"), key, VISITOR_CART_LIFETIME)


def forget_cart(response: HttpResponse) -> None:
    response.delete_cookie(_name("cart"), samesite="Lax")


def look(request: HttpRequest) -> str:
    """Return which of the LOOKS a visitor has chosen for lists of deals."""
    chosen = request.COOKIES.get(_name("look"), "")
    return chosen if chosen in LOOKS else LOOKS[0]


def set_look(response: HttpResponse, chosen: str) -> None:
    _set(response, _name("look"), chosen, timedelta(days=365))


def _name(name: str) -> str:
    session_name: str = settings.SESSION_COOKIE_NAME
    return session_name.replace("session", name)


def _set(response: HttpResponse, name: str, value: str, lifetime: timedelta) -> None:
    secure: bool = settings.SESSION_COOKIE_SECURE
    response.set_cookie(name, value, max_age=lifetime, secure=secure, httponly=True, samesite="Lax")
