"""Two-factor sign-in in the account: turning it on and off, and its recovery codes."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dealsite.accounts import cookies, passkeys, second_factor
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.destinations import destination
from dealsite.accounts.factor_forms import SetUpTwoFactorForm, TwoFactorForm
from dealsite.accounts.forms import PasskeyForm, answer_form, form_page
from dealsite.accounts.password import is_confirmed
from dealsite.accounts.requests import SignedIn, UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.people import two_factor as stored
from dealsite.data.people.two_factor import FactorUse
from dealsite.data.table.errors import Conflict, Forbidden, TooManyRequests
from dealsite.web.pages import page


@page("1 get", seen_by="admin")
@signed_in
@require_safe
def two_factor(request: UserRequest) -> HttpResponse:
    """Show whether signing in asks for a code, and how many recovery codes are left. 1 get."""
    user = request.user
    factor = stored.get(user.username) if user.account.two_factor else None
    context = {"factor": factor, "is_required": is_required(user), "is_possible": passkeys.are_possible()}
    return render(request, "accounts/two_factor.html", context)


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def set_up_two_factor(request: UserRequest) -> HttpResponse:
    """Show a secret for an app, take the first code of it, and show the recovery codes, once."""
    user = request.user
    if has_factor := bool(user.account.two_factor):
        factor = stored.get(user.username)
        if factor is None or factor.secret:
            return HttpResponseRedirect(reverse("two_factor"))
    form, template = SetUpTwoFactorForm(request.POST or None), "accounts/set_up_two_factor.html"
    sealed = request.POST.get("secret", "")
    secret = second_factor.unseal(user.username, sealed, within=second_factor.SET_UP_TIME)
    if secret is None:
        if request.method == "POST":
            messages.warning(request, _("This page was open for too long. Please scan the new code."))
        shown = _secret_shown(request, second_factor.new_secret())
        return form_page(request, template, SetUpTwoFactorForm(), **shown)

    def turn_on() -> HttpResponse | None:
        if not is_confirmed(request, form):
            return None
        now = timezone.now()
        step = second_factor.step_of(secret, second_factor.plain(form.cleaned_data["code"]), now)
        if step is None:
            note(request, "code_failed", username=user.username, detail="while setting it up")
            wrong = _("This is not the code that the app shows now. Is the clock of its device right?")
            form.add_error("code", wrong)
            return None
        sealed, key = second_factor.seal(user.username, secret), cookies.session_key(request)
        if has_factor:
            stored.add_app(user.account, secret=sealed, step=step, key=key, now=now)
            note(request, "factor_changed", username=user.username, detail="added an authenticator app")
            messages.success(
                request, _("Codes of your app sign you in, too. You are signed out everywhere else.")
            )
            return HttpResponseRedirect(reverse("two_factor"))
        codes, hashes = new_codes(user)
        stored.turn_on(user.account, secret=sealed, recovery=hashes, step=step, key=key, now=now)
        note(request, "factor_changed", username=user.username, detail="turned two-factor sign-in on")
        return codes_page(request, codes, is_new=True)

    shown = _secret_shown(request, secret)
    return answer_form(request, template, form, turn_on, refusals=(TooManyRequests, Conflict), **shown)


@page("none", seen_by="admin")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def renew_recovery_codes(request: UserRequest) -> HttpResponse:
    """Make new recovery codes, by password and code, and show them once; the old ones are void."""
    user = request.user
    codes: list[str] = []

    def renew(used: FactorUse) -> None:
        codes[:], hashes = new_codes(user)
        stored.renew_recovery_codes(user.account, used, recovery=hashes, now=timezone.now())

    def done() -> HttpResponse:
        note(request, "factor_changed", username=user.username, detail="made new recovery codes")
        return codes_page(request, codes)

    return _by_code(request, "accounts/renew_recovery_codes.html", renew, done)


@page("none", seen_by="admin")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def turn_off_two_factor(request: UserRequest) -> HttpResponse:
    """Turn two-factor sign-in off, by password and code; not where the site asks staff for it."""
    user = request.user
    if is_required(user):
        raise Forbidden(_("This site asks everybody with a role for two-factor sign-in."))

    def turn_off(used: FactorUse) -> None:
        key = cookies.session_key(request)
        stored.turn_off(user.account, by=user.username, used=used, key=key, now=timezone.now())

    def done() -> HttpResponse:
        note(request, "factor_changed", username=user.username, detail="turned two-factor sign-in off")
        messages.success(request, _("Two-factor sign-in is off. You are signed out everywhere else."))
        return HttpResponseRedirect(reverse("two_factor"))

    return _by_code(request, "accounts/turn_off_two_factor.html", turn_off, done)


def _by_code(
    request: UserRequest, template: str, use: Callable[[FactorUse], None], done: Callable[[], HttpResponse]
) -> HttpResponse:
    """Use a code, or passkey, of a user who gives their password, too; ask for them until they do."""
    account = request.user.account
    if not account.two_factor:
        return HttpResponseRedirect(reverse("two_factor"))
    form = TwoFactorForm(request.POST or None)

    def confirm() -> HttpResponse | None:
        return done() if is_proved(request, form, use=use) else None

    return answer_form(request, template, form, confirm, refusals=(TooManyRequests, Conflict))


def is_proved(
    request: UserRequest, form: PasskeyForm, *, use: Callable[[FactorUse], None] = stored.use
) -> bool:
    """Tell whether a form holds the user's password and, where they have a factor, a code, or else a passkey."""
    if not form.by_passkey and not is_confirmed(request, form):
        return False
    account = request.user.account
    now = timezone.now()
    return not account.two_factor or second_factor.passes(request, account, form, now=now, use=use)


def new_codes(user: SignedIn) -> tuple[list[str], list[str]]:
    """Return new recovery codes, and their hashes."""
    codes = second_factor.new_recovery_codes()
    return codes, [second_factor.recovery_hash(user.username, code) for code in codes]


def _secret_shown(request: UserRequest, secret: str) -> dict[str, Any]:
    """Return what the page shows of a secret: as a picture, as text, as a link, and sealed for the form."""
    user = request.user
    return {
        "qr_code": second_factor.qr_code(user.username, secret),
        "groups": [secret[first : first + 4] for first in range(0, len(secret), 4)],
        "address": second_factor.address(user.username, secret),
        "sealed": second_factor.seal(user.username, secret),
        "next": destination(request, reverse("two_factor")),
        "is_required": is_required(user),
        "is_possible": passkeys.are_possible(),
    }


def codes_page(request: UserRequest, codes: list[str], *, is_new: bool = False) -> HttpResponse:
    """Show recovery codes, once."""
    to = destination(request, reverse("two_factor"))
    context = {"codes": codes, "is_new": is_new, "next": to}
    return render(request, "accounts/recovery_codes.html", context)


def is_required(user: SignedIn) -> bool:
    """Tell whether the site asks a user for a second factor."""
    return bool(settings.DEALSITE_REQUIRE_TWO_FACTOR and user.roles)
