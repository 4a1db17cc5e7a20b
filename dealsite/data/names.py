"""Names as they stand in keys: slugs, user names and e-mail addresses.

Names are normalised first and checked afterwards: NFKC turns look-alikes of `#` into `#` itself.
"""

import re
import unicodedata
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy

from dealsite.data.table.errors import Invalid

USERNAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_.-]{2,29}")
EMAIL_PATTERN = re.compile(r"[^@\s<>\"(),:;\\\[\]#]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z0-9-]{2,}")
SLUG_CHARACTERS = 60


def normalise(text: str) -> str:
    """Return text in NFKC, without control, format and surrogate characters, its white space folded."""
    text = unicodedata.normalize("NFKC", text)
    kept = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in UNWANTED
    )
    return unicodedata.normalize("NFKC", " ".join(kept.split()))


ODD_IN_LINKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\\<>\"]").search
UNWANTED = {"Cc", "Cf", "Cs", "Co", "Cn"}


def slugify(name: str) -> str:
    """Return the key part for a display name: case, accents, spacing and punctuation folded; '' if nothing is left.

    Letters and digits of every script stay, so brands of the whole world have a slug of their own.
    """
    text = unicodedata.normalize("NFKD", normalise(name).casefold())
    text = "".join(c for c in text if not "\u0300" <= c <= "\u036f")
    text = unicodedata.normalize("NFKC", text)
    words = "".join(
        c if c.isalnum() or unicodedata.category(c) in ("Mn", "Mc") else " " for c in text
    ).split()
    return "-".join(words)[:SLUG_CHARACTERS].rstrip("-")


def normalise_username(text: str) -> str:
    """Return the lower-case user name, or raise Invalid: 3 to 30 of a-z, 0-9, `_`, `.`, `-`."""
    username = unicodedata.normalize("NFKC", text).strip().casefold()
    if not USERNAME_PATTERN.fullmatch(username):
        raise Invalid(
            username=gettext_lazy(
                "A user name has 3 to 30 letters (a to z), digits, dots, dashes or underscores, "
                "and starts with a letter or digit."
            )
        )
    return username


def normalise_sign_in_name(text: str) -> str:
    """Return the one form of a user name or e-mail address as which it is looked up, or of a text that is neither."""
    try:
        return normalise_email(text) if "@" in text else normalise_username(text)
    except Invalid:
        return normalise(text).casefold()


def normalise_email(text: str) -> str:
    """Return the e-mail address in lower case, or raise Invalid."""
    email = unicodedata.normalize("NFKC", text).strip().casefold()
    if (
        len(email) > 254
        or not EMAIL_PATTERN.fullmatch(email)
        or any(unicodedata.category(c) in UNWANTED for c in email)
    ):
        raise Invalid(email=gettext_lazy("Enter an e-mail address such as name@example.org."))
    return email


def is_web_link(link: str) -> bool:
    """Tell whether a link is http or https, to a host, without sign-in data or spaces."""
    try:
        parts = urlsplit(link)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(host)
        and "@" not in parts.netloc
        and not (ODD_IN_LINKS(link) or any(unicodedata.category(c) == "Cf" for c in link if c > "~"))
    )
