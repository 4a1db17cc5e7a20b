"""Signing in and out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dealsite.accounts import carts, cookies, limits, passwords, wishes
from dealsite.accounts.addresses import client_address, network_of
from dealsite.accounts.answers import form_page, too_many
from dealsite.accounts.destinations import destination
from dealsite.accounts.forms import SignInForm
from dealsite.accounts.limits import Tries
from dealsite.accounts.wishes import Wish
from dealsite.data import passwords as stored_passwords
from dealsite.data import sessions, users
from dealsite.data.errors import TooManyRequests
from dealsite.data.users import User

WRONG = "The user name or e-mail and the password do not belong together."


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with a user name or e-mail address and a password."""
    form = SignInForm(request.POST or None)
    status = 200
    context: dict[str, Any] = {"next": destination(request), "wish": wishes.asked(request)}
    if request.method != "POST" and context["wish"] and request.user.is_authenticated:
        return HttpResponseRedirect(context["next"])  # where he does it himself: nothing is done by a link
    if request.method == "POST":
        status = 422
        if form.is_valid():
            now = timezone.now()
            try:
                user = authenticated(request, **form.cleaned_data, now=now)
            except TooManyRequests as error:
                return too_many(request, "accounts/sign_in.html", form, error, **context)
            if user:
                return enter(request, user, context["next"], now=now, wish=context["wish"])
            form.add_error(None, WRONG)
    return form_page(request, "accounts/sign_in.html", form, status, **context)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this session, here and in the table; harmless when it has ended."""
    response = HttpResponseRedirect("/")
    if cookie := cookies.session(request):
        sessions.end(cookie.username, sessions.key_hash(cookie.key))
    cookies.forget_session(response)
    return response


def authenticated(request: HttpRequest, *, name: str, password: str, now: datetime) -> User | None:
    """Return the user to whom name and password belong, or None; TooManyRequests. 1 hash either way."""
    user = users.find(name)
    tries = _count(request, name, user, now)
    if not passwords.matches(password, user.password if user else None) or user is None:
        return None
    tries.succeeded()
    if passwords.is_outdated(user.password):
        stored_passwords.upgrade(user, password=passwords.hashed(password))
        user = users.get(user.username)
    return user


def enter(
    request: HttpRequest, user: User, to: str, *, now: datetime, wish: Wish | None = None
) -> HttpResponse:
    """Start a session under a new key, end the one this browser had, and redirect. 1 put + 1 delete.

    What the visitor wished for before he was asked who he is, is done now: 1 transaction. So is his cart
    brought over: 1 query + 1 get + 1 transaction.
    """
    key = cookies.new_key()
    sessions.start(
        user,
        key=key,
        user_agent=request.headers.get("User-Agent", ""),
        address=client_address(request),
        now=now,
    )
    if earlier := cookies.session(request):
        sessions.end(earlier.username, sessions.key_hash(earlier.key))
    rotate_token(request)
    if wish:
        wishes.fulfil(request, wish, user.username, now=now)
    came_over = carts.bring_over(request, user.username, now=now)
    response = HttpResponseRedirect(to)
    if came_over and cookies.cart(request):
        cookies.forget_cart(response)
    cookies.set_session(response, user.username, key)
    cookies.set_device(response, user.username)
    return response


def _count(request: HttpRequest, name: str, user: User | None, now: datetime) -> Tries:
    """Count the try: on a device that the user has signed in to, only by that device."""
    device = cookies.device(request)
    if user and device and device.username == user.username:
        return limits.count((limits.DEVICE, device.number), now=now)
    network = network_of(client_address(request))
    # As typed: were the name and the e-mail address one subject, the limits would tell whose address it is.
    subject = name.strip().casefold()
    return limits.count(
        (limits.ADDRESS, network),
        (limits.NAME_AT_ADDRESS, f"{subject} {network}"),
        (limits.NAME, subject),
        now=now,
    )
