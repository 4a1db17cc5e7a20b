"""A proxy in front of the site that DEALSITE_TRUSTED_PROXIES does not know: all its visitors seem to have one address.

What its headers say of them may be made up, so it is not used. But neither are they counted as one network.
"""

import ipaddress
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest

HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED")
# Where proxies stand that somebody forgot. Whoever asks from any other address is counted, whatever they send along:
# else a header would be all that it takes to escape.
NEAR = [
    *map(ipaddress.ip_network, ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")),
    *map(ipaddress.ip_network, ("169.254.0.0/16", "100.64.0.0/10", "::1", "fc00::/7", "fe80::/10")),
]
SECONDS = 60.0  # between two warnings of a process

logger = structlog.get_logger(__name__)
clock: Callable[[], float] = time.monotonic
_warned = {"at": float("-inf")}


def is_behind_unknown_proxy(request: HttpRequest) -> bool:
    """Tell whether a request came through a proxy nearby that the settings do not name."""
    if settings.DEALSITE_TRUSTED_PROXIES or not any(request.META.get(name) for name in HEADERS):
        return False
    try:
        peer = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return True  # a Unix socket: nobody outside the machine speaks to it
    peer = getattr(peer, "ipv4_mapped", None) or peer
    return any(peer in network for network in NEAR)


def warn(request: HttpRequest) -> None:
    """Say in the log that there is such a proxy, once a minute."""
    if is_behind_unknown_proxy(request) and clock() - _warned["at"] >= SECONDS:
        _warned["at"] = clock()
        logger.warning(
            "proxy_not_trusted",
            peer=request.META.get("REMOTE_ADDR", ""),
            meaning="Visitors' addresses are unknown, and limits by network do not hold. Say in "
            "DEALSITE_TRUSTED_PROXIES how many proxies stand in front of the site.",
        )
