"""Two-factor sign-in in the account: turning it on and off, and its recovery codes."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dealsite.accounts import cookies, second_factor
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.destinations import destination
from dealsite.accounts.form_errors import form_page, refuse, too_many
from dealsite.accounts.forms import SetUpTwoFactorForm, TwoFactorForm
from dealsite.accounts.password import is_confirmed
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.visitors import SignedIn
from dealsite.data.people import two_factor as stored
from dealsite.data.table.errors import Conflict, Forbidden, TooManyRequests
from dealsite.web.pages import page


@page("1 get", seen_by="admin")
@signed_in
@require_safe
def two_factor(request: UserRequest) -> HttpResponse:
    """Show whether signing in asks for a code, and how many recovery codes are left. 1 get."""
    user = request.user
    factor = stored.get(user.username) if user.account.two_factor else None
    return render(request, "accounts/two_factor.html", {"factor": factor, "is_required": _is_required(user)})


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def set_up_two_factor(request: UserRequest) -> HttpResponse:
    """Show a secret for an app, take the first code of it, and show the recovery codes, once."""
    user = request.user
    if user.account.two_factor:
        return HttpResponseRedirect(reverse("two_factor"))
    form = SetUpTwoFactorForm(request.POST or None)
    secret = second_factor.unseal(
        user.username, request.POST.get("secret", ""), within=second_factor.SET_UP_TIME
    )
    if secret is None:
        if request.method == "POST":
            messages.warning(request, _("This page was open for too long. Please scan the new code."))
        return _set_up_page(request, SetUpTwoFactorForm(), second_factor.new_secret())
    if not form.is_valid():
        return _set_up_page(request, form, secret, 422)
    try:
        if not is_confirmed(request, form):
            return _set_up_page(request, form, secret, 422)
    except TooManyRequests as error:
        return too_many(
            request, "accounts/set_up_two_factor.html", form, error, **_secret_shown(request, secret)
        )
    now = timezone.now()
    step = second_factor.step_of(secret, second_factor.plain(form.cleaned_data["code"]), now)
    if step is None:
        form.add_error(
            "code", _("This is not the code that the app shows now. Is the clock of its device right?")
        )
        return _set_up_page(request, form, secret, 422)
    codes = second_factor.new_recovery_codes()
    try:
        stored.turn_on(
            user.account,
            secret=second_factor.seal(user.username, secret),
            recovery=[second_factor.recovery_hash(user.username, code) for code in codes],
            step=step,
            key=_key(request),
            now=now,
        )
    except Conflict as error:
        refuse(form, error)
        return _set_up_page(request, form, secret, error.status)
    return _codes_page(request, codes, is_new=True)


@page("none", seen_by="admin")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def renew_recovery_codes(request: UserRequest) -> HttpResponse:
    """Make new recovery codes, by password and code, and show them once; the old ones are void."""
    user = request.user

    def renew() -> HttpResponse:
        codes = second_factor.new_recovery_codes()
        hashes = [second_factor.recovery_hash(user.username, code) for code in codes]
        stored.renew_recovery_codes(user.account, recovery=hashes, now=timezone.now())
        return _codes_page(request, codes)

    return _by_code(request, "accounts/renew_recovery_codes.html", renew)


@page("none", seen_by="admin")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def turn_off_two_factor(request: UserRequest) -> HttpResponse:
    """Turn two-factor sign-in off, by password and code; not where the site asks staff for it."""
    user = request.user
    if _is_required(user):
        raise Forbidden(_("This site asks everybody with a role for two-factor sign-in."))

    def turn_off() -> HttpResponse:
        stored.turn_off(user.account, by=user.username, key=_key(request), now=timezone.now())
        messages.success(request, _("Two-factor sign-in is off. You are signed out everywhere else."))
        return HttpResponseRedirect(reverse("two_factor"))

    return _by_code(request, "accounts/turn_off_two_factor.html", turn_off)


def _by_code(request: UserRequest, template: str, act: Callable[[], HttpResponse]) -> HttpResponse:
    """Do something for a user who gives his password and a code; ask for them until he does."""
    user = request.user
    if not user.account.two_factor:
        return HttpResponseRedirect(reverse("two_factor"))
    form = TwoFactorForm(request.POST or None)
    if request.method != "POST":
        return form_page(request, template, form)
    try:
        if form.is_valid() and is_confirmed(request, form):
            code, now = form.cleaned_data["code"], timezone.now()
            wrong = second_factor.passes(request, user.account, code, now=now)
            if not wrong:
                return act()
            form.add_error("code", wrong)
    except TooManyRequests as error:
        return too_many(request, template, form, error)
    except Conflict as error:
        refuse(form, error)
        return form_page(request, template, form, error.status)
    return form_page(request, template, form, 422)


def _set_up_page(
    request: UserRequest, form: SetUpTwoFactorForm, secret: str, status: int = 200
) -> HttpResponse:
    return form_page(
        request, "accounts/set_up_two_factor.html", form, status, **_secret_shown(request, secret)
    )


def _secret_shown(request: UserRequest, secret: str) -> dict[str, object]:
    """Return what the page shows of a secret: as a picture, as text, as a link, and sealed for the form."""
    user = request.user
    return {
        "qr_code": second_factor.qr_code(user.username, secret),
        "groups": [secret[first : first + 4] for first in range(0, len(secret), 4)],
        "address": second_factor.address(user.username, secret),
        "sealed": second_factor.seal(user.username, secret),
        "next": destination(request, reverse("two_factor")),
        "is_required": _is_required(user),
    }


def _codes_page(request: UserRequest, codes: list[str], *, is_new: bool = False) -> HttpResponse:
    to = destination(request, reverse("two_factor"))
    context = {"codes": codes, "is_new": is_new, "next": to}
    return render(request, "accounts/recovery_codes.html", context)


def _is_required(user: SignedIn) -> bool:
    return bool(settings.DEALSITE_REQUIRE_TWO_FACTOR and user.roles)


def _key(request: UserRequest) -> str:
    cookie = cookies.session(request)
    return cookie.key if cookie else ""
