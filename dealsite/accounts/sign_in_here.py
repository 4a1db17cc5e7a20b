"""Signing in again in a dialog over the page one works on, which stays as it is with all that was typed and chosen."""

from __future__ import annotations

from datetime import datetime

from django import forms
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dealsite.accounts import cookies, second_factor
from dealsite.accounts.form_errors import form_page, too_many
from dealsite.accounts.forms import CodeForm, SignInForm
from dealsite.accounts.sign_in import WRONG, authenticated, enter, half_of, half_signed_in
from dealsite.data.people.users import User
from dealsite.data.table.errors import TooManyRequests
from dealsite.web.pages import part

TEMPLATE = "accounts/_sign_in_here.html"
MOST_CHARACTERS = 254
IDS = "here_%s"  # the page has forms of its own


@part("none")
@never_cache
@require_safe
def session(request: HttpRequest) -> HttpResponse:
    """Say whether somebody is signed in: 204, else 401."""
    return HttpResponse(status=204 if request.user.is_authenticated else 401)


@part("none")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_here(request: HttpRequest) -> HttpResponse:
    """The form of the dialog: password, then the code where there is a second factor; answers with a new token."""
    now = timezone.now()
    if request.method != "POST":
        name = request.GET.get("name", "")[:MOST_CHARACTERS]  # of whoever the page was made for
        return _form(request, SignInForm(initial={"name": name}, auto_id=IDS))
    try:
        return _second_step(request, now) if "code" in request.POST else _first_step(request, now)
    except TooManyRequests as error:
        is_code = "code" in request.POST
        form: forms.Form = (CodeForm if is_code else SignInForm)(request.POST, auto_id=IDS)
        return too_many(request, TEMPLATE, form, error, is_code=is_code)


def _first_step(request: HttpRequest, now: datetime) -> HttpResponse:
    form = SignInForm(request.POST, auto_id=IDS)
    if not form.is_valid():
        return _form(request, form, 422)
    user = authenticated(request, **form.cleaned_data, now=now)
    if user is None:
        form.add_error(None, WRONG)
        return _form(request, form, 422)
    if user.two_factor:
        response = _form(request, CodeForm(auto_id=IDS))
        cookies.set_half(response, half_of(user))
        return response
    return _signed_in(request, user, now)


def _second_step(request: HttpRequest, now: datetime) -> HttpResponse:
    user = half_signed_in(cookies.half(request))
    if user is None:
        return _form(request, SignInForm(auto_id=IDS))
    form = CodeForm(request.POST, auto_id=IDS)
    if not form.is_valid():
        return _form(request, form, 422)
    if wrong := second_factor.passes(request, user, form.cleaned_data["code"], now=now):
        form.add_error("code", wrong)
        return _form(request, form, 422)
    return _signed_in(request, user, now)


def _signed_in(request: HttpRequest, user: User, now: datetime) -> HttpResponse:
    """Start the session as signing in does, and hand out the token that goes with it."""
    entered = enter(request, user, "/", now=now)
    response = render(request, TEMPLATE, {"token": get_token(request)})
    response.cookies.update(entered.cookies)
    return response


def _form(request: HttpRequest, form: forms.Form, status: int = 200) -> HttpResponse:
    return form_page(request, TEMPLATE, form, status, is_code=isinstance(form, CodeForm))
