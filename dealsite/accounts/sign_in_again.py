"""Signing in again in the middle of something: a page keeps the form that came after the session had ended, and goes on
with it."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dealsite.accounts import cookies, kept_form, second_factor
from dealsite.accounts.forms import CodeAgainForm, CodeForm, SignInAgainForm, SignInForm
from dealsite.accounts.locales import UserZone
from dealsite.accounts.requests import SignedIn
from dealsite.accounts.sign_in import CODE, PASSKEY, PASSWORD, begin, half_of, half_signed_in, user_of_form
from dealsite.data.people.users import User
from dealsite.data.table.errors import TooManyRequests


def ask_to_sign_in(request: HttpRequest, *, now: datetime) -> HttpResponse | None:
    """Return the page that asks a visitor to sign in; None once they have, and are `request.user` from then on.

    Who signs in may be somebody else than before: what they may do is checked after that, as always.
    """
    is_code = kept_form.sends(request, "half")
    form: CodeForm | SignInForm = CodeAgainForm(request.POST) if is_code else _sign_in_form(request)
    half = half_signed_in(cookies.HALF.unsign(request.POST[form.add_prefix("half")])) if is_code else None
    if is_code and half is None:
        return _ask(request, SignInAgainForm())
    try:
        user = _user_of(request, form, half, now)
    except TooManyRequests as error:
        return _ask(request, _sign_in_form(request), error=error)
    if user is None:
        return _ask(request, form)
    if user.two_factor and not is_code and not form.by_passkey:
        sealed = cookies.HALF.sign(half_of(user))
        return _ask(request, CodeAgainForm(initial={"half": sealed}))
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


def _ask(
    request: HttpRequest, form: CodeForm | SignInForm, error: TooManyRequests | None = None
) -> HttpResponse:
    template = "accounts/ended_session.html"
    return kept_form.ask(request, template, form, error=error, without_secrets=True)


def _sign_in_form(request: HttpRequest) -> SignInAgainForm:
    if kept_form.sends(request, "name"):
        return SignInAgainForm(request.POST)
    cookie = cookies.session(request)
    return SignInAgainForm(initial={"name": cookie.username if cookie else ""})
