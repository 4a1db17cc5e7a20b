"""The request that a view of the CMS gets: somebody with a role has signed in."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from dealsite.accounts.visitors import SignedIn


class EditorRequest(HttpRequest):
    """What the middleware adds, for the type checker; the real object is Django's own."""

    user: SignedIn  # type: ignore[assignment]
    htmx: HtmxDetails
