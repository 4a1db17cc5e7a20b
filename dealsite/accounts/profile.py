"""The account's overview, its profile and its end."""

from dataclasses import replace

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dealsite.accounts import cookies, limits, locales
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.forms import DeleteAccountForm, ProfileForm, answer_form, form_page
from dealsite.accounts.my_data import what_stays
from dealsite.accounts.password import is_confirmed
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.commerce import orders
from dealsite.data.people import email_addresses, profiles, users
from dealsite.data.people.profiles import Profile
from dealsite.data.table.errors import Conflict, TooManyRequests, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.web.pages import page


@page("1 query")
@signed_in
@require_safe
def account(request: UserRequest) -> HttpResponse:
    """Show the user's profile, their newest orders, and the ways to all that is theirs."""
    profile, _, newest = orders.account_page(request.user.username)
    context = {"profile": profile, "orders": newest, "sends_mail": settings.DEALSITE_SENDS_MAIL}
    return render(request, "accounts/account.html", context)


@page("1 get")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def edit_profile(request: UserRequest) -> HttpResponse:
    """Change name, e-mail address, time zone and language; another address needs the password, and is confirmed."""
    profile, template = profiles.get(request.user.username), "accounts/profile.html"
    own_language = request.user.preferences.language
    shown = {name: getattr(profile, name) for name in ("name", "timezone", "version")}
    shown["email"] = _wanted_email(profile)
    form = ProfileForm(request.POST or None, initial=shown | {"language": own_language})

    def save() -> HttpResponse | None:
        try:
            if not _save(request, form, profile):
                return None
        except VersionConflict as error:
            return form_page(request, template, _reopened(request, error.current), error.status)
        language = form.cleaned_data["language"]
        if language != own_language:
            profiles.save_preferences(profile.username, language=language)
            locales.activate(lambda: language)
        messages.success(request, _("Your profile is saved."))
        return HttpResponseRedirect(reverse("account"))

    return answer_form(request, template, form, save, refusals=(TooManyRequests, Conflict))


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
