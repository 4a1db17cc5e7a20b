"""Asks who somebody is in the middle of what they do, and keeps what they were sending.

The page carries every field of the form that was sent, and leads to the same address. Its own fields
start with `proof-`; they are taken out again before the view sees the form.
"""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control

from dealsite.data.table.errors import TooManyRequests

PROOF = "proof-"
TOKEN = "csrfmiddlewaretoken"  # noqa: S105 - a field's name: the page has one of its own
# What has to be typed again, or is worth nothing later: passwords, codes, cards, and what the second factor signs.
SECRETS = ("password", "old_password", "code", "number", "secret", "half", "passkey")


def ask(
    request: HttpRequest,
    template: str,
    form: forms.Form,
    *,
    error: TooManyRequests | None = None,
    without_secrets: bool = False,
) -> HttpResponse:
    """Return the page that asks, with the form that was sent kept in it: 401, or 429 after too many tries."""
    status, name, value = 401, "WWW-Authenticate", "Form"
    if error:
        form.add_error(None, str(error))
        status, name, value = error.status, "Retry-After", str(error.retry_after)
    kept = kept_of(request, without_secrets=without_secrets)
    response = render(request, template, kept | {"form": form}, status=status)
    response[name] = value
    patch_cache_control(response, private=True, no_store=True)
    return response


def kept_of(request: HttpRequest, *, without_secrets: bool = False) -> dict[str, Any]:
    """Return what `accounts/_kept_form.html` keeps of a form that was sent, and the address that it was sent to."""
    left_out = {TOKEN, *(SECRETS if without_secrets else ())}
    kept = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in left_out and not name.startswith(PROOF)
        for value in values
    ]
    # A browser gives no page a file of another one: it can only be chosen again.
    files = [(name, file.name) for name in request.FILES for file in request.FILES.getlist(name)]
    return {"kept": kept, "files": files, "address": request.get_full_path()}


def sends(request: HttpRequest, name: str) -> bool:
    """Tell whether a field of the page that asks was sent."""
    return PROOF + name in request.POST


def take_out(request: HttpRequest) -> None:
    """Leave in a request only what the visitor was sending."""
    if not any(name.startswith(PROOF) for name in request.POST):
        return
    data = request.POST.copy()
    for name in [name for name in data if name.startswith(PROOF)]:
        del data[name]
    data._mutable = False
    request.POST = data  # type: ignore[assignment]
