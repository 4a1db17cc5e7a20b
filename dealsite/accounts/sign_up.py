"""Making an account."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dealsite.accounts import limits, passwords
from dealsite.accounts.addresses import client_address, network_of
from dealsite.accounts.after_sign_in import pending_action_of
from dealsite.accounts.destinations import destination
from dealsite.accounts.form_errors import form_page, refuse, too_many
from dealsite.accounts.forms import SignUpForm
from dealsite.accounts.sign_in import enter
from dealsite.data.people import users
from dealsite.data.table.errors import AlreadyExists, Invalid, TooManyRequests
from dealsite.data.table.ids import new_ulid
from dealsite.web.pages import page


@page("none")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Make an account and sign in to it."""
    template = "accounts/sign_up.html"
    context: dict[str, Any] = {"next": destination(request), "pending": pending_action_of(request)}
    now = timezone.now()
    if request.method != "POST":
        form = SignUpForm(initial={"registration": new_ulid(now)})
        return form_page(request, template, form, **context)
    form = SignUpForm(request.POST)
    if not form.is_valid():
        return form_page(request, template, form, 422, **context)
    data = form.cleaned_data
    try:
        limits.count((limits.SIGN_UP, network_of(client_address(request))), now=now)
        user = users.create(**data | {"password": passwords.hashed(data["password"])}, now=now)
    except TooManyRequests as error:
        return too_many(request, template, form, error, **context)
    except (AlreadyExists, Invalid) as error:
        refuse(form, error)
        return form_page(request, template, form, error.status, **context)
    # The form may have been sent before, its answer lost; whoever else knows its number knows no password.
    if not passwords.matches(data["password"], user.password):
        refuse(form, AlreadyExists(_("This user name is taken. Choose another one."), field="username"))
        return form_page(request, template, form, 409, **context)
    messages.success(request, _("Welcome, %(name)s. Your account is ready.") % {"name": user.name})
    return enter(request, user, context["next"], now=now, pending=context["pending"])
