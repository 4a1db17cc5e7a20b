"""Where a redirect may lead: pages of this site only."""

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme


def is_safe(address: str) -> bool:
    """Tell whether an address is a plain path of this site."""
    return address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)


def destination(request: HttpRequest, default: str = "") -> str:
    """Return the path that `next` asks for, else the default, else the account page."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    return asked if is_safe(asked) else default or reverse("account")
