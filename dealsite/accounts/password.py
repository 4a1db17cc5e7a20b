"""Changing the password, and asking for it before what matters."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from dealsite.accounts import cookies, limits, passwords
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.form_errors import form_page, too_many
from dealsite.accounts.forms import PasswordForm
from dealsite.accounts.passwords import Owner
from dealsite.accounts.requests import UserRequest
from dealsite.data.people import passwords as stored_passwords
from dealsite.data.table.errors import TooManyRequests
from dealsite.web.pages import page


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def change_password(request: UserRequest) -> HttpResponse:
    """Change the password: all other sessions end, this one goes on."""
    user = request.user
    owner = Owner(user.username, user.name, user.email)
    form = PasswordForm(request.POST or None, owner=owner)
    if request.method != "POST":
        return form_page(request, "accounts/password.html", form)
    if not form.is_valid():
        return form_page(request, "accounts/password.html", form, 422)
    try:
        confirmed = is_confirmed(request, form)
    except TooManyRequests as error:
        return too_many(request, "accounts/password.html", form, error)
    if not confirmed:
        return form_page(request, "accounts/password.html", form, 422)
    cookie = cookies.session(request)
    stored_passwords.change(
        user.account,
        password=passwords.hashed(form.cleaned_data["password"]),
        key=cookie.key if cookie else "",
        now=timezone.now(),
    )
    messages.success(request, _("Your password is changed. You are signed out everywhere else."))
    return HttpResponseRedirect(reverse("account"))


def is_confirmed(request: UserRequest, form: forms.Form) -> bool:
    """Tell whether a form's `old_password` is the user's, else say so in the form; TooManyRequests."""
    user = request.user
    tries = limits.count((limits.PASSWORD, user.username), now=timezone.now())
    if passwords.matches(form.cleaned_data["old_password"], user.account.password):
        tries.succeeded()
        return True
    form.add_error("old_password", _("This is not your password."))
    return False
