"""The requests that views get: who makes them, from where, with which cookies, and where to next.

The request classes are for the type checker: the real object is Django's own, to which the middleware adds these.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import structlog
from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from dealsite.data.catalogue import relations
from dealsite.data.catalogue.categories import Counts
from dealsite.data.catalogue.relations import RelationState, Target
from dealsite.data.commerce.carts import VISITOR_CART_LIFETIME
from dealsite.data.entities.people import LONGEST_SESSION
from dealsite.data.names import normalise_username
from dealsite.data.people import sessions, users
from dealsite.data.people.profiles import USUAL, Preferences
from dealsite.data.people.sessions import Session
from dealsite.data.people.users import User
from dealsite.data.table.errors import Invalid

KEY_BYTES = 32
CHANGED = timedelta(seconds=2)  # longer than all are shown what was read for one of them
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


def session_in(request: HttpRequest) -> SessionCookie | None:
    """Return what a session cookie of the right form says."""
    username, _, key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "").partition(":")
    with suppress(Invalid):
        if KEY_PATTERN.fullmatch(key) and normalise_username(username) == username:
            return SessionCookie(username, key)
    return None


def session_key(request: HttpRequest) -> str:
    """Return the key of the browser's session, '' without one."""
    cookie = session_in(request)
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
    mine = (
        device is not None
        and device.username == user.username
        and sessions.is_known_device(user, device.text)
    )
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


def note_change(response: HttpResponse) -> None:
    """Have the browser say for a moment that its user has changed something that all are shown."""
    _set(response, _name("changed"), "yes", CHANGED)


def has_just_changed(request: HttpRequest) -> bool:
    """Tell whether the user has just changed something, or is still to be told of it."""
    return any(request.COOKIES.get(_name(name)) for name in ("changed", "messages"))


def _name(name: str) -> str:
    session_name: str = settings.SESSION_COOKIE_NAME
    return session_name.replace("session", name)


def _set(response: HttpResponse, name: str, value: str, lifetime: timedelta) -> None:
    secure: bool = settings.SESSION_COOKIE_SECURE
    response.set_cookie(name, value, max_age=lifetime, secure=secure, httponly=True, samesite="Lax")


