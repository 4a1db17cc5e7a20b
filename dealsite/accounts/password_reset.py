"""A new password by a link sent to the e-mail address."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dealsite.accounts import cookies, limits, passwords, reset_tokens
from dealsite.accounts.addresses import client_address, network_of
from dealsite.accounts.form_errors import form_page, too_many
from dealsite.accounts.forms import NewPasswordForm, PasswordResetForm
from dealsite.accounts.passwords import Owner
from dealsite.accounts.sign_in import go_on
from dealsite.data.people import mails, users
from dealsite.data.people import passwords as stored_passwords
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict, TooManyRequests
from dealsite.web.pages import page


@page("none")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reset_password(request: HttpRequest) -> HttpResponse:
    """Ask for a reset link: the same answer in the same time, whether the address is known or not."""
    form = PasswordResetForm(request.POST or None)
    if request.method != "POST":
        return form_page(request, "accounts/password_reset.html", form)
    if not form.is_valid():
        return form_page(request, "accounts/password_reset.html", form, 422)
    email, now = form.cleaned_data["email"], timezone.now()
    try:
        limits.count(
            (limits.RESET_ADDRESS, network_of(client_address(request))), (limits.RESET_EMAIL, email), now=now
        )
    except TooManyRequests as error:
        return too_many(request, "accounts/password_reset.html", form, error)
    mails.request_password_reset(email, now=now)
    return HttpResponseRedirect(reverse("reset_password_sent"))


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
    response = HttpResponseRedirect(reverse("new_password"))
    if _user_of(cookies.ResetLink(username, token), timezone.now()):
        cookies.set_reset_link(response, cookies.ResetLink(username, token))
    else:
        cookies.forget_reset_link(response)
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
    user = _user_of(cookies.reset_link(request), now)
    if user is None:
        return _link_is_over(request)
    form = NewPasswordForm(request.POST or None, owner=Owner(user.username, user.name, user.email))
    if request.method != "POST":
        return form_page(request, "accounts/new_password.html", form, name=user.name)
    if not form.is_valid():
        return form_page(request, "accounts/new_password.html", form, 422, name=user.name)
    try:
        stored_passwords.change(user, password=passwords.hashed(form.cleaned_data["password"]), now=now)
    except Conflict:
        return _link_is_over(request)
    user = users.get(user.username)
    done = _("Your new password is set, and you are signed in with it.")
    messages.success(request, _("Your new password is set.") if user.two_factor else done)
    response = go_on(request, user, reverse("account"), now=now)
    cookies.forget_reset_link(response)
    return response


def _user_of(link: cookies.ResetLink | None, now: datetime) -> User | None:
    """Return the user whom a good link belongs to. No call or 1 get."""
    if link is None or "@" in link.username:
        return None
    user = users.find(link.username)
    return user if user and reset_tokens.is_good(user, link.token, now=now) else None


def _link_is_over(request: HttpRequest) -> HttpResponse:
    response = render(request, "accounts/password_reset_over.html", status=410)
    cookies.forget_reset_link(response)
    return response
