"""The security log: what happened at the site's doors, a structured line each in the log."""

from typing import Literal

import structlog
from django.http import HttpRequest

from dealsite.accounts.requests import client_address, network_of

Event = Literal[
    "signed_in",
    "sign_in_failed",
    "code_failed",
    "passkey_failed",
    "signed_up",
    "signed_out",
    "refused",
    "throttled",
    "csrf_refused",
    "question_asked",
    "export_asked",
    "password_changed",
    "password_reset_asked",
    "factor_changed",
    "email_changed",
    "roles_changed",
    "sessions_ended",
    "account_suspended",
    "account_deleted",
]
logger = structlog.get_logger(__name__)


def note(request: HttpRequest, event: Event, *, username: str = "", detail: str = "") -> None:
    """Note an event of a user, by name, '' for a visitor; never a password, code, token or key."""
    network = network_of(client_address(request))
    logger.info(event, username=username, network=network, path=request.path, detail=detail)
