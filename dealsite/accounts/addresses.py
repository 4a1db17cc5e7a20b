"""The address that a request comes from."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest

UNKNOWN = "unknown"


def client_address(request: HttpRequest) -> str:
    """Return the visitor's IP address: the peer's, or what the last trusted proxy saw.

    Each of the DEALSITE_TRUSTED_PROXIES proxies appends the address it was asked from; whatever stands
    further left came from the visitor and may be made up.
    """
    proxies: int = settings.DEALSITE_TRUSTED_PROXIES
    text = request.META.get("REMOTE_ADDR", "")
    if proxies:
        header = request.META.get("HTTP_X_FORWARDED_FOR", "")
        seen = [part.strip() for part in header.split(",") if part.strip()]
        if len(seen) >= proxies:
            text = seen[-proxies]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return UNKNOWN
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def network_of(address: str) -> str:
    """Return what one visitor can hold of addresses: an IPv4 address, or the /64 of an IPv6 one."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
