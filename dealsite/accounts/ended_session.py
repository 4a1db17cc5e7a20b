"""Signing in again in the middle of something: a form that came when the session had ended is kept, and goes on."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dealsite.accounts import cookies, kept_form, second_factor
from dealsite.accounts.forms import CodeAgainForm, SignInAgainForm
from dealsite.accounts.sign_in import WRONG, authenticated, begin, half_of, half_signed_in
from dealsite.accounts.timezones import UserZone
from dealsite.accounts.visitors import SignedIn
from dealsite.data.people.users import User
from dealsite.data.table.errors import TooManyRequests

PAGE = "accounts/ended_session.html"


def asked(request: HttpRequest, *, now: datetime) -> HttpResponse | None:
    """Return the page that asks a visitor to sign in; None once he has, and is `request.user` from then on.

    Who signs in may be somebody else than before: what he may do is checked after that, as always.
    """
    try:
        if kept_form.sends(request, "half"):
            return _second_step(request, now)
        return _first_step(request, now)
    except TooManyRequests as error:
        return kept_form.ask(request, PAGE, _sign_in_form(request), error=error)


def _first_step(request: HttpRequest, now: datetime) -> HttpResponse | None:
    form = _sign_in_form(request)
    if not form.is_bound or not form.is_valid():
        return kept_form.ask(request, PAGE, form)
    user = authenticated(request, **form.cleaned_data, now=now)
    if user is None:
        form.add_error(None, WRONG)
        return kept_form.ask(request, PAGE, form)
    if user.two_factor:
        half = cookies.half_text(half_of(user))
        return kept_form.ask(request, PAGE, CodeAgainForm(initial={"half": half}))
    _go_on_as(request, user, now)
    return None


def _second_step(request: HttpRequest, now: datetime) -> HttpResponse | None:
    form = CodeAgainForm(request.POST)
    user = half_signed_in(cookies.read_half(request.POST[form.add_prefix("half")]))
    if user is None:
        return kept_form.ask(request, PAGE, SignInAgainForm())
    if not form.is_valid():
        return kept_form.ask(request, PAGE, form)
    if wrong := second_factor.passes(request, user, form.cleaned_data["code"], now=now):
        form.add_error("code", wrong)
        return kept_form.ask(request, PAGE, form)
    _go_on_as(request, user, now)
    return None


def _sign_in_form(request: HttpRequest) -> SignInAgainForm:
    if kept_form.sends(request, "name"):
        return SignInAgainForm(request.POST)
    cookie = cookies.session(request)
    return SignInAgainForm(initial={"name": cookie.username if cookie else ""})


def _go_on_as(request: HttpRequest, user: User, now: datetime) -> None:
    """Begin a session, whose cookies the middleware sets on whatever the answer will be."""
    session, key = begin(request, user, now=now)
    request.visit.begun = (user.username, key)  # type: ignore[attr-defined]
    request.user = SignedIn(session, user)  # type: ignore[assignment]
    timezone.activate(UserZone(lambda: user.timezone))
    kept_form.take_out(request)
