"""The account's pages: profile, password, sessions, all that is stored about the user, and its end."""

import re
from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealsite.accounts import cookies, limits, locales, passwords
from dealsite.accounts.decorators import fresh, signed_in
from dealsite.accounts.forms import DeleteAccountForm, PasswordForm, ProfileForm, answer_form
from dealsite.accounts.passwords import Owner, is_confirmed
from dealsite.accounts.requests import UserRequest, device_name
from dealsite.accounts.security_log import note
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.personal import Stays
from dealsite.data.names import shown_email
from dealsite.data.people import email_addresses, profiles, users
from dealsite.data.people import my_data as stored_data
from dealsite.data.people import passwords as stored_passwords
from dealsite.data.people import sessions as stored_sessions
from dealsite.data.people.profiles import Profile
from dealsite.data.table.errors import Conflict, NotFound, TooManyRequests, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.text.lazy import Text
from dealsite.web.pages import action, page

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


@page("1 get")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
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


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def change_password(request: UserRequest) -> HttpResponse:
    """Change the password: all other sessions end, this one goes on."""
    account = request.user.account
    form = PasswordForm(request.POST or None, owner=Owner.of(account))

    def change() -> HttpResponse | None:
        if not is_confirmed(request, form):
            return None
        password, key = passwords.hashed(form.cleaned_data["password"]), cookies.session_key(request)
        stored_passwords.change(account, password=password, key=key, now=timezone.now())
        note(request, "password_changed", username=account.username)
        messages.success(request, _("Your password is changed. You are signed out everywhere else."))
        return HttpResponseRedirect(reverse("account"))

    return answer_form(request, "accounts/password.html", form, change)


@page("1 query")
@signed_in
@require_safe
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


@action
@signed_in
@fresh
@require_POST
def end_session(request: UserRequest) -> HttpResponse:
    """End one of the user's own sessions."""
    key_hash = request.POST.get("session", "")
    if not KEY_HASH.fullmatch(key_hash):
        raise NotFound(_("There is no such session."))
    stored_sessions.end(request.user.username, key_hash)
    note(request, "sessions_ended", username=request.user.username, detail="one session")
    messages.success(request, _("That session is ended."))
    return HttpResponseRedirect(reverse("sessions"))


@action
@signed_in
@fresh
@require_POST
def end_other_sessions(request: UserRequest) -> HttpResponse:
    """End all of the user's sessions but this one."""
    user = request.user
    stored_sessions.end_all(user.username, but=user.session.key_hash)
    note(request, "sessions_ended", username=user.username, detail="all other sessions")
    messages.success(request, _("You are signed out everywhere else."))
    return HttpResponseRedirect(reverse("sessions"))


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
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


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def delete_account(request: UserRequest) -> HttpResponse:
    """Delete the account: signed out everywhere at once, the user name never given out again."""
    form = DeleteAccountForm(request.POST or None)

    def delete() -> HttpResponse | None:
        if not is_confirmed(request, form):
            return None
        now = timezone.now()
        users.delete(request.user.account, job_id=new_ulid(now), now=now)
        note(request, "account_deleted", username=request.user.username)
        messages.success(request, _("Your account is deleted. Goodbye."))
        response = HttpResponseRedirect("/")
        cookies.forget_session(response)
        cookies.DEVICE.forget(response)
        return response

    return answer_form(request, "accounts/delete.html", form, delete, stays=what_stays())
