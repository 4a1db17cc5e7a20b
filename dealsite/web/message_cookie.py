"""Notes for the next page, in a cookie: with room for what takes back what was done."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage


class MessageCookie(CookieStorage):
    """Django's own, nearly as large as browsers keep cookies (4,096 bytes with name and attributes).

    What does not fit is lost without a word: a long title and the address of a filtered list need more than 2,048.
    """

    cookie_name = settings.SESSION_COOKIE_NAME.replace("session", "messages")  # with its prefix
    max_cookie_size = 3_600
