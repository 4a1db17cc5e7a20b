"""Changing the password, a new one by a link sent to the e-mail address, and asking for it before what matters."""

from datetime import datetime

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dealsite.accounts import cookies, limits, passwords
from dealsite.accounts.cookies import Signed
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.forms import NewPasswordForm, PasswordForm, PasswordResetForm, answer_form
from dealsite.accounts.passwords import Owner
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.accounts.sign_in import go_on
from dealsite.data.people import mails, users
from dealsite.data.people import passwords as stored_passwords
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict
from dealsite.web.pages import page


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


def is_confirmed(request: UserRequest, form: forms.Form) -> bool:
    """Tell whether a form's `old_password` is the user's, else say so in the form; TooManyRequests."""
    user = request.user
    tries = limits.count(("password", user.username), request=request, now=timezone.now())
    if passwords.matches(form.cleaned_data["old_password"], user.account.password):
        tries.succeeded()
        return True
    note(request, "sign_in_failed", username=user.username, detail="while signed in")
    form.add_error("old_password", _("This is not your password."))
    return False


@page("none")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reset_password(request: HttpRequest) -> HttpResponse:
    """Ask for a reset link: the same answer in the same time, whether the address is known or not."""
    if not settings.DEALSITE_SENDS_MAIL:
        return render(request, "accounts/no_mail.html")
    form = PasswordResetForm(request.POST or None)

    def send_link() -> HttpResponse:
        email, now = form.cleaned_data["email"], timezone.now()
        limits.count_use(request, "reset", own=email, now=now)
        mails.request_password_reset(email, now=now)
        note(request, "password_reset_asked")
        return HttpResponseRedirect(reverse("reset_password_sent"))

    return answer_form(request, "accounts/password_reset.html", form, send_link)


@page("none")
@require_safe
def reset_password_sent(request: HttpRequest) -> HttpResponse:
    """Say that a link was sent, if the address is an account's."""
    return render(request, "accounts/password_reset_sent.html")


@page("1 get")
@never_cache
@require_safe
def follow_reset_link(request: HttpRequest, username: str, token: str) -> HttpResponse:
    """Take the token out of the address, into a cookie, and go on to the form."""
    response, link = HttpResponseRedirect(reverse("new_password")), Signed(username, token)
    if _user_of(link, timezone.now()):
        cookies.RESET_LINK.set(response, link)
    else:
        cookies.RESET_LINK.forget(response)
    # Not on the form: under this policy browsers send it with `Origin: null`, which the CSRF check refuses.
    response["Referrer-Policy"] = "no-referrer"
    return response


@page("none")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest) -> HttpResponse:
    """Set a new password after following a link: all sessions end, and a new one starts here.

    Who has a second factor is asked for a code first: a mailbox alone signs nobody in.
    """
    now = timezone.now()
    user = _user_of(cookies.RESET_LINK.read(request), now)
    if user is None:
        return _link_is_over(request)
    form = NewPasswordForm(request.POST or None, owner=Owner.of(user))

    def change() -> HttpResponse:
        try:
            stored_passwords.change(user, password=passwords.hashed(form.cleaned_data["password"]), now=now)
        except Conflict:
            return _link_is_over(request)
        note(request, "password_changed", username=user.username, detail="by a link")
        changed = users.get(user.username)
        done = _("Your new password is set, and you are signed in with it.")
        messages.success(request, _("Your new password is set.") if changed.two_factor else done)
        response = go_on(request, changed, reverse("account"), now=now)
        cookies.RESET_LINK.forget(response)
        return response

    return answer_form(request, "accounts/new_password.html", form, change, name=user.name)


def _user_of(link: Signed | None, now: datetime) -> User | None:
    """Return the user whom a good link belongs to. No call or 1 get."""
    if link is None or "@" in link.username:
        return None
    user = users.find(link.username)
    if user is None or user.suspended_at:
        return None
    return user if passwords.is_good_reset_token(user, link.text, now=now) else None


def _link_is_over(request: HttpRequest) -> HttpResponse:
    response = render(request, "accounts/password_reset_over.html", status=410)
    cookies.RESET_LINK.forget(response)
    return response
