"""The cookies of accounts: session, device signed in before, reset link followed, and a visitor's cart."""

from __future__ import annotations

import re
import secrets
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from dealsite.data.carts import VISITOR_CART_LIFETIME
from dealsite.data.errors import Invalid
from dealsite.data.ids import normalise_username
from dealsite.data.sessions import LONGEST

KEY_BYTES = 32
KEY_PATTERN = re.compile(r"[A-Za-z0-9_-]{43}")
DEVICE_LIFETIME = timedelta(days=180)
DEVICE_SALT = "dealsite.accounts.device"
RESET_SALT = "dealsite.accounts.reset"
RESET_PATH = "/account/password-reset/"


class SessionCookie(NamedTuple):
    username: str
    key: str


class Device(NamedTuple):
    """A device on which a user has signed in before; `number` is random."""

    username: str
    number: str


class ResetLink(NamedTuple):
    username: str
    token: str


def new_key() -> str:
    """Return a random session key of 256 bits."""
    return secrets.token_urlsafe(KEY_BYTES)


def session(request: HttpRequest) -> SessionCookie | None:
    """Return what a session cookie of the right form says."""
    username, _, key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "").partition(":")
    if not KEY_PATTERN.fullmatch(key) or not _is_username(username):
        return None
    return SessionCookie(username, key)


def set_session(response: HttpResponse, username: str, key: str) -> None:
    """Give the browser a session; when it ends is decided here, not there."""
    _set(response, settings.SESSION_COOKIE_NAME, f"{username}:{key}", LONGEST)


def forget_session(response: HttpResponse) -> None:
    _delete(response, settings.SESSION_COOKIE_NAME)


def device(request: HttpRequest) -> Device | None:
    """Return the user whom this device has been signed in to, as this site itself noted."""
    try:
        text = signing.TimestampSigner(salt=DEVICE_SALT).unsign(
            request.COOKIES.get(_name("device"), ""), max_age=DEVICE_LIFETIME
        )
    except signing.BadSignature:
        return None
    return Device(*text.partition(":")[::2])


def set_device(response: HttpResponse, username: str) -> None:
    """Note that a user has signed in here: strangers' failed tries will not keep him out on this device."""
    text = f"{username}:{secrets.token_urlsafe(16)}"
    _set(response, _name("device"), signing.TimestampSigner(salt=DEVICE_SALT).sign(text), DEVICE_LIFETIME)


def forget_device(response: HttpResponse) -> None:
    _delete(response, _name("device"))


def reset_link(request: HttpRequest) -> ResetLink | None:
    """Return the reset link that was followed a moment ago."""
    try:
        text = signing.TimestampSigner(salt=RESET_SALT).unsign(
            request.COOKIES.get(_reset_name(), ""), max_age=settings.PASSWORD_RESET_TIMEOUT
        )
    except signing.BadSignature:
        return None
    return ResetLink(*text.partition(":")[::2])


def set_reset_link(response: HttpResponse, link: ResetLink) -> None:
    """Carry a reset link past the redirect that takes its token out of the address."""
    text = signing.TimestampSigner(salt=RESET_SALT).sign(f"{link.username}:{link.token}")
    lifetime = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    _set(response, _reset_name(), text, lifetime, path=RESET_PATH)


def forget_reset_link(response: HttpResponse) -> None:
    _delete(response, _reset_name(), path=RESET_PATH)


def cart(request: HttpRequest) -> str:
    """Return the key of a visitor's cart, '' where the browser has none of the right form."""
    key = request.COOKIES.get(_name("cart"), "")
    return key if KEY_PATTERN.fullmatch(key) else ""


def set_cart(response: HttpResponse, key: str) -> None:
    """Give the browser a cart, for as long as the cart itself is kept."""
    _set(response, _name("cart"), key, VISITOR_CART_LIFETIME)


def forget_cart(response: HttpResponse) -> None:
    _delete(response, _name("cart"))


def _is_username(text: str) -> bool:
    try:
        return normalise_username(text) == text
    except Invalid:
        return False


def _name(name: str) -> str:
    """Return a cookie's name beside the session's: `__Host-device`, or `device-8000` on loopback."""
    session_name: str = settings.SESSION_COOKIE_NAME
    return session_name.replace("session", name)


def _reset_name() -> str:
    """Return the name of the one cookie with a path, which `__Host-` does not allow."""
    return _name("reset").replace("__Host-", "__Secure-")


def _set(response: HttpResponse, name: str, value: str, lifetime: timedelta, path: str = "/") -> None:
    response.set_cookie(
        name,
        value,
        max_age=lifetime,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _delete(response: HttpResponse, name: str, path: str = "/") -> None:
    response.delete_cookie(name, path=path, samesite="Lax")
