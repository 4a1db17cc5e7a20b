"""The cookies of accounts: session, device signed in before, reset link followed, a visitor's cart, and who has
given his password and not yet his code."""

from __future__ import annotations

import re
import secrets
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from dealsite.data.commerce.carts import VISITOR_CART_LIFETIME
from dealsite.data.names import normalise_username
from dealsite.data.people.sessions import LONGEST
from dealsite.data.table.errors import Invalid

KEY_BYTES = 32
KEY_PATTERN = re.compile(r"[A-Za-z0-9_-]{43}")
DEVICE_LIFETIME = timedelta(days=180)
DEVICE_SALT = "dealsite.accounts.device"
RESET_SALT = "dealsite.accounts.reset"
RESET_PATH = "/account/password-reset/"
HALF_SALT = "dealsite.accounts.half"
HALF_PATH = "/account/sign-in/"
HALF_LIFETIME = timedelta(minutes=10)


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


class HalfSignIn(NamedTuple):
    """Who has given his password; `mark` says which one, and which second factor is asked for."""

    username: str
    mark: str


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
    read = _unsigned(request.COOKIES.get(_name("device"), ""), DEVICE_SALT, DEVICE_LIFETIME)
    return Device(*read) if read else None


def set_device(response: HttpResponse, username: str) -> None:
    """Note that a user has signed in here: strangers' failed tries will not keep him out on this device."""
    text = _signed(Device(username, secrets.token_urlsafe(16)), DEVICE_SALT)
    _set(response, _name("device"), text, DEVICE_LIFETIME)


def forget_device(response: HttpResponse) -> None:
    _delete(response, _name("device"))


def reset_link(request: HttpRequest) -> ResetLink | None:
    """Return the reset link that was followed a moment ago."""
    lifetime = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    read = _unsigned(request.COOKIES.get(_name_with_path("reset"), ""), RESET_SALT, lifetime)
    return ResetLink(*read) if read else None


def set_reset_link(response: HttpResponse, link: ResetLink) -> None:
    """Carry a reset link past the redirect that takes its token out of the address."""
    lifetime = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    _set(response, _name_with_path("reset"), _signed(link, RESET_SALT), lifetime, path=RESET_PATH)


def forget_reset_link(response: HttpResponse) -> None:
    _delete(response, _name_with_path("reset"), path=RESET_PATH)


def half(request: HttpRequest) -> HalfSignIn | None:
    """Return who gave his password here some minutes ago."""
    return read_half(request.COOKIES.get(_name_with_path("half"), ""))


def read_half(text: str) -> HalfSignIn | None:
    """Return what `half_text` wrote some minutes ago; None for anything else."""
    read = _unsigned(text, HALF_SALT, HALF_LIFETIME)
    return HalfSignIn(*read) if read else None


def half_text(half: HalfSignIn) -> str:
    return _signed(half, HALF_SALT)


def set_half(response: HttpResponse, half: HalfSignIn) -> None:
    """Note that somebody has given his password; it signs nobody in, and goes to the sign-in pages only."""
    _set(response, _name_with_path("half"), half_text(half), HALF_LIFETIME, path=HALF_PATH)


def forget_half(response: HttpResponse) -> None:
    _delete(response, _name_with_path("half"), path=HALF_PATH)


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


def _name_with_path(name: str) -> str:
    """Return the name of a cookie with a path, which `__Host-` does not allow."""
    return _name(name).replace("__Host-", "__Secure-")


def _signed(parts: tuple[str, str], salt: str) -> str:
    """Return a user name and what goes with it as text that this site knows again."""
    return signing.TimestampSigner(salt=salt).sign(":".join(parts))


def _unsigned(text: str, salt: str, lifetime: timedelta) -> tuple[str, str] | None:
    """Return what `_signed` wrote at most so long ago; None for anything else."""
    try:
        username, _, more = signing.TimestampSigner(salt=salt).unsign(text, max_age=lifetime).partition(":")
    except signing.BadSignature:
        return None
    return username, more


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
