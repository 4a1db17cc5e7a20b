"""What operators read in the log of a table that cannot be used: in the engine's own words, and not once a request."""

import logging
import re
import threading

logger = logging.getLogger(__name__)
AGAIN_SECONDS = 60.0
LONGEST = 300
# An answer to a wrong signature repeats what was signed, the session's token included.
SECRETS = re.compile(r"(?i)((?:AKIA|ASIA)[A-Z0-9]{8,}|(?:credential|signature|token)\s*[=:]\s*\S+)")

_said: dict[str, float] = {}
_lock = threading.Lock()


def misconfigured(code: str, message: str, *, now: float) -> str:
    """Say loudly, at most once a minute for each code, that the table is the wrong place or refuses its key.

    Returns what it says: the first line of the message, without what could be a credential.
    """
    first_line = SECRETS.sub("...", message.partition("\n")[0])[:LONGEST]
    with _lock:
        is_due = code not in _said or now - _said[code] >= AGAIN_SECONDS
        if is_due:
            _said[code] = now
    if is_due:
        logger.error("event='table_misconfigured' code=%r message=%r", code, first_line)
    return f"{code}: {first_line}"


def forget() -> None:
    """Say everything anew."""
    with _lock:
        _said.clear()
