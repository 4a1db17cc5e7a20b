"""Every limit of the site: how often something may happen, written as tries/span. DEALSITE_LIMITS changes single ones.

Settings read this table, so it asks nothing of them.
"""

import re
from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from dealsite.text.stored_words import Text

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LIMIT = re.compile(r"([a-z-]+)=([1-9][0-9]{0,6})/([1-9][0-9]{0,3})([smhd])")


@dataclass(frozen=True)
class LimitRow:
    """What is counted, and how often it may happen: by one user, browser or e-mail address, by a network, in all.

    What costs the site something has all of these, as far as it can be told who does it: the limits are called `name`,
    `name-network` (a /24 of IPv4, a /64 of IPv6) and `name-total`. The others count by what `what` says.
    """

    name: str
    what: Text
    own: str = ""
    network: str = ""
    total: str = ""
    in_memory: bool = False  # frequent and cheap: each process counts for itself, a request would cost more

    @property
    def limits(self) -> dict[str, str]:
        """The limits of this row by their names."""
        given = {"": self.own, "-network": self.network, "-total": self.total}
        return {self.name + part: text for part, text in given.items() if text}


ROWS = (
    LimitRow("sign-in", _("Wrong passwords for a user from one address, on an unknown device"), "5/15m"),
    LimitRow("sign-in-address", _("Wrong passwords from one address, on unknown devices"), "30/15m"),
    LimitRow("sign-in-name", _("Wrong passwords for a user, on unknown devices"), "40/5m"),
    LimitRow("sign-in-unknown", _("Wrong passwords through a proxy that is not trusted"), "300/15m"),
    LimitRow("sign-in-device", _("Wrong passwords for a user on one of their devices"), "10/15m"),
    LimitRow("sign-in-devices", _("Wrong passwords for a user on all of their devices"), "20/15m"),
    LimitRow("password", _("Wrong passwords of a user who is signed in"), "10/15m"),
    LimitRow("code", _("Wrong codes for a user with one password"), "5/15m"),
    LimitRow("code-day", _("Wrong codes for a user with one password in a day"), "20/1d"),
    LimitRow("code-user-day", _("Wrong codes for a user in a day"), "40/1d"),
    LimitRow("sign-up", _("New accounts"), "", "30/1h", "1000/1h"),
    LimitRow("confirmation", _("Links to confirm an address"), "5/1h", "30/1h", "1000/1h"),
    LimitRow("reset", _("Reset links"), "3/1h", "20/1h", "1000/1h"),
    LimitRow("mail", _("Mails of one kind about an account"), "5/1h", "", "4/1s"),
    LimitRow("mail-order", _("Mails about orders and payments"), "60/1h", "", "10/1s"),
    LimitRow("gateway", _("Requests of pages to the payment provider"), total="15/1s"),
    LimitRow("gateway-worker", _("Requests of workers to the payment provider"), total="10/1s"),
    LimitRow("probe", _("Links of shops checked by workers"), total="5/1s"),
    LimitRow("new-cart", _("New carts of visitors"), "", "30/10m", "3000/10m"),
    LimitRow("cart", _("Changes of carts"), "120/1m", "600/1m", "6000/1m", in_memory=True),
    LimitRow("search", _("Searches"), "120/1m", "600/1m", "6000/1m", in_memory=True),
    LimitRow("like", _("Likes, watches and mutes"), "60/1m", "300/1m", "3000/1m", in_memory=True),
    LimitRow("card", _("Cards entered for payment"), "10/15m", "30/15m", "1000/15m"),
    LimitRow("order", _("Orders placed"), "20/1h", "60/1h", "5000/1h"),
    LimitRow("retry", _("Payments and jobs tried again, or paid early"), "20/15m", "60/15m", "1000/15m"),
    LimitRow("message", _("Messages sent by editors"), "20/1h", "40/1h", "60/1h"),
    LimitRow("export", _("Files asked for in the CMS"), "30/1h", "60/1h", "200/1h"),
    LimitRow("my-data", _("Files of all that is stored about oneself"), "3/1d", "20/1h", "200/1h"),
    LimitRow("link", _("Links of shops read for a deal"), "30/1m", "60/1m", "300/1m"),
    LimitRow("question", _("Questions asked of the data"), "60/10m", "120/10m", "600/10m"),
    LimitRow("snapshot", _("Snapshots asked for"), "6/1h", "12/1h", "12/1h"),
    LimitRow("answer", _("Answers read"), "60/1m", "120/1m", "300/1m", in_memory=True),
)


def read(changes: str) -> dict[str, tuple[int, timedelta]]:
    """Return tries and span of every limit; `changes` are written as `search=60/1m sign-up-total=100/1h`.

    ValueError says what they should be.
    """
    known = dict(_limit(f"{name}={text}") for row in ROWS for name, text in row.limits.items())
    changed = dict(_limit(word) for word in changes.split())
    if unknown := sorted(changed.keys() - known.keys()):
        raise ValueError(f"some of the limits {', '.join(known)} ({unknown[0]!r} is none)")
    return known | changed


def _limit(word: str) -> tuple[str, tuple[int, timedelta]]:
    found = LIMIT.fullmatch(word)
    if found is None:
        raise ValueError("limits like search=60/1m")
    name, tries, number, unit = found.groups()
    return name, (int(tries), timedelta(seconds=int(number) * UNITS[unit]))
