"""Payment gateways: what moves the money. `DEALSITE_GATEWAY` chooses: `test` (built in, moves none) or `stripe`."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from dealsite.gateways.interface import (
    CardRefused,
    ChargeDecline,
    ChargeResult,
    Gateway,
    GatewayUnavailable,
    RefundResult,
    SavedCard,
)

__all__ = [
    "CardRefused",
    "ChargeDecline",
    "ChargeResult",
    "Gateway",
    "GatewayUnavailable",
    "RefundResult",
    "SavedCard",
    "current",
]


def current() -> Gateway:
    """Return the gateway that the settings choose; ImproperlyConfigured where they choose none."""
    if settings.DEALSITE_GATEWAY == "test":
        from dealsite.gateways.testing import TestGateway

        return TestGateway()
    if settings.DEALSITE_GATEWAY == "stripe":
        if not settings.STRIPE_SECRET_KEY:
            raise ImproperlyConfigured("DEALSITE_GATEWAY is stripe, but STRIPE_SECRET_KEY is not set.")
        from dealsite.gateways.stripe_api import StripeGateway  # takes half a second to import

        return StripeGateway(settings.STRIPE_SECRET_KEY, settings.STRIPE_API_BASE)
    raise ImproperlyConfigured("DEALSITE_GATEWAY must be test or stripe.")
