"""Signing in again in the middle of something: in a dialog over the page one works on, which stays as it is, or by a
page that keeps the form which came when the session had ended, and goes on with it."""

from datetime import datetime

from django import forms
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dealsite.accounts import cookies, kept_form, second_factor
from dealsite.accounts.forms import (
    CodeAgainForm,
    CodeForm,
    SignInAgainForm,
    SignInForm,
    form_page,
    refused_page,
)
from dealsite.accounts.locales import UserZone
from dealsite.accounts.requests import SignedIn
from dealsite.accounts.sign_in import (
    CODE,
    PASSKEY,
    PASSWORD,
    begin,
    enter,
    half_of,
    half_signed_in,
    user_of_form,
)
from dealsite.data.people.users import User
from dealsite.data.table.errors import TooManyRequests
from dealsite.web.pages import CLOSED, open_while, part

DIALOG, PAGE = "accounts/_sign_in_here.html", "accounts/ended_session.html"
MOST_CHARACTERS = 254
IDS = "here_%s"  # the page has forms of its own


@part("none")
@open_while(*CLOSED)
@never_cache
@require_safe
def session(request: HttpRequest) -> HttpResponse:
    """Say whether somebody is signed in: 204, else 401."""
    return HttpResponse(status=204 if request.user.is_authenticated else 401)


@part("none")
@open_while(*CLOSED)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_here(request: HttpRequest) -> HttpResponse:
    """The form of the dialog: password, then the code where there is a second factor; answers with a new token."""
    now, is_code = timezone.now(), "code" in request.POST
    if request.method != "POST":
        name = request.GET.get("name", "")[:MOST_CHARACTERS]  # of whoever the page was made for
        return _dialog(request, SignInForm(initial={"name": name}, auto_id=IDS))
    half = half_signed_in(cookies.HALF.read(request)) if is_code else None
    if is_code and half is None:
        return _dialog(request, SignInForm(auto_id=IDS))
    form: CodeForm | SignInForm = (CodeForm if is_code else SignInForm)(request.POST, auto_id=IDS)
    try:
        user = _user_of(request, form, half, now)
    except TooManyRequests as error:
        return refused_page(request, DIALOG, form, error, is_code=is_code)
    if user is None:
        return _dialog(request, form, 422)
    if user.two_factor and not is_code and not form.by_passkey:
        response = _dialog(request, CodeForm(auto_id=IDS))
        cookies.HALF.set(response, half_of(user))
        return response
    # Start the session as signing in does, and hand out the token that goes with it.
    entered = enter(request, user, "/", how=_how(form), now=now)
    response = render(request, DIALOG, {"token": get_token(request)})
    response.cookies.update(entered.cookies)
    return response


def ask_to_sign_in(request: HttpRequest, *, now: datetime) -> HttpResponse | None:
    """Return the page that asks a visitor to sign in; None once they have, and are `request.user` from then on.

    Who signs in may be somebody else than before: what they may do is checked after that, as always.
    """
    is_code = kept_form.sends(request, "half")
    form: CodeForm | SignInForm = CodeAgainForm(request.POST) if is_code else _sign_in_form(request)
    half = half_signed_in(cookies.HALF.unsign(request.POST[form.add_prefix("half")])) if is_code else None
    if is_code and half is None:
        return kept_form.ask(request, PAGE, SignInAgainForm())
    try:
        user = _user_of(request, form, half, now)
    except TooManyRequests as error:
        return kept_form.ask(request, PAGE, _sign_in_form(request), error=error)
    if user is None:
        return kept_form.ask(request, PAGE, form)
    if user.two_factor and not is_code and not form.by_passkey:
        sealed = cookies.HALF.sign(half_of(user))
        return kept_form.ask(request, PAGE, CodeAgainForm(initial={"half": sealed}))
    # The middleware sets the session's cookies on whatever the answer will be.
    started, *begun = begin(request, user, how=_how(form), now=now)
    request.visit.begun = (user.username, *begun)  # type: ignore[attr-defined]
    request.user = SignedIn(started, user)  # type: ignore[assignment]
    timezone.activate(UserZone(lambda: user.timezone))
    kept_form.take_out(request)
    return None


def _user_of(
    request: HttpRequest, form: CodeForm | SignInForm, half: User | None, now: datetime
) -> User | None:
    """Return the user who has taken this step, by password or, who has given that, by code; else the form says why."""
    if not form.is_valid():
        return None
    if isinstance(form, SignInForm):
        return user_of_form(request, form, now=now)
    return half if half and second_factor.passes(request, half, form, now=now) else None


def _how(form: CodeForm | SignInForm) -> str:
    if isinstance(form, CodeForm):
        return CODE
    return PASSKEY if form.by_passkey else PASSWORD


def _dialog(request: HttpRequest, form: forms.Form, status: int = 200) -> HttpResponse:
    return form_page(request, DIALOG, form, status, is_code=isinstance(form, CodeForm))


def _sign_in_form(request: HttpRequest) -> SignInAgainForm:
    if kept_form.sends(request, "name"):
        return SignInAgainForm(request.POST)
    cookie = cookies.session(request)
    return SignInAgainForm(initial={"name": cookie.username if cookie else ""})
