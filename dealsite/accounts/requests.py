"""The requests that views get: from anybody, or from a user who has signed in.

For the type checker: the real object is Django's own, to which the middleware adds these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from dealsite.accounts.visitors import Anonymous, SignedIn

if TYPE_CHECKING:
    from dealsite.accounts.middleware import Visit


class SiteRequest(HttpRequest):
    """Of any visitor."""

    user: Anonymous | SignedIn  # type: ignore[assignment]
    visit: Visit
    htmx: HtmxDetails


class UserRequest(SiteRequest):
    """What a view below @signed_in or @role gets."""

    user: SignedIn
