"""Making an account, signing in and out, and what other parts of the site do when somebody signs in."""

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from dealsite.accounts import limits, passwords, requests, second_factor
from dealsite.accounts.forms import CodeForm, SignInForm, SignUpForm, answer_form
from dealsite.accounts.limits import Tries
from dealsite.accounts.requests import SiteRequest, asks_from_here, client_address, destination
from dealsite.accounts.security_log import note
from dealsite.data.jobs import site_switch
from dealsite.data.names import normalise_sign_in_name, shown_email
from dealsite.data.people import sessions, sessions as stored_passwords, users
from dealsite.data.people.sessions import Session
from dealsite.data.people.users import User
from dealsite.data.table.errors import AlreadyExists, Invalid, TooManyRequests, Unavailable
from dealsite.data.table.ids import hash_of, new_ulid
from dealsite.web.pages import CLOSED, everyone, open_while

# How somebody signed in, for the security log
SIGN_UP, PASSWORD, CODE, PASSKEY = "sign-up", "password", "password and second step", "passkey"


class PendingAction(Protocol):
    """What a visitor wanted to do before they were asked to sign in; as text it is what stands in an address."""

    def carry_out(self, request: HttpRequest, username: str, *, now: datetime) -> None:
        """Do it now, and say so; the sign-in stands, whatever becomes of it."""


_readers: list[Callable[[HttpRequest], PendingAction | None]] = []
_steps: list[Callable[..., None]] = []
_admin_seen = {"is_there": False}


def after_sign_in(
    *, pending_action: Callable[[HttpRequest], PendingAction | None], step: Callable[..., None]
) -> None:
    """Have pending actions read from requests by a function, and a step follow each sign-in; it never raises."""
    _readers.append(pending_action)
    _steps.append(step)


@everyone.form("none")
@never_cache
def sign_up(request: HttpRequest) -> HttpResponse:
    """Make an account and sign in to it."""
    now = timezone.now()
    form = SignUpForm(request.POST or None, initial={"registration": new_ulid(now)})
    context = _leads_on(request)

    def create() -> HttpResponse | None:
        data = form.cleaned_data
        limits.count_use(request, "sign-up", now=now)
        hashed = passwords.hashed(data["password"])
        # Whose the address is plays no part: only the worker looks, and writes to whoever has it.
        user = users.create(**data | {"password": hashed}, confirmed=False, now=now)
        # The form may have been sent before, its answer lost; whoever else knows its number knows no password.
        if not passwords.matches(data["password"], user.password):
            raise AlreadyExists(_("This user name is taken. Choose another one."), field="username")
        note(request, "signed_up", username=user.username)
        messages.success(request, _("Welcome, %(name)s. Your account is ready.") % {"name": user.name})
        if settings.DEALSITE_SENDS_MAIL:
            link_sent = _("We have sent a link to %(email)s: follow it to confirm the address.")
            messages.info(request, link_sent % {"email": shown_email(user.pending_email)})
        return enter(request, user, context, how=SIGN_UP, now=now)

    refusals = (TooManyRequests, AlreadyExists, Invalid)
    return answer_form(request, "accounts/sign_up.html", form, create, refusals=refusals, **context)


