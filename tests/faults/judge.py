"""What an answer may be while something is broken: that of a whole site, or 503."""

from __future__ import annotations

from dealsite.web.page_cache import MessageCookie
from tests.faults.site import Seen

SAID = MessageCookie.cookie_name  # goes with any page that shows the messages


def wrong_answer(seen: Seen, whole: Seen) -> str:
    """Say what is wrong with an answer; "" if it is that of the whole site, or says that the table does not answer."""
    if seen.same_page(whole):
        return ""
    if seen.status != 503:
        return seen.unlike(whole)
    if gone := [name for name, what in seen.cookies.items() if what == "deleted" and name != SAID]:
        return f"deletes cookies: {gone}"
    if not seen.retry_after:
        return "503 without Retry-After"
    if "max-age" in seen.cache and "no-store" not in seen.cache:
        return "503 that may be cached"
    return ""
