"""Which gateway moves the money: a setting says it."""

from functools import partial

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from dealsite.accounts import limits
from dealsite.gateways.interface import Gateway
from dealsite.gateways.testing import TestGateway


def current(limit: str = "gateway") -> Gateway:
    """Return the gateway that `DEALSITE_GATEWAY` chooses: `test` (built in, moves no money) or `stripe`.

    Stripe is asked as often as the limit lets the whole site; then TooManyRequests.
    """
    if settings.DEALSITE_GATEWAY == "test":
        return TestGateway()
    if settings.DEALSITE_GATEWAY == "stripe":
        if not settings.STRIPE_SECRET_KEY:
            raise ImproperlyConfigured("DEALSITE_GATEWAY is stripe, but STRIPE_SECRET_KEY is not set.")
        from dealsite.gateways.stripe_api import StripeGateway  # takes half a second to import

        take_turn = partial(limits.take_turn, limit)
        return StripeGateway(settings.STRIPE_SECRET_KEY, settings.STRIPE_API_BASE, take_turn)
    raise ImproperlyConfigured("DEALSITE_GATEWAY must be test or stripe.")
