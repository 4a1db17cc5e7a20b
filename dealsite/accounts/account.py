"""The account's pages: profile, password, two-factor sign-in, sessions, all that is stored of its user, its end."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache

from dealsite.accounts import limits, locales, passwords, requests, second_factor
from dealsite.accounts.decorators import fresh, is_required, signed_in
from dealsite.accounts.forms import (
    AddPasskeyForm,
    PasswordForm,
    ProfileForm,
    SetUpTwoFactorForm,
    TwoFactorForm,
    answer_form,
)
from dealsite.accounts.passwords import Owner, is_confirmed
from dealsite.accounts.requests import UserRequest, destination, device_name
from dealsite.accounts.second_factor import is_proved, new_recovery_codes
from dealsite.accounts.security_log import note
from dealsite.data.commerce.payment_lists import owed
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.people import USERNAME_CHARACTERS
from dealsite.data.entities.personal import Stays
from dealsite.data.names import shown_email
from dealsite.data.people import (
    email_addresses,
    my_data as stored_data,
    profiles,
    sessions as stored_passwords,
    sessions as stored_sessions,
    two_factor as stored,
    two_factor as stored_passkeys,
    users,
)
from dealsite.data.people.profiles import Profile
from dealsite.data.people.two_factor import FactorUse, TwoFactor
from dealsite.data.table.errors import Conflict, Forbidden, NotFound, TooManyRequests, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.text.stored_words import Text
from dealsite.web.pages import CLOSED, everyone, open_while

KEY_HASH = re.compile(r"[0-9a-f]{64}")
STAYS: dict[Stays, tuple[Text, Text]] = {  # by why the entity chart says that it stays: what does, and why
    "name": (
        gettext_lazy("Your user name, and when the account was deleted"),
        gettext_lazy("so that nobody can pass for you"),
    ),
    "law": (
        gettext_lazy("Your orders and payments, with the name and addresses on them"),
        gettext_lazy("the law asks for the records of what was bought and paid"),
    ),
    "security": (
        gettext_lazy("Log entries: what was changed and by whom, sign-ins and the networks they came from"),
        gettext_lazy("they show what happened if something goes wrong, and are cleared after a time"),
    ),
    "work": (
        gettext_lazy("If you worked for this site: your user name on what you made or changed"),
        gettext_lazy("others have to know who did it"),
    ),
    "passing": (
        gettext_lazy("Traces in work that is under way, such as a mail that could not be sent yet"),
        gettext_lazy("they go by themselves after a time"),
    ),
}


@signed_in.form("1 get")
def edit_profile(request: UserRequest) -> HttpResponse:
    """Change name, e-mail address, time zone and language; another address needs the password, and is confirmed."""
    profile, template = profiles.get(request.user.username), "accounts/profile.html"
    own_language = request.user.preferences.language
    shown = {name: getattr(profile, name) for name in ("name", "timezone", "version")}
    shown["email"] = shown_email(_wanted_email(profile))
    form = ProfileForm(request.POST or None, initial=shown | {"language": own_language})

    def save() -> HttpResponse | None:
        try:
            if not _save(request, form, profile):
                return None
        except VersionConflict as error:
            reopened = {"form": _reopened(request, error.current)}
            return render(request, template, reopened, status=error.status)
        language = form.cleaned_data["language"]
        if language != own_language:
            profiles.save_preferences(profile.username, language=language)
            locales.activate(lambda: language)
        messages.success(request, _("Your profile is saved."))
        return HttpResponseRedirect(reverse("account"))

    return answer_form(request, template, form, save, refusals=(TooManyRequests, Conflict))


def _save(request: UserRequest, form: ProfileForm, profile: Profile) -> bool:
    """Save a valid form over the profile as it was opened; False where the form now says what is wrong."""
    data = form.cleaned_data
    opened = replace(profile, version=data["version"])
    name, zone, email = data["name"], data["timezone"], data["email"]
    if email == _wanted_email(profile):
        profiles.edit(opened, name=name, timezone=zone)
    elif not data["old_password"]:
        form.add_error("old_password", _("Enter your password to change the e-mail address."))
        return False
    elif is_confirmed(request, form):
        now, given = timezone.now(), {"name": name, "timezone": zone, "email": email}
        if email != profile.email:
            limits.count_use(request, "confirmation", own=email, now=now)
        email_addresses.claim(opened, user=request.user.account, now=now, **given)
    else:
        return False
    return True


def _wanted_email(profile: Profile) -> str:
    return profile.pending_email or profile.email


def _reopened(request: UserRequest, current: Profile) -> ProfileForm:
    """Return the form as it was sent, at the version that is there now, with what that version says."""
    data = request.POST.copy()
    data["version"] = str(current.version)
    form = ProfileForm(data)
    there = ", ".join([current.name, _wanted_email(current), current.timezone or _("no time zone")])
    changed = _(
        "Your profile was changed elsewhere since you opened it, and now says: %(there)s. Save "
        "again to replace that with what you see here."
    )
    form.add_error(None, changed % {"there": there})
    return form


@signed_in.form("none")
def change_password(request: UserRequest) -> HttpResponse:
    """Change the password: all other sessions end, this one goes on."""
    account = request.user.account
    form = PasswordForm(request.POST or None, owner=Owner.of(account))

    def change() -> HttpResponse | None:
        if not is_confirmed(request, form):
            return None
        password, key = passwords.hashed(form.cleaned_data["password"]), requests.session_key(request)
        stored_passwords.change_password(account, password=password, key=key, now=timezone.now())
        note(request, "password_changed", username=account.username)
        messages.success(request, _("Your password is changed. You are signed out everywhere else."))
        return HttpResponseRedirect(reverse("account"))

    return answer_form(request, "accounts/password.html", form, change)


@signed_in.page("1 query")
def sessions(request: UserRequest) -> HttpResponse:
    """Show where the user is signed in, this device first."""
    user = request.user
    found = stored_sessions.of_user(user.username, roles=user.roles, now=timezone.now())
    rows = [
        {
            "session": session,
            "device": device_name(session.user_agent),
            "ends_at": session.ends_at(user.roles),
            "is_this": session.key_hash == user.session.key_hash,
        }
        for session in found
    ]
    rows.sort(key=lambda row: not row["is_this"])
    return render(request, "accounts/sessions.html", {"rows": rows})


@signed_in.action
@fresh
def end_session(request: UserRequest) -> HttpResponse:
    """End one of the user's own sessions."""
    key_hash = request.POST.get("session", "")
    if not KEY_HASH.fullmatch(key_hash):
        raise NotFound(_("There is no such session."))
    stored_sessions.end(request.user.username, key_hash)
    note(request, "sessions_ended", username=request.user.username, detail="one session")
    messages.success(request, _("That session is ended."))
    return HttpResponseRedirect(reverse("sessions"))