@everyone.form("1 scan + 1 batch get")
@open_while(*CLOSED)
@never_cache
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with a user name or e-mail address and a password, or a passkey alone."""
    form = SignInForm(request.POST or None)
    context = _leads_on(request)
    context["lacks_admin"] = request.method != "POST" and _lacks_admin(request)
    if request.method != "POST" and context["pending"] and request.user.is_authenticated:
        return HttpResponseRedirect(context["next"])  # where they do it themselves: nothing is done by a link

    def go() -> HttpResponse | None:
        now = timezone.now()
        user = user_of_form(request, form, now=now)
        if user is None:
            return None
        if form.by_passkey:
            return enter(request, user, context, how=PASSKEY, now=now)
        return go_on(request, user, context, now=now)

    return answer_form(request, "accounts/sign_in.html", form, go, **context)


@everyone.form("none or 1 get")
@open_while(*CLOSED)
@never_cache
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """The second step of signing in: a code or passkey. Who has not taken the first one just now is led to it."""
    form = CodeForm(request.POST or None)
    context = _leads_on(request)
    user = half_signed_in(requests.HALF.read(request))
    if user is None:
        messages.info(request, _("Please enter your password first."))
        response = HttpResponseRedirect(page_address("sign_in", context["next"], context["pending"]))
        requests.HALF.forget(response)
        return response

    def go() -> HttpResponse | None:
        now = timezone.now()
        if not second_factor.passes(request, user, form, now=now):
            return None
        return enter(request, user, context, how=CODE, now=now)

    return answer_form(request, "accounts/sign_in_code.html", form, go, **context)


@everyone.action
@open_while(*CLOSED)
def sign_out(request: SiteRequest) -> HttpResponse:
    """End this session, here and in the table; harmless when it has ended."""
    response = HttpResponseRedirect("/")
    username = request.user.username
    if cookie := requests.session_in(request):
        sessions.end(cookie.username, hash_of(cookie.key))
    if username:
        note(request, "signed_out", username=username)
    requests.forget_session(response)
    return response


def user_of_form(request: HttpRequest, form: SignInForm, *, now: datetime) -> User | None:
    """Return the user of a form's name and password, or passkey, else say so in the form; TooManyRequests.

    1 hash for a password, be there such a user or not.
    """
    find = second_factor.user_of_passkey if form.by_passkey else _user_of_password
    user = find(request, form, now)
    if user and user.suspended_at:  # said to who has shown that it is they, and to nobody else
        words = _("This account is suspended. Ask an admin of %(site)s about it.")
        form.add_error(None, words % {"site": settings.DEALSITE_NAME})
        return None
    return user


def _user_of_password(request: HttpRequest, form: SignInForm, now: datetime) -> User | None:
    name, password = form.cleaned_data["name"], form.cleaned_data["password"]
    user = users.find(name)
    tries = _count(request, name, user, now)
    if not passwords.matches(password, user.password if user else None) or user is None:
        note(request, "sign_in_failed", username=user.username if user else "")
        form.add_error(None, _("The user name or e-mail and the password do not belong together."))
        return None
    tries.succeeded()
    if passwords.is_outdated(user.password):
        stored_passwords.upgrade_password(user, password=passwords.hashed(password))
        user = users.get(user.username)
    return user


def go_on(request: HttpRequest, user: User, leads_on: Mapping[str, Any], *, now: datetime) -> HttpResponse:
    """Start a session for a user who gave their password, or ask for a code where they have a second factor."""
    if not user.two_factor:
        return enter(request, user, leads_on, how=PASSWORD, now=now)
    response = HttpResponseRedirect(page_address("sign_in_code", leads_on["next"], leads_on.get("pending")))
    requests.HALF.set(response, half_of(user))
    return response


def half_of(user: User) -> requests.Signed:
    """Return what carries a given password to the second step: void as soon as password or factor change."""
    # Under no key: the cookie is signed, also by a key that was in use before.
    return requests.Signed(user.username, hash_of(f"{requests.HALF.salt} {user.password}{user.two_factor}"))


def half_signed_in(half: requests.Signed | None) -> User | None:
    """Return the user who has given their password and is to give a code; None for nobody. No call or 1 get."""
    user = requests.user_of(half)
    if half is None or user is None or not user.two_factor:
        return None
    return user if constant_time_compare(half.text, half_of(user).text) else None


def page_address(name: str, to: str, then: object = None) -> str:
    """Return the address of a page that leads on to another, and to what the visitor wanted to do there."""
    query = {"next": to} | (
        {"then": str(then)} if then else {}
    )  # whether it may lead there is judged when it does
    return f"{reverse(name)}?{urlencode(query)}" if to else reverse(name)


def _leads_on(request: HttpRequest) -> dict[str, Any]:
    """Return what pages pass on until somebody is signed in: the `next` page, and the action that is `pending`."""
    pending = next((action for read in _readers if (action := read(request))), None)
    return {"next": destination(request), "pending": pending}


def _lacks_admin(request: HttpRequest) -> bool:
    """Tell whoever asks from this machine that nobody is an admin. 1 scan + 1 batch get until somebody is."""
    if _admin_seen["is_there"] or not asks_from_here(request):
        return False
    try:
        _admin_seen["is_there"] = not users.lacks_admin()
    except Unavailable:  # the page itself needs no table
        return False
    return not _admin_seen["is_there"]


def enter(
    request: HttpRequest, user: User, leads_on: Mapping[str, Any], *, how: str, now: datetime
) -> HttpResponse:
    """Start a session and redirect. 1 put + 1 delete, on a new device 1 update and a transaction in place of the put.

    What the visitor wanted to do before they were asked to sign in is done now, unless the site is closed: 1
    transaction. Their cart is merged: 1 query + 1 get + 1 transaction.
    """
    _, *begun = begin(request, user, how=how, now=now)
    pending: PendingAction | None = leads_on.get("pending")
    if pending and site_switch.of_process.current().is_open:
        pending.carry_out(request, user.username, now=now)
    response = HttpResponseRedirect(leads_on["next"])
    for step in _steps:
        step(request, response, user.username, now=now)
    give_cookies(response, user.username, *begun)
    return response


def begin(request: HttpRequest, user: User, *, how: str, now: datetime) -> tuple[Session, str, str]:
    """Start a session under a new key and end the one this browser had; return it, its key and its device's number.

    Who signs in on a device that is not known is told by mail.
    1 put + 1 delete, on a new device 1 update and a transaction in place of the put.
    """
    device = requests.device_of(request, user)
    start = sessions.start if device or how == SIGN_UP else sessions.start_on_new_device
    if not device and not sessions.remember_device(user, device := secrets.token_urlsafe(16)):
        device = ""
    key = requests.new_key()
    user_agent = request.headers.get("User-Agent", "")
    session = start(user, key=key, user_agent=user_agent, address=client_address(request), now=now)
    if earlier := requests.session_in(request):
        sessions.end(earlier.username, hash_of(earlier.key))
    rotate_token(request)
    note(request, "signed_in", username=user.username, detail=how)
    return session, key, device


def give_cookies(response: HttpResponse, username: str, key: str, device: str) -> None:
    """Give the browser the session that was begun, and what tells its device; '' for one that is not known."""
    requests.set_session(response, username, key)
    if device:
        requests.DEVICE.set(response, requests.Signed(username, device))
    requests.HALF.forget(response)


def _count(request: HttpRequest, name: str, user: User | None, now: datetime) -> Tries:
    """Count the try for whoever the name means: on a device that they have signed in to, only by their devices."""
    username = user.username if user else ""
    about: dict[str, Any] = {"request": request, "now": now, "username": username}
    if user and (device := requests.device_of(request, user)):
        return limits.count(("sign-in-device", device), ("sign-in-devices", username), **about)
    subject = username or normalise_sign_in_name(name)
    address = limits.stranger(request)
    of_both = [("sign-in", f"{subject} {address[1]}")] if address[0] == "sign-in-address" else []
    return limits.count(address, *of_both, ("sign-in-name", subject), **about)
