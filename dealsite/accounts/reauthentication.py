"""@fresh: before what is dangerous, the password has to have been given within the last 15 minutes.

Who gave it earlier is asked for it in place, and for a code where they have a second factor, or for a passkey; then
what they were sending goes on. A session left open on a desk, or stolen, does no lasting harm.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, overload

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from dealsite.accounts import kept_form, limits, passwords, second_factor
from dealsite.accounts.forms import ReauthenticationForm
from dealsite.accounts.requests import SignedIn
from dealsite.accounts.security_log import note
from dealsite.data.people import sessions
from dealsite.data.table.errors import TooManyRequests

FRESH = timedelta(minutes=15)
View = Callable[..., HttpResponseBase]
When = Callable[[HttpRequest], bool]


@overload
def fresh(view: View) -> View: ...
@overload
def fresh(*, when: When) -> Callable[[View], View]: ...
def fresh(view: View | None = None, *, when: When = lambda request: True) -> Any:
    """Guard what a view does by POST; `when` says for which forms. Stands below @signed_in or @role."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == "POST":
                if when(request) and (question := _asked(request, timezone.now())):
                    return question
                kept_form.take_out(request)
            return view(request, *args, **kwargs)

        checked.asks_for_proof = True  # type: ignore[attr-defined]
        return checked

    return decorate(view) if view else decorate


def _asked(request: HttpRequest, now: datetime) -> HttpResponse | None:
    """Return the page that asks for the password; None for who has given it, just now or a while ago. 1 update."""
    user: SignedIn = request.user  # type: ignore[assignment]
    if now - user.session.proved_at < FRESH:
        return None
    sent = request.POST if kept_form.sends(request, "password") else None
    form = ReauthenticationForm(sent, needs_code=bool(user.account.two_factor))
    try:
        if sent is not None and form.is_valid() and _is_proved(request, user, form, now):
            sessions.reauthenticate(user.session, now=now)
            return None
    except TooManyRequests as error:
        return kept_form.ask(request, "accounts/reauthentication.html", form, error=error)
    return kept_form.ask(request, "accounts/reauthentication.html", form)


def _is_proved(request: HttpRequest, user: SignedIn, form: ReauthenticationForm, now: datetime) -> bool:
    """Tell whether password and code, or the passkey, are the user's, else say so in the form; TooManyRequests."""
    if form.by_passkey:
        return second_factor.passes(request, user.account, form, now=now)
    tries = limits.count(("password", user.username), request=request, now=now)
    if not passwords.matches(form.cleaned_data["password"], user.account.password):
        note(request, "sign_in_failed", username=user.username, detail="while signed in")
        form.add_error("password", _("This is not your password."))
        return False
    tries.succeeded()
    return not user.account.two_factor or second_factor.passes(request, user.account, form, now=now)