# What proxies add to the requests that they pass on.
OF_PROXIES = (
    *("X-Forwarded-For", "Forwarded", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP"),
    *("Via", "X-Forwarded-Host", "X-Forwarded-Proto"),
)
# Where proxies stand that somebody forgot. Whoever asks from any other address is counted, whatever they send along:
# else a header would be all that it takes to escape.
NEAR = [
    *map(ipaddress.ip_network, ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")),
    *map(ipaddress.ip_network, ("169.254.0.0/16", "100.64.0.0/10", "::1", "fc00::/7", "fe80::/10")),
]
# The first that occurs: browsers also name those that they want to be taken for.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
    ("curl", "curl"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
WARNING_SECONDS = 60.0  # between two warnings of a process
logger = structlog.get_logger(__name__)
clock: Callable[[], float] = time.monotonic
_warned = {"at": float("-inf")}


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
    """A user on one of their devices; what signs them in stays behind `account`."""

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


class SiteRequest(HttpRequest):
    """Of any visitor."""

    user: Anonymous | SignedIn  # type: ignore[assignment]
    visit: Visit
    htmx: HtmxDetails


class UserRequest(SiteRequest):
    """What a view gets that is for users."""

    user: SignedIn


@dataclass(eq=False)
class Visit:
    """One request's visitor, looked up once: no call without a cookie, else 1 consistent batch get."""

    request: SiteRequest
    was_read: bool = False
    is_stale: bool = False
    username: str = ""  # of whom it is, once that was found out
    begun: tuple[str, str, str] | None = None  # user, key and device of a session that this request began
    # The deal, brand or category whose relation is read along, and how many like and watch it, where that is known.
    target: tuple[Target, str, Counts | None] | None = None
    state: RelationState | None = None

    def visitor(self) -> Anonymous | SignedIn:
        """Return who it is; what failed is tried again the next time."""
        self.was_read = True
        cookie, now = session_in(self.request), timezone.now()
        found = self._read(*cookie, now) if cookie else None
        if found is None:
            self.is_stale = True
            return Anonymous()
        session, user, self.state = found
        self.username = user.username
        user_agent = self.request.headers.get("User-Agent", "")
        sessions.see(session, user_agent=user_agent, address=client_address(self.request), now=now)
        return SignedIn(session, user)

    def _read(
        self, username: str, key: str, now: datetime
    ) -> tuple[Session, User, RelationState | None] | None:
        if self.target:
            target, slug, counts = self.target
            return sessions.read_with_relation_state(
                username, key, target=target, slug=slug, counts=counts, now=now
            )
        found = sessions.read(username, key, now=now)
        return (*found, None) if found else None

    def relation_state(self, target: Target, slug: str, counts: Counts | None = None) -> RelationState | None:
        """Return how the user stands to a deal, brand or category; None for who is not signed in.

        It is read along with who it is; 1 batch get more only where somebody asked for that before. `counts` are those
        that all are shown, which are not read again.
        """
        self.target = (target, slug, counts)
        user = self.request.user
        if not user.is_authenticated:
            return None
        if self.state is None or (self.state.target, self.state.slug) != (target, slug):
            self.state = relations.relation_state_of(user.username, target, slug, counts)
        return self.state


def client_address(request: HttpRequest) -> str:
    """Return the visitor's IP address: the peer's, or what the last trusted proxy saw.

    Each of the DEALSITE_TRUSTED_PROXIES proxies appends the address it was asked from; whatever stands
    further left came from the visitor and may be made up.
    """
    proxies: int = settings.DEALSITE_TRUSTED_PROXIES
    text = request.META.get("REMOTE_ADDR", "")
    if proxies:
        seen = forwarded_for(request)
        if len(seen) >= proxies:
            text = seen[-proxies]
    return str(_parsed(text) or "unknown")


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address, as IPv4 where it only stands for one; None of what is none."""
    with suppress(ValueError):
        address = ipaddress.ip_address(text)
        return getattr(address, "ipv4_mapped", None) or address
    return None


def forwarded_for(request: HttpRequest) -> list[str]:
    """Return the addresses that the proxies of a request, and whoever sent it, say that they were asked from."""
    return [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]


def asks_from_here(request: HttpRequest) -> bool:
    """Tell whether somebody asks from this machine itself, and not through a proxy on it."""
    if any(name in request.headers for name in OF_PROXIES):
        return False
    address = _parsed(client_address(request))  # None of a Unix socket: whoever asks comes through a proxy
    return address is not None and address.is_loopback


def network_of(address: str) -> str:
    """Return what one visitor can hold of addresses: an IPv4 address, or the /64 of an IPv6 one."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))


def wide_network_of(address: str) -> str:
    """Return the /24 of an IPv4 address, or the /64 of an IPv6 one."""
    return str(ipaddress.ip_network((address, 24), strict=False)) if "." in address else network_of(address)


def is_behind_unknown_proxy(request: HttpRequest) -> bool:
    """Tell whether a request came through a proxy nearby that DEALSITE_TRUSTED_PROXIES does not know.

    What its headers say may be made up, so it is not used; but neither are all its visitors one network.
    """
    if settings.DEALSITE_TRUSTED_PROXIES or not any(request.headers.get(name) for name in OF_PROXIES):
        return False
    peer = _parsed(request.META.get("REMOTE_ADDR", ""))
    # None of a Unix socket: nobody outside the machine speaks to it.
    return peer is None or any(peer in network for network in NEAR)


def warn_of_proxy(request: HttpRequest) -> None:
    """Say in the log that there is such a proxy, once a minute."""
    if is_behind_unknown_proxy(request) and clock() - _warned["at"] >= WARNING_SECONDS:
        _warned["at"] = clock()
        logger.warning(
            "proxy_not_trusted",
            peer=request.META.get("REMOTE_ADDR", ""),
            meaning="Visitors' addresses are unknown, and limits by network do not hold. Say in "
            "DEALSITE_TRUSTED_PROXIES how many proxies stand in front of the site.",
        )


def device_name(user_agent: str) -> str:
    """Return "Firefox on Linux", or as much of it as can be told."""
    browser = _first(BROWSERS, user_agent)
    system = _first(SYSTEMS, user_agent)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown device")


def _first(names: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for sign, name in names if sign in text), "")


def is_safe(address: str) -> bool:
    """Tell whether an address is a plain path of this site."""
    return address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)


def destination(request: HttpRequest, default: str = "") -> str:
    """Return the path that `next` asks for, else the default, else the account page."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    return asked if is_safe(asked) else default or reverse("account")
