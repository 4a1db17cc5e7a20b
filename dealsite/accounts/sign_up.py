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
from dealsite.accounts.after_sign_in import pending_action_of
from dealsite.accounts.destinations import destination
from dealsite.accounts.forms import SignUpForm, answer_form
from dealsite.accounts.limits import client_address, network_of
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
    now = timezone.now()
    form = (
        SignUpForm(request.POST)
        if request.method == "POST"
        else SignUpForm(initial={"registration": new_ulid(now)})
    )
    context: dict[str, Any] = {"next": destination(request), "pending": pending_action_of(request)}

    def create() -> HttpResponse | None:
        data = form.cleaned_data
        limits.count((limits.SIGN_UP, network_of(client_address(request))), now=now)
        user = users.create(**data | {"password": passwords.hashed(data["password"])}, now=now)
        # The form may have been sent before, its answer lost; whoever else knows its number knows no password.
        if not passwords.matches(data["password"], user.password):
            raise AlreadyExists(_("This user name is taken. Choose another one."), field="username")
        messages.success(request, _("Welcome, %(name)s. Your account is ready.") % {"name": user.name})
        return enter(request, user, context["next"], now=now, pending=context["pending"])

    return answer_form(
        request,
        "accounts/sign_up.html",
        form,
        create,
        refusals=(TooManyRequests, AlreadyExists, Invalid),
        **context,
    )
