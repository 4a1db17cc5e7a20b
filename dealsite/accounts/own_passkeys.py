"""A user's passkeys in their account: adding and removing them, and what browsers ask for before they sign."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealsite.accounts import cookies, passkeys
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.destinations import destination
from dealsite.accounts.factor_forms import AddPasskeyForm
from dealsite.accounts.forms import answer_form
from dealsite.accounts.reauthentication import fresh
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.accounts.sessions import device_name
from dealsite.accounts.two_factor import codes_page, is_proved, is_required, new_codes
from dealsite.data.entities.people import NAME_CHARACTERS
from dealsite.data.people import passkeys as stored
from dealsite.data.people import two_factor
from dealsite.data.people.two_factor import TwoFactor
from dealsite.data.table.errors import Conflict, Forbidden, NotFound, TooManyRequests
from dealsite.web.pages import CLOSED, action, open_while, page, part


@part("none")
@open_while(*CLOSED)
@never_cache
@require_safe
def passkey_options(request: HttpRequest) -> HttpResponse:
    """Return what a browser needs to have a passkey sign; what it answers is taken once, and from this browser."""
    options, signed = passkeys.question()
    response = HttpResponse(options, content_type="application/json")
    cookies.PASSKEY.set(response, signed)
    return response


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def add_passkey(request: UserRequest) -> HttpResponse:
    """Add a passkey in two steps: name and password, to which the browser is asked for a passkey, then that."""
    account, now = request.user.account, timezone.now()
    initial = {"name": device_name(request.headers.get("User-Agent", ""))}
    needs_code = bool(account.two_factor)
    form = AddPasskeyForm(request.POST or None, needs_code=needs_code, initial=initial)
    to = destination(request, reverse("two_factor"))
    context = {
        "next": to,
        "is_required": is_required(request.user),
        "is_possible": passkeys.are_possible(),
    }

    def ask() -> HttpResponse | None:
        if not is_proved(request, form):
            return None
        factor = two_factor.get(account.username) if needs_code else None
        options, signed = passkeys.new_question(account, factor, now=now)
        shown = context | {"options": options, "name": form.cleaned_data["name"]}
        response = render(request, "accounts/add_passkey.html", shown)
        cookies.PASSKEY.set(response, signed)
        return response

    if "made" in request.POST:
        return _add(request, to)
    return answer_form(
        request, "accounts/add_passkey.html", form, ask, refusals=(TooManyRequests, Conflict), **context
    )


def _add(request: UserRequest, to: str) -> HttpResponse:
    """Store the passkey that a browser has made, and show the recovery codes if it is the first factor."""
    user, now = request.user, timezone.now()
    name = request.POST.get("name", "").strip()[:NAME_CHARACTERS] or _("Passkey")
    made = passkeys.made(request, user.account, request.POST["made"], name=name, now=now)
    if made is None:
        messages.error(request, _("The passkey could not be added. Try again."))
        return HttpResponseRedirect(reverse("add_passkey"))
    passkey, factor_id, challenge = made
    codes, hashes = new_codes(user)
    known = two_factor.get(user.username) if user.account.two_factor else None
    factor = known or TwoFactor(user.username, factor_id, "", frozenset(hashes))
    key = cookies.session_key(request)
    stored.add(user.account, factor, passkey, challenge=challenge, key=key, now=now)
    note(request, "factor_changed", username=user.username, detail="added a passkey")
    if known is None:
        return codes_page(request, codes, is_new=True)
    messages.success(request, _("The passkey is added. You are signed out everywhere else."))
    return HttpResponseRedirect(to)


@action
@signed_in
@fresh
@require_POST
def remove_passkey(request: UserRequest) -> HttpResponse:
    """Remove a passkey. Without it and without an app two-factor sign-in is off, unless the site asks for it."""
    user, key, now = request.user, cookies.session_key(request), timezone.now()
    factor = two_factor.get(user.username) if user.account.two_factor else None
    wanted = request.POST.get("passkey_id", "")
    passkey = next((one for one in factor.passkeys if one.id == wanted), None) if factor else None
    if factor is None or passkey is None:
        raise NotFound(_("There is no such passkey."))
    if factor.secret or len(factor.passkeys) > 1:
        stored.remove(user.account, factor, passkey, key=key, now=now)
    elif is_required(user):
        raise Forbidden(_("This site asks you for two-factor sign-in: add another passkey or an app first."))
    else:
        two_factor.turn_off(user.account, by=user.username, key=key, now=now)
    note(request, "factor_changed", username=user.username, detail="removed a passkey")
    messages.success(request, _("The passkey is removed. You are signed out everywhere else."))
    return HttpResponseRedirect(reverse("two_factor"))
