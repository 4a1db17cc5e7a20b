"""How the account pages answer a form that was not taken."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dealsite.data.table.errors import AlreadyExists, DataError, TooManyRequests


def form_page(
    request: HttpRequest, template: str, form: forms.Form, status: int = 200, **context: Any
) -> HttpResponse:
    """Return a page with a form on it."""
    return render(request, template, {"form": form, **context}, status=status)


def too_many(
    request: HttpRequest, template: str, form: forms.Form, error: TooManyRequests, **context: Any
) -> HttpResponse:
    """Return the page with its form, 429 and how long to wait."""
    form.add_error(None, str(error))
    response = form_page(request, template, form, error.status, **context)
    response["Retry-After"] = str(error.retry_after)
    return response


def refuse(form: forms.Form, error: DataError) -> None:
    """Show an error of the data layer beside the field that it is about, else above the form."""
    field = error.field if isinstance(error, AlreadyExists) else ""
    form.add_error(field if field in form.fields else None, str(error))