@signed_in.action
@fresh
def end_other_sessions(request: UserRequest) -> HttpResponse:
    """End all of the user's sessions but this one."""
    user = request.user
    stored_sessions.end_all(user.username, but=user.session.key_hash)
    note(request, "sessions_ended", username=user.username, detail="all other sessions")
    messages.success(request, _("You are signed out everywhere else."))
    return HttpResponseRedirect(reverse("sessions"))


@signed_in.form("none")
@fresh
def my_data(request: UserRequest) -> HttpResponse:
    """Say what there is, or answer with all that is stored about the user, for who has just given their password."""
    if request.method != "POST":
        return render(request, "accounts/my_data.html", {"stays": what_stays()})
    username, now = request.user.username, timezone.now()
    limits.count_use(request, "my-data", now=now)
    file, _ = stored_data.as_json(username, now=now)
    note(request, "export_asked", username=username, detail="my data")
    response = HttpResponse(file, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="my-data-{now:%Y-%m-%d}.json"'
    return response


def what_stays() -> list[tuple[Text, Text]]:
    """Return what still names a user after their account is deleted, and why, by the reasons in the entity chart."""
    reasons = {one.stays_for for one in ENTITIES.values()}
    return [words for reason, words in STAYS.items() if reason in reasons]


@signed_in.form("1 query")
def delete_account(request: UserRequest) -> HttpResponse:
    """Delete the account: signed out everywhere at once, the user name never given out again. 1 query.

    Not while its orders are not paid.
    """
    account, debt = request.user.account, owed(request.user.username)
    form = TwoFactorForm(request.POST or None, needs_code=bool(account.two_factor))

    def delete() -> HttpResponse | None:
        if debt.total or not is_proved(request, form):
            return None
        now = timezone.now()
        users.delete(account, job_id=new_ulid(now), now=now)
        note(request, "account_deleted", username=account.username)
        messages.success(request, _("Your account is deleted. Goodbye."))
        response = HttpResponseRedirect("/")
        requests.forget_session(response)
        requests.DEVICE.forget(response)
        return response

    return answer_form(request, "accounts/delete.html", form, delete, stays=what_stays(), debt=debt)


@signed_in.page("1 get", seen_by="admin")
def two_factor(request: UserRequest) -> HttpResponse:
    """Show whether signing in asks for a code, and how many recovery codes are left. 1 get."""
    return render(request, "accounts/two_factor.html", _context(request) | {"factor": _factor_of(request)})


@signed_in.form("none")
@fresh(when=lambda request: bool(request.user.account.two_factor))  # type: ignore[union-attr]
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
        return render(request, template, shown | {"form": SetUpTwoFactorForm()})

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
        sealed, key = second_factor.seal(user.username, secret), requests.session_key(request)
        if has_factor:
            stored.add_app(user.account, secret=sealed, step=step, key=key, now=now)
            note(request, "factor_changed", username=user.username, detail="added an authenticator app")
            messages.success(
                request, _("Codes of your app sign you in, too. You are signed out everywhere else.")
            )
            return HttpResponseRedirect(reverse("two_factor"))
        codes, hashes = new_recovery_codes(user.username)
        stored.turn_on(user.account, secret=sealed, recovery=hashes, step=step, key=key, now=now)
        note(request, "factor_changed", username=user.username, detail="turned two-factor sign-in on")
        return _codes_page(request, codes, is_new=True)

    shown = _secret_shown(request, secret)
    return answer_form(request, template, form, turn_on, refusals=(TooManyRequests, Conflict), **shown)


@signed_in.form("none", seen_by="admin")
def renew_recovery_codes(request: UserRequest) -> HttpResponse:
    """Make new recovery codes, by password and code, and show them once; the old ones are void."""
    user = request.user

    def renew(used: FactorUse) -> HttpResponse:
        codes, hashes = new_recovery_codes(user.username)
        stored.renew_recovery_codes(user.account, used, recovery=hashes, now=timezone.now())
        note(request, "factor_changed", username=user.username, detail="made new recovery codes")
        return _codes_page(request, codes)

    return _by_code(request, "accounts/renew_recovery_codes.html", renew)


@signed_in.form("none", seen_by="admin")
def turn_off_two_factor(request: UserRequest) -> HttpResponse:
    """Turn two-factor sign-in off, by password and code; not where the site asks staff for it."""
    user = request.user
    if is_required(user):
        raise Forbidden(_("This site asks everybody with a role for two-factor sign-in."))

    def turn_off(used: FactorUse) -> HttpResponse:
        key = requests.session_key(request)
        stored.turn_off(user.account, by=user.username, used=used, key=key, now=timezone.now())
        note(request, "factor_changed", username=user.username, detail="turned two-factor sign-in off")
        messages.success(request, _("Two-factor sign-in is off. You are signed out everywhere else."))
        return HttpResponseRedirect(reverse("two_factor"))

    return _by_code(request, "accounts/turn_off_two_factor.html", turn_off)


@everyone.part("none")
@open_while(*CLOSED)
@never_cache
def passkey_options(request: HttpRequest) -> HttpResponse:
    """Return what a browser needs to have a passkey sign; what it answers is taken once, and from this browser."""
    options, signed = second_factor.passkey_question()
    response = HttpResponse(options, content_type="application/json")
    requests.PASSKEY.set(response, signed)
    return response


@signed_in.form("none")
def add_passkey(request: UserRequest) -> HttpResponse:
    """Add a passkey in two steps: name and password, to which the browser is asked for a passkey, then that."""
    account, now = request.user.account, timezone.now()
    initial = {"name": device_name(request.headers.get("User-Agent", ""))}
    needs_code = bool(account.two_factor)
    form = AddPasskeyForm(request.POST or None, needs_code=needs_code, initial=initial)
    context = _context(request)

    def ask() -> HttpResponse | None:
        if not is_proved(request, form):
            return None
        options, signed = second_factor.new_passkey_question(account, _factor_of(request), now=now)
        shown = context | {"options": options, "name": form.cleaned_data["name"]}
        response = render(request, "accounts/add_passkey.html", shown)
        requests.PASSKEY.set(response, signed)
        return response

    if "made" in request.POST:
        return _add(request, context["next"])
    return answer_form(
        request, "accounts/add_passkey.html", form, ask, refusals=(TooManyRequests, Conflict), **context
    )


def _add(request: UserRequest, to: str) -> HttpResponse:
    """Store the passkey that a browser has made, and show the recovery codes if it is the first factor."""
    user, now = request.user, timezone.now()
    name = request.POST.get("name", "").strip()[:USERNAME_CHARACTERS] or _("Passkey")
    made = second_factor.made_passkey(request, user.account, request.POST["made"], name=name, now=now)
    if made is None:
        messages.error(request, _("The passkey could not be added. Try again."))
        return HttpResponseRedirect(reverse("add_passkey"))
    passkey, factor_id, challenge = made
    codes, hashes = new_recovery_codes(user.username)
    known = _factor_of(request)
    factor = known or TwoFactor(user.username, factor_id, "", frozenset(hashes))
    key = requests.session_key(request)
    stored_passkeys.add_passkey(user.account, factor, passkey, challenge=challenge, key=key, now=now)
    note(request, "factor_changed", username=user.username, detail="added a passkey")
    if known is None:
        return _codes_page(request, codes, is_new=True)
    messages.success(request, _("The passkey is added. You are signed out everywhere else."))
    return HttpResponseRedirect(to)


@signed_in.action
@fresh
def remove_passkey(request: UserRequest) -> HttpResponse:
    """Remove a passkey. Without it and without an app two-factor sign-in is off, unless the site asks for it."""
    user, key, now = request.user, requests.session_key(request), timezone.now()
    factor = _factor_of(request)
    wanted = request.POST.get("passkey_id", "")
    passkey = next((one for one in factor.passkeys if one.id == wanted), None) if factor else None
    if factor is None or passkey is None:
        raise NotFound(_("There is no such passkey."))
    if factor.secret or len(factor.passkeys) > 1:
        stored_passkeys.remove_passkey(user.account, factor, passkey, key=key, now=now)
    elif is_required(user):
        raise Forbidden(_("This site asks you for two-factor sign-in: add another passkey or an app first."))
    else:
        stored.turn_off(user.account, by=user.username, key=key, now=now)
    note(request, "factor_changed", username=user.username, detail="removed a passkey")
    messages.success(request, _("The passkey is removed. You are signed out everywhere else."))
    return HttpResponseRedirect(reverse("two_factor"))


def _by_code(
    request: UserRequest, template: str, change: Callable[[FactorUse], HttpResponse]
) -> HttpResponse:
    """Use a code, or passkey, of a user who gives their password, too, for a change; ask for them until they do."""
    if not request.user.account.two_factor:
        return HttpResponseRedirect(reverse("two_factor"))
    form, answers = TwoFactorForm(request.POST or None), list[HttpResponse]()

    def confirm() -> HttpResponse | None:
        is_changed = is_proved(request, form, use=lambda used: answers.append(change(used)))
        return answers[0] if is_changed else None

    return answer_form(request, template, form, confirm, refusals=(TooManyRequests, Conflict))


def _secret_shown(request: UserRequest, secret: str) -> dict[str, Any]:
    """Return what the page shows of a secret: as a picture, as text, as a link, and sealed for the form."""
    user = request.user
    return _context(request) | {
        "qr_code": second_factor.qr_code(user.username, secret),
        "groups": [secret[first : first + 4] for first in range(0, len(secret), 4)],
        "address": second_factor.address(user.username, secret),
        "sealed": second_factor.seal(user.username, secret),
    }


def _codes_page(request: UserRequest, codes: list[str], *, is_new: bool = False) -> HttpResponse:
    """Show recovery codes, once."""
    context = _context(request) | {"codes": codes, "is_new": is_new}
    return render(request, "accounts/recovery_codes.html", context)


def _context(request: UserRequest) -> dict[str, Any]:
    """Return what several of these pages show: where they lead to, and what is asked for and possible here."""
    return {
        "next": destination(request, reverse("two_factor")),
        "is_required": is_required(request.user),
        "is_possible": second_factor.passkeys_are_possible(),
    }


def _factor_of(request: UserRequest) -> TwoFactor | None:
    """Return the user's second factor. No call or 1 get."""
    return stored.get(request.user.username) if request.user.account.two_factor else None
