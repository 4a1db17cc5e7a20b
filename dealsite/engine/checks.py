"""What `manage.py check` says about the engine."""

from typing import Any

from django.conf import settings
from django.core import checks

from dealsite.engine.server import why_not_isolated
from dealsite.environment import NOWHERE


def exposed(url: str, reason: str) -> str:
    """What to say of an engine that could not be put into a network namespace of its own."""
    return (
        f"Every program on this machine can reach the engine at {url} and change what the site stores: it has no"
        f" network namespace of its own ({reason}). Its address is chosen at random at each start, and is not to be"
        " told. Let no other users work on this machine, or allow user namespaces (docs/operations.md)."
    )


@checks.register()
def engine_is_alone(**_: Any) -> list[checks.CheckMessage]:
    """A warning if the engine of the data folder listens at an address."""
    url = settings.DYNAMODB_ENDPOINT_URL
    if not settings.DEALSITE_EMBEDDED or url == NOWHERE or not url.startswith("http"):
        return []
    reason = why_not_isolated() or "at its last start the system did not allow one"
    return [checks.Warning(exposed(url, reason), id="dealsite.engine.W001")]
